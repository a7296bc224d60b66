//! Tests of registrations, topic types and removed nodes.

use super::*;

fn publish(registry: &mut Registry, node: &str, topic: &str, kind: &str) {
    registry.add_node(node, "http://a:1/", Instant::default());
    registry.publish(node, topic, kind);
}

fn subscribe(registry: &mut Registry, node: &str, topic: &str, kind: &str) {
    registry.add_node(node, "http://a:1/", Instant::default());
    registry.subscribe(node, topic, kind);
}

fn kind(registry: &Registry, topic: &str) -> Option<String> {
    registry.types.get(topic).cloned()
}

#[test]
fn last_publisher_or_first_subscriber_sets_type() {
    let mut registry = Registry::default();
    subscribe(&mut registry, "/s", "/t", "*");
    assert_eq!(kind(&registry, "/t"), None);
    subscribe(&mut registry, "/s", "/t", "a/A");
    subscribe(&mut registry, "/r", "/t", "b/B");
    publish(&mut registry, "/p", "/t", "*");
    assert_eq!(kind(&registry, "/t").as_deref(), Some("a/A"));
    publish(&mut registry, "/p", "/t", "c/C");
    publish(&mut registry, "/q", "/t", "d/D");
    assert_eq!(kind(&registry, "/t").as_deref(), Some("d/D"));
    publish(&mut registry, "/p", "/u", "*");
    subscribe(&mut registry, "/s", "/u", "a/A");
    assert_eq!(kind(&registry, "/u").as_deref(), Some("*"));
}

#[test]
fn type_of_used_topic_is_kept() {
    let mut registry = Registry::default();
    for topic in ["/t", "/u"] {
        publish(&mut registry, "/p", topic, "a/A");
        subscribe(&mut registry, "/s", topic, "a/A");
    }
    registry.remove_node("/p");
    registry.forget_types(0);
    assert!(kind(&registry, "/t").is_some());
    registry.remove_node("/s");
    publish(&mut registry, "/p", "/t", "a/A");
    registry.forget_types(0);
    assert_eq!((kind(&registry, "/t").is_some(), kind(&registry, "/u")), (true, None));
    registry.remove_node("/p");
    subscribe(&mut registry, "/s", "/t", "*");
    registry.forget_types(0);
    assert!(kind(&registry, "/t").is_some());
}

#[test]
fn removed_node_reports_its_registrations() {
    let mut registry = Registry::default();
    publish(&mut registry, "/p", "/t", "a/A");
    subscribe(&mut registry, "/p", "/t", "a/A");
    registry.serve("/p", "/s", "rosrpc://a:1");
    registry.subscribe_param("/p", "/k");
    assert_eq!(registry.registration_count(), 4);
    let removed = registry.add_node("/p", "http://a:2/", Instant::default()).expect("the old node");
    assert_eq!(*removed.api, *"http://a:1/");
    assert_eq!((removed.published, removed.watched_params), (vec!["/t".into()], vec!["/k".into()]));
    assert_eq!((registry.registration_count(), registry.service_api("/s")), (0, None));
}

#[test]
fn node_without_registrations_is_removed() {
    let mut registry = Registry::default();
    publish(&mut registry, "/p", "/t", "a/A");
    registry.serve("/p", "/s", "rosrpc://a:1");
    let topic = "/t".into();
    assert_eq!(registry.unregister(("/p", "http://a:1/"), Role::Publisher, &topic), Ok(false));
    let again = registry.unregister(("/p", "http://a:1/"), Role::Publisher, &topic);
    assert_eq!(again, Err(NotRegistered::Name));
    registry.add_node("/q", "http://a:1/", Instant::default());
    assert_eq!(registry.serve("/q", "/s", "rosrpc://a:2").as_deref(), Some("/p"));
    assert_eq!(registry.api("/p"), None);
    assert_eq!(registry.unregister_service("/q", "/s", "rosrpc://a:1"), Err(NotRegistered::Replaced));
    assert_eq!(registry.unregister_service("/q", "/s", "rosrpc://a:2"), Ok(true));
    assert_eq!((registry.node_count(), registry.registration_count()), (0, 0));
}
