//! Tests of log lines of nodes: on `/rosout`, in files, and with levels set remotely.

mod common;

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Graph, LONG, spin_until};
use runnel::logging::Level;
use runnel::msgs::roscpp::srv::{GetLoggers, SetLoggerLevel, SetLoggerLevelRequest};
use runnel::msgs::rosgraph_msgs::msg::Log;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, Node, QoS, Subscription};

/// A node in another context that subscribes to `/rosout`.
struct RosoutSubscriber {
    context: Context,
    received: Arc<Mutex<Vec<Log>>>,
    _subscription: Subscription,
}

impl RosoutSubscriber {
    /// Connects to this many nodes.
    fn new(graph: &Graph, nodes: usize) -> Self {
        let context = graph.tool();
        let node = context.create_node("ear").unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&received);
        let keep = move |line: &Log| sink.lock().unwrap().push(line.clone());
        let subscription = node.create_subscription("/rosout", 100, keep).unwrap();
        spin_until(&context, "all are received", || subscription.publisher_count() == nodes);
        Self { context, received, _subscription: subscription }
    }

    /// Waits for a line with this text.
    fn line(&self, text: &str) -> Log {
        let find = || self.received.lock().unwrap().iter().find(|line| line.msg.contains(text)).cloned();
        spin_until(&self.context, text, || find().is_some());
        find().unwrap()
    }

    fn texts(&self) -> Vec<String> {
        self.received.lock().unwrap().iter().map(|line| line.msg.clone()).collect()
    }
}

fn set_level(graph: &Graph, node: &str, logger: &str, level: &str) -> Result<(), runnel::Error> {
    let asker = graph.tool().create_node("asker").unwrap();
    let client = asker.create_client::<SetLoggerLevel>(&format!("{node}/set_logger_level")).unwrap();
    let request = SetLoggerLevelRequest { logger: logger.to_owned(), level: level.to_owned() };
    client.call_timeout(&request, LONG).map(drop)
}

fn loggers(graph: &Graph, node: &str) -> Vec<(String, String)> {
    let asker = graph.tool().create_node("asker").unwrap();
    let client = asker.create_client::<GetLoggers>(&format!("{node}/get_loggers")).unwrap();
    let response = client.call_timeout(&Default::default(), LONG).unwrap();
    response.loggers.into_iter().map(|logger| (logger.name, logger.level)).collect()
}

#[test]
fn log_line_arrives_with_all_fields() {
    let graph = Graph::new();
    let node = graph.context().create_node("robot/camera").unwrap();
    let _frames = node.create_publisher::<Text>("frames", 1).unwrap();
    let rosout = RosoutSubscriber::new(&graph, 1);
    runnel::log_warn!(node.logger().child("driver"), "{} frames lost", 3);
    let line = rosout.line("3 frames lost");
    assert_eq!((line.name.as_str(), line.level), ("/robot/camera", Log::WARN));
    assert!(line.file.ends_with("logging.rs") && line.line > 50, "{}:{}", line.file, line.line);
    assert_eq!(line.function, "logging");
    assert_eq!(line.topics, ["/rosout", "/robot/frames"]);
    let age = node.now() - line.header.stamp;
    assert!((0..20_000_000_000).contains(&age.as_nanos()), "{age:?}");
}

#[test]
fn late_rosout_subscriber_gets_last_line() {
    let graph = Graph::new();
    let node = graph.context().create_node("talker").unwrap();
    runnel::log_info!(node, "first");
    runnel::log_error!(node, "no battery");
    let rosout = RosoutSubscriber::new(&graph, 1);
    assert_eq!(rosout.line("no battery").level, Log::ERROR);
    assert_eq!(rosout.texts(), ["no battery"]);
}

#[test]
fn logger_levels_are_set_without_spinning() {
    let graph = Graph::new();
    let node = graph.context().create_node("talker").unwrap();
    let part = node.logger().child("part");
    let rosout = RosoutSubscriber::new(&graph, 1);
    runnel::log_debug!(node, "not yet");
    set_level(&graph, "/talker", "ros", "debug").unwrap();
    runnel::log_debug!(node, "now");
    rosout.line("now");
    set_level(&graph, "/talker", "ros.part", "Error").unwrap();
    runnel::log_warn!(part, "kept back");
    runnel::log_error!(part, "grave");
    rosout.line("grave");
    assert_eq!(rosout.texts(), ["now", "grave"]);
    let pair = |name: &str, level: &str| (name.to_owned(), level.to_owned());
    let library = pair("ros.runnel", "debug");
    assert_eq!(loggers(&graph, "/talker"), [pair("ros", "debug"), pair("ros.part", "error"), library]);
    let error = set_level(&graph, "/talker", "ros", "loud").unwrap_err().to_string();
    assert!(error.contains("\"loud\" is not a level"), "{error}");
}

#[test]
fn library_lines_about_node_are_published() {
    let graph = Graph::new();
    let node = graph.context().create_node("talker").unwrap();
    let _numbers = node.create_publisher::<runnel::msgs::std_msgs::msg::Int32>("chatter", 1).unwrap();
    let other = graph.context().create_node("other").unwrap();
    let rosout = RosoutSubscriber::new(&graph, 2);
    let _texts = other.create_subscription("chatter", 1, |_: &Text| {}).unwrap();
    let line = rosout.line("std_msgs/String");
    assert_eq!(line.level, Log::WARN);
    assert!(["/talker", "/other"].contains(&line.name.as_str()), "{}", line.name);
}

#[test]
fn throttle_counts_per_call_site() {
    let graph = Graph::new();
    let node = graph.context().create_node("talker").unwrap();
    let rosout = RosoutSubscriber::new(&graph, 1);
    for number in 0..3 {
        runnel::log_throttle!(node, Level::Warn, Duration::from_secs(1000), "throttled {number}");
        runnel::log_once!(node, Level::Info, "once {number}");
    }
    runnel::log_info!(node, "end");
    rosout.line("end");
    assert_eq!(rosout.texts(), ["throttled 0", "once 0", "end"]);
}

#[test]
fn macros_evaluate_node_and_level_once() {
    let graph = Graph::new();
    let node = graph.context().create_node("talker").unwrap();
    let (mut nodes, mut levels) = (0, 0);
    let mut node = || {
        nodes += 1;
        &node
    };
    let mut level = || {
        levels += 1;
        Level::Info
    };
    runnel::log_throttle!(node(), level(), Duration::ZERO, "throttled");
    runnel::log_once!(node(), level(), "once");
    runnel::log_at!(node(), level(), "each time");
    assert_eq!((nodes, levels), (3, 3));
}

#[test]
fn argument_sets_initial_log_level() {
    let graph = Graph::new();
    let level = |text: &str| {
        let context = graph.context_with(&["--ros-args", "--log-level", text, "--"]);
        context.create_node("talker").map(|node: Node| node.logger().child("part").level())
    };
    assert_eq!(level("debug").unwrap(), Level::Debug);
    assert_eq!(level("part:=fatal").unwrap(), Level::Fatal);
    assert_eq!(level("other:=fatal").unwrap(), Level::Info);
    let error = level("loud").unwrap_err().to_string();
    assert!(error.starts_with("--log-level: \"loud\""), "{error}");
}

#[test]
fn argument_names_the_log_file() {
    let graph = Graph::new();
    let folder = std::env::temp_dir().join(format!("runnel_logging_{}", std::process::id()));
    let path = folder.join("new/talker.log");
    let node = graph.context_with(&[&format!("__log:={}", path.display())]).create_node("talker").unwrap();
    runnel::log_info!(node, "kept");
    runnel::log_debug!(node, "not kept");
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let [line] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert!(line.starts_with("[INFO] [1") && line.ends_with("] [/talker]: kept"), "{line}");
}

#[test]
fn user_publisher_shares_rosout_with_node() {
    let graph = Graph::new();
    let node = graph.context().create_node("player").unwrap();
    let publisher = node.create_publisher::<Log>("/rosout", QoS::keep_last(5)).unwrap();
    let rosout = RosoutSubscriber::new(&graph, 1);
    publisher.publish(Log { msg: "replayed".into(), ..Log::default() }).unwrap();
    rosout.line("replayed");
    drop(publisher);
    runnel::log_info!(node, "still here");
    rosout.line("still here");
}

#[test]
fn log_crate_lines_are_published_by_node() {
    let graph = Graph::new();
    let node = graph.context().create_node("talker").unwrap();
    node.install_logger().unwrap();
    assert!(node.install_logger().is_err());
    let rosout = RosoutSubscriber::new(&graph, 1);
    log::debug!("not received");
    log::error!("from a library");
    let line = rosout.line("from a library");
    assert_eq!((line.level, line.function.as_str()), (Log::ERROR, "logging"));
    assert!(!rosout.texts().contains(&"not received".to_owned()));
}

#[test]
fn logger_outliving_its_node_holds_no_subscriber() {
    let graph = Graph::new();
    let context = graph.context();
    let (talker, rosout) = (context.create_node("talker").unwrap(), context.create_node("ear").unwrap());
    let received = Arc::new(Mutex::new(0));
    let count = Arc::clone(&received);
    let subscription =
        rosout.create_subscription("/rosout", 10, move |_: &Log| *count.lock().unwrap() += 1).unwrap();
    let logger = talker.logger().clone();
    runnel::log_info!(logger, "received");
    spin_until(&context, "it is received", || *received.lock().unwrap() > 0);
    drop(talker);
    drop(subscription);
    runnel::log_info!(logger, "to nobody");
    assert_eq!(Arc::strong_count(&received), 1);
}

/// `/dev/full` accepts no byte, like a full disk.
#[test]
fn full_log_file_is_reported_once_and_counted() {
    let graph = Graph::new();
    let node = graph.context_with(&["__log:=/dev/full"]).create_node("talker").unwrap();
    let rosout = RosoutSubscriber::new(&graph, 1);
    let before = runnel::logging::unwritten_lines();
    for number in 0..5 {
        runnel::log_info!(node, "line {number}");
    }
    let line = rosout.line("log file /dev/full: cannot write: No space left on device");
    assert_eq!(line.level, 8, "an error");
    rosout.line("line 4");
    let reports = rosout.texts().iter().filter(|text| text.contains("/dev/full")).count();
    assert_eq!((reports, runnel::logging::unwritten_lines() - before), (1, 5));
}
