//! Tests of messages that expire or are lost.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{LONG, spin_until, wait_until};
use crate::domains::new_domain;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, ContextOptions, Graphs, MessageLost, Node, QoS, Subscription, SubscriptionOptions};
use runnel_io::clock;
use runnel_testkit::hosts::Host;

const LIFESPAN: Duration = Duration::from_secs(1);

/// Length of messages whose datagrams a rule drops.
const LOST: usize = 1000;

fn context(domain: u16) -> Context {
    context_with(domain, false)
}

fn context_with(domain: u16, ipc: bool) -> Context {
    let options = ContextOptions::default().signals(false).arguments([""; 0]).ipc(ipc);
    Context::with_options(options.graphs(Graphs::Ros2).domain_id(domain)).unwrap()
}

/// Lengths of the received texts.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<usize>>>);

impl Received {
    fn by_reference(&self, node: &Node, options: impl Into<SubscriptionOptions>) -> Subscription {
        let into = self.clone();
        let take = move |text: &Text| into.0.lock().unwrap().push(text.data.len());
        node.create_subscription("chatter", options, take).unwrap()
    }

    /// The length of a text precedes it.
    fn as_bytes(&self, node: &Node, qos: QoS) -> Subscription {
        let into = self.clone();
        let take = move |message: &runnel::RawMessage<'_>| {
            into.0.lock().unwrap().push(usize::from(message.bytes().get(0).unwrap()));
        };
        node.create_raw_subscription("chatter", None, qos, take).unwrap()
    }

    fn all(&self) -> Vec<usize> {
        self.0.lock().unwrap().clone()
    }

    /// Those before the last texts, which have this length.
    fn before_last(&self, length: usize) -> Vec<usize> {
        let mut all = self.all();
        all.truncate(all.iter().rposition(|other| *other != length).map_or(0, |last| last + 1));
        all
    }
}

fn text(length: usize) -> Text {
    Text { data: "x".repeat(length) }
}

/// Waits until the lifespan of all messages has passed.
fn wait_for_expiry() {
    let over = clock::monotonic() + LIFESPAN + Duration::from_millis(5);
    while clock::monotonic() < over {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn expired_local_messages_are_dropped() {
    let context = context(new_domain());
    let node = context.create_node("node").unwrap();
    let (typed, raw) = (Received::default(), Received::default());
    let many = QoS::keep_last(10);
    let _subscriptions = [typed.by_reference(&node, many), raw.as_bytes(&node, many)];
    let mortal = node.create_publisher("chatter", many.lifespan(LIFESPAN)).unwrap();
    let lasting = node.create_publisher("chatter", many).unwrap();
    // On a busy machine the first ones may wait longer for the callbacks.
    let is_in_time = || !typed.all().is_empty() && !raw.all().is_empty();
    spin_until(&context, "what is in time is received", || {
        is_in_time() || {
            mortal.publish(text(1)).unwrap();
            context.spin_some().unwrap();
            is_in_time()
        }
    });
    let in_time = [typed.all(), raw.all()];
    mortal.publish(text(2)).unwrap();
    lasting.publish(text(3)).unwrap();
    // No thread takes the waiting messages.
    wait_for_expiry();
    // Later messages of the same publisher are received, if they are in time.
    spin_until(&context, "the last is received", || {
        mortal.publish(text(4)).unwrap();
        context.spin_some().unwrap();
        [&typed, &raw].iter().all(|of| of.all().last() == Some(&4))
    });
    let expected = in_time.map(|in_time| [in_time, vec![3]].concat());
    assert_eq!([typed.before_last(4), raw.before_last(4)], expected);
}

#[test]
fn expired_received_messages_are_dropped() {
    for (ipc, qos) in [
        (false, QoS::keep_last(10)),
        (false, QoS::keep_last(10).best_effort()),
        (false, QoS::keep_all()),
        (true, QoS::keep_last(10)),
    ] {
        let domain = new_domain();
        let [near, far] = [0; 2].map(|_| context_with(domain, ipc));
        let [talker, listener] =
            [("talker", &near), ("listener", &far)].map(|(name, of)| of.create_node(name));
        let talker = talker.unwrap();
        let (received, listener) = (Received::default(), listener.unwrap());
        let subscription = received.by_reference(&listener, qos);
        let mortal = talker.create_publisher("chatter", qos.lifespan(LIFESPAN)).unwrap();
        let lasting = talker.create_publisher("chatter", qos).unwrap();
        let met = || mortal.subscription_count() == 1 && lasting.subscription_count() == 1;
        spin_until(&far, "they match", || met() && subscription.publisher_count() == 2);
        let by_memory = || subscription.shared_memory_count() == 2;
        spin_until(&far, "its path is chosen", || ipc == by_memory());
        // On a busy machine the first ones may wait longer for the callback.
        let mut published = 0;
        let publish_until_in_time = |length: usize, published: &mut u64| {
            let until = clock::monotonic() + LONG;
            while received.all().last() != Some(&length) {
                assert!(clock::monotonic() < until, "each of them expires");
                mortal.publish(text(length)).unwrap();
                *published += 1;
                spin_until(&far, "it is received", || subscription.received() == *published);
                far.spin_some().unwrap();
            }
        };
        publish_until_in_time(1, &mut published);
        let in_time = received.all();
        mortal.publish(text(2)).unwrap();
        lasting.publish(text(3)).unwrap();
        // The background thread receives, and no thread takes the waiting messages.
        wait_until("it is received", || subscription.received() == published + 2);
        wait_for_expiry();
        published += 2;
        // Later messages of the same publisher are received, if they are in time.
        publish_until_in_time(4, &mut published);
        assert_eq!(received.before_last(4), [in_time, vec![3]].concat(), "by memory: {ipc}, {qos:?}");
    }
}

#[test]
fn late_local_subscription_gets_unexpired_messages() {
    // On a busy machine a step may take longer than the lifespan.
    assert!((0..20).any(|_| late_local_subscription()), "each time a step took too long");
}

/// Whether the steps took less than the lifespan: otherwise nothing is shown.
fn late_local_subscription() -> bool {
    let context = context(new_domain());
    let node = context.create_node("node").unwrap();
    let kept = QoS::keep_last(10).transient_local();
    let mortal = node.create_publisher("chatter", kept.lifespan(LIFESPAN)).unwrap();
    let lasting = node.create_publisher("chatter", kept).unwrap();
    let begun = clock::monotonic();
    lasting.publish(text(1)).unwrap();
    mortal.publish(text(2)).unwrap();
    let in_time = Received::default();
    let _first = in_time.by_reference(&node, kept);
    // All that a subscription gets is waiting when the first of it is received.
    spin_until(&context, "the first is received", || !in_time.all().is_empty());
    context.spin_some().unwrap();
    if clock::monotonic().since(begun) >= LIFESPAN {
        return false;
    }
    assert_eq!(in_time.all(), [1, 2]);
    wait_for_expiry();
    let begun = clock::monotonic();
    mortal.publish(text(3)).unwrap();
    let (late, last) = (Received::default(), Received::default());
    let _late =
        [late.by_reference(&node, kept), last.by_reference(&node, QoS::keep_last(2).transient_local())];
    spin_until(&context, "the first is received", || [&late, &last].iter().all(|of| !of.all().is_empty()));
    context.spin_some().unwrap();
    if clock::monotonic().since(begun) >= LIFESPAN {
        return false;
    }
    assert_eq!((late.all(), last.all()), (vec![1, 3], vec![1, 3]));
    // No thread takes the waiting messages, which expire.
    let slow = Received::default();
    let _slow = slow.by_reference(&node, kept);
    if clock::monotonic().since(begun) >= LIFESPAN {
        return false;
    }
    wait_for_expiry();
    lasting.publish(text(4)).unwrap();
    spin_until(&context, "the last is received", || slow.all().last() == Some(&4));
    assert_eq!(slow.all(), [1, 4]);
    true
}

fn nft(line: &str) {
    let done = Command::new("nft").arg(line).output().expect("nft");
    assert!(done.status.success(), "nft {line}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn lost_messages_are_reported_to_subscription() {
    let host = Host::new();
    host.ip("link set lo multicast on");
    host.ip("route add 224.0.0.0/4 dev lo");
    host.run(|| {
        let domain = new_domain();
        let [near, far] = [0; 2].map(|_| context(domain));
        let talker = near.create_node("talker").unwrap();
        let publisher = talker.create_publisher("chatter", QoS::keep_last(10).best_effort()).unwrap();
        let events = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&events);
        let on_lost = move |lost: MessageLost| into.lock().unwrap().push(lost);
        let options =
            SubscriptionOptions::from(QoS::keep_last(10).best_effort()).message_lost_callback(on_lost);
        let (received, listener) = (Received::default(), far.create_node("listener").unwrap());
        let subscription = received.by_reference(&listener, options);
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
        spin_until(&far, "they match", || subscription.publisher_count() == 1);
        publisher.publish(text(1)).unwrap();
        spin_until(&far, "the first is received", || received.all() == [1]);

        nft("add table inet lossy");
        nft("add chain inet lossy in { type filter hook input priority 0; }");
        nft(&format!("add rule inet lossy in udp length {LOST}-{} drop", 2 * LOST));
        (0..3).for_each(|_| publisher.publish(text(LOST)).unwrap());
        publisher.publish(text(2)).unwrap();
        spin_until(&far, "the second is received", || received.all() == [1, 2]);
        let lost = |total_count, total_count_change| MessageLost { total_count, total_count_change };
        spin_until(&far, "it is reported", || *events.lock().unwrap() == [lost(3, 3)]);
        publisher.publish(text(LOST)).unwrap();
        publisher.publish(text(3)).unwrap();
        spin_until(&far, "it is informed of the next", || {
            *events.lock().unwrap() == [lost(3, 3), lost(4, 1)]
        });
        assert_eq!((subscription.lost(), subscription.dropped(), publisher.dropped()), (4, 0, 0));
    });
}
