//! Tests of the end of a program with undelivered messages: it lingers, reports what it leaves, and Ctrl-C ends the
//! wait.

use std::env;
use std::process::{Command, exit};
use std::time::Duration;

use crate::common::{Graph, LONG};
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, ContextOptions, Graphs, Publisher, QoS};
use runnel_testkit::hosts::Host;
use runnel_testkit::process::{Peer, deadline_in};
use rustix::process::Signal;

/// Environment variable with the role of a child process: "listens" or "talks".
const ROLE: &str = "PART";

/// Environment variable with its graph: "ros1" or "ros2".
const GRAPH: &str = "GRAPH";

/// Number of messages that the talker publishes: long ones in ROS 1, of which the kernel accepts few.
const MESSAGES: usize = 3;

fn context() -> Context {
    let graphs = if env::var(GRAPH).unwrap() == "ros1" { Graphs::Ros1 } else { Graphs::Ros2 };
    Context::with_options(ContextOptions::default().arguments([""; 0]).graphs(graphs).domain_id(17)).unwrap()
}

fn message() -> UInt8MultiArray {
    let len = if env::var(GRAPH).unwrap() == "ros1" { 16 << 20 } else { 100 };
    UInt8MultiArray { data: vec![7; len], ..UInt8MultiArray::default() }
}

fn play(part: &str) -> ! {
    let context = context();
    let node = context.create_node(part).unwrap();
    if part == "listens" {
        let subscription = node.create_subscription("data", QoS::keep_last(10), |_: &UInt8MultiArray| {});
        println!("\nready");
        let _subscription = subscription.unwrap();
        context.spin().unwrap();
        exit(0);
    }
    let publisher: Publisher<UInt8MultiArray> = node.create_publisher("data", QoS::keep_last(10)).unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    if env::var("RUNNEL_IPC").is_err() {
        while publisher.shared_memory_count() == 0 {
            context.spin_once(Duration::from_millis(1)).unwrap();
        }
    }
    println!("\nmet");
    // Until the listener is suspended.
    while !std::path::Path::new(&env::var("STANDS").unwrap()).exists() {
        context.spin_once(Duration::from_millis(5)).unwrap();
    }
    (0..MESSAGES).for_each(|_| publisher.publish(message()).unwrap());
    // On the stream of the report, so that it is read before that.
    eprintln!("\nending");
    drop((publisher, node, context));
    println!("\nended");
    exit(0);
}

struct Stage {
    listener: Peer,
    talker: Peer,
    _graph: Graph,
}

/// A suspended listener, and a talker that has published more than the listener can receive.
fn talker_with_suspended_listener(graph: &str, ipc: bool, linger: &str) -> Stage {
    runnel_testkit::namespace::require_private_network();
    let master = Graph::new();
    let stands = env::temp_dir().join(format!("runnel-linger-{}-{graph}-{ipc}-{linger}", std::process::id()));
    let _ = std::fs::remove_file(&stands);
    let part = |part: &str| {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "linger::linger_is_bounded_and_reported", "--nocapture"]);
        command.env(ROLE, part).env(GRAPH, graph).env("RUNNEL_LINGER", linger).env("STANDS", &stands);
        command.env("ROS_MASTER_URI", &master.uri).env("ROS_IP", "127.0.0.1");
        if !ipc {
            command.env("RUNNEL_IPC", "off");
        }
        Peer::spawn(part, command).unwrap()
    };
    let mut listener = part("listens");
    listener.wait_for_line(|line| line == "ready", deadline_in(LONG.as_secs())).unwrap();
    let mut talker = part("talks");
    talker.wait_for_line(|line| line == "met", deadline_in(LONG.as_secs())).unwrap();
    listener.stop(deadline_in(LONG.as_secs())).unwrap();
    std::fs::write(&stands, "").unwrap();
    talker.wait_for_line(|line| line == "ending", deadline_in(LONG.as_secs())).unwrap();
    let _ = std::fs::remove_file(&stands);
    Stage { listener, talker, _graph: master }
}

const PATHS: [(&str, bool); 3] = [("ros2", false), ("ros2", true), ("ros1", false)];

#[test]
fn linger_is_bounded_and_reported() {
    if let Ok(part) = env::var(ROLE) {
        play(&part);
    }
    for (graph, ipc) in PATHS {
        let mut stage = talker_with_suspended_listener(graph, ipc, "0.3");
        let is_report = |line: &str| line.contains("publisher /data: ") && line.contains("not arrived at ");
        let line = stage.talker.wait_for_line(is_report, deadline_in(LONG.as_secs())).unwrap();
        assert!(line.contains("waited 0.3 s, RUNNEL_LINGER"), "{line}");
        if graph == "ros2" && !ipc {
            assert!(line.contains("3 messages have"), "{line}");
        }
        if graph == "ros1" {
            assert!(line.contains("/listens"), "{line}");
        }
        assert!(stage.talker.wait_exit(deadline_in(LONG.as_secs())).unwrap().success());
        stage.listener.signal(Signal::CONT).unwrap();
    }
}

#[test]
fn ctrl_c_ends_the_linger() {
    for (graph, ipc) in PATHS {
        // The requested wait is longer than the test.
        let mut stage = talker_with_suspended_listener(graph, ipc, "3600");
        let is_report = |line: &str| line.contains("publisher /data: ") && line.contains("interrupted");
        stage.talker.signal(Signal::INT).unwrap();
        // A signal just before the wait ends the program as usual. The next one ends the wait.
        if stage.talker.wait_for_line(is_report, deadline_in(5)).is_err() {
            stage.talker.signal(Signal::INT).unwrap();
            stage.talker.wait_for_line(is_report, deadline_in(LONG.as_secs())).unwrap();
        }
        assert!(
            stage.talker.wait_exit(deadline_in(LONG.as_secs())).unwrap().success(),
            "{}",
            stage.talker.output()
        );
        stage.listener.signal(Signal::CONT).unwrap();
    }
}

/// A host that loses half of its incoming datagrams.
fn lossy_host() -> Host {
    let host = Host::new();
    for rule in [
        "add table inet faults",
        "add chain inet faults input { type filter hook input priority 0 ; }",
        "add rule inet faults input meta l4proto udp numgen random mod 2 == 0 drop",
    ] {
        let status =
            host.run(|| Command::new("nft").args(rule.split(' ')).status().expect("nft, of nftables"));
        assert!(status.success(), "nft {rule}");
    }
    host
}

#[test]
fn linger_delivers_reliable_messages_at_half_loss() {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    let (near, far) = (lossy_host(), lossy_host());
    near.join(&far, "cable");
    near.address("cable", "10.1.0.1/24");
    far.address("cable", "10.1.0.2/24");
    let (received, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    let context = || {
        let options =
            ContextOptions::default().signals(false).arguments([""; 0]).linger(Duration::from_secs(60));
        Context::with_options(options.graphs(Graphs::Ros2).domain_id(18)).unwrap()
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            far.run(|| {
                let context = context();
                let node = context.create_node("listener").unwrap();
                let count = std::sync::Arc::new(AtomicUsize::new(0));
                let of = std::sync::Arc::clone(&count);
                let take = move |_: &UInt8MultiArray| {
                    of.fetch_add(1, Ordering::SeqCst);
                };
                let _subscription = node.create_subscription("data", QoS::keep_last(200), take).unwrap();
                while !done.load(Ordering::SeqCst) {
                    context.spin_once(Duration::from_millis(10)).unwrap();
                    received.store(count.load(Ordering::SeqCst), Ordering::SeqCst);
                }
            });
        });
        near.run(|| {
            let context = context();
            let node = context.create_node("talker").unwrap();
            let publisher = node.create_publisher("data", QoS::keep_last(200)).unwrap();
            assert!(publisher.wait_for_subscribers(1, 3 * LONG).unwrap());
            for _ in 0..100 {
                publisher.publish(UInt8MultiArray { data: vec![7; 1000], ..Default::default() }).unwrap();
            }
        });
        // The program has ended and resends nothing.
        let until = std::time::Instant::now() + LONG;
        while received.load(Ordering::SeqCst) < 100 && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        done.store(true, Ordering::SeqCst);
    });
    assert_eq!(received.load(Ordering::SeqCst), 100);
}
