//! Tests of log lines of ROS 2 nodes, and of their simulated time.

mod common;
#[path = "common/domains.rs"]
mod domains;
#[path = "common/logged.rs"]
mod logged;
#[path = "common/two_graphs.rs"]
mod two_graphs;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Graph, spin_until};
use domains::new_domain;
use logged::{keep_log, wait_logged};
use runnel::core::Message;
use runnel::msgs::rcl_interfaces::msg::Log;
use runnel::msgs::rosgraph_msgs::{self, msg::Clock};
use runnel::{Context, ContextOptions, EndpointType, Graphs, QoS, Subscription, Time};

fn options(domain: u16) -> ContextOptions {
    let options = ContextOptions::default().signals(false).arguments([""; 0]);
    options.graphs(Graphs::Ros2).domain_id(domain)
}

/// A context that subscribes to `/rosout` and does not log itself.
struct RosoutSubscriber<M> {
    context: Context,
    lines: Arc<Mutex<Vec<M>>>,
    subscription: Subscription,
}

impl<M: Message> RosoutSubscriber<M> {
    fn new(options: ContextOptions) -> Self {
        let context = Context::with_options(options.rosout(false)).unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&lines);
        let keep = move |line: &M| into.lock().unwrap().push(line.clone());
        let node = context.create_node("ear").unwrap();
        let subscription = node.create_subscription("/rosout", QoS::rosout(), keep).unwrap();
        Self { context, lines, subscription }
    }

    /// All lines, once there are this many.
    #[track_caller]
    fn lines(&self, count: usize) -> Vec<M> {
        spin_until(&self.context, "so many lines", || self.lines.lock().unwrap().len() >= count);
        self.lines.lock().unwrap().clone()
    }
}

#[test]
fn ros2_log_line_reaches_late_joiners_with_all_fields() {
    let domain = new_domain();
    let context = Context::with_options(options(domain)).unwrap();
    let node = context.create_node("robot/camera").unwrap();
    runnel::log_warn!(node.logger().child("driver"), "{} frames lost", 3);
    runnel::log_debug!(node, "not asked for");
    runnel::log_error!(node, "no light");
    let rosout = RosoutSubscriber::<Log>::new(options(domain));
    let [lost, light] = rosout.lines(2).try_into().unwrap();
    let fields = |line: &Log| (line.level, line.name.clone(), line.msg.clone());
    assert_eq!(fields(&lost), (30, "robot.camera.driver".into(), "3 frames lost".into()));
    assert_eq!(fields(&light), (40, "robot.camera".into(), "no light".into()));
    assert!(lost.file.ends_with("ros2_logging.rs") && lost.line > 50, "{}:{}", lost.file, lost.line);
    assert_eq!(lost.function, "ros2_logging");
    let age = node.now() - lost.stamp;
    assert!((0..20_000_000_000).contains(&age.as_nanos()), "{age:?}");
}

#[test]
fn error_of_timer_callback_is_logged() {
    let domain = new_domain();
    let context = Context::with_options(options(domain)).unwrap();
    let node = context.create_node("watch").unwrap();
    let has_run = Arc::new(AtomicBool::new(false));
    let runs = Arc::clone(&has_run);
    let _timer = node.create_oneshot_timer(Duration::from_millis(1), move || {
        runs.store(true, Ordering::SeqCst);
        Err::<(), _>("no battery")
    });
    spin_until(&context, "the timer runs", || has_run.load(Ordering::SeqCst));
    let rosout = RosoutSubscriber::<Log>::new(options(domain));
    assert_eq!(rosout.lines(1)[0].msg, "timer: no battery");
}

#[test]
fn errors_of_subscription_callback_are_logged_up_to_a_limit() {
    let domain = new_domain();
    let context = Context::with_options(options(domain)).unwrap();
    let node = context.create_node("watch").unwrap();
    let publisher = node.create_publisher::<Clock>("level", 100).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let calls = Arc::clone(&count);
    let subscription = node.create_subscription("level", 100, move |_: &Clock| {
        if calls.fetch_add(1, Ordering::SeqCst) > 0 { Err("no battery") } else { Ok(()) }
    });
    let _subscription = subscription.unwrap();
    (0..31).for_each(|_| publisher.publish(Clock::default()).unwrap());
    spin_until(&context, "the callbacks run", || count.load(Ordering::SeqCst) == 31);
    runnel::log_info!(node, "end");
    let rosout = RosoutSubscriber::<Log>::new(options(domain));
    let lines = rosout.lines(21);
    assert_eq!((lines[0].level, &*lines[0].name), (Log::ERROR, "watch"));
    assert_eq!(lines[0].msg, "callback of topic /level: no battery");
    assert_eq!(lines[19].msg, "callback of topic /level: no battery (further lines are suppressed for 10 s)");
    assert_eq!(lines[20].msg, "end");
}

#[test]
fn dual_node_logs_in_both_graphs() {
    let (graph, domain) = (Graph::new(), new_domain());
    let context = Context::with_options(graph.options().graphs(Graphs::Both).domain_id(domain)).unwrap();
    let node = context.create_node("talker").unwrap();
    let ros1 = RosoutSubscriber::<rosgraph_msgs::msg::Log>::new(graph.options());
    let ros2 = RosoutSubscriber::<Log>::new(options(domain));
    spin_until(&ros1.context, "the talker is matched", || ros1.subscription.publisher_count() == 1);
    spin_until(&ros2.context, "the talker is matched", || ros2.subscription.publisher_count() == 1);
    runnel::log_info!(node, "hello");
    let [one] = ros1.lines(1).try_into().unwrap();
    let [two] = ros2.lines(1).try_into().unwrap();
    assert_eq!(
        (one.level, one.name, one.msg),
        (rosgraph_msgs::msg::Log::INFO, "/talker".into(), "hello".into())
    );
    assert_eq!((two.level, two.name, two.msg), (Log::INFO, "talker".into(), "hello".into()));
    assert_eq!(one.header.stamp, two.stamp);
}

#[test]
fn log_lines_are_received_within_process() {
    let context = Context::with_options(options(new_domain())).unwrap();
    let node = context.create_node("talker").unwrap();
    let received = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&received);
    let keep = move |line: &Log| into.lock().unwrap().push((line.name.clone(), line.msg.clone()));
    let _ear = node.create_subscription("/rosout", QoS::rosout(), keep).unwrap();
    runnel::log_info!(node, "to myself");
    spin_until(&context, "it is received", || {
        *received.lock().unwrap() == [("talker".into(), "to myself".into())]
    });
}

#[test]
fn rosout_has_the_qos_of_rclcpp() {
    let domain = new_domain();
    let rosout = RosoutSubscriber::<Log>::new(options(domain));
    let context = Context::with_options(options(domain)).unwrap();
    let _talker = context.create_node("talker").unwrap();
    spin_until(&rosout.context, "the talker is matched", || rosout.subscription.publisher_count() == 1);
    let seen = rosout.context.ros2_graph().unwrap().unwrap().endpoints;
    let is_rosout = |end: &&runnel::EndpointInfo| {
        end.dds_topic == "rt/rosout" && end.endpoint_type == EndpointType::Publisher
    };
    let publishers: Vec<_> = seen.iter().filter(is_rosout).collect();
    assert_eq!(publishers.len(), 1, "the ear does not log");
    assert_eq!(publishers[0].dds_type, "rcl_interfaces::msg::dds_::Log_");
    assert_eq!(publishers[0].qos, QoS::rosout());
}

#[test]
fn dropped_node_removes_rosout_after_last_line() {
    let domain = new_domain();
    let rosout = RosoutSubscriber::<Log>::new(options(domain));
    let context = Context::with_options(options(domain)).unwrap();
    let _stays = context.create_node("stays").unwrap();
    let talkers =
        |count| spin_until(&rosout.context, "so many log", || rosout.subscription.publisher_count() == count);
    talkers(1);
    for round in 1..=3 {
        let passing = context.create_node("passing").unwrap();
        talkers(2);
        runnel::log_info!(passing, "round {round}");
        drop(passing);
        talkers(1);
        assert_eq!(rosout.lines(round)[round - 1].msg, format!("round {round}"));
    }
}

#[test]
fn ros2_node_follows_simulated_time() {
    let domain = new_domain();
    let follows = options(domain).arguments(["--ros-args", "-p", "use_sim_time:=true"]);
    let context = Context::with_options(follows).unwrap();
    let node = context.create_node("follower").unwrap();
    let simulator = Context::with_options(options(domain)).unwrap();
    let simulator = simulator.create_node("simulator").unwrap();
    let clock = simulator.create_publisher("/clock", QoS::keep_last(1).best_effort()).unwrap();
    let fields = Time::from_nanos(1_234_567_890);
    spin_until(&context, "it has the simulator's time", || {
        clock.publish(Clock { clock: fields }).unwrap();
        node.now() == fields
    });
}

#[test]
fn debug_log_names_each_ros2_link() {
    keep_log();
    log::set_max_level(log::LevelFilter::Debug);
    let domain = new_domain();
    let [talking, listening] = [(); 2].map(|()| Context::with_options(options(domain)).unwrap());
    let [talker, listener] =
        [talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap()];
    let publisher = talker.create_publisher::<Log>("announced", QoS::default()).unwrap();
    let subscription = listener.create_subscription("announced", QoS::default(), |_: &Log| {}).unwrap();
    for words in [
        &["DEBUG topic /announced: ROS 2 subscriber", "joined"][..],
        &["DEBUG topic /announced: ROS 2 publisher", "joined"],
        &["DEBUG topic /announced: publisher", "[/talker]"],
        &["DEBUG publisher [/talker]: its messages come by shared memory"],
    ] {
        wait_logged(words);
    }
    drop(publisher);
    wait_logged(&["DEBUG topic /announced: ROS 2 publisher [/talker] left"]);
    drop(subscription);
}
