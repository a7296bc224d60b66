//! Topics of ROS 2 between hosts that have cables between them, and addresses that come and go.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common::LONG;
use crate::logged::{count_logged, keep_log};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, ContextOptions, Graphs, QoS};
use runnel_testkit::hosts::Host;
use runnel_testkit::process::{Peer, within};

/// Two hosts with a cable between them.
fn cabled() -> (Host, Host) {
    let (a, b) = (Host::new(), Host::new());
    a.join(&b, "cable");
    (a, b)
}

fn context() -> Context {
    let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
    Context::with_options(options.graphs(Graphs::Ros2).domain_id(7)).unwrap()
}

/// How many messages of each topic a host has heard.
#[derive(Default)]
struct Ear {
    received: AtomicUsize,
    done: AtomicBool,
}

/// Has this program talk where another started it, as [`has_talk`] does, and otherwise nothing.
const ASKED: &str = "RUNNEL_TEST_TALKS";

/// Hears a topic on a host until it is told that this is enough.
fn hear(host: &Host, topic: &str, ear: &Ear) {
    host.run(|| {
        let context = context();
        let node = context.create_node("listener").unwrap();
        let received = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&received);
        let subscription = node.create_subscription(topic, QoS::keep_last(100), move |_: &Text| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let _subscription = subscription.unwrap();
        while !ear.done.load(Ordering::SeqCst) {
            context.spin_once(Duration::from_millis(10)).unwrap();
            ear.received.store(received.load(Ordering::SeqCst), Ordering::SeqCst);
        }
    });
}

/// Publishes on a host until each ear has heard something more.
fn tell(host: &Host, topic: &str, ears: &[&Ear], meanwhile: impl FnOnce() + Send) {
    host.run(|| {
        let context = context();
        let node = context.create_node("talker").unwrap();
        let publisher = node.create_publisher::<Text>(topic, 100).unwrap();
        meanwhile();
        say_until_heard(&context, &publisher, ears);
    });
}

fn say_until_heard(context: &Context, publisher: &runnel::Publisher<Text>, ears: &[&Ear]) {
    let before: Vec<usize> = ears.iter().map(|ear| ear.received.load(Ordering::SeqCst)).collect();
    let until = Instant::now() + LONG;
    while ears.iter().zip(&before).any(|(ear, before)| ear.received.load(Ordering::SeqCst) == *before) {
        assert!(Instant::now() < until, "one receives nothing");
        publisher.publish(Text { data: "hello".into() }).unwrap();
        context.spin_once(Duration::from_millis(20)).unwrap();
    }
}

/// Has a talker on a host heard by listeners on others, after `meanwhile` was done.
fn talk(from: &Host, to: &[&Host], meanwhile: impl FnOnce() + Send) {
    let ears: Vec<Ear> = to.iter().map(|_| Ear::default()).collect();
    std::thread::scope(|scope| {
        for (host, ear) in to.iter().zip(&ears) {
            scope.spawn(|| hear(host, "chatter", ear));
        }
        let done = Done(&ears);
        tell(from, "chatter", &ears.iter().collect::<Vec<_>>(), meanwhile);
        drop(done);
    });
}

/// Lets the listeners end, whatever becomes of the talker.
struct Done<'a>(&'a [Ear]);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|ear| ear.done.store(true, Ordering::SeqCst));
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
    let (a, b) = cabled();
    a.address("cable", "fd00::1/64");
    b.address("cable", "fd00::2/64");
    talk(&a, &[&b], || {});
}

#[test]
fn hosts_with_only_link_local_addresses_match() {
    let (a, b) = cabled();
    a.address("cable", "fe80::1/64");
    b.address("cable", "fe80::2/64");
    talk(&a, &[&b], || {});
    talk(&b, &[&a], || {});
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
    talk(&middle, &[&old, &new], || {});
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
    talk(&middle, &[&left, &right], || {});
    talk(&left, &[&middle], || {});
}

#[test]
fn late_address_is_used() {
    for [first, second] in [["10.0.1.1/24", "10.0.1.2/24"], ["fd00::1/64", "fd00::2/64"]] {
        let (a, b) = cabled();
        talk(&a, &[&b], || {
            a.address("cable", first);
            b.address("cable", second);
        });
    }
}

#[test]
fn late_interface_is_used() {
    let (a, b) = (Host::new(), Host::new());
    talk(&a, &[&b], || {
        a.join(&b, "cable");
        a.address("cable", "10.0.1.1/24");
        b.address("cable", "10.0.1.2/24");
    });
}

#[test]
fn second_announced_address_replaces_lost_one() {
    let (a, b) = cabled();
    a.address("cable", "10.0.1.1/24");
    b.address("cable", "10.0.1.2/24");
    let ear = Ear::default();
    std::thread::scope(|scope| {
        scope.spawn(|| hear(&b, "chatter", &ear));
        let done = Done(std::slice::from_ref(&ear));
        a.run(|| {
            let context = context();
            let node = context.create_node("talker").unwrap();
            let publisher = node.create_publisher::<Text>("chatter", 100).unwrap();
            say_until_heard(&context, &publisher, &[&ear]);
            // Of another network, since a second address of the same one would go with the first.
            a.address("cable", "10.0.2.1/24");
            b.address("cable", "10.0.2.3/24");
            say_until_heard(&context, &publisher, &[&ear]);
            b.ip("address del 10.0.1.2/24 dev cable");
            say_until_heard(&context, &publisher, &[&ear]);
        });
        drop(done);
    });
}

#[test]
fn child_process_runs_as_talker() {
    if std::env::var_os(ASKED).is_none() {
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

/// Starts such a talker on the host of this thread, with these variables.
fn has_talk(variables: Variables) -> Peer {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "ros2_networks::child_process_runs_as_talker", "--nocapture"]);
    command.env(ASKED, "1").env("ROS_DOMAIN_ID", "7").envs(variables.iter().copied());
    Peer::spawn("talker", command).unwrap()
}

/// Who hears a talker with these variables: a listener of its host, and one of a host that no multicast reaches. Gives what
/// the talker printed.
fn is_received(variables: Variables, [here, there]: [bool; 2]) -> String {
    let (a, b) = cabled();
    for (host, address) in [(&a, "10.0.0.1/24"), (&b, "10.0.0.2/24")] {
        host.address("cable", address);
        host.ip("link set cable multicast off");
    }
    let ears = [Ear::default(), Ear::default()];
    let received = || ears.each_ref().map(|ear| ear.received.load(Ordering::SeqCst) > 0);
    std::thread::scope(|scope| {
        scope.spawn(|| hear(&a, "chatter", &ears[0]));
        scope.spawn(|| hear(&b, "chatter", &ears[1]));
        let _done = Done(&ears);
        a.run(|| {
            let mut talker = has_talk(variables);
            let until = within(LONG.as_secs());
            while received() != [here, there] && Instant::now() < until {
                let _ = talker.wait_for_line(|line| line.starts_with("said "), until);
            }
            // Who is not to hear it has had the time of a hundred messages more.
            let number = |line: &String| line.strip_prefix("said ")?.parse::<u32>().ok();
            let last = talker.lines().iter().rev().find_map(number).unwrap_or(0);
            talker
                .wait_for_line(|line| line == format!("said {}", last + 100), within(LONG.as_secs()))
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
    // What is set, who hears it then, and which variables it says that it ignores.
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
                let printed = is_received(variables, expected);
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
