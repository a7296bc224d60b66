//! Tests of a node's own parameters: declaration, overrides, both graphs, events, simulated time and QoS overrides.

use std::fs;
use std::sync::{Arc, Mutex};

use runnel::msgs::rcl_interfaces::msg::ParameterEvent;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{
    Context, ContextOptions, Error, Graphs, Node, NodeOptions, Parameter, ParameterDeclaration,
    ParameterError, ParameterValue, PublisherOptions, QoS, QosOverridingOptions, QosPolicyKind,
    SubscriptionOptions,
};

use crate::common::{LONG, block_on, spin_until, wait_until};
use crate::domains::new_domain;
use crate::logged;

fn ros2_context(domain: u16, arguments: &[&str]) -> Context {
    let options = ContextOptions::default().signals(false).arguments(arguments.iter().copied());
    Context::with_options(options.graphs(Graphs::Ros2).domain_id(domain)).unwrap()
}

fn ros2_node(arguments: &[&str]) -> Node {
    ros2_context(new_domain(), arguments).create_node("talker").unwrap()
}

/// The text of a refusal.
fn why<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn declared_parameter_is_read_set_and_described() {
    let node = ros2_node(&[]);
    let rate = ParameterDeclaration::new(10.0).description("Hz").range(1.0..=100.0);
    assert_eq!(node.declare_parameter("rate", rate).unwrap(), 10.0);
    assert_eq!(node.declare_parameter("limits.low", 5).unwrap(), 5);
    assert_eq!(node.declare_parameter("frame", "base").unwrap(), "base");
    node.set_parameter("rate", 20.0).unwrap();
    assert_eq!(node.get_parameter::<f64>("rate").unwrap(), 20.0);
    assert_eq!(node.param("rate", 1.0).unwrap(), 20.0, "the functions of both generations see it");
    assert_eq!(node.param("~limits/low", 1).unwrap(), 5);
    node.set_param("frame", "map").unwrap();
    assert_eq!(node.get_parameter::<String>("frame").unwrap(), "map");
    assert_eq!(
        why(node.set_parameter("rate", 200.0)),
        "parameter rate: 200.0 does not comply with floating point range 1.0 to 100.0"
    );
    let refused = why(node.set_param("rate", 5));
    assert_eq!(refused, "parameter rate is of type double, setting it to the integer 5 is not allowed");
    assert_eq!(node.describe_parameter("rate").unwrap().description, "Hz");
    assert_eq!(node.list_parameters(&["limits"], 0).names, ["limits.low"]);
    let limits = node.get_parameters_by_prefix("limits");
    assert_eq!(limits.into_iter().collect::<Vec<_>>(), [("low".to_owned(), ParameterValue::from(5))]);
    node.undeclare_parameter("frame").unwrap();
    assert_eq!(why(node.get_parameter::<String>("frame")), "parameter frame is not declared");
    assert_eq!(node.get_parameter_or("frame", "none".to_owned()).unwrap(), "none");
    assert_eq!(why(node.set_param("frame", "map")), "parameter frame is not declared");
}

#[test]
fn arguments_and_files_override_defaults() {
    let folder = tempfile_folder("overrides");
    let file = folder.join("robot.yaml");
    let text = "/**:\n  ros__parameters:\n    rate: 5\n    names: [a,\n      b]\n    gain: text\ntalker:\n  \
                ros__parameters:\n    limits:\n      low: -1\n    on: yes\nother:\n  ros__parameters:\n    rate: 9\n";
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let arguments = [
        "--ros-args",
        "--params-file",
        file,
        "-p",
        "list:=[1, 2]",
        "-p",
        "talker:limits.high:=0x10",
        "-p",
        "other:limits.high:=7",
        "-p",
        "word:='5'",
    ];
    let node = ros2_node(&arguments);
    assert_eq!(node.declare_parameter("rate", 10.0).unwrap(), 5.0, "an integer is accepted for a double");
    assert_eq!(node.declare_parameter("names", vec![String::new()]).unwrap(), ["a", "b"]);
    assert_eq!(node.declare_parameter("limits.low", 0).unwrap(), -1);
    assert_eq!(node.declare_parameter("limits.high", 0).unwrap(), 16);
    assert!(node.declare_parameter("on", false).unwrap());
    assert_eq!(node.declare_parameter("list", vec![0]).unwrap(), [1, 2]);
    assert_eq!(node.declare_parameter("word", "").unwrap(), "5");
    let expected = format!(
        "parameter gain is of type double, setting it to the string \"text\" is not allowed ({file} line 6)"
    );
    assert_eq!(why(node.declare_parameter("gain", 1.0)), expected);
    let ignored = ParameterDeclaration::new(1.0).ignore_override();
    assert_eq!(node.declare_parameter("gain", ignored).unwrap(), 1.0);
}

#[test]
fn undeclared_overrides_are_declared_on_request() {
    let node = ros2_node(&["--ros-args", "-p", "a.b:=1", "-p", "c:=text"]);
    assert!(!node.has_parameter("c"));
    node.declare_parameters_from_overrides().unwrap();
    assert_eq!(
        (node.get_parameter("a.b").unwrap(), node.get_parameter("c").unwrap()),
        (1, "text".to_owned())
    );
    node.set_parameter("c", 5).unwrap();
    assert_eq!(why(node.set_parameter("d", 5)), "parameter d is not declared");
    node.allow_undeclared_parameters(true);
    node.set_parameter("d", 5).unwrap();
    assert!(node.has_parameter("d"));
}

#[test]
fn malformed_argument_fails_node_creation() {
    for (argument, expected) in [
        ("list:=[1, 2", "-p: list:=[1, 2: [1, 2 does not end with ]"),
        ("rate:=", "-p: rate:=: the value is empty. Try: '\"\"' for an empty text"),
        (
            "map:={a: 1}",
            "-p: map:={a: 1}: { is not supported. Try: plain values, lists and maps by indentation",
        ),
    ] {
        let context = ros2_context(new_domain(), &["--ros-args", "-p", argument]);
        assert_eq!(why(context.create_node("talker")), expected);
    }
    let context = ros2_context(new_domain(), &["--ros-args", "-p", "use_sim_time:=5"]);
    let expected = "parameter use_sim_time is of type boolean, setting it to the integer 5 is not allowed (arguments of the node)";
    assert_eq!(why(context.create_node("talker")), expected);
}

#[test]
fn callbacks_accept_and_follow_changes() {
    let node = ros2_node(&[]);
    node.declare_parameter("low", 1).unwrap();
    node.declare_parameter("high", 2).unwrap();
    let inner = node.clone();
    let _ordered = node.add_on_set_parameters_callback(move |group| {
        let value = |name: &str| {
            let given =
                group.iter().find(|parameter| parameter.name == name).and_then(|one| one.value.clone());
            given.map_or_else(|| inner.get_parameter::<ParameterValue>(name).ok(), Some)
        };
        match (value("low"), value("high")) {
            (Some(ParameterValue::Integer(low)), Some(ParameterValue::Integer(high))) if low > high => {
                Err(format!("low {low} is above high {high}"))
            }
            _ => Ok(()),
        }
    });
    let followed = Arc::new(Mutex::new(0));
    let count = Arc::clone(&followed);
    let _follow = node.add_post_set_parameters_callback(move |_| *count.lock().unwrap() += 1);
    assert_eq!(why(node.set_parameter("low", 5)), "low 5 is above high 2");
    let group = [Parameter::new("low", 5), Parameter::new("high", 9)];
    node.set_parameters_atomically(group.clone()).unwrap();
    assert_eq!((node.get_parameter("low").unwrap(), *followed.lock().unwrap()), (5, 1));
    let each = node.set_parameters([Parameter::new("high", 8), Parameter::new("low", 9)]);
    assert_eq!(each, [Ok(()), Err(ParameterError::Refused { reason: "low 9 is above high 8".into() })]);
}

#[test]
fn changes_are_published_as_events() {
    let domain = new_domain();
    let (own, other) = (ros2_context(domain, &[]), ros2_context(domain, &[]));
    let events: Arc<Mutex<Vec<ParameterEvent>>> = Arc::default();
    let into = Arc::clone(&events);
    let watcher = other.create_node("watcher").unwrap();
    let take = move |event: &ParameterEvent| into.lock().unwrap().push(event.clone());
    let subscription =
        watcher.create_subscription("/parameter_events", QoS::parameter_events(), take).unwrap();
    let node = own.create_node("/robot/talker").unwrap();
    // Each node publishes its own events.
    spin_until(&other, "both are matched", || subscription.publisher_count() == 2);
    wait_until("its publisher is matched", || own.ros2_graph().unwrap().unwrap().nodes.len() == 2);
    node.declare_parameter("rate", 1.5).unwrap();
    node.set_parameter("rate", 2.5).unwrap();
    node.undeclare_parameter("rate").unwrap();
    spin_until(&other, "three events", || events.lock().unwrap().len() >= 3);
    let events = events.lock().unwrap();
    let [new, changed, deleted] = events.as_slice() else { panic!("{events:?}") };
    assert!(events.iter().all(|event| event.node == "/robot/talker"));
    assert_eq!((new.new_parameters.len(), new.new_parameters[0].value.double_value), (1, 1.5));
    assert_eq!(
        (changed.changed_parameters.len(), changed.changed_parameters[0].value.double_value),
        (1, 2.5)
    );
    assert_eq!((deleted.deleted_parameters.len(), &*deleted.deleted_parameters[0].name), (1, "rate"));
}

#[test]
fn sim_time_parameter_switches_clock() {
    let context = ros2_context(new_domain(), &[]);
    let (first, second) = (context.create_node("first").unwrap(), context.create_node("second").unwrap());
    assert!(!first.get_parameter::<bool>("use_sim_time").unwrap() && !context.ros_time_is_active());
    for node in [&first, &second] {
        node.set_parameter("use_sim_time", true).unwrap();
        assert!(context.ros_time_is_active());
    }
    first.set_parameter("use_sim_time", false).unwrap();
    assert!(context.ros_time_is_active(), "the second node follows it");
    second.set_parameter("use_sim_time", false).unwrap();
    assert!(!context.ros_time_is_active());
    assert_eq!(
        why(first.set_parameter("use_sim_time", "yes")),
        "parameter use_sim_time is of type boolean, setting it to the string \"yes\" is not allowed"
    );
}

#[test]
fn parameters_override_qos_where_allowed() {
    let node = ros2_node(&[
        "--ros-args",
        "-p",
        "qos_overrides./chatter.publisher.depth:=50",
        "-p",
        "qos_overrides./chatter.subscription_fast.reliability:=best_effort",
        "-p",
        "qos_overrides./other.publisher.depth:=50",
        "-p",
        "qos_overrides./bad.publisher.history:=last",
    ]);
    let publisher = |topic: &str, options: QosOverridingOptions| {
        node.create_publisher::<Text>(topic, PublisherOptions::from(10).qos_overriding_options(options))
    };
    let chatter = publisher("chatter", QosOverridingOptions::default()).unwrap();
    assert_eq!(chatter.qos(), QoS::keep_last(50));
    let depth = node.describe_parameter("qos_overrides./chatter.publisher.depth").unwrap();
    assert!(depth.read_only && depth.type_ == 2, "{depth:?}");
    assert_eq!(
        node.get_parameter::<String>("qos_overrides./chatter.publisher.reliability").unwrap(),
        "reliable"
    );
    let again = publisher("chatter", QosOverridingOptions::default()).unwrap();
    assert_eq!(again.qos().depth, 50, "a second publisher uses the same parameters");
    let only_reliability = QosOverridingOptions::new(&[QosPolicyKind::Reliability]).id("fast");
    let options = SubscriptionOptions::from(7).qos_overriding_options(only_reliability);
    let subscription = node.create_subscription("chatter", options, |_: &Text| {}).unwrap();
    assert_eq!(subscription.qos(), QoS::keep_last(7).best_effort());
    let plain = node.create_publisher::<Text>("other", 10).unwrap();
    assert_eq!(plain.qos().depth, 10, "no override without permission");
    assert_eq!(
        why(publisher("bad", QosOverridingOptions::default())),
        "parameter qos_overrides./bad.publisher.history: \"last\" is no such policy. Try: keep_last, keep_all"
    );
    let checked =
        QosOverridingOptions::default().validation_callback(|qos| Err(format!("{} is odd", qos.depth)));
    assert_eq!(why(publisher("checked", checked)), "QoS of the publisher of /checked: 10 is odd");
}

/// A folder for one test of this process.
fn tempfile_folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("runnel-parameters-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Two contexts of one domain: a node that spins on a thread of its own, and a client of its parameters.
#[test]
fn client_uses_parameters_of_another_context() {
    let domain = new_domain();
    let (own, other) = (ros2_context(domain, &[]), ros2_context(domain, &[]));
    let node = own.create_node("/robot/arm").unwrap();
    node.declare_parameter("rate", 1.5).unwrap();
    let spinning = own.clone();
    let spins = std::thread::spawn(move || spinning.spin().unwrap());
    let client = other.create_node("tool").unwrap().create_parameter_client("/robot/arm").unwrap();
    assert!(client.wait_for_services(LONG).unwrap());
    assert_eq!(client.get_parameter("rate").unwrap(), Some(1.5.into()));
    let set = block_on(client.set_parameters_async(&[Parameter::new("rate", 2.5)]));
    assert_eq!(set.unwrap(), [Ok(())]);
    let values = block_on(client.get_parameters_async(&["rate", "use_sim_time"]));
    assert_eq!(values.unwrap(), [Some(2.5.into()), Some(false.into())]);
    let unknown = block_on(client.get_parameters_async(&["rate", "nope"])).unwrap_err();
    assert_eq!(unknown.to_string(), "parameter rate or nope is not declared");
    assert_eq!(client.list_parameters(&[], 0).unwrap().names, ["rate", "use_sim_time"]);
    assert_eq!(client.describe_parameters(&["rate"]).unwrap()[0].type_, 3);
    own.shutdown();
    spins.join().unwrap();
}

#[test]
fn each_operation_of_client_is_also_a_future() {
    let domain = new_domain();
    let (own, other) = (ros2_context(domain, &[]), ros2_context(domain, &[]));
    let node = own.create_node("arm").unwrap();
    node.declare_parameter("rate", 1.5).unwrap();
    node.declare_parameter("frame", "base").unwrap();
    let spinning = own.clone();
    let spins = std::thread::spawn(move || spinning.spin().unwrap());
    let client = other.create_node("tool").unwrap().create_parameter_client("/arm").unwrap();
    assert!(client.wait_for_services(LONG).unwrap());
    assert_eq!(block_on(client.get_parameter_async("rate")).unwrap(), Some(1.5.into()));
    assert_eq!(block_on(client.get_parameter_types_async(&["frame", "rate"])).unwrap(), [4, 3]);
    let set = [Parameter::new("rate", 2.5), Parameter::new("frame", "map")];
    block_on(client.set_parameters_atomically_async(&set)).unwrap();
    let refused = [Parameter::new("rate", 3.5), Parameter::new("frame", 5)];
    assert!(block_on(client.set_parameters_atomically_async(&refused)).is_err());
    let values = (node.get_parameter("rate").unwrap(), node.get_parameter("frame").unwrap());
    assert_eq!(values, (2.5, "map".to_owned()));
    own.shutdown();
    spins.join().unwrap();
}

/// Reading needs no thread that spins.
#[test]
fn parameters_are_read_from_node_that_never_spins() {
    let domain = new_domain();
    let (own, other) = (ros2_context(domain, &[]), ros2_context(domain, &[]));
    let node = own.create_node("talker").unwrap();
    node.declare_parameter("rate", 1.5).unwrap();
    let client = other.create_node("tool").unwrap().create_parameter_client("/talker").unwrap();
    assert!(client.wait_for_services(LONG).unwrap());
    assert_eq!(client.get_parameter("rate").unwrap(), Some(1.5.into()));
}

#[test]
fn options_switch_services_and_events_off() {
    let domain = new_domain();
    let (own, other) = (ros2_context(domain, &[]), ros2_context(domain, &[]));
    let options = NodeOptions::default()
        .start_parameter_services(false)
        .start_parameter_event_publisher(false)
        .allow_undeclared_parameters(true);
    let quiet = own.create_node_with_options("quiet", options).unwrap();
    quiet.set_parameter("rate", 5).unwrap();
    let offers = own.create_node("offers").unwrap();
    let seen = |wanted: usize| {
        let graph = other.ros2_graph().unwrap().unwrap();
        let topics = graph.endpoints.iter().filter(|end| end.dds_topic.ends_with("parametersRequest"));
        let events = graph.endpoints.iter().filter(|end| end.dds_topic == "rt/parameter_events");
        (graph.nodes.len() == wanted).then(|| (topics.count(), events.count()))
    };
    let _third = other.create_node("third").unwrap();
    let mut counts = None;
    wait_until("both nodes are discovered", || {
        counts = seen(3);
        counts.is_some_and(|(services, _)| services == 2 * 4)
    });
    assert_eq!(counts, Some((8, 2)), "of two nodes with services, each with four whose names end so");
    drop(offers);
    wait_until("the services end with their node", || seen(2).is_some_and(|counts| counts == (4, 1)));
}

/// A request over a limit gets the empty answer of its service, and is logged once.
#[test]
fn request_over_limit_gets_empty_answer() {
    logged::keep_log();
    let domain = new_domain();
    let (own, other) = (ros2_context(domain, &[]), ros2_context(domain, &[]));
    let node = own.create_node("crowded").unwrap();
    node.declare_parameter("rate", 1.5).unwrap();
    let client = other.create_node("tool").unwrap().create_parameter_client("/crowded").unwrap();
    assert!(client.wait_for_services(LONG).unwrap());
    let names = vec!["rate"; 20_001];
    for _ in 0..2 {
        let why = client.get_parameters(&names).unwrap_err().to_string();
        assert!(why.ends_with("is not declared"), "{}", &why[why.len().saturating_sub(100)..]);
    }
    assert!(client.list_parameters(&vec!["rate"; 1001], 1).unwrap().names.is_empty());
    assert_eq!(client.get_parameters(&names[..20_000]).unwrap().len(), 20_000);
    let line = "service get_parameters: the request is for 20001 parameters, and the limit is 20000";
    assert_eq!(logged::count_logged(&["WARN", "crowded", line]), 1);
    assert_eq!(logged::count_logged(&["WARN", "crowded", "the request has"]), 0, "only the first is logged");
}

#[test]
fn name_that_ros1_lacks_is_no_obstacle() {
    let folder = tempfile_folder("names");
    let file = folder.join("robot.yaml");
    fs::write(&file, "/**:\n  ros__parameters:\n    my-param: 5\n    rate: 2\n").unwrap();
    let graph = crate::common::Graph::new();
    let arguments = ["--ros-args", "--params-file", file.to_str().unwrap()];
    let context = graph.context_with(&arguments);
    let node = context.create_node("node").unwrap();
    assert_eq!(node.param("~rate", 1).unwrap(), 2);
    assert_eq!(node.declare_parameter("my-param", 1).unwrap(), 5);
}
