//! Limits on what callers can make the master do.

use std::net::SocketAddr;

use proptest::prelude::*;

use runnel_core::time::Instant;

use super::super::api::{Request, call};
use super::super::state::State;
use super::super::{Master, MasterConfig, MasterEvent, MasterLimits};
use super::network::strings;
use crate::net::{ConnId, Transmit};
use crate::xmlrpc::Value;

/// The request that contains the calls.
const REQUEST: Request = Request { now: Instant(0), conn: ConnId(1), bytes: 0 };

struct Bench(State);

impl Bench {
    fn new(limits: MasterLimits) -> Self {
        Self(State::new("http://master:11311/".into(), 1, limits))
    }

    fn call(&mut self, method: &str, params: &[Value]) -> Vec<Value> {
        match call(&mut self.0, REQUEST, method, params) {
            Ok(Value::Array(reply)) => reply,
            other => panic!("{other:?}"),
        }
    }

    fn publish(&mut self, node: &str, topic: &str) -> Vec<Value> {
        self.call("registerPublisher", &strings(&[node, topic, "a/B", "http://a:1/"]))
    }

    fn state(&mut self) -> Vec<Value> {
        self.call("getSystemState", &strings(&["/x"]))
    }
}

fn refused(text: &str, value: Value) -> Vec<Value> {
    vec![(-1).into(), text.into(), value]
}

fn no_uris() -> Value {
    Vec::new().into()
}

#[test]
fn node_beyond_limit_is_refused() {
    let mut bench = Bench::new(MasterLimits { nodes: 2, ..Default::default() });
    bench.publish("/a", "/t");
    bench.publish("/b", "/t");
    let before = bench.state();
    assert_eq!(bench.publish("/c", "/t"), refused("ERROR: limit of 2 nodes reached", no_uris()));
    assert_eq!(bench.state(), before);
    assert_eq!(bench.publish("/a", "/u")[0], 1.into());
    let service = bench.call("registerService", &strings(&["/c", "/s", "rosrpc://a:1", "http://a:1/"]));
    assert_eq!(service, refused("ERROR: limit of 2 nodes reached", 0.into()));
    let watch = bench.call("subscribeParam", &strings(&["/c", "http://a:1/", "/p"]));
    assert_eq!(watch, refused("ERROR: limit of 2 nodes reached", 0.into()));
    bench.call("unregisterPublisher", &strings(&["/b", "/t", "http://a:1/"]));
    assert_eq!(bench.publish("/c", "/t")[0], 1.into());
}

#[test]
fn registration_beyond_limit_is_refused_unless_repeated() {
    let mut bench =
        Bench::new(MasterLimits { registrations_per_node: 2, registrations: 3, ..Default::default() });
    bench.publish("/a", "/t");
    bench.publish("/a", "/u");
    let text = "ERROR: limit of 2 registrations of one node reached";
    assert_eq!(bench.publish("/a", "/v"), refused(text, no_uris()));
    assert_eq!(bench.publish("/a", "/t")[0], 1.into());
    bench.publish("/b", "/t");
    let before = bench.state();
    let text = "ERROR: limit of 3 registrations of all nodes reached";
    assert_eq!(bench.publish("/c", "/t"), refused(text, no_uris()));
    assert_eq!(bench.state(), before);
    let watch = bench.call("subscribeParam", &strings(&["/b", "http://a:1/", "/p"]));
    assert_eq!(watch, refused(text, 0.into()));
}

#[test]
fn long_names_are_refused() {
    let mut bench = Bench::new(MasterLimits { name_bytes: 20, ..Default::default() });
    let long = "/".to_owned() + &"x".repeat(20);
    assert_eq!(bench.publish(&long, "/t"), refused("caller_id is beyond the limit of 20 bytes", no_uris()));
    assert_eq!(
        bench.publish("/a", &long),
        refused("ERROR: parameter [topic] is beyond the limit of 20 bytes", no_uris())
    );
    let private = "~".to_owned() + &"x".repeat(18);
    assert_eq!(bench.publish("/a", &private)[0], (-1).into());
    let set = bench.call("setParam", &["/a".into(), long.as_str().into(), 1.into()]);
    assert_eq!(set, refused("ERROR: parameter [key] is beyond the limit of 20 bytes", 0.into()));
    let long_value = Value::from("x".repeat(1000));
    assert_eq!(bench.call("setParam", &["/a".into(), "/k".into(), long_value])[0], 1.into());
}

#[test]
fn parameters_share_one_limit() {
    let mut bench = Bench::new(MasterLimits { param_bytes: 1000, ..Default::default() });
    let value = || Value::from("x".repeat(500));
    assert_eq!(bench.call("setParam", &["/a".into(), "/k".into(), value()])[0], 1.into());
    let over = refused("ERROR: limit of 1000 bytes of parameters reached", 0.into());
    assert_eq!(bench.call("setParam", &["/a".into(), "/l".into(), value()]), over);
    assert_eq!(bench.call("setParam", &["/a".into(), "/k".into(), value()])[0], 1.into());
    bench.call("deleteParam", &strings(&["/a", "/k"]));
    assert_eq!(bench.call("setParam", &["/a".into(), "/l".into(), value()])[0], 1.into());
}

#[test]
fn multicall_cannot_multiply_large_parameter() {
    let mut bench = Bench::new(MasterLimits { multicall_bytes: 10_000, ..Default::default() });
    bench.call("setParam", &["/a".into(), "/k".into(), "x".repeat(3000).into()]);
    let entry = Value::Struct(
        [("methodName".to_owned(), "getParam".into()), ("params".to_owned(), strings(&["/a", "/k"]).into())]
            .into(),
    );
    assert_eq!(bench.call("system.multicall", &[vec![entry.clone(); 3].into()]).len(), 3);
    let many = call(&mut bench.0, REQUEST, "system.multicall", &[vec![entry; 100].into()]);
    assert!(many.is_err_and(|fault| fault.message.contains("larger than the limit")));
}

#[test]
fn types_of_unused_topics_are_eventually_removed() {
    let mut bench = Bench::new(MasterLimits { remembered_types: 2, ..Default::default() });
    for topic in ["/t", "/u", "/v"] {
        bench.publish("/a", topic);
        bench.call("unregisterPublisher", &strings(&["/a", topic, "http://a:1/"]));
    }
    let pair = |topic: &str| Value::from(strings(&[topic, "a/B"]));
    assert_eq!(bench.call("getTopicTypes", &strings(&["/x"]))[2], vec![pair("/u"), pair("/v")].into());
}

#[test]
fn hundred_nodes_with_thousand_topics_come_and_go() {
    let mut bench = Bench::new(MasterLimits::default());
    for node in 0..100 {
        for topic in 0..1000 {
            bench.publish(&format!("/n{node}"), &format!("/t{node}/{topic}"));
        }
        bench.publish(&format!("/n{node}"), "/rosout");
    }
    assert_eq!((bench.0.registry.node_count(), bench.0.registry.registration_count()), (100, 100_100));
    for node in 0..100 {
        bench.0.drop_lost_node(&format!("/n{node}"));
    }
    assert_eq!((bench.0.registry.node_count(), bench.0.registry.registration_count()), (0, 0));
    assert_eq!(bench.state()[2], vec![no_uris(), no_uris(), no_uris()].into());
}

#[test]
fn other_paths_are_not_served() {
    let mut master = Master::new(MasterConfig::new("http://master:11311/", 1));
    let conn =
        master.handle_accepted(Instant(1), SocketAddr::from(([127, 0, 0, 1], 5))).expect("a connection");
    master.handle_data(Instant(1), conn, b"POST /other HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
    let Some(Transmit::Send { bytes, .. }) = master.poll_transmit() else { panic!("no answer") };
    assert!(bytes.starts_with(b"HTTP/1.1 404 "));
    assert!(matches!(master.poll_event(), Some(MasterEvent::Refused { .. })));
    assert_eq!(master.poll_transmit(), Some(Transmit::Close { conn }));
}

/// One of few words, so that calls affect each other.
fn word() -> impl Strategy<Value = Value> {
    let words = [
        "/a",
        "/b",
        "/t",
        "/t/u",
        "u",
        "~u",
        "/",
        "",
        "a/B",
        "*",
        "http://a:1/",
        "http://b:1/",
        "rosrpc://a:1",
    ];
    prop_oneof![
        8 => prop::sample::select(words.to_vec()).prop_map(Value::from),
        1 => any::<i32>().prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        1 => Just(Value::Struct([("u".to_owned(), 1.into())].into())),
    ]
}

fn methods() -> Vec<String> {
    let listed = Bench::new(MasterLimits::default()).call("system.listMethods", &[]);
    listed.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

proptest! {
    #[test]
    fn random_calls_keep_tables_consistent(
        calls in prop::collection::vec((prop::sample::select(methods()), prop::collection::vec(word(), 0..5)), 0..60)
    ) {
        let mut bench = Bench::new(MasterLimits { registrations: 5, ..Default::default() });
        for (method, params) in calls {
            let _ = call(&mut bench.0, REQUEST, &method, &params);
        }
        let Some(Value::Array(state)) = bench.state().pop() else { panic!("no state") };
        let listed = state.iter().filter_map(Value::as_array).flatten().filter_map(|entry| match entry.as_array() {
            Some([_, Value::Array(nodes)]) => Some(nodes.len()),
            _ => None,
        });
        let nodes: usize = listed.sum();
        let registry = &bench.0.registry;
        prop_assert!(nodes <= registry.registration_count() && registry.registration_count() <= 5);
        prop_assert!(registry.node_count() <= registry.registration_count());
    }
}
