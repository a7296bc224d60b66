//! Tests of untyped subscriptions whose publishers offer different QoS.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{LONG, spin_until, wait_until};
use crate::domains::new_domain;
use crate::fake_talker::FakeTalker;
use crate::numbers::number_in;
use crate::ros2_pair;
use runnel::core::Message;
use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::std_msgs::msg::{String as Text, UInt8MultiArray};
use runnel::{Context, ContextOptions, Graphs, Node, QoS, RawMessage, Subscription};
use runnel_testkit::hosts::Host;
use runnel_testkit::loopback_participant::LoopbackParticipant;

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
        self.subscribe_with(node, QoS::keep_last(100).transient_local())
    }

    fn subscribe_with(&self, node: &Node, qos: QoS) -> Subscription {
        let into = self.clone();
        let take = move |message: &RawMessage<'_>| {
            into.0.lock().unwrap().push(length_of_text(&message.bytes().to_vec()))
        };
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

/// Deadlines that no test misses.
const OFFERED: Duration = Duration::from_secs(1000);
const REQUESTED: Duration = Duration::from_secs(500);

#[test]
fn publisher_that_drops_its_deadline_moves_to_another_reader() {
    let domain = new_domain();
    let listening = ros2_pair::context(domain, false);
    let node = listening.create_node("echo").unwrap();
    let received = Received::default();
    let qos = QoS::keep_last(100);
    let subscription = received.subscribe_with(&node, qos.deadline(REQUESTED));
    let mut talker = LoopbackParticipant::new(domain, 0x0f, 2, "");
    let create = |talker: &mut LoopbackParticipant, qos| {
        talker.create_writer_with("rt/chatter", Text::DDS_TYPE, "", qos)
    };
    let [moving, _other] = [qos.deadline(OFFERED), qos].map(|qos| create(&mut talker, qos));
    let poll_until = |talker: &mut LoopbackParticipant, what, done: &dyn Fn(&LoopbackParticipant) -> bool| {
        wait_until(what, || {
            listening.spin_once(Duration::ZERO).unwrap();
            talker.poll_once();
            done(talker)
        });
    };
    let readers = |talker: &LoopbackParticipant| talker.participant.matched(moving).len();
    poll_until(&mut talker, "the reader of the other one matches both", &|talker| {
        readers(talker) == 2 && subscription.publisher_count() == 2
    });
    let changed = create(&mut talker, qos);
    talker.announced_as = Some((changed, moving));
    poll_until(&mut talker, "the former reader ends", &|talker| readers(talker) == 1);
    assert_eq!(subscription.publisher_count(), 2);
    talker.write(moving, cdr::encode(&text(7), Encoding::Xcdr1).unwrap()).unwrap();
    poll_until(&mut talker, "the message is received", &|_| !received.all().is_empty());
    assert_eq!(received.all(), [7]);
}

/// Subscribes to messages of topic `data`, whose numbers it receives, without a type.
fn listen_untyped(node: &Node, qos: QoS) -> (Subscription, ros2_pair::Received) {
    let received = ros2_pair::Received::default();
    let into = Arc::clone(&received);
    let take = move |message: &RawMessage<'_>| {
        let message: UInt8MultiArray = cdr::decode(message.bytes()).unwrap();
        into.lock().unwrap().push(number_in(&message.data));
    };
    (node.create_raw_subscription("data", None, qos, take).unwrap(), received)
}

#[test]
fn publisher_that_moved_to_another_reader_uses_shared_memory() {
    let qos = QoS::keep_last(1000);
    let listen = |node: &Node| listen_untyped(node, qos.deadline(REQUESTED));
    let mut talker = FakeTalker::with_listener(qos.deadline(OFFERED), listen);
    let create = |talker: &mut FakeTalker| {
        talker.rtps.create_writer_with("rt/data", UInt8MultiArray::DDS_TYPE, "", qos)
    };
    let readers = |talker: &FakeTalker| talker.rtps.participant.matched(talker.writer);
    create(&mut talker);
    talker.poll_until("the reader of the other one matches both", |talker| {
        readers(talker).len() == 2 && talker.subscription.publisher_count() == 2
    });
    let changed = create(&mut talker);
    talker.rtps.announced_as = Some((changed, talker.writer));
    talker.poll_until("the former reader ends", |talker| readers(talker).len() == 1);
    talker.reader = readers(&talker)[0];
    talker.poll_until("the listener asks for the new pair", FakeTalker::has_request);
    talker.write(0);
    talker.poll_until("the sample by RTPS", |talker| talker.received() == [0]);
    talker.open();
    (1..4).for_each(|number| talker.push(u64::from(number) + 1, number));
    talker.poll_until("samples of shared memory", |talker| talker.received().len() == 4);
    assert_eq!((talker.received(), talker.subscription.lost()), (vec![0, 1, 2, 3], 0));
}
