//! Tests of ROS 2 topics between hosts with changing interfaces and addresses.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common::LONG;
use crate::logged::{count_logged, keep_log};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, ContextOptions, Graphs, QoS};
use runnel_testkit::hosts::Host;
use runnel_testkit::process::{Peer, deadline_in};

/// Two hosts connected by a cable.
fn connected_hosts() -> (Host, Host) {
    let (a, b) = (Host::new(), Host::new());
    a.join(&b, "cable");
    (a, b)
}

fn context() -> Context {
    let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
    Context::with_options(options.graphs(Graphs::Ros2).domain_id(7)).unwrap()
}

/// Numbers of messages that a host has received of each topic.
#[derive(Default)]
struct Counters {
    received: AtomicUsize,
    done: AtomicBool,
}

/// Environment variable of a child process that runs as a talker, see [`start_talker`].
const TALKER: &str = "RUNNEL_TEST_TALKS";

/// Subscribes to a topic on a host until the listener ends.
fn listen(host: &Host, topic: &str, counters: &Counters) {
    host.run(|| {
        let context = context();
        let node = context.create_node("listener").unwrap();
        let received = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&received);
        let subscription = node.create_subscription(topic, QoS::keep_last(100), move |_: &Text| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let _subscription = subscription.unwrap();
        while !counters.done.load(Ordering::SeqCst) {
            context.spin_once(Duration::from_millis(10)).unwrap();
            counters.received.store(received.load(Ordering::SeqCst), Ordering::SeqCst);
        }
    });
}

/// Publishes on a host until each listener has received another message.
fn publish_until_received(
    host: &Host,
    topic: &str,
    listeners: &[&Counters],
    meanwhile: impl FnOnce() + Send,
) {
    host.run(|| {
        let context = context();
        let node = context.create_node("talker").unwrap();
        let publisher = node.create_publisher::<Text>(topic, 100).unwrap();
        meanwhile();
        publish_repeatedly(&context, &publisher, listeners);
    });
}

fn publish_repeatedly(context: &Context, publisher: &runnel::Publisher<Text>, listeners: &[&Counters]) {
    let before: Vec<usize> =
        listeners.iter().map(|counters| counters.received.load(Ordering::SeqCst)).collect();
    let until = Instant::now() + LONG;
    while listeners
        .iter()
        .zip(&before)
        .any(|(counters, before)| counters.received.load(Ordering::SeqCst) == *before)
    {
        assert!(Instant::now() < until, "one receives nothing");
        publisher.publish(Text { data: "hello".into() }).unwrap();
        context.spin_once(Duration::from_millis(20)).unwrap();
    }
}

/// Publishes on a host, with listeners on other hosts, after `meanwhile`.
fn assert_received(from: &Host, to: &[&Host], meanwhile: impl FnOnce() + Send) {
    let listeners: Vec<Counters> = to.iter().map(|_| Counters::default()).collect();
    std::thread::scope(|scope| {
        for (host, counters) in to.iter().zip(&listeners) {
            scope.spawn(|| listen(host, "chatter", counters));
        }
        let done = EndOnDrop(&listeners);
        publish_until_received(from, "chatter", &listeners.iter().collect::<Vec<_>>(), meanwhile);
        drop(done);
    });
}

/// Ends the listeners when dropped, even if the test panics.
struct EndOnDrop<'a>(&'a [Counters]);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|counters| counters.done.store(true, Ordering::SeqCst));
    }
}

#[test]
fn missing_interface_is_logged_once() {
    keep_log();
    let alone = Host::new();
    alone.ip("link set lo down");
    alone.run(|| {
        let context = context();
        let _nodes = ["one", "two"].map(|name| context.create_node(name).unwrap());
    });
    assert_eq!(count_logged(&["WARN", "no network interface is up"]), 1);
}

#[test]
fn hosts_with_only_ipv6_match() {
    let (a, b) = connected_hosts();
    a.address("cable", "fd00::1/64");
    b.address("cable", "fd00::2/64");
    assert_received(&a, &[&b], || {});
}

#[test]
fn hosts_with_only_link_local_addresses_match() {
    let (a, b) = connected_hosts();
    a.address("cable", "fe80::1/64");
    b.address("cable", "fe80::2/64");
    assert_received(&a, &[&b], || {});
    assert_received(&b, &[&a], || {});
}

#[test]
fn dual_stack_host_matches_both_families() {
    let (middle, old, new) = (Host::new(), Host::new(), Host::new());
    middle.join(&old, "old");
    middle.join(&new, "new");
    middle.address("old", "10.0.1.1/24");
    middle.address("new", "fd00::1/64");
    old.address("old", "10.0.1.2/24");
    new.address("new", "fd00::2/64");
    assert_received(&middle, &[&old, &new], || {});
}

#[test]
fn host_on_several_networks_matches_on_each() {
    let (middle, left, right) = (Host::new(), Host::new(), Host::new());
    middle.join(&left, "left");
    middle.join(&right, "right");
    for (host, cable, address) in [
        (&middle, "left", "10.0.1.1/24"),
        (&middle, "right", "10.0.2.1/24"),
        (&left, "left", "10.0.1.2/24"),
        (&right, "right", "10.0.2.2/24"),
    ] {
        host.address(cable, address);
    }
    assert_received(&middle, &[&left, &right], || {});
    assert_received(&left, &[&middle], || {});
}

#[test]
fn late_address_is_used() {
    for [first, second] in [["10.0.1.1/24", "10.0.1.2/24"], ["fd00::1/64", "fd00::2/64"]] {
        let (a, b) = connected_hosts();
        assert_received(&a, &[&b], || {
            a.address("cable", first);
            b.address("cable", second);
        });
    }
}

#[test]
fn late_interface_is_used() {
    let (a, b) = (Host::new(), Host::new());
    assert_received(&a, &[&b], || {
        a.join(&b, "cable");
        a.address("cable", "10.0.1.1/24");
        b.address("cable", "10.0.1.2/24");
    });
}

#[test]
fn second_announced_address_replaces_lost_one() {
    let (a, b) = connected_hosts();
    a.address("cable", "10.0.1.1/24");
    b.address("cable", "10.0.1.2/24");
    let counters = Counters::default();
    std::thread::scope(|scope| {
        scope.spawn(|| listen(&b, "chatter", &counters));
        let done = EndOnDrop(std::slice::from_ref(&counters));
        a.run(|| {
            let context = context();
            let node = context.create_node("talker").unwrap();
            let publisher = node.create_publisher::<Text>("chatter", 100).unwrap();
            publish_repeatedly(&context, &publisher, &[&counters]);
            // In another network, since a second address of the same one would be removed with the first.
            a.address("cable", "10.0.2.1/24");
            b.address("cable", "10.0.2.3/24");
            publish_repeatedly(&context, &publisher, &[&counters]);
            b.ip("address del 10.0.1.2/24 dev cable");
            publish_repeatedly(&context, &publisher, &[&counters]);
        });
        drop(done);
    });
}

#[test]
fn child_process_runs_as_talker() {
    if std::env::var_os(TALKER).is_none() {
        return;
    }
    let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
    let context = Context::with_options(options.graphs(Graphs::Ros2)).unwrap();
    let node = context.create_node("talker").unwrap();
    let publisher = node.create_publisher::<Text>("chatter", 100).unwrap();
    for number in 0.. {
        publisher.publish(Text { data: "hello".into() }).unwrap();
        println!("\nsaid {number}");
        context.sleep(Duration::from_millis(20)).unwrap();
    }
}

/// Names and values.
type Variables<'a> = &'a [(&'a str, &'a str)];

/// Starts a talker on the host of this thread, with these variables.
fn start_talker(variables: Variables) -> Peer {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "ros2_networks::child_process_runs_as_talker", "--nocapture"]);
    command.env(TALKER, "1").env("ROS_DOMAIN_ID", "7").envs(variables.iter().copied());
    Peer::spawn("talker", command).unwrap()
}

/// Which of two listeners receive a talker with these variables: one on its host, and one on a host without multicast
/// to it. Returns the talker's output.
fn check_listeners(variables: Variables, [here, there]: [bool; 2]) -> String {
    let (a, b) = connected_hosts();
    for (host, address) in [(&a, "10.0.0.1/24"), (&b, "10.0.0.2/24")] {
        host.address("cable", address);
        host.ip("link set cable multicast off");
    }
    let listeners = [Counters::default(), Counters::default()];
    let received = || listeners.each_ref().map(|counters| counters.received.load(Ordering::SeqCst) > 0);
    std::thread::scope(|scope| {
        scope.spawn(|| listen(&a, "chatter", &listeners[0]));
        scope.spawn(|| listen(&b, "chatter", &listeners[1]));
        let _done = EndOnDrop(&listeners);
        a.run(|| {
            let mut talker = start_talker(variables);
            let until = deadline_in(LONG.as_secs());
            while received() != [here, there] && Instant::now() < until {
                let _ = talker.wait_for_line(|line| line.starts_with("said "), until);
            }
            // The other listener had the time of a hundred more messages.
            let number = |line: &String| line.strip_prefix("said ")?.parse::<u32>().ok();
            let last = talker.lines().iter().rev().find_map(number).unwrap_or(0);
            talker
                .wait_for_line(|line| line == format!("said {}", last + 100), deadline_in(LONG.as_secs()))
                .unwrap();
            assert_eq!(received(), [here, there], "{variables:?}: {}", talker.output());
            talker.output()
        })
    })
}

const RANGE: &str = "ROS_AUTOMATIC_DISCOVERY_RANGE";
const PEERS: &str = "ROS_STATIC_PEERS";
const LOCALHOST_ONLY: &str = "ROS_LOCALHOST_ONLY";

#[test]
fn environment_variables_select_peers() {
    let peer = (PEERS, "10.0.0.2");
    // The variables, which listeners receive, and which variables the talker reports as ignored.
    let cases: [(Variables, [bool; 2], &[&str]); 6] = [
        (&[peer], [true, true], &[]),
        (&[(RANGE, "LOCALHOST")], [true, false], &[]),
        (&[(RANGE, "LOCALHOST"), (LOCALHOST_ONLY, "0"), peer], [true, true], &[]),
        (&[(RANGE, "SUBNET"), (LOCALHOST_ONLY, "1"), peer], [true, false], &[RANGE, PEERS]),
        (&[(RANGE, "OFF"), peer], [false, false], &[PEERS]),
        (&[(RANGE, "OFF"), (LOCALHOST_ONLY, "1")], [true, false], &[RANGE]),
    ];
    std::thread::scope(|scope| {
        for (variables, expected, ignored) in cases {
            scope.spawn(move || {
                let printed = check_listeners(variables, expected);
                for variable in [RANGE, PEERS, LOCALHOST_ONLY] {
                    let is_logged = printed.contains(&format!("{variable} is ignored"));
                    assert_eq!(
                        is_logged,
                        ignored.contains(&variable),
                        "{variables:?}: {variable}: {printed}"
                    );
                }
            });
        }
    });
}
