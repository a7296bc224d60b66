//! Events of services in ROS 2: of calls within a process, and of clients whose type is known only at run time.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use crate::common::{LONG, block_on};
use crate::ros2_pair::new_domain;
use crate::spinning::Spinning;
use runnel::core::dynamic::{DynamicMessage, ValueRef};
use runnel::core::schema::{Generation, ServiceSchema, TypeName};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{QoS, RawMessage, ServiceIntrospectionState, ServiceServer, Subscription};

const REQUEST: SetBoolRequest = SetBoolRequest { data: true };

/// The sequences of an event with the request, and the beginning of those of one with the response.
const REQUEST_CONTENTS: [u8; 12] = [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
const RESPONSE_CONTENTS: [u8; 9] = [0, 0, 0, 0, 1, 0, 0, 0, 1];

fn qos() -> QoS {
    QoS::keep_last(20).reliable().transient_local()
}

/// A server that publishes events, and an observer of them, which gets their type and payload.
struct Scene {
    near: Spinning,
    far: Spinning,
    server: ServiceServer,
    _observing: Spinning,
    _observer: Subscription,
    events: Receiver<(String, Vec<u8>)>,
}

impl Scene {
    fn new() -> Self {
        let domain = new_domain();
        let [near, far, observing] = [(); 3].map(|()| Spinning::new(domain));
        let answer = |request: &SetBoolRequest| {
            Ok::<_, String>(SetBoolResponse { success: request.data, message: "on".into() })
        };
        let server = near.node("server").create_service::<SetBool, _>("power", answer).unwrap();
        server.configure_introspection(qos(), ServiceIntrospectionState::Contents).unwrap();
        let (received, events) = channel();
        let receive = move |message: &RawMessage<'_>| {
            let type_name = message.type_name().to_owned();
            received.send((type_name, message.bytes().try_to_vec().unwrap())).unwrap();
        };
        let observer = observing.node("observer");
        let observer =
            observer.create_raw_subscription("power/_service_event", None, qos(), receive).unwrap();
        Self { near, far, server, _observing: observing, _observer: observer, events }
    }

    /// Checks the events of a call, which both ends publish. Returns the client and the number of the request.
    fn check_call(&self) -> Vec<u8> {
        let receive = || self.events.recv_timeout(LONG).unwrap();
        let mut events: Vec<_> = (0..4).map(|_| receive()).collect();
        assert!(events.iter().all(|(type_name, _)| type_name == "std_srvs/srv/SetBool_Event"));
        events.sort_by_key(|(_, event)| event[4]);
        let key = events[0].1[16..44].to_vec();
        assert_ne!(key[..12], [0; 12], "the participant of the client");
        for (kind, (_, event)) in (0..).zip(&events) {
            assert_eq!((event[4], &event[16..44]), (kind, &*key), "{events:?}");
            let contents = &event[44..];
            match kind {
                0 | 1 => assert_eq!(contents, REQUEST_CONTENTS),
                _ => assert_eq!(contents[..9], RESPONSE_CONTENTS),
            }
        }
        key
    }
}

fn schema() -> Arc<ServiceSchema> {
    let name = TypeName::parse("std_srvs/srv/SetBool").unwrap();
    Arc::new(runnel::msgs::library().service_in(Generation::Ros2, &name).unwrap())
}

#[test]
fn calls_within_a_process_publish_events() {
    let scene = Scene::new();
    let client = scene.near.node("client").create_client::<SetBool>("power").unwrap();
    client.configure_introspection(qos(), ServiceIntrospectionState::Contents).unwrap();
    assert!(client.call(&REQUEST).unwrap().success);
    let direct = scene.check_call();
    let queued = client.send_request(&REQUEST, Some(LONG)).unwrap();
    assert!(block_on(queued).unwrap().success);
    let queued = scene.check_call();
    assert_eq!(direct[..16], queued[..16], "the same client");
    assert_ne!(direct[16..], queued[16..], "another request");
    scene.server.configure_introspection(qos(), ServiceIntrospectionState::Off).unwrap();
    assert!(client.call(&REQUEST).unwrap().success);
    let of_client = [(); 2].map(|()| scene.events.recv_timeout(LONG).unwrap().1[4]);
    assert_eq!(of_client, [0, 3]);
}

#[test]
fn dynamic_client_publishes_events() {
    let scene = Scene::new();
    let schema = schema();
    // In another process, and in that of the server.
    for context in [&scene.far, &scene.near] {
        let client = context.node("client").create_dynamic_client("power", &schema).unwrap();
        client.configure_introspection(qos(), ServiceIntrospectionState::Contents).unwrap();
        let mut request = DynamicMessage::default_of(&schema.request).unwrap();
        request.set("data", true).unwrap();
        let response = client.call_timeout(&request, LONG).unwrap();
        assert_eq!(response.get("success"), Ok(ValueRef::Bool(true)));
        scene.check_call();
    }
}
