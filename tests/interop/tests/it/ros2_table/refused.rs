//! Incompatible pairs: both ends report the same policy as two rclpy programs do, each once.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{TIMEOUT, ready, wait_until};
use runnel::core::qos::{Liveliness, Policy};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, IncompatibleQoS, Node, PublisherOptions, QoS, SubscriptionOptions};
use runnel_testkit::process::{Peer, deadline_in};

use super::{Direction, other};

/// See `peers/rclpy/refused.py`.
const SETS: std::ops::Range<u8> = 1..32;

/// Topic prefixes: between two rclpy programs, and between Runnel and rclpy.
const ORIGINAL: &str = "/original";
const MIXED: &str = "/mixed";

/// Last event per set: the policy's name, and the number of refusals.
type Refusals = BTreeMap<u8, (String, u64)>;

/// Whether an implementation has such a program. Other DDS check the policies in other orders, and several name
/// another one.
pub fn has_all(origin: Origin) -> bool {
    matches!(origin, Origin::Ros2(_))
}

pub fn attempt(direction: Direction) -> String {
    let Origin::Ros2(distro) = other(direction) else { panic!("no program of {}", other(direction)) };
    let graph = Ros2Graph::new();
    let local = LocalNode::new(&graph);
    let [theirs, ours] =
        if direction.0 == Origin::Runnel { ["readers", "writers"] } else { ["writers", "readers"] };
    // The programs that Runnel replaces, those that match both, and Runnel's own.
    let same_role = program(&graph, distro, ours, &[ORIGINAL]);
    let opposite = program(&graph, distro, theirs, &[ORIGINAL, MIXED]);
    let _ends: Vec<Box<dyn Any>> = SETS.map(|set| local.make(ours, set)).collect();
    let all = || {
        [
            refusals(&same_role, ORIGINAL),
            refusals(&opposite, ORIGINAL),
            refusals(&opposite, MIXED),
            local.refusals.lock().unwrap().clone(),
        ]
    };
    wait_until("all ends have events", deadline_in(TIMEOUT), || {
        local.context.spin_once(Duration::from_millis(50)).unwrap();
        all().iter().all(|refusals| refusals.len() == SETS.len())
    });
    let truth = refusals(&same_role, ORIGINAL);
    assert!(truth.values().all(|(_, count)| *count == 1), "{truth:?}");
    assert!(all().iter().all(|refusals| *refusals == truth), "rclpy, rclpy; rclpy, Runnel: {:?}", all());
    format!("{} of {} sets", truth.len(), SETS.len())
}

fn program(graph: &Ros2Graph, distro: Distro, role: &str, families: &[&str]) -> Peer {
    ready(graph.rclpy(distro, "refused.py", role, &[&[role], families].concat()))
}

/// Events that a program printed for a topic prefix.
fn refusals(peer: &Peer, family: &str) -> Refusals {
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

/// Runnel in this process, and the events of its callbacks.
struct LocalNode {
    context: Context,
    node: Node,
    refusals: Arc<Mutex<Refusals>>,
}

impl LocalNode {
    fn new(graph: &Ros2Graph) -> LocalNode {
        let context = graph.context();
        let node = context.create_node("refused").unwrap();
        LocalNode { context, node, refusals: Arc::default() }
    }

    /// The endpoint of a set.
    fn make(&self, role: &str, set: u8) -> Box<dyn Any> {
        let topic = format!("{MIXED}_{set}");
        let record = self.record(set);
        if role == "writers" {
            let options = PublisherOptions::from(offering(set)).incompatible_qos_callback(record);
            return Box::new(self.node.create_publisher::<Text>(&topic, options).unwrap());
        }
        let options = SubscriptionOptions::from(offering(0)).incompatible_qos_callback(record);
        Box::new(self.node.create_subscription(&topic, options, |_: &Text| {}).unwrap())
    }

    fn record(&self, set: u8) -> impl FnMut(IncompatibleQoS) + Send + 'static {
        let refusals = Arc::clone(&self.refusals);
        move |refused| {
            // The lease has no policy name of its own in DDS.
            let policy = match refused.last_policy_kind.expect("a policy") {
                Policy::LivelinessLease => Policy::Liveliness,
                policy => policy,
            };
            refusals.lock().unwrap().insert(set, (policy.to_string(), refused.total_count));
        }
    }
}
