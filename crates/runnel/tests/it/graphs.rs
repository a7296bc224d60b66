//! Tests of contexts with ROS 2 only or with both graphs: whatever needs no master works without one.

use crate::common;
use crate::domains::new_domain;
use crate::logged;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel::msgs::rosgraph_msgs::msg::Clock;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::msgs::tf2_msgs::action::LookupTransformAction;
use runnel::{Context, ContextOptions, Error, Graphs, Node, Publisher, QoS, Subscription, Time};
use runnel_io::clock;

/// Far less than the shortest wait for a master.
const IMMEDIATE: Duration = Duration::from_millis(500);

fn context(arguments: &[&str]) -> Context {
    let options = ContextOptions::default().signals(false).arguments(arguments.iter().copied());
    Context::with_options(options.graphs(Graphs::Ros2).domain_id(new_domain())).unwrap()
}

fn text(data: &str) -> Text {
    Text { data: data.into() }
}

/// Asserts that this is quick in one of a few attempts: a busy machine may delay some, a wait for a master would delay
/// all.
#[track_caller]
fn assert_immediate(mut act: impl FnMut()) {
    let mut took = || {
        let start = clock::monotonic();
        act();
        clock::monotonic().since(start)
    };
    let mut all = Vec::new();
    while all.last().is_none_or(|last| *last >= IMMEDIATE) {
        assert!(all.len() < 5, "{all:?}");
        all.push(took());
    }
}

#[test]
fn ros2_only_node_needs_no_master() {
    assert_immediate(|| {
        let context = context(&["__master:=nonsense", "_rate:=5"]);
        let node = context.create_node("talker").unwrap();
        let chatter = node.create_publisher::<Text>("chatter", 10).unwrap();
        let received = node.create_subscription("other", 10, |_: &Text| {}).unwrap();
        chatter.publish(text("hello")).unwrap();
        assert_eq!((chatter.published(), received.publisher_count()), (1, 0));
        runnel::log_info!(node, "logged");
        context.spin_some().unwrap();
        drop((chatter, received, node));
        context.shutdown();
        context.spin().unwrap();
        drop(context);
    });
}

#[test]
fn ros1_only_features_are_refused_by_name() {
    assert_immediate(|| {
        let context = context(&[]);
        let node = context.create_node("node").unwrap();
        let refused = [
            node.set_param("/other/rate", 5).err(),
            node.get_param::<i32>("/rate").err(),
            node.has_param("/other/rate").err(),
            node.watch_param("rate", |_, _| {}).err(),
            node.service_info("reset", Duration::from_secs(60)).err(),
            context.call_master("getPid", &[], Duration::from_secs(60)).err(),
        ];
        for (which, error) in refused.into_iter().enumerate() {
            let error = error.expect("it is refused");
            assert!(matches!(error, Error::Ros1Only { .. }), "{which}: {error}");
            assert!(error.to_string().contains("only ROS 1 has"), "{which}: {error}");
        }
    });
}

#[test]
fn own_parameters_come_from_arguments_without_master() {
    assert_immediate(|| {
        let given =
            ["_rate:=5", "--ros-args", "-p", "limits.speed:=0.5", "-p", "other:gain:=7", "-p", "n:gain:=3"];
        let node = context(&given).create_node("n").unwrap();
        assert_eq!(node.param("~rate", 10.0).unwrap(), 5.0);
        assert_eq!(node.param("rate", 10.0).unwrap(), 5.0, "as rclcpp spells it");
        assert_eq!(node.param("limits.speed", 10.0).unwrap(), 0.5);
        assert_eq!(node.param("/n/rate", 10.0).unwrap(), 5.0);
        assert_eq!(node.get_param::<f64>("~limits/speed").unwrap(), Some(0.5));
        assert_eq!(node.param("~gain", 1).unwrap(), 3);
        assert_eq!(node.param("~name", String::from("default")).unwrap(), "default");
        assert_eq!((node.has_param("~rate").unwrap(), node.has_param("~name").unwrap()), (true, false));
        let error = node.get_param::<bool>("~rate").unwrap_err();
        let expected = "parameter /n/rate is the integer 5 (arguments of the node), but the node needs bool. Try: true or false";
        assert_eq!(error.to_string(), expected);
    });
}

#[test]
fn dual_node_without_master_has_arguments_and_defaults() {
    let arguments = ["__master:=http://127.0.0.1:1/", "_rate:=7.5"];
    let options = ContextOptions::default().signals(false).arguments(arguments);
    let context = Context::with_options(options.graphs(Graphs::Both).domain_id(new_domain())).unwrap();
    let node = context.create_node("node").unwrap();
    assert_eq!(node.param("~rate", 10.0).unwrap(), 7.5);
    assert!(node.has_param("~rate").unwrap());
    let error = node.get_param::<bool>("~rate").unwrap_err();
    assert!(matches!(error, Error::Parameter { in_master: false, .. }), "{error}");
    for (name, key) in [("~gain", "/node/gain"), ("gain", "/gain"), ("/other/rate", "/other/rate")] {
        assert_eq!(node.param(name, 10.0).unwrap(), 10.0, "{name}");
        let error = node.get_param::<f64>(name).unwrap_err();
        let expected = format!("parameter {key}: no master answers at http://127.0.0.1:1/: ");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}

#[test]
fn dual_action_server_needs_no_master() {
    let options = ContextOptions::default().signals(false).arguments(["__master:=http://127.0.0.1:1/"]);
    let context = Context::with_options(options.graphs(Graphs::Both).domain_id(new_domain())).unwrap();
    let node = context.create_node("node").unwrap();
    let made = node.create_action_server::<LookupTransformAction>("count", |_| {}, |_| {});
    assert_eq!(made.unwrap().action(), "/count");
}

#[test]
fn second_node_of_a_name_is_refused() {
    let options = ContextOptions::default().signals(false).arguments(["__master:=http://127.0.0.1:1/"]);
    let dual = Context::with_options(options.graphs(Graphs::Both).domain_id(new_domain())).unwrap();
    let first = dual.create_node("edge").unwrap();
    let error = dual.create_node("edge").unwrap_err();
    assert!(matches!(&error, Error::NodeExists { name } if name == "/edge"), "{error}");
    let other = dual.create_node("/other/edge").unwrap();
    drop(first);
    let again = dual.create_node("edge").unwrap();
    drop((other, again));
    let ros2 = context(&[]);
    let both = [ros2.create_node("edge").unwrap(), ros2.create_node("edge").unwrap()];
    assert_eq!(both.map(|node| node.full_name().to_owned()), ["/edge", "/edge"], "as in rcl");
}

#[test]
fn parameter_files_apply_by_name_and_pattern() {
    let file = std::env::temp_dir().join(format!("runnel-params-{}.yaml", std::process::id()));
    let text = "/**:\n  ros__parameters:\n    rate: 5\n    gain: 1\n    name: \"7\"\n/robot/arm:\n  ros__parameters:\n    \
                joints: [a, b]\n    limits:\n      low: 0.5\nleg: {}\n";
    std::fs::write(&file, text).unwrap();
    let context = context(&["--ros-args", "-p", "gain:=3", "--params-file", file.to_str().unwrap()]);
    let (arm, leg) = (context.create_node("/robot/arm").unwrap(), context.create_node("leg").unwrap());
    for node in [&arm, &leg] {
        assert_eq!(node.param("rate", 1).unwrap(), 5);
        assert_eq!(node.param("gain", 1).unwrap(), 3, "arguments win over files");
        assert_eq!(node.param("name", String::new()).unwrap(), "7");
    }
    assert_eq!(arm.get_param::<Vec<String>>("joints").unwrap().unwrap(), ["a", "b"]);
    assert_eq!(arm.param("limits.low", 1.0).unwrap(), 0.5);
    assert_eq!(leg.get_param::<f64>("limits.low").unwrap(), None);
    let error = leg.get_param::<f64>("name").unwrap_err().to_string();
    let origin = format!("params file {}", file.display());
    let expected =
        format!("parameter /leg/name is the string \"7\" ({origin}), but the node needs f64. Try: a number");
    assert_eq!(error, expected);
    std::fs::remove_file(&file).unwrap();
    let arguments = ["--ros-args", "--params-file", "/no/such.yaml"];
    let options = ContextOptions::default().signals(false).arguments(arguments).graphs(Graphs::Ros2);
    let error = Context::with_options(options).expect_err("there is no such file").to_string();
    assert!(error.starts_with("--params-file: /no/such.yaml: "), "{error}");
}

/// Messages that a subscription has received.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<String>>>);

impl Received {
    fn subscribe(&self, node: &Node, qos: QoS) -> Subscription {
        let received = self.clone();
        node.create_subscription("chatter", qos, move |text: &Text| received.add(&text.data)).unwrap()
    }

    fn add(&self, data: &str) {
        self.0.lock().unwrap().push(data.to_owned());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn publish(publisher: &Publisher<Text>, data: &[&str]) {
    data.iter().for_each(|data| publisher.publish(text(data)).unwrap());
}

#[test]
fn local_nodes_communicate_without_master() {
    let context = context(&[]);
    let (talker, listener) =
        (context.create_node("talker").unwrap(), context.create_node("listener").unwrap());
    let chatter = talker.create_publisher::<Text>("chatter", 10).unwrap();
    let (received, raw) = (Received::default(), Received::default());
    let subscription = received.subscribe(&listener, 10.into());
    let received_untyped = raw.clone();
    let any = listener
        .create_raw_subscription("chatter", None, 10, move |message| {
            received_untyped.add(message.type_name())
        })
        .unwrap();
    assert_eq!((chatter.subscription_count(), subscription.publisher_count()), (2, 1));
    publish(&chatter, &["one", "two"]);
    common::spin_until(&context, "both are received", || raw.all().len() + received.all().len() == 4);
    assert_eq!((received.all(), raw.all()), (words("one two"), words("std_msgs/String std_msgs/String")));
    drop(any);
    assert_eq!(chatter.subscription_count(), 1);
    drop(chatter);
    assert_eq!(subscription.publisher_count(), 0);
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn late_subscription_gets_kept_messages_up_to_its_depth() {
    let context = context(&[]);
    let node = context.create_node("node").unwrap();
    let chatter = node.create_publisher::<Text>("chatter", QoS::keep_last(3).transient_local()).unwrap();
    publish(&chatter, &["one", "two", "three", "four"]);
    let of = |qos| {
        let received = Received::default();
        (received.subscribe(&node, qos), received)
    };
    let (all, late) = of(QoS::keep_last(10).transient_local());
    let (_last, of_depth_1) = of(QoS::latched());
    let (_none, volatile) = of(10.into());
    publish(&chatter, &["five"]);
    common::spin_until(&context, "all are received", || {
        [&late, &of_depth_1, &volatile].iter().all(|received| received.all().ends_with(&words("five")))
    });
    assert_eq!(late.all(), words("two three four five"));
    assert_eq!(of_depth_1.all().last(), words("five").last());
    assert_eq!((volatile.all(), all.received()), (words("five"), 4));
}

#[test]
fn incompatible_subscription_waits_for_matching_offer() {
    let context = context(&[]);
    let node = context.create_node("node").unwrap();
    let chatter = node.create_publisher::<Text>("chatter", QoS::sensor_data()).unwrap();
    let received = Received::default();
    let subscription = received.subscribe(&node, 10.into());
    assert_eq!((chatter.subscription_count(), subscription.publisher_count()), (0, 0));
    let _reliable = node.create_publisher::<Text>("chatter", 10).unwrap();
    assert_eq!((chatter.subscription_count(), subscription.publisher_count()), (1, 1));
}

#[test]
fn topic_has_one_type_per_node_without_ros1() {
    let context = context(&[]);
    let node = context.create_node("node").unwrap();
    let chatter = node.create_publisher::<Text>("chatter", 10).unwrap();
    let _received = node.create_subscription("chatter", 10, |_: &Text| {}).unwrap();
    let refused = [
        node.create_publisher::<Clock>("chatter", 10).err(),
        node.create_subscription("chatter", 10, |_: &Clock| {}).err(),
    ];
    for error in refused {
        assert!(matches!(error, Some(Error::Topic(_))), "{error:?}");
    }
    assert_eq!(chatter.subscription_count(), 1);
}

#[test]
fn local_dual_nodes_receive_once() {
    let graph = common::Graph::new();
    let context = Context::with_options(graph.options().graphs(Graphs::Both)).unwrap();
    let (talker, listener) =
        (context.create_node("talker").unwrap(), context.create_node("listener").unwrap());
    let chatter = talker.create_publisher::<Text>("chatter", 10).unwrap();
    let received = Received::default();
    let subscription = received.subscribe(&listener, 10.into());
    let until_ros1 = Received::default();
    let other = graph.context();
    let until_linked = until_ros1.subscribe(&other.create_node("other").unwrap(), 10.into());
    // Both nodes have the master's reply by then.
    common::spin_until(&context, "ROS 1 is there", || until_linked.publisher_count() == 1);
    for number in 0..20 {
        publish(&chatter, &[&number.to_string()]);
        context.spin_once(Duration::from_millis(5)).unwrap();
    }
    common::spin_until(&context, "all are received", || received.all().len() >= 20);
    assert_eq!((chatter.subscription_count(), subscription.publisher_count()), (2, 1));
    assert_eq!(received.all(), (0..20).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[test]
fn dead_master_does_not_affect_ros2() {
    let options = ContextOptions::default().signals(false).arguments(["__master:=http://localhost:1"]);
    let context = Context::with_options(options.graphs(Graphs::Both)).unwrap();
    let node = context.create_node("node").unwrap();
    let chatter = node.create_publisher::<Text>("chatter", 10).unwrap();
    let received = Received::default();
    let _subscription = received.subscribe(&node, 10.into());
    publish(&chatter, &["one"]);
    common::spin_until(&context, "it is received", || received.all() == words("one"));
}

/// A silent master costs a wait and a warning, unless `wait_for_master(false)` is set.
#[test]
fn late_master_is_found_without_waiting() {
    logged::keep_log();
    // It accepts connections and answers nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    for master in [address.as_str(), "localhost:1"] {
        let options =
            ContextOptions::default().signals(false).arguments([format!("__master:=http://{master}")]);
        let options = options.graphs(Graphs::Both).domain_id(new_domain()).wait_for_master(false);
        let context = Context::with_options(options).unwrap();
        assert_immediate(|| {
            let node = context.create_node("patient").unwrap();
            let chatter = node.create_publisher::<Text>("chatter", 10).unwrap();
            let received = Received::default();
            let subscription = received.subscribe(&node, 10.into());
            publish(&chatter, &["one"]);
            common::spin_until(&context, "it is received", || received.all() == words("one"));
            drop((chatter, subscription, node));
        });
        assert!(!logged::is_logged(&["WARN", "/patient", "master"]), "{master}");
    }
}

#[test]
fn use_sim_time_works_without_master() {
    let context = context(&["--ros-args", "-p", "use_sim_time:=true"]);
    let node = context.create_node("node").unwrap();
    assert!(context.ros_time_is_active());
    let clock = node.create_publisher::<Clock>("/clock", 10).unwrap();
    clock.publish(Clock { clock: Time::from_nanos(5) }).unwrap();
    assert_eq!(node.now(), Time::from_nanos(5));
    drop((clock, node));
    assert!(!context.ros_time_is_active());
}

#[test]
fn name_invalid_in_ros2_stays_in_ros1() {
    let node = context(&[]).create_node("node").unwrap();
    let refused = node.create_publisher::<Text>("camera/2d", 1).err();
    assert!(matches!(refused, Some(Error::Name(_))), "{refused:?}");
    let graph = common::Graph::new();
    let both = Context::with_options(graph.options().graphs(Graphs::Both)).unwrap();
    let node = both.create_node("node").unwrap();
    let words = node.create_publisher::<Text>("camera/2d", 1).unwrap();
    let _subscription = node.create_subscription("camera/2d", 1, |_: &Text| {}).unwrap();
    assert!(words.wait_for_subscribers(1, common::LONG).unwrap());
}
