//! Tests of a dual node with subscriptions of different QoS, and publishers that offer one of them.

use std::sync::{Arc, Mutex};

use crate::common::{Graph, spin_until};
use crate::dual_scene::{Talker, domain};
use runnel::msgs::std_msgs::msg::UInt32;
use runnel::{Context, Graphs, Node, Publisher, QoS, Subscription};

/// Messages received after both graphs have connected.
const STABLE: u32 = 500;

struct Received {
    _subscription: Subscription,
    numbers: Arc<Mutex<Vec<u32>>>,
}

impl Received {
    fn on(node: &Node, qos: QoS) -> Self {
        let numbers: Arc<Mutex<Vec<u32>>> = Arc::default();
        let into = Arc::clone(&numbers);
        let take = move |number: &UInt32| into.lock().unwrap().push(number.data);
        Self { _subscription: node.create_subscription("count", qos, take).unwrap(), numbers }
    }

    fn last(&self) -> Option<u32> {
        self.numbers.lock().unwrap().last().copied()
    }

    /// Asserts that each number arrived once and in order, from the first received one on.
    fn check(&self, what: &str) {
        let numbers = self.numbers.lock().unwrap();
        let jump = numbers.windows(2).find(|pair| pair[1] != pair[0] + 1);
        assert_eq!(jump, None, "{what}, of {} messages", numbers.len());
    }
}

/// ROS 2 matches only the best-effort subscription, and ROS 1 connects the node.
#[test]
fn reliable_subscription_shares_best_effort_publisher() {
    for (ipc, reliable_is_first) in [(false, false), (false, true), (true, false), (true, true)] {
        let (graph, domain) = (Graph::new(), domain());
        let context = || {
            let options = graph.options().graphs(Graphs::Both).domain_id(domain).ipc(ipc);
            Context::with_options(options).unwrap()
        };
        let (a, b) = (context(), context());
        let many = QoS::keep_last(10_000);
        let (talker, node) = (a.create_node("talker").unwrap(), b.create_node("listener").unwrap());
        let publisher = talker.create_publisher::<UInt32>("count", many.best_effort()).unwrap();
        let asked = if reliable_is_first { [many, many.best_effort()] } else { [many.best_effort(), many] };
        let [first, second] = asked.map(|qos| Received::on(&node, qos));
        let talks = Talker::new(publisher);
        for (which, received) in [("first", &first), ("second", &second)] {
            let what =
                format!("by memory {ipc}, reliable first {reliable_is_first}: the {which} receives on");
            // Both graphs have connected by now.
            spin_until(&b, &what, || first.last() > Some(STABLE) || second.last() > Some(STABLE));
            let goal = first.last().max(second.last()).map(|number| number + STABLE);
            spin_until(&b, &what, || received.last() > goal);
        }
        let last = talks.end();
        spin_until(&b, "the reliable one receives the last", || {
            let reliable = if reliable_is_first { &first } else { &second };
            reliable.last() == Some(last)
        });
        first.check("the first");
        second.check("the second");
    }
}

/// RTPS may match the second publisher's writer before the node's link includes that writer.
#[test]
fn two_publishers_of_two_qos_are_each_received_once() {
    for ipc in [false, true] {
        let (graph, domain) = (Graph::new(), domain());
        let options = || graph.options().graphs(Graphs::Both).domain_id(domain).ipc(ipc);
        let [a, b] = [0, 1].map(|_| Context::with_options(options()).unwrap());
        let many = QoS::keep_last(10_000);
        let (talker, node) = (a.create_node("talker").unwrap(), b.create_node("listener").unwrap());
        let first = talker.create_publisher::<UInt32>("count", many.transient_local()).unwrap();
        let received = Received::on(&node, many.best_effort());
        let mut next = 0;
        let mut publish = |publisher: &Publisher<UInt32>| {
            publisher.publish(UInt32 { data: next }).unwrap();
            next += 1;
            next - 1
        };
        spin_until(&b, "both graphs have joined the first", || {
            let last = publish(&first);
            first.subscription_count() == 1 && last > STABLE && received.last().is_some()
        });
        let second = talker.create_publisher::<UInt32>("count", many).unwrap();
        let begun = publish(&first);
        let mut last = begun;
        spin_until(&b, "both are received for a while", || {
            publish(&second);
            last = publish(&first);
            last > begun + 2 * STABLE && received.last() > Some(begun + STABLE)
        });
        spin_until(&b, "the last of each is received", || {
            let numbers = received.numbers.lock().unwrap();
            [last - 1, last].iter().all(|number| numbers.contains(number))
        });
        let mut numbers = received.numbers.lock().unwrap().clone();
        numbers.retain(|number| *number >= begun);
        numbers.sort_unstable();
        let doubled = numbers.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(doubled, None, "by memory {ipc}, of {} messages", numbers.len());
    }
}
