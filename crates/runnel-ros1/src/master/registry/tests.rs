//! What the registry keeps and forgets.

use super::*;

fn publish(registry: &mut Registry, node: &str, topic: &str, kind: &str) {
    registry.enlist(node, "http://a:1/", Instant::default());
    registry.publish(node, topic, kind);
}

fn subscribe(registry: &mut Registry, node: &str, topic: &str, kind: &str) {
    registry.enlist(node, "http://a:1/", Instant::default());
    registry.subscribe(node, topic, kind);
}

fn kind(registry: &Registry, topic: &str) -> Option<String> {
    registry.types.get(topic).cloned()
}

#[test]
fn the_last_publisher_and_else_the_first_subscriber_decides_on_the_type() {
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
fn the_type_of_a_topic_in_use_is_never_forgotten() {
    let mut registry = Registry::default();
    for topic in ["/t", "/u"] {
        publish(&mut registry, "/p", topic, "a/A");
        subscribe(&mut registry, "/s", topic, "a/A");
    }
    registry.expel("/p");
    registry.forget_types(0);
    assert!(kind(&registry, "/t").is_some());
    registry.expel("/s");
    publish(&mut registry, "/p", "/t", "a/A");
    registry.forget_types(0);
    assert_eq!((kind(&registry, "/t").is_some(), kind(&registry, "/u")), (true, None));
    registry.expel("/p");
    subscribe(&mut registry, "/s", "/t", "*");
    registry.forget_types(0);
    assert!(kind(&registry, "/t").is_some());
}

#[test]
fn what_a_node_leaves_behind_is_told() {
    let mut registry = Registry::default();
    publish(&mut registry, "/p", "/t", "a/A");
    subscribe(&mut registry, "/p", "/t", "a/A");
    registry.serve("/p", "/s", "rosrpc://a:1");
    registry.watch("/p", "/k");
    assert_eq!(registry.registration_count(), 4);
    let departed = registry.enlist("/p", "http://a:2/", Instant::default()).expect("the old node");
    assert_eq!(*departed.api, *"http://a:1/");
    assert_eq!((departed.published, departed.watched), (vec!["/t".into()], vec!["/k".into()]));
    assert_eq!((registry.registration_count(), registry.service_api("/s")), (0, None));
}

#[test]
fn a_node_with_nothing_left_is_forgotten() {
    let mut registry = Registry::default();
    publish(&mut registry, "/p", "/t", "a/A");
    registry.serve("/p", "/s", "rosrpc://a:1");
    let topic = "/t".into();
    assert_eq!(registry.leave(("/p", "http://a:1/"), Role::Publisher, &topic), Ok(false));
    let again = registry.leave(("/p", "http://a:1/"), Role::Publisher, &topic);
    assert_eq!(again, Err(NotRegistered::Name));
    registry.enlist("/q", "http://a:1/", Instant::default());
    assert_eq!(registry.serve("/q", "/s", "rosrpc://a:2").as_deref(), Some("/p"));
    assert_eq!(registry.api("/p"), None);
    assert_eq!(registry.close_service("/q", "/s", "rosrpc://a:1"), Err(NotRegistered::Replaced));
    assert_eq!(registry.close_service("/q", "/s", "rosrpc://a:2"), Ok(true));
    assert_eq!((registry.node_count(), registry.registration_count()), (0, 0));
}
