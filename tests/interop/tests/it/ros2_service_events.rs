//! Introspection of services between Runnel and rclpy: each receives the events of the other, and client and number are
//! the same at both ends.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{TIMEOUT, ready};
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, TypeName};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Client, Context, Error, QoS, RawMessage, ServiceIntrospectionState, ServiceServer};
use runnel_testkit::process::{Peer, deadline_in};
use serde_json::{Value, json};

const SERVICE: &str = "/power";
const EVENTS: &str = "/power/_service_event";
const DISTROS: [Distro; 2] = [Distro::Kilted, Distro::Jazzy];
const LONG: Duration = Duration::from_secs(TIMEOUT);

fn qos() -> QoS {
    QoS::keep_last(10).reliable().transient_local()
}

/// Calls `body` with a context that spins.
fn while_spinning(graph: &Ros2Graph, body: impl FnOnce(&Context)) {
    struct ShutDown<'a>(&'a Context);
    impl Drop for ShutDown<'_> {
        fn drop(&mut self) {
            self.0.shutdown();
        }
    }
    let context = graph.context();
    thread::scope(|scope| {
        let _ends = ShutDown(&context);
        scope.spawn(|| context.spin().unwrap());
        body(&context);
    });
}

fn server(context: &Context, state: ServiceIntrospectionState) -> ServiceServer {
    let answer = |request: &SetBoolRequest| {
        Ok::<_, Error>(SetBoolResponse { success: request.data, message: "on".to_owned() })
    };
    let node = context.create_node("server").unwrap();
    let server = node.create_service::<SetBool, _>(SERVICE, answer).unwrap();
    server.configure_introspection(qos(), state).unwrap();
    server
}

fn client(context: &Context, state: ServiceIntrospectionState) -> Client<SetBool> {
    let client = context.create_node("client").unwrap().create_client(SERVICE).unwrap();
    client.configure_introspection(qos(), state).unwrap();
    client
}

fn call(client: &Client<SetBool>) {
    assert!(client.call_timeout(&SetBoolRequest { data: true }, LONG).unwrap().success);
}

fn listener(graph: &Ros2Graph, distro: Distro) -> Peer {
    let words = [EVENTS, "--type", "std_srvs/srv/SetBool_Event", "--durability", "transient_local", "--show"];
    ready(graph.listener(Origin::Ros2(distro), &words))
}

/// The next events that a listener prints, by their kind.
fn events(listener: &mut Peer, count: usize) -> Vec<Value> {
    let mut events: Vec<Value> = (0..count)
        .map(|_| listener.wait_for_line(|line| line.starts_with("got "), deadline_in(TIMEOUT)).unwrap())
        .map(|line| serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap())
        .collect();
    events.sort_by_key(|event| event["info"]["event_type"].as_u64());
    events
}

/// Checks the events of one call, of both ends.
fn check(events: &[Value], has_contents: bool, knows_reader: bool) {
    let kinds: Vec<_> = events.iter().map(|event| event["info"]["event_type"].as_u64().unwrap()).collect();
    assert_eq!(kinds, [0, 1, 2, 3], "{events:#?}");
    let none = json!([]);
    let (request, response) = (json!([{"data": true}]), "success");
    for (kind, event) in events.iter().enumerate() {
        let is_request = kind < 2;
        assert_eq!(event["info"]["sequence_number"], events[0]["info"]["sequence_number"], "{events:#?}");
        if knows_reader {
            assert_eq!(event["info"]["client_gid"], events[0]["info"]["client_gid"], "{events:#?}");
        }
        assert!(event["info"]["stamp"]["sec"].as_i64().unwrap() > 1_000_000_000);
        let expected = if has_contents && is_request { &request } else { &none };
        assert_eq!(event["request"], *expected);
        let has_response = has_contents && !is_request;
        assert_eq!(event["response"].as_array().unwrap().len(), usize::from(has_response));
        assert!(!has_response || event["response"][0][response] == true, "{event}");
    }
}

#[test]
fn rclpy_receives_events_of_runnel() {
    for (distro, state) in [
        (Distro::Kilted, ServiceIntrospectionState::Contents),
        (Distro::Jazzy, ServiceIntrospectionState::Metadata),
    ] {
        let graph = Ros2Graph::new();
        let far = graph.context();
        while_spinning(&graph, |near| {
            let server = server(near, state);
            let client = client(&far, state);
            call(&client);
            let mut listener = listener(&graph, distro);
            check(&events(&mut listener, 4), state == ServiceIntrospectionState::Contents, true);
            server.configure_introspection(qos(), ServiceIntrospectionState::Off).unwrap();
            call(&client);
            let kinds: Vec<_> =
                events(&mut listener, 2).iter().map(|event| event["info"]["event_type"].as_u64()).collect();
            assert_eq!(kinds, [Some(0), Some(3)]);
        });
    }
}

/// Of calls within a process, whose client knows its type or learns it at run time.
#[test]
fn rclpy_receives_events_of_calls_within_a_process() {
    let graph = Ros2Graph::new();
    while_spinning(&graph, |context| {
        let _server = server(context, ServiceIntrospectionState::Contents);
        // Its publisher of events keeps them for the listener.
        let typed = client(context, ServiceIntrospectionState::Contents);
        call(&typed);
        let mut listener = listener(&graph, Distro::Kilted);
        check(&events(&mut listener, 4), true, true);
        let name = TypeName::parse("std_srvs/srv/SetBool").unwrap();
        let schema = Arc::new(runnel::msgs::library().service_in(Generation::Ros2, &name).unwrap());
        let node = context.create_node("dynamic").unwrap();
        let client = node.create_dynamic_client(SERVICE, &schema).unwrap();
        client.configure_introspection(qos(), ServiceIntrospectionState::Contents).unwrap();
        let mut request = DynamicMessage::default_of(&schema.request).unwrap();
        request.set("data", true).unwrap();
        client.call_timeout(&request, LONG).unwrap();
        check(&events(&mut listener, 4), true, true);
    });
}

#[test]
fn events_of_runnel_client_and_rclpy_server_agree() {
    for distro in DISTROS {
        let graph = Ros2Graph::new();
        let _server = ready(graph.rclpy(distro, "server.py", "server", &[SERVICE, "--introspect"]));
        let far = graph.context();
        let client = client(&far, ServiceIntrospectionState::Contents);
        call(&client);
        check(&events(&mut listener(&graph, distro), 4), true, true);
    }
}

/// In Jazzy, the client names its writer, and the server the client's reader.
#[test]
fn events_of_rclpy_client_and_runnel_server_agree() {
    for distro in DISTROS {
        let graph = Ros2Graph::new();
        while_spinning(&graph, |near| {
            let _server = server(near, ServiceIntrospectionState::Contents);
            let mut listener = listener(&graph, distro);
            let words = [SERVICE, "--once", "--introspect", "--stay"];
            let mut caller = graph.rclpy(distro, "caller.py", "caller", &words);
            caller.wait_for_line(|line| line == "done", deadline_in(TIMEOUT)).unwrap();
            check(&events(&mut listener, 4), true, distro == Distro::Kilted);
        });
    }
}

#[test]
fn runnel_receives_events_of_rclpy() {
    let graph = Ros2Graph::new();
    while_spinning(&graph, |context| {
        let _server = ready(graph.rclpy(Distro::Kilted, "server.py", "server", &[SERVICE, "--introspect"]));
        let node = context.create_node("observer").unwrap();
        let (received, events) = channel();
        let receive = move |message: &RawMessage<'_>| {
            let kind = message.type_name().to_owned();
            received.send((kind, message.bytes().try_to_vec().unwrap())).unwrap();
        };
        let _observer = node.create_raw_subscription(EVENTS, None, qos(), receive).unwrap();
        call(&client(context, ServiceIntrospectionState::Off));
        for expected in [1, 2] {
            let (type_name, payload) = events.recv_timeout(LONG).unwrap();
            assert_eq!((type_name.as_str(), payload[4]), ("std_srvs/srv/SetBool_Event", expected));
        }
    });
}
