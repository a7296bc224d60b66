//! Topics of ROS 2 between hosts that have cables between them, and addresses that come and go.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::LONG;
use runnel::msgs::std_msgs::String as Text;
use runnel::{Context, ContextOptions, Graphs, QoS};
use runnel_testkit::hosts::Host;

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
    heard: AtomicUsize,
    done: AtomicBool,
}

/// Hears a topic on a host until it is told that this is enough.
fn hear(host: &Host, topic: &str, ear: &Ear) {
    host.run(|| {
        let context = context();
        let node = context.create_node("listener").unwrap();
        let heard = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&heard);
        let subscription = node.create_subscription(topic, QoS::keep_last(100), move |_: &Text| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let _subscription = subscription.unwrap();
        while !ear.done.load(Ordering::SeqCst) {
            context.spin_once(Duration::from_millis(10)).unwrap();
            ear.heard.store(heard.load(Ordering::SeqCst), Ordering::SeqCst);
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
    let before: Vec<usize> = ears.iter().map(|ear| ear.heard.load(Ordering::SeqCst)).collect();
    let until = Instant::now() + LONG;
    while ears.iter().zip(&before).any(|(ear, before)| ear.heard.load(Ordering::SeqCst) == *before) {
        assert!(Instant::now() < until, "somebody hears nothing");
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
fn hosts_with_addresses_of_ipv6_alone_meet() {
    let (a, b) = cabled();
    a.address("cable", "fd00::1/64");
    b.address("cable", "fd00::2/64");
    talk(&a, &[&b], || {});
}

#[test]
fn hosts_with_link_local_addresses_alone_meet() {
    let (a, b) = cabled();
    a.address("cable", "fe80::1/64");
    b.address("cable", "fe80::2/64");
    talk(&a, &[&b], || {});
    talk(&b, &[&a], || {});
}

#[test]
fn a_host_of_either_family_is_met_by_one_of_both() {
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
fn a_host_of_several_networks_is_met_on_each() {
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
fn an_address_that_comes_late_is_used() {
    for [first, second] in [["10.0.1.1/24", "10.0.1.2/24"], ["fd00::1/64", "fd00::2/64"]] {
        let (a, b) = cabled();
        talk(&a, &[&b], || {
            a.address("cable", first);
            b.address("cable", second);
        });
    }
}

#[test]
fn a_cable_that_comes_late_is_used() {
    let (a, b) = (Host::new(), Host::new());
    talk(&a, &[&b], || {
        a.join(&b, "cable");
        a.address("cable", "10.0.1.1/24");
        b.address("cable", "10.0.1.2/24");
    });
}

#[test]
fn another_address_that_was_told_is_used_when_the_first_is_gone() {
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
