//! What Runnel and originals tell their users of their quality of service when they meet, or do not: the same at both ends.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{PATIENCE, ready};
use runnel::core::qos::Liveliness;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{
    Context, DeadlineMissed, IncompatibleQoS, LivelinessChanged, LivelinessLost, Matched, Node,
    PublisherOptions, QoS, SubscriptionOptions,
};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const KILTED: Origin = Origin::Ros2(Distro::Kilted);

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A node of Runnel in this process, and what its callbacks were told, as the programs of rclpy print it.
struct Here {
    context: Context,
    node: Node,
    told: Arc<Mutex<Vec<String>>>,
}

impl Here {
    fn new(graph: &Ros2Graph) -> Self {
        let context = graph.context();
        let node = context.create_node("here").unwrap();
        Self { context, node, told: Arc::default() }
    }

    fn tell<S>(&self, line: impl Fn(S) -> String + Send + 'static) -> impl FnMut(S) + Send + 'static {
        let told = Arc::clone(&self.told);
        move |status| told.lock().unwrap().push(line(status))
    }

    fn publishing(&self, qos: QoS) -> PublisherOptions {
        PublisherOptions::from(qos)
            .matched_callback(self.tell(|matched: Matched| format!("matched {}", matched.current_count)))
            .deadline_callback(
                self.tell(|missed: DeadlineMissed| format!("deadline missed {}", missed.total_count)),
            )
            .liveliness_callback(
                self.tell(|lost: LivelinessLost| format!("liveliness lost {}", lost.total_count)),
            )
            .incompatible_qos_callback(self.tell(|refused: IncompatibleQoS| {
                format!("incompatible {:?} {}", refused.last_policy_kind.unwrap(), refused.total_count)
            }))
    }

    fn subscribing(&self, qos: QoS) -> SubscriptionOptions {
        SubscriptionOptions::from(qos)
            .matched_callback(self.tell(|matched: Matched| format!("matched {}", matched.current_count)))
            .deadline_callback(
                self.tell(|missed: DeadlineMissed| format!("deadline missed {}", missed.total_count)),
            )
            .liveliness_callback(self.tell(|life: LivelinessChanged| {
                format!("liveliness {} {}", life.alive_count, life.not_alive_count)
            }))
            .incompatible_qos_callback(self.tell(|refused: IncompatibleQoS| {
                format!("incompatible {:?} {}", refused.last_policy_kind.unwrap(), refused.total_count)
            }))
    }

    fn has(&self, line: &str) -> bool {
        self.told.lock().unwrap().iter().any(|told| told == line)
    }

    #[track_caller]
    fn spin_until_told(&self, line: &str) {
        self.spin_until(line, || self.has(line));
    }

    /// Until a peer has said this so many times.
    #[track_caller]
    fn spin_until_said(&self, peer: &Peer, line: &str, times: usize) {
        let said = || peer.lines().iter().filter(|said| *said == line).count() >= times;
        let until = deadline_in(PATIENCE);
        while !said() {
            assert!(Instant::now() < until, "{line}; said: {:?}", peer.lines());
            self.context.spin_once(MS(5)).unwrap();
        }
    }

    #[track_caller]
    fn spin_until(&self, what: &str, done: impl Fn() -> bool) {
        let until = deadline_in(PATIENCE);
        while !done() {
            assert!(Instant::now() < until, "{what}; told: {:?}", self.told.lock().unwrap());
            self.context.spin_once(MS(5)).unwrap();
        }
    }
}

#[test]
fn a_publisher_of_runnel_and_a_subscription_of_rclpy_are_told_the_same() {
    let graph = Ros2Graph::new();
    let here = Here::new(&graph);
    let qos = QoS::keep_last(10).deadline(MS(600)).liveliness(Liveliness::ManualByTopic, Some(MS(1500)));
    let publisher = here.node.create_publisher::<Text>("text", here.publishing(qos)).unwrap();
    let words =
        ["/text", "--depth", "10", "--deadline", "0.6", "--liveliness", "manual_by_topic", "--lease", "1.5"];
    let listener = graph.listener(KILTED, &words);
    here.spin_until_told("matched 1");
    here.spin_until_said(&listener, "matched 1", 1);
    for _ in 0..20 {
        publisher.publish(Text { data: "in time".into() }).unwrap();
        here.context.sleep(MS(100)).unwrap();
    }
    here.spin_until_said(&listener, "liveliness 1 0", 1);
    assert!(!here.has("deadline missed 1"), "{:?}", here.told.lock().unwrap());
    here.spin_until_told("deadline missed 1");
    here.spin_until_said(&listener, "deadline missed 1", 1);
    here.spin_until_told("liveliness lost 1");
    here.spin_until_said(&listener, "liveliness 0 1", 1);
    publisher.assert_liveliness();
    here.spin_until_said(&listener, "liveliness 1 0", 2);
    drop(listener);
    drop(publisher);
}

#[test]
fn a_subscription_of_runnel_and_a_publisher_of_rclpy_are_told_the_same() {
    let graph = Ros2Graph::new();
    let here = Here::new(&graph);
    let qos = QoS::keep_last(10).deadline(MS(600)).liveliness(Liveliness::ManualByTopic, Some(MS(1500)));
    let subscription = here.node.create_subscription("text", here.subscribing(qos), |_: &Text| {}).unwrap();
    let words =
        ["/text", "--depth", "10", "--deadline", "0.6", "--liveliness", "manual_by_topic", "--lease", "1.5"];
    let talker = graph.talker(KILTED, &[&words[..], &["--count", "20", "--rate", "10"]].concat());
    here.spin_until_told("matched 1");
    here.spin_until_said(&talker, "matched 1", 1);
    here.spin_until("all have come", || subscription.received() == 20);
    here.spin_until_told("liveliness 1 0");
    here.spin_until_told("deadline missed 1");
    here.spin_until_said(&talker, "deadline missed 1", 1);
    here.spin_until_told("liveliness 0 1");
    here.spin_until_said(&talker, "liveliness lost 1", 1);
    drop(talker);
    here.spin_until_told("matched 0");
}

#[test]
fn both_are_told_of_a_quality_that_the_other_does_not_offer() {
    let graph = Ros2Graph::new();
    let here = Here::new(&graph);
    let offered = here.publishing(QoS::sensor_data());
    let _publisher = here.node.create_publisher::<Text>("text", offered).unwrap();
    let listener = graph.listener(KILTED, &["/text"]);
    here.spin_until_told("incompatible Reliability 1");
    here.spin_until_said(&listener, "incompatible reliability 1", 1);
    let asked = here.subscribing(QoS::keep_last(1).transient_local());
    let _subscription = here.node.create_subscription("other", asked, |_: &Text| {}).unwrap();
    let talker = graph.talker(KILTED, &["/other"]);
    here.spin_until_told("incompatible Durability 1");
    here.spin_until_said(&talker, "incompatible durability 1", 1);
}

/// What is published is XCDR1. Those that it is for hear it, whoever else is there.
#[test]
fn a_reader_of_xcdr2_alone_is_not_met_and_both_are_told() {
    let graph = Ros2Graph::new();
    let here = Here::new(&graph);
    let publisher = here.node.create_publisher::<Text>("text", here.publishing(QoS::keep_last(10))).unwrap();
    let mut talker = ready(graph.talker(Origin::Runnel, &["/text", "--wait", "9"]));
    let mut listener = graph.listener(Origin::Cyclone11, &["/text", "--xcdr2"]);
    here.spin_until_told("incompatible DataRepresentation 1");
    here.spin_until_said(&listener, "incompatible data_representation 2", 1);
    // Where no callback hears of it, it is logged.
    let logged = |line: &str| line.contains("topic /text") && line.contains("data representation");
    talker.wait_for_line(logged, deadline_in(PATIENCE)).unwrap();
    let mut other = graph.listener(Origin::Cyclone11, &["/text", "--count", "1"]);
    here.spin_until_told("matched 1");
    here.spin_until_said(&other, "matched 2", 1);
    publisher.publish(Text { data: "heard".into() }).unwrap();
    here.spin_until_said(&other, "done", 1);
    assert!(other.wait_exit(deadline_in(PATIENCE)).unwrap().success());
    assert_eq!(publisher.incompatible_qos_status().total_count, 1);
    let unheard = |line: &String| !line.starts_with("matched") && !line.starts_with("got");
    assert!(listener.lines().iter().all(unheard), "{}", listener.output());
    listener.signal(Signal::INT).unwrap();
    assert!(listener.wait_exit(deadline_in(PATIENCE)).unwrap().success(), "{}", listener.output());
}

#[test]
fn a_subscription_takes_the_best_that_publishers_of_rclpy_offer() {
    let graph = Ros2Graph::new();
    let here = Here::new(&graph);
    let _talkers = [
        graph.node(KILTED, "talker", "weak", &["/text", "--reliability", "best_effort", "--wait", "9"]),
        graph.node(KILTED, "talker", "strong", &["/text", "--durability", "transient_local", "--wait", "9"]),
    ];
    let probe = here.node.create_subscription("text", QoS::sensor_data(), |_: &Text| {}).unwrap();
    here.spin_until("both are known", || probe.publisher_count() == 2);
    let best = here.node.create_subscription("text", QoS::best_available(), |_: &Text| {}).unwrap();
    assert_eq!(best.qos(), QoS::keep_last(10).best_effort());
    here.spin_until("both are met", || best.publisher_count() == 2);
}
