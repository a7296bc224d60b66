//! Tests of parameters: read, set, searched, given as arguments, and watched.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::{Graph, spin_until, wait_until};
use crate::logged;
use runnel::{Context, Error, MasterOptions, ParameterValue, XmlRpcValue};
use runnel_testkit::process::free_port;

type Received = Arc<Mutex<Vec<(String, Option<ParameterValue>)>>>;

#[test]
fn parameters_are_read_by_type_and_conversion() {
    let graph = Graph::new();
    let node = graph.context().create_node("node").unwrap();
    assert_eq!(node.get_param::<i32>("~rate").unwrap(), None);
    assert_eq!(node.param("~rate", 2.5).unwrap(), 2.5);
    node.set_param("~rate", 5).unwrap();
    assert_eq!(node.param("~rate", 2.5).unwrap(), 5.0, "a whole number is a number");
    assert_eq!(node.get_param("/node/rate").unwrap(), Some(5));
    let error = node.get_param::<bool>("~rate").unwrap_err();
    let expected = "parameter /node/rate is the integer 5 (parameter server), but the node needs bool. Try: runnel param set /node/rate true";
    assert_eq!(error.to_string(), expected);
    node.set_param("names", vec![ParameterValue::from("adam"), "eve".into()]).unwrap();
    assert_eq!(node.get_param::<Vec<String>>("names").unwrap().unwrap(), ["adam", "eve"]);
    assert!(matches!(node.get_param::<Vec<i32>>("names"), Err(Error::Parameter { .. })));
    let tree = [("left".to_owned(), ParameterValue::from(1)), ("right".to_owned(), 2.into())];
    node.set_param("/wheels", ParameterValue::Map(BTreeMap::from(tree))).unwrap();
    assert_eq!(node.get_param("/wheels/right").unwrap(), Some(2));
    assert!(node.has_param("/wheels").unwrap() && !node.has_param("/wings").unwrap());
    assert!(node.delete_param("/wheels/left").unwrap() && !node.delete_param("/wheels/left").unwrap());
    assert_eq!(node.param_names().unwrap(), ["/names", "/node/rate", "/wheels/right"]);
}

#[test]
fn integers_beyond_32_bits_are_refused_in_ros1() {
    let graph = Graph::new();
    let node = graph.context().create_node("node").unwrap();
    let error = node.set_param("~id", 5_000_000_000_i64).unwrap_err();
    let expected = "parameter /node/id: 5000000000 does not fit the 32-bit integers of the ROS 1 parameter server; \
                    set it as a double or a string";
    assert_eq!(error.to_string(), expected);
    let ids = BTreeMap::from([("ids".to_owned(), ParameterValue::from(vec![1, 5_000_000_000_i64]))]);
    match node.set_param("/robot", ids) {
        Err(Error::ParameterRange { name, value }) => {
            assert_eq!((&*name, value), ("/robot/ids[1]", 5_000_000_000))
        }
        other => panic!("{other:?}"),
    }
    assert!(node.param_names().unwrap().is_empty(), "nothing was set");
}

#[test]
fn parameter_server_values_round_trip() {
    let graph = Graph::new();
    let node = graph.context().create_node("node").unwrap();
    let values = [
        ParameterValue::from(vec![true, false]),
        vec![1, 2].into(),
        vec![0.5, 2.0].into(),
        vec!["adam", "eve"].into(),
        vec![1_u8, 2].into(),
        vec![ParameterValue::from(1), 2.5.into()].into(),
        ParameterValue::List(Vec::new()),
        ParameterValue::DateTime("20261127T01:02:03".into()),
    ];
    for value in values {
        node.set_param("value", value.clone()).unwrap();
        assert_eq!(node.get_param("value").unwrap(), Some(value));
    }
}

#[test]
fn search_param_finds_nearest_namespace() {
    let graph = Graph::new();
    let node = graph.context_with(&["__ns:=/robot/arm"]).create_node("node").unwrap();
    assert_eq!(node.search_param("speed").unwrap(), None);
    node.set_param("/speed", 1).unwrap();
    assert_eq!(node.search_param("speed").unwrap().as_deref(), Some("/speed"));
    node.set_param("/robot/speed", 2).unwrap();
    assert_eq!(node.search_param("speed").unwrap().as_deref(), Some("/robot/speed"));
}

#[test]
fn arguments_set_private_parameters() {
    let graph = Graph::new();
    let arguments = ["_rate:=5", "_gain:=0.5", "_on:=true", "_name:=adam", "_list:=[1, 2]"];
    let node = graph.context_with(&arguments).create_node("node").unwrap();
    assert_eq!(node.get_param("~rate").unwrap(), Some(5));
    assert_eq!(node.get_param("~gain").unwrap(), Some(0.5));
    assert_eq!(node.get_param("~on").unwrap(), Some(true));
    assert_eq!(node.get_param::<String>("/node/name").unwrap().unwrap(), "adam");
    assert_eq!(node.get_param::<String>("/node/list").unwrap().unwrap(), "[1, 2]");
    let rate = graph.ask("getParam", &["/test".into(), "/node/rate".into()]);
    assert_eq!(rate, XmlRpcValue::Int(5), "others see it");
}

#[test]
fn all_watchers_receive_parameter_changes() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let (node, other) = (near.create_node("node").unwrap(), far.create_node("other").unwrap());
    other.set_param("/robot/speed", 1).unwrap();
    let watch = |name: &str| {
        let received = Received::default();
        let into = Arc::clone(&received);
        let note = move |key: &str, value: Option<&ParameterValue>| {
            into.lock().unwrap().push((key.to_owned(), value.cloned()));
        };
        (received, node.watch_param(name, note).unwrap())
    };
    let speed = |value: Option<i32>| ("/robot/speed".to_owned(), value.map(ParameterValue::from));
    let (first, first_watch) = watch("/robot/speed");
    let received = |received: &Received, expected: &[(String, Option<ParameterValue>)]| {
        spin_until(&near, "all changes received", || received.lock().unwrap().len() >= expected.len());
        assert_eq!(*received.lock().unwrap(), expected);
    };
    received(&first, &[speed(Some(1))]);
    let (second, _second_watch) = watch("/robot/speed");
    let (above, _above_watch) = watch("/robot");
    received(&second, &[speed(Some(1))]);
    other.set_param("/robot/speed", 2).unwrap();
    other.delete_param("/robot/speed").unwrap();
    wait_until("it is gone for all", || !node.has_param("/robot/speed").unwrap());
    received(&first, &[speed(Some(1)), speed(Some(2)), speed(None)]);
    received(&second, &[speed(Some(1)), speed(Some(2)), speed(None)]);
    let changes = [speed(Some(2)), speed(None)];
    spin_until(&near, "changes below received", || above.lock().unwrap().ends_with(&changes));
    drop(first_watch);
    other.set_param("/robot/speed", 3).unwrap();
    received(&second, &[speed(Some(1)), speed(Some(2)), speed(None), speed(Some(3))]);
    assert_eq!(first.lock().unwrap().len(), 3);
}

#[test]
fn swapped_remappings_apply_once_per_watch() {
    let graph = Graph::new();
    let context = graph.context_with(&["left:=right", "right:=left"]);
    let node = context.create_node("node").unwrap();
    graph.ask("setParam", &["/test".into(), "/right".into(), 2.into()]);
    let watches = [(); 2].map(|()| {
        let (received, changes) = std::sync::mpsc::channel();
        let note = move |name: &str, value: Option<&ParameterValue>| {
            received.send((name.to_owned(), value.cloned())).unwrap();
        };
        (node.watch_param("left", note).unwrap(), changes)
    });
    for (_watch, changes) in &watches {
        let mut first = None;
        spin_until(&context, "the value arrives", || {
            first = first.take().or_else(|| changes.try_recv().ok());
            first.is_some()
        });
        assert_eq!(first, Some(("/right".to_owned(), Some(2.into()))));
    }
}

#[test]
fn error_names_unreachable_master() {
    let graph = Graph::new();
    let options = graph.options().arguments(["__master:=http://127.0.0.1:9"]).wait_for_master(false);
    let node = Context::with_options(options).unwrap().create_node("node").unwrap();
    let error = node.get_param::<i32>("x").unwrap_err();
    assert!(error.to_string().contains("http://127.0.0.1:9/"), "{error}");
}

/// Reads a parameter without a master, on a thread of its own, and returns when the read has begun to wait.
fn waiting_read(graph: &Graph, name: &str, port: u16) -> (Context, thread::JoinHandle<Result<f64, Error>>) {
    logged::keep_log();
    let arguments = vec![format!("__master:=http://127.0.0.1:{port}/")];
    // Without a registration, only the read can find that there is no master.
    let options = graph.options().arguments(arguments).rosout(false).sim_time(false);
    let context = Context::with_options(options).unwrap();
    let node = context.create_node(name).unwrap();
    let reader = thread::spawn(move || node.param("~rate", 2.0));
    let line =
        format!("no master at http://127.0.0.1:{port}/ (connection refused): waiting. Try: runnel master");
    logged::wait_logged(&["WARN", name, &line]);
    (context, reader)
}

#[test]
fn parameter_read_waits_for_late_master() {
    let (graph, port) = (Graph::new(), free_port());
    let (_context, reader) = waiting_read(&graph, "early_reader", port);
    let late = graph.context();
    late.start_master(MasterOptions::at(([127, 0, 0, 1], port))).unwrap();
    assert_eq!(reader.join().unwrap().unwrap(), 2.0);
    assert_eq!(logged::count_logged(&["WARN", "early_reader", "master"]), 1);
}

#[test]
fn shutdown_ends_wait_for_master() {
    let (context, reader) = waiting_read(&Graph::new(), "ended_reader", free_port());
    context.shutdown();
    let ended = reader.join().unwrap();
    assert!(matches!(ended, Err(Error::ShuttingDown)), "{ended:?}");
}
