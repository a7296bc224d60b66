//! QoS events of Runnel and originals, matched or not: the same at both ends.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{TIMEOUT, ready};
use runnel::core::qos::Liveliness;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{
    Context, DeadlineMissed, IncompatibleQoS, LivelinessChanged, LivelinessLost, Matched, Node,
    PublisherOptions, QoS, SubscriptionOptions,
};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const KILTED: Origin = Origin::Ros2(Distro::Kilted);

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A Runnel node of this process, and the events of its callbacks in the format of the rclpy programs.
struct LocalNode {
    context: Context,
    node: Node,
    events: Arc<Mutex<Vec<String>>>,
}

impl LocalNode {
    fn new(graph: &Ros2Graph) -> Self {
        let context = graph.context();
        let node = context.create_node("here").unwrap();
        Self { context, node, events: Arc::default() }
    }

    fn record<S>(&self, line: impl Fn(S) -> String + Send + 'static) -> impl FnMut(S) + Send + 'static {
        let events = Arc::clone(&self.events);
        move |status| events.lock().unwrap().push(line(status))
    }

    fn publishing(&self, qos: QoS) -> PublisherOptions {
        PublisherOptions::from(qos)
            .matched_callback(self.record(|matched: Matched| format!("matched {}", matched.current_count)))
            .deadline_callback(
                self.record(|missed: DeadlineMissed| format!("deadline missed {}", missed.total_count)),
            )
            .liveliness_callback(
                self.record(|lost: LivelinessLost| format!("liveliness lost {}", lost.total_count)),
            )
            .incompatible_qos_callback(self.record(|refused: IncompatibleQoS| {
                format!("incompatible {:?} {}", refused.last_policy_kind.unwrap(), refused.total_count)
            }))
    }

    fn subscribing(&self, qos: QoS) -> SubscriptionOptions {
        SubscriptionOptions::from(qos)
            .matched_callback(self.record(|matched: Matched| format!("matched {}", matched.current_count)))
            .deadline_callback(
                self.record(|missed: DeadlineMissed| format!("deadline missed {}", missed.total_count)),
            )
            .liveliness_callback(self.record(|life: LivelinessChanged| {
                format!("liveliness {} {}", life.alive_count, life.not_alive_count)
            }))
            .incompatible_qos_callback(self.record(|refused: IncompatibleQoS| {
                format!("incompatible {:?} {}", refused.last_policy_kind.unwrap(), refused.total_count)
            }))
    }

    fn has(&self, line: &str) -> bool {
        self.events.lock().unwrap().iter().any(|event| event == line)
    }

    #[track_caller]
    fn spin_until_event(&self, line: &str) {
        self.spin_until(line, || self.has(line));
    }

    /// Spins until a peer has printed this line this many times.
    #[track_caller]
    fn spin_until_printed(&self, peer: &Peer, line: &str, times: usize) {
        let printed = || peer.lines().iter().filter(|printed| *printed == line).count() >= times;
        let until = deadline_in(TIMEOUT);
        while !printed() {
            assert!(Instant::now() < until, "{line}; said: {:?}", peer.lines());
            self.context.spin_once(MS(5)).unwrap();
        }
    }

    #[track_caller]
    fn spin_until(&self, what: &str, done: impl Fn() -> bool) {
        let until = deadline_in(TIMEOUT);
        while !done() {
            assert!(Instant::now() < until, "{what}; events: {:?}", self.events.lock().unwrap());
            self.context.spin_once(MS(5)).unwrap();
        }
    }
}

#[test]
fn runnel_publisher_and_rclpy_subscription_report_same_events() {
    let graph = Ros2Graph::new();
    let local = LocalNode::new(&graph);
    let deadline = MS(600);
    let qos = QoS::keep_last(10).deadline(deadline).liveliness(Liveliness::ManualByTopic, Some(MS(1500)));
    let publisher = local.node.create_publisher::<Text>("text", local.publishing(qos)).unwrap();
    let words =
        ["/text", "--depth", "10", "--deadline", "0.6", "--liveliness", "manual_by_topic", "--lease", "1.5"];
    let listener = graph.listener(KILTED, &words);
    local.spin_until_event("matched 1");
    local.spin_until_printed(&listener, "matched 1", 1);
    // On a busy machine this thread may miss the deadline.
    let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
    for _ in 0..20 {
        let begun = Instant::now();
        publisher.publish(Text { data: "in time".into() }).unwrap();
        longest = longest.max(last.elapsed());
        last = begun;
        local.context.sleep(MS(100)).unwrap();
    }
    let is_missed = local.has("deadline missed 1");
    longest = longest.max(last.elapsed());
    assert!(!is_missed || longest >= deadline, "{longest:?}: {:?}", local.events.lock().unwrap());
    local.spin_until_printed(&listener, "liveliness 1 0", 1);
    local.spin_until_event("deadline missed 1");
    local.spin_until_printed(&listener, "deadline missed 1", 1);
    local.spin_until_event("liveliness lost 1");
    local.spin_until_printed(&listener, "liveliness 0 1", 1);
    publisher.assert_liveliness();
    local.spin_until_printed(&listener, "liveliness 1 0", 2);
    drop(listener);
    drop(publisher);
}

#[test]
fn runnel_subscription_and_rclpy_publisher_report_same_events() {
    let graph = Ros2Graph::new();
    let local = LocalNode::new(&graph);
    let qos = QoS::keep_last(10).deadline(MS(600)).liveliness(Liveliness::ManualByTopic, Some(MS(1500)));
    let subscription = local.node.create_subscription("text", local.subscribing(qos), |_: &Text| {}).unwrap();
    let words =
        ["/text", "--depth", "10", "--deadline", "0.6", "--liveliness", "manual_by_topic", "--lease", "1.5"];
    let talker = graph.talker(KILTED, &[&words[..], &["--count", "20", "--rate", "10"]].concat());
    local.spin_until_event("matched 1");
    local.spin_until_printed(&talker, "matched 1", 1);
    local.spin_until("all have come", || subscription.received() == 20);
    local.spin_until_event("liveliness 1 0");
    local.spin_until_event("deadline missed 1");
    local.spin_until_printed(&talker, "deadline missed 1", 1);
    local.spin_until_event("liveliness 0 1");
    local.spin_until_printed(&talker, "liveliness lost 1", 1);
    drop(talker);
    local.spin_until_event("matched 0");
}

#[test]
fn incompatible_qos_is_reported_on_both_sides() {
    let graph = Ros2Graph::new();
    let local = LocalNode::new(&graph);
    let offered = local.publishing(QoS::sensor_data());
    let _publisher = local.node.create_publisher::<Text>("text", offered).unwrap();
    let listener = graph.listener(KILTED, &["/text"]);
    local.spin_until_event("incompatible Reliability 1");
    local.spin_until_printed(&listener, "incompatible reliability 1", 1);
    let asked = local.subscribing(QoS::keep_last(1).transient_local());
    let _subscription = local.node.create_subscription("other", asked, |_: &Text| {}).unwrap();
    let talker = graph.talker(KILTED, &["/other"]);
    local.spin_until_event("incompatible Durability 1");
    local.spin_until_printed(&talker, "incompatible durability 1", 1);
}

/// Published data is XCDR1. Compatible readers receive it, whatever others exist.
#[test]
fn xcdr2_only_reader_is_refused_on_both_sides() {
    let graph = Ros2Graph::new();
    let local = LocalNode::new(&graph);
    let publisher =
        local.node.create_publisher::<Text>("text", local.publishing(QoS::keep_last(10))).unwrap();
    let mut talker = ready(graph.talker(Origin::Runnel, &["/text", "--wait", "9"]));
    let mut listener = graph.listener(Origin::Cyclone11, &["/text", "--xcdr2"]);
    local.spin_until_event("incompatible DataRepresentation 1");
    local.spin_until_printed(&listener, "incompatible data_representation 2", 1);
    // Without a callback the event is logged.
    let logged = |line: &str| line.contains("topic /text") && line.contains("data representation");
    talker.wait_for_line(logged, deadline_in(TIMEOUT)).unwrap();
    let mut other = graph.listener(Origin::Cyclone11, &["/text", "--count", "1"]);
    local.spin_until_event("matched 1");
    local.spin_until_printed(&other, "matched 2", 1);
    publisher.publish(Text { data: "text".into() }).unwrap();
    local.spin_until_printed(&other, "done", 1);
    assert!(other.wait_exit(deadline_in(TIMEOUT)).unwrap().success());
    assert_eq!(publisher.incompatible_qos_status().total_count, 1);
    let is_other = |line: &String| !line.starts_with("matched") && !line.starts_with("got");
    assert!(listener.lines().iter().all(is_other), "{}", listener.output());
    listener.signal(Signal::INT).unwrap();
    assert!(listener.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", listener.output());
}

#[test]
fn subscription_uses_best_offered_qos() {
    let graph = Ros2Graph::new();
    let local = LocalNode::new(&graph);
    let _talkers = [
        graph.node(KILTED, "talker", "weak", &["/text", "--reliability", "best_effort", "--wait", "9"]),
        graph.node(KILTED, "talker", "strong", &["/text", "--durability", "transient_local", "--wait", "9"]),
    ];
    let probe = local.node.create_subscription("text", QoS::sensor_data(), |_: &Text| {}).unwrap();
    local.spin_until("both are known", || probe.publisher_count() == 2);
    let best = local.node.create_subscription("text", QoS::best_available(), |_: &Text| {}).unwrap();
    assert_eq!(best.qos(), QoS::keep_last(10).best_effort());
    local.spin_until("both are met", || best.publisher_count() == 2);
}
