//! Methods for registration, unregistration and lookup.

use std::sync::Arc;

use crate::xmlrpc::Value;

use super::api::{Outcome, Refusal};
use super::event::MasterEvent;
use super::registry::{NotRegistered, Role};
use super::state::{Caller, State};

/// `registerPublisher(caller_id, topic, topic_type, caller_api)`: the URIs of the topic's subscribers.
pub(super) fn register_publisher(
    state: &mut State,
    from: Caller<'_>,
    topic: &str,
    kind: &str,
    api: &str,
) -> Outcome {
    state.admit_registration(from, api, Role::Publisher, topic)?;
    state.registry.publish(from.name, topic, kind);
    state.publishers_changed(topic);
    let subscribers = state.registry.subscriber_apis(topic);
    Ok((format!("Registered [{}] as publisher of [{topic}]", from.name), subscribers))
}

/// `registerSubscriber(caller_id, topic, topic_type, caller_api)`: the URIs of the topic's publishers.
pub(super) fn register_subscriber(
    state: &mut State,
    from: Caller<'_>,
    topic: &str,
    kind: &str,
    api: &str,
) -> Outcome {
    state.admit_registration(from, api, Role::Subscriber, topic)?;
    state.registry.subscribe(from.name, topic, kind);
    Ok((format!("Subscribed to [{topic}]"), state.registry.publisher_apis(topic)))
}

/// `registerService(caller_id, service, service_api, caller_api)`: 1.
pub(super) fn register_service(
    state: &mut State,
    from: Caller<'_>,
    service: &str,
    service_api: &str,
    api: &str,
) -> Outcome {
    state.admit_registration(from, api, Role::Service, service)?;
    if let Some(replaced) = state.registry.serve(from.name, service, service_api) {
        state.liveness.forget(&replaced);
    }
    Ok((format!("Registered [{}] as provider of [{service}]", from.name), 1.into()))
}

/// `unregisterPublisher(caller_id, topic, caller_api)`: 1 if it was registered.
pub(super) fn unregister_publisher(state: &mut State, from: Caller<'_>, topic: &str, api: &str) -> Outcome {
    let outcome = unregister_topic(state, from, Role::Publisher, topic, api);
    if matches!(outcome, Ok((_, Value::Int(1)))) {
        state.publishers_changed(topic);
    }
    outcome
}

/// `unregisterSubscriber(caller_id, topic, caller_api)`: 1 if it was registered.
pub(super) fn unregister_subscriber(state: &mut State, from: Caller<'_>, topic: &str, api: &str) -> Outcome {
    unregister_topic(state, from, Role::Subscriber, topic, api)
}

/// `unregisterService(caller_id, service, service_api)`: 1 if it was registered.
pub(super) fn unregister_service(state: &mut State, from: Caller<'_>, service: &str, api: &str) -> Outcome {
    let node = from.name;
    match state.registry.unregister_service(node, service, api) {
        Ok(last) => {
            state.on_unregistered(node, Role::Service, service, last);
            Ok((format!("Unregistered [{node}] as provider of [{service}]"), 1.into()))
        }
        Err(NotRegistered::Node) => Ok((format!("[{node}] is not a registered node"), 0.into())),
        Err(NotRegistered::Name) => Ok((format!("[{node}] is not a provider of [{service}]"), 0.into())),
        Err(NotRegistered::Replaced) => {
            Ok((format!("[{api}] is no longer the current service api handle for [{service}]"), 0.into()))
        }
    }
}

/// `lookupNode(caller_id, node)`: the node's URI.
pub(super) fn lookup_node(state: &mut State, _from: Caller<'_>, node: &str) -> Outcome {
    match state.registry.api(node) {
        Some(api) => Ok(("node api".to_owned(), Value::from(&**api))),
        None => Err(Refusal::new(format!("unknown node [{node}]"))),
    }
}

/// `lookupService(caller_id, service)`: the service's URI.
pub(super) fn lookup_service(state: &mut State, _from: Caller<'_>, service: &str) -> Outcome {
    match state.registry.service_api(service) {
        Some(api) => Ok((format!("rosrpc URI: [{api}]"), Value::from(api))),
        None => Err(Refusal::new("no provider".to_owned())),
    }
}

/// `getPublishedTopics(caller_id, subgraph)`: pairs of topic and type.
pub(super) fn published_topics(state: &mut State, _from: Caller<'_>, subgraph: &str) -> Outcome {
    Ok(("current topics".to_owned(), state.registry.published_topics(subgraph)))
}

/// `getTopicTypes(caller_id)`: pairs of topic and type.
pub(super) fn topic_types(state: &mut State, _from: Caller<'_>) -> Outcome {
    Ok(("current system state".to_owned(), state.registry.topic_types()))
}

/// `getSystemState(caller_id)`: publishers, subscribers and services with their nodes.
pub(super) fn system_state(state: &mut State, _from: Caller<'_>) -> Outcome {
    Ok(("current system state".to_owned(), state.registry.system_state()))
}

/// `getUri(caller_id)`: the master's own URI.
pub(super) fn uri(state: &mut State, _from: Caller<'_>) -> Outcome {
    Ok((String::new(), state.uri.clone().into()))
}

/// `getPid(caller_id)`: the master's process id.
pub(super) fn pid(state: &mut State, _from: Caller<'_>) -> Outcome {
    Ok((String::new(), state.pid.into()))
}

/// `shutdown(caller_id, msg)`: requests that the driver ends the master.
pub(super) fn shutdown(state: &mut State, from: Caller<'_>, reason: &str) -> Outcome {
    let (caller, reason) = (from.name.to_owned(), reason.to_owned());
    state.events.push(MasterEvent::ShutdownRequested { caller, reason });
    Ok(("shutdown".to_owned(), 0.into()))
}

fn unregister_topic(state: &mut State, from: Caller<'_>, role: Role, topic: &str, api: &str) -> Outcome {
    let node = from.name;
    match state.registry.unregister((node, api), role, &Arc::from(topic)) {
        Ok(last) => {
            state.on_unregistered(node, role, topic, last);
            Ok((format!("Unregistered [{node}] as provider of [{topic}]"), 1.into()))
        }
        Err(NotRegistered::Node) => Ok((format!("[{node}] is not a registered node"), 0.into())),
        Err(NotRegistered::Name | NotRegistered::Replaced) => {
            Ok((format!("[{node}] is not a known provider of [{topic}]"), 0.into()))
        }
    }
}
