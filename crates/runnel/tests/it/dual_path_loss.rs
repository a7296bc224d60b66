//! Tests of dual nodes whose datagrams are dropped for longer than a lease, while connections work.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Graph, LONG};
use crate::dual_scene::{Listener, Talker};
use crate::raw::Ports;
use runnel::msgs::std_msgs::msg::UInt32;
use runnel::{Context, Graphs, QoS};
use runnel_io::clock;
use runnel_ros1::rpc::Uri;
use runnel_ros1::xmlrpc::Value;
use runnel_testkit::hosts::Host;

/// Longer than a lease of the ROS 2 graph: only a failing test waits so long.
const LEASE_AND_MORE: Duration = Duration::from_secs(60);

/// Number of messages after which a state counts as stable.
const STABLE: u32 = 500;

/// Drops all datagrams of this host. Senders are not informed.
const DROP_DATAGRAMS: [&str; 3] = [
    "add table inet cut",
    "add chain inet cut in { type filter hook input priority 0; }",
    "add rule inet cut in meta l4proto udp drop",
];
const MEND: &str = "delete table inet cut";

fn nft(line: &str) {
    let done = Command::new("nft").arg(line).output().expect("nft");
    assert!(done.status.success(), "nft {line}: {}", String::from_utf8_lossy(&done.stderr));
}

fn spin_until(context: &Context, what: &str, mut done: impl FnMut() -> bool) {
    let deadline = clock::monotonic() + LEASE_AND_MORE;
    while !done() {
        assert!(clock::monotonic() < deadline, "timed out: {what}");
        context.spin_once(Duration::from_millis(10)).unwrap();
    }
}

/// Messages sent to the listener by its ROS 1 connection, by the talker's slave API.
fn sent_by_ros1(context: &Context, talker: &Uri) -> i32 {
    let answer = context.call(talker, "getBusStats", &["/test".into()], LONG).unwrap();
    let array = |value: &Value| value.as_array().unwrap().to_vec();
    let publications = array(&array(&array(&answer)[2])[0]);
    let entry = publications.iter().map(array).find(|entry| entry[0].as_str() == Some("/count")).unwrap();
    array(&entry[2]).iter().map(|row| array(row)[2].as_int().unwrap()).sum()
}

/// Whether ROS 1 delivers none of the messages received meanwhile.
fn uses_ros2(context: &Context, talker: &Uri, listener: &Listener) -> bool {
    let before = sent_by_ros1(context, talker);
    let goal = listener.last().map(|number| number + STABLE);
    spin_until(context, "it continues to receive", || listener.last() > goal);
    sent_by_ros1(context, talker) == before
}

fn falls_back_to_ros1_and_returns(ipc: bool) {
    let graph = Graph::new();
    let options = || graph.options().graphs(Graphs::Both).ipc(ipc);
    let [a, b] = [0, 1].map(|_| Context::with_options(options()).unwrap());
    let talker = a.create_node("talker").unwrap();
    let many = QoS::keep_last(100_000);
    let publisher = talker.create_publisher::<UInt32>("count", many).unwrap();
    let listener = Listener::new(&b, many);
    let counts = || (publisher.subscription_count(), listener.subscription.publisher_count());
    spin_until(&b, "they match", || counts() == (1, 1));
    let uri = Uri::parse(&format!("http://{}/", Ports::of(&b, "/talker", "/count").rpc)).unwrap();
    let talks = Talker::new(publisher.clone());
    spin_until(&b, "RTPS delivers", || uses_ros2(&b, &uri, &listener));

    DROP_DATAGRAMS.into_iter().for_each(nft);
    spin_until(&b, "ROS 1 delivers", || !uses_ros2(&b, &uri, &listener));
    assert_eq!(counts(), (1, 1), "they know each other by ROS 1");
    let from_here = listener.last().unwrap();

    nft(MEND);
    spin_until(&b, "RTPS delivers again", || uses_ros2(&b, &uri, &listener));
    let last = talks.end();
    spin_until(&b, "it receives the last", || listener.last() == Some(last));
    assert_eq!(counts(), (1, 1));
    check(&listener, from_here, last);
}

/// Asserts that each number arrived once and in order, except for one gap of messages that were in transit in ROS 2.
fn check(listener: &Listener, from_here: u32, last: u32) {
    let received = listener.received.lock().unwrap();
    let breaks: Vec<_> = received.windows(2).filter(|pair| pair[1] != pair[0] + 1).collect();
    let (before, after) = received.split_at(received.iter().position(|number| *number == from_here).unwrap());
    assert!(breaks.len() <= 1 && breaks.iter().all(|pair| pair[1] > pair[0]), "{breaks:?}");
    assert!(before.iter().all(|number| *number < from_here));
    assert!(after.iter().copied().eq(from_here..=last), "nothing is lost or doubled where it comes back");
}

/// ROS 1 delivers the first message, RTPS the later ones.
fn later_subscriptions_receive_what_ros2_keeps() {
    let graph = Graph::new();
    let [a, b] = [0, 1].map(|_| Context::with_options(graph.options().graphs(Graphs::Both)).unwrap());
    DROP_DATAGRAMS.into_iter().for_each(nft);
    let talker = a.create_node("talker").unwrap();
    // Deep enough for all messages until both match in ROS 2, which may take an announcement period.
    let kept = QoS::keep_last(100_000).transient_local();
    let publisher = talker.create_publisher::<UInt32>("count", kept).unwrap();
    let publish = |data| publisher.publish(UInt32 { data }).unwrap();
    publish(0);
    let first = Listener::new(&b, kept);
    spin_until(&b, "ROS 1 delivers kept messages", || first.last() == Some(0));
    let uri = Uri::parse(&format!("http://{}/", Ports::of(&b, "/talker", "/count").rpc)).unwrap();

    nft(MEND);
    let (mut last, mut by_ros1) = (0, sent_by_ros1(&b, &uri));
    loop {
        last += 1;
        publish(last);
        spin_until(&b, "it continues to receive", || first.last() == Some(last));
        let before = std::mem::replace(&mut by_ros1, sent_by_ros1(&b, &uri));
        if by_ros1 == before {
            break;
        }
    }
    let receives = |qos| {
        let received = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&received);
        let take = move |number: &UInt32| into.lock().unwrap().push(number.data);
        (first.node.create_subscription("count", qos, take).unwrap(), received)
    };
    let [(_late, late), (_new, new)] = [kept, QoS::keep_last(1000)].map(receives);
    spin_until(&b, "the one receives what is kept", || late.lock().unwrap().last() == Some(&last));
    let outdated = last;
    spin_until(&b, "the other receives what is new", || {
        last += 1;
        publish(last);
        !new.lock().unwrap().is_empty()
    });
    spin_until(&b, "both receive the last", || {
        [&late, &new].iter().all(|received| received.lock().unwrap().last() == Some(&last))
    });
    assert_eq!(*late.lock().unwrap(), (0..=last).collect::<Vec<_>>());
    let new = new.lock().unwrap();
    assert!(
        new[0] > outdated && new.iter().copied().eq(new[0]..=last),
        "{new:?}, and {outdated} was outdated"
    );
    first.check();
}

#[test]
fn late_subscription_gets_kept_ros2_messages_once() {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let host = Host::new();
            host.ip("link set lo multicast on");
            host.ip("route add 224.0.0.0/4 dev lo");
            host.run(later_subscriptions_receive_what_ros2_keeps);
        });
    });
}

#[test]
fn ros1_carries_stream_while_ros2_is_lost() {
    let over_network = || falls_back_to_ros1_and_returns(false);
    let over_memory = || falls_back_to_ros1_and_returns(true);
    std::thread::scope(|scope| {
        for way in [&over_network as &(dyn Fn() + Sync), &over_memory] {
            scope.spawn(move || {
                let host = Host::new();
                host.ip("link set lo multicast on");
                host.ip("route add 224.0.0.0/4 dev lo");
                host.run(way);
            });
        }
    });
}
