//! Pairs that do not meet: both ends are told which policy stands in the way, as two programs of rclpy are, and each once.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{PATIENCE, ready, wait_until};
use runnel::core::qos::{Liveliness, Policy};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, IncompatibleQoS, Node, PublisherOptions, QoS, SubscriptionOptions};
use runnel_testkit::process::{Peer, deadline_in};

use super::{Way, other};

/// See `peers/rclpy/refused.py`.
const SETS: std::ops::Range<u8> = 1..32;

/// Begins the topics of two programs of rclpy, and those of Runnel and one of them.
const ORIGINAL: &str = "/original";
const MIXED: &str = "/mixed";

/// What an end of each set was told last: the policy's name, and how many were refused.
type Told = BTreeMap<u8, (String, u64)>;

/// Who has a program for it. Other DDS go through the policies in orders of their own, and of several name others.
pub fn has_all(origin: Origin) -> bool {
    matches!(origin, Origin::Ros2(_))
}

pub fn attempt(way: Way) -> String {
    let Origin::Ros2(distro) = other(way) else { panic!("no program of {}", other(way)) };
    let graph = Ros2Graph::new();
    let here = Here::new(&graph);
    let [theirs, ours] =
        if way.0 == Origin::Runnel { ["readers", "writers"] } else { ["writers", "readers"] };
    // Those that Runnel's stand in for, those that meet both, and Runnel's own.
    let alike = program(&graph, distro, ours, &[ORIGINAL]);
    let opposite = program(&graph, distro, theirs, &[ORIGINAL, MIXED]);
    let _ends: Vec<Box<dyn Any>> = SETS.map(|set| here.make(ours, set)).collect();
    let all = || {
        [
            told(&alike, ORIGINAL),
            told(&opposite, ORIGINAL),
            told(&opposite, MIXED),
            here.told.lock().unwrap().clone(),
        ]
    };
    wait_until("all ends are told", deadline_in(PATIENCE), || {
        here.context.spin_once(Duration::from_millis(50)).unwrap();
        all().iter().all(|told| told.len() == SETS.len())
    });
    let truth = told(&alike, ORIGINAL);
    assert!(truth.values().all(|(_, count)| *count == 1), "{truth:?}");
    assert!(all().iter().all(|told| *told == truth), "rclpy, rclpy; rclpy, Runnel: {:?}", all());
    format!("{} of {} sets", truth.len(), SETS.len())
}

fn program(graph: &Ros2Graph, distro: Distro, role: &str, families: &[&str]) -> Peer {
    ready(graph.rclpy(distro, "refused.py", role, &[&[role], families].concat()))
}

/// What the ends of a program were told of a family of topics.
fn told(peer: &Peer, family: &str) -> Told {
    let of_line = |line: &String| {
        let words: Vec<&str> = line.strip_prefix(family)?.strip_prefix('_')?.split(' ').collect();
        let [set, "incompatible", policy, count] = words[..] else { return None };
        Some((set.parse().ok()?, (policy.to_owned(), count.parse().ok()?)))
    };
    peer.lines().iter().filter_map(of_line).collect()
}

/// As `peers/rclpy/refused.py` has it.
fn offering(lacking: u8) -> QoS {
    let lacks = |bit: u8| lacking & 1 << bit != 0;
    let seconds = |bit| Duration::from_secs(if lacks(bit) { 120 } else { 60 });
    let kind = if lacks(3) { Liveliness::Automatic } else { Liveliness::ManualByTopic };
    let qos = QoS::keep_last(1).deadline(seconds(2)).liveliness(kind, Some(seconds(4)));
    let qos = if lacks(0) { qos.best_effort() } else { qos };
    if lacks(1) { qos } else { qos.transient_local() }
}

/// Runnel in this process, and what its callbacks were told.
struct Here {
    context: Context,
    node: Node,
    told: Arc<Mutex<Told>>,
}

impl Here {
    fn new(graph: &Ros2Graph) -> Here {
        let context = graph.context();
        let node = context.create_node("refused").unwrap();
        Here { context, node, told: Arc::default() }
    }

    /// The end of a set.
    fn make(&self, role: &str, set: u8) -> Box<dyn Any> {
        let topic = format!("{MIXED}_{set}");
        let tell = self.tell(set);
        if role == "writers" {
            let options = PublisherOptions::from(offering(set)).incompatible_qos_callback(tell);
            return Box::new(self.node.create_publisher::<Text>(&topic, options).unwrap());
        }
        let options = SubscriptionOptions::from(offering(0)).incompatible_qos_callback(tell);
        Box::new(self.node.create_subscription(&topic, options, |_: &Text| {}).unwrap())
    }

    fn tell(&self, set: u8) -> impl FnMut(IncompatibleQoS) + Send + 'static {
        let told = Arc::clone(&self.told);
        move |refused| {
            // A lease has no name of its own in DDS.
            let policy = match refused.last_policy_kind.expect("a policy") {
                Policy::LivelinessLease => Policy::Liveliness,
                policy => policy,
            };
            told.lock().unwrap().insert(set, (policy.to_string(), refused.total_count));
        }
    }
}
