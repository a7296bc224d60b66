//! Tests of untyped subscriptions whose publishers offer different QoS.

use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::common::{LONG, spin_until};
use crate::domains::new_domain;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, ContextOptions, Graphs, Node, QoS, RawMessage, Subscription};
use runnel_testkit::hosts::Host;

/// Length of the texts whose datagrams a rule drops.
const LOST: usize = 1000;

/// The best-effort publisher, the reliable one and the subscription, in contexts of their own.
fn contexts() -> [Context; 3] {
    let domain = new_domain();
    std::array::from_fn(|_| {
        let options = ContextOptions::default().signals(false).arguments([""; 0]).ipc(false);
        Context::with_options(options.graphs(Graphs::Ros2).domain_id(domain)).unwrap()
    })
}

/// Lengths of the received texts.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<usize>>>);

impl Received {
    fn subscribe(&self, node: &Node) -> Subscription {
        let into = self.clone();
        let take = move |message: &RawMessage<'_>| {
            into.0.lock().unwrap().push(length_of_text(&message.bytes().to_vec()))
        };
        let qos = QoS::keep_last(100).transient_local();
        node.create_raw_subscription("chatter", None, qos, take).unwrap()
    }

    fn all(&self) -> Vec<usize> {
        self.0.lock().unwrap().clone()
    }
}

fn text(len: usize) -> Text {
    Text { data: "x".repeat(len) }
}

/// Length of a text in CDR, where it stands behind the encapsulation and counts the terminator.
fn length_of_text(cdr: &[u8]) -> usize {
    let length = cdr[4..8].try_into().unwrap();
    u32::from_le_bytes(length) as usize - 1
}

#[test]
fn later_publisher_is_asked_for_kept_messages() {
    let [weak, strong, listening] = contexts();
    let (weak, strong, echo) = (
        weak.create_node("weak").unwrap(),
        strong.create_node("strong").unwrap(),
        listening.create_node("echo").unwrap(),
    );
    let _volatile = weak.create_publisher::<Text>("chatter", 10).unwrap();
    let received = Received::default();
    let subscription = received.subscribe(&echo);
    spin_until(&listening, "the volatile one is matched", || subscription.publisher_count() == 1);
    // It is kept before the subscription discovers the publisher.
    let latched = strong.create_publisher::<Text>("chatter", QoS::latched()).unwrap();
    latched.publish(text(5)).unwrap();
    spin_until(&listening, "the kept message is received", || !received.all().is_empty());
    latched.publish(text(6)).unwrap();
    spin_until(&listening, "the next one is received", || received.all().len() >= 2);
    assert_eq!(received.all(), [5, 6], "each once");
    assert_eq!(subscription.publisher_count(), 2);
}

fn nft(line: &str) {
    let done = Command::new("nft").arg(line).output().expect("nft");
    assert!(done.status.success(), "nft {line}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn later_reliable_publisher_is_received_reliably() {
    let host = Host::new();
    host.ip("link set lo multicast on");
    host.ip("route add 224.0.0.0/4 dev lo");
    host.run(|| {
        let [weak, strong, listening] = contexts();
        let (weak, strong, echo) = (
            weak.create_node("weak").unwrap(),
            strong.create_node("strong").unwrap(),
            listening.create_node("echo").unwrap(),
        );
        let best_effort = weak.create_publisher::<Text>("chatter", QoS::sensor_data()).unwrap();
        let received = Received::default();
        let subscription = received.subscribe(&echo);
        spin_until(&listening, "the best-effort one is matched", || subscription.publisher_count() == 1);
        let reliable = strong.create_publisher::<Text>("chatter", QoS::keep_last(100)).unwrap();
        spin_until(&listening, "both are matched", || subscription.publisher_count() == 2);
        assert!(reliable.wait_for_subscribers(2, LONG).unwrap(), "the weaker reader matches it too");

        nft("add table inet lossy");
        nft("add chain inet lossy in { type filter hook input priority 0; }");
        nft(&format!("add rule inet lossy in udp length {LOST}-{} drop", 2 * LOST));
        (0..3).for_each(|_| reliable.publish(text(LOST)).unwrap());
        best_effort.publish(text(1)).unwrap();
        spin_until(&listening, "only the short one arrives", || received.all() == [1]);
        nft("delete table inet lossy");
        spin_until(&listening, "the lost ones are sent again", || received.all().len() >= 4);
        assert_eq!(received.all(), [1, LOST, LOST, LOST]);
    });
}
