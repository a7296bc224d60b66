//! Tests of processes with little memory or few descriptors: messages are copied or use the network, and none is lost.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::cgroup::Cgroup;
use crate::child_process::{context, print_line, run_role_if_child, start};
use crate::common::{LONG, spin_until, wait_until};
use crate::ipc_scene::{Scene, number_in, numbered};
use crate::process::{alone, descriptors};
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Borrowed, Context, ContextOptions};
use runnel_testkit::process::{Peer, deadline_in};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const ENTRY: &str = "ipc_limits::child_process_runs_its_role";

/// Messages sent in each direction.
const COUNT: usize = 300;

#[test]
fn child_process_runs_its_role() {
    run_role_if_child(|role, argument| {
        if role == "is in a group" {
            return run_in_cgroup(argument);
        }
        let (limit, expected) = argument.split_once(' ').unwrap();
        let limit: usize = limit.parse().unwrap();
        let limited = Limited { context: context(), expected: expected.to_owned() };
        match role {
            "has few descriptors" => limit_descriptors(&limited, limit),
            "has little memory" => limit_address_space(&limited, limit),
            "may make no memory" => forbid_shared_memory(&limited, limit),
            other => panic!("no such role: {other}"),
        }
    });
}

/// A limited process, and the path that its messages should take.
struct Limited {
    context: Context,
    expected: String,
}

/// Receives and publishes `COUNT` messages, most of them long, and prints their paths.
fn exchange_messages(Limited { context, expected }: &Limited, then: impl FnOnce()) {
    let node = context.create_node("limited").unwrap();
    let received = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&received);
    // Before any other process can have an IPC connection with this one.
    then();
    let publisher = node.create_publisher::<UInt8MultiArray>("answers", 2 * COUNT).unwrap();
    let subscription = node.create_subscription("data", 2 * COUNT, move |message: &UInt8MultiArray| {
        assert_eq!(number_in(&message.data) as usize, counted.fetch_add(1, Ordering::SeqCst));
    });
    let subscription = subscription.unwrap();
    spin_until(context, "a subscriber", || publisher.subscription_count() == 1);
    spin_until(context, "a publisher", || subscription.publisher_count() == 1);
    let ways = || (subscription.shared_memory_count(), publisher.shared_memory_count());
    // Waits until shared memory is in use, or for a while if it must not be.
    if expected == BY_MEMORY {
        spin_until(context, "both in shared memory", || ways() == (1, 1));
    }
    for _ in 0..30 {
        context.spin_once(Duration::from_millis(10)).unwrap();
    }
    print_line("ready");
    for number in 0..COUNT {
        publisher.publish(numbered(number as u32, 5000)).unwrap();
        context.spin_once(Duration::ZERO).unwrap();
    }
    spin_until(context, "all received", || received.load(Ordering::SeqCst) == COUNT);
    let (came, went) = ways();
    print_line(&format!("done, {came} came and {went} went by memory"));
    // The other end shuts this process down after it has received everything.
    context.spin().unwrap();
}

/// Limits the number of further descriptors.
fn limit_descriptors(limited: &Limited, spare: usize) {
    exchange_messages(limited, || lower(Resource::Nofile, descriptors() - 1 + spare));
}

/// Limits the number of further mapped bytes.
fn limit_address_space(limited: &Limited, spare: usize) {
    exchange_messages(limited, || {
        // Memory that is freed here stays available for everything but mappings.
        let mut heap: Vec<Vec<u8>> = (0..8192).map(|_| vec![1; 1024]).collect();
        let last = heap.pop();
        drop(heap);
        std::mem::forget(last);
        let pages = fs::read_to_string("/proc/self/statm").unwrap();
        let pages: usize = pages.split_whitespace().next().unwrap().parse().unwrap();
        lower(Resource::As, pages * 4096 + spare);
    });
}

/// Limits the size of shared memory that can be made.
fn forbid_shared_memory(limited: &Limited, most: usize) {
    exchange_messages(limited, || lower(Resource::Fsize, most));
}

fn lower(resource: Resource, current: usize) {
    let before = getrlimit(resource);
    setrlimit(resource, Rlimit { current: Some(current as u64), ..before }).unwrap();
}

/// Output of a limited process after it has received everything. The other end has received everything, too. Shared
/// memory is used only if expected, or if it comes soon.
fn outcome(role: &str, limit: usize, expected: &str) -> (String, Peer) {
    println!("{role}: {limit}");
    let scene = Scene::new();
    let received = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&received);
    let asker = scene.graph.context();
    let node = asker.create_node("asker").unwrap();
    let _answers = node.create_subscription("answers", 2 * COUNT, move |message: &UInt8MultiArray| {
        assert_eq!(number_in(&message.data) as usize, counted.fetch_add(1, Ordering::SeqCst));
    });
    let mut peer = start(&scene, ENTRY, role, &format!("{limit} {expected}"));
    peer.wait_for_line(|line| line == "ready", deadline_in(LONG.as_secs())).unwrap();
    scene.talk(COUNT as u32, 5000);
    let printed = peer.wait_for_line(|line| line.starts_with("done"), deadline_in(LONG.as_secs())).unwrap();
    spin_until(&asker, "all answers", || received.load(Ordering::SeqCst) == COUNT);
    scene.assert_undisturbed();
    (printed, peer)
}

const BY_MEMORY: &str = "done, 1 came and 1 went by memory";
const BY_NETWORK: &str = "done, 0 came and 0 went by memory";

#[test]
fn process_with_few_descriptors_uses_the_network() {
    let _alone = alone();
    let outcome = |spare: usize, expected| outcome("has few descriptors", spare, expected).0;
    // An IPC connection leaves 16 descriptors.
    for spare in (3..=12).step_by(3) {
        assert_eq!(outcome(spare, BY_NETWORK), BY_NETWORK, "{spare}");
    }
    // Nothing is lost on either path.
    let outcomes: Vec<String> = (15..30).step_by(3).map(|spare| outcome(spare, "")).collect();
    println!("{outcomes:?}");
    assert_eq!(outcome(30, BY_MEMORY), BY_MEMORY);
}

#[test]
fn process_with_little_address_space_gets_copies() {
    let _alone = alone();
    let (printed, peer) = outcome("has little memory", 100 << 10, BY_NETWORK);
    assert_eq!(printed, BY_NETWORK, "{}", peer.output());
    let (printed, peer) = outcome("has little memory", 3 << 20, BY_MEMORY);
    assert_eq!(printed, BY_MEMORY, "{}", peer.output());
    let not_mapped = "memory of another process is not mapped, its messages are copied";
    wait_until("it reports that it maps no more", || peer.output().contains(not_mapped));
}

#[test]
fn process_without_shared_memory_sends_copies() {
    let _alone = alone();
    let (printed, peer) = outcome("may make no memory", 100 << 10, BY_NETWORK);
    assert_eq!(printed, BY_NETWORK, "{}", peer.output());
    let no_ipc_connection = "no IPC connection with another process of this host";
    wait_until("the missing IPC connection is logged", || peer.output().contains(no_ipc_connection));
    let (printed, peer) = outcome("may make no memory", 1 << 20, BY_MEMORY);
    assert_eq!(printed, BY_MEMORY, "{}", peer.output());
}

/// Memory limit of the cgroup, and messages of 1 MiB that the other end keeps.
const GROUP: usize = 48 << 20;
const KEPT: usize = 100;

/// In a small cgroup: publishes messages that the other end keeps, each after it has received the one before.
fn run_in_cgroup(group: &str) {
    Cgroup::join(group);
    let options = ContextOptions::default().arguments([""; 0]).shared_memory(1 << 30, 1 << 30);
    let context = Context::with_options(options).unwrap();
    let node = context.create_node("grouped").unwrap();
    let had = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&had);
    let count = move |_: &UInt8MultiArray| {
        counted.fetch_add(1, Ordering::SeqCst);
    };
    let _subscription = node.create_subscription("data", KEPT, count).unwrap();
    let publisher = node.create_publisher::<UInt8MultiArray>("answers", 2).unwrap();
    spin_until(&context, "a subscriber", || publisher.shared_memory_count() == 1);
    print_line(&format!("refused: {}", publisher.preallocate(KEPT, 1 << 20).unwrap_err()));
    for number in 0..KEPT {
        publisher.publish(numbered(number as u32, 1 << 20)).unwrap();
        spin_until(&context, "it is announced", || had.load(Ordering::SeqCst) > number);
    }
    print_line("done");
    context.spin().unwrap();
}

#[test]
fn process_in_small_cgroup_lends_and_copies() {
    let Some(group) = Cgroup::with_limit(GROUP) else { return };
    let _alone = alone();
    let scene = Scene::new();
    let keeping = scene.graph.context();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    let node = keeping.create_node("keeper").unwrap();
    let subscription = node.create_borrowing_subscription("answers", 2, move |message| {
        keep.lock().unwrap().push(message);
    });
    let subscription = subscription.unwrap();
    let mut peer = start(&scene, ENTRY, "is in a group", group.path());
    let refused =
        peer.wait_for_line(|line| line.starts_with("refused"), deadline_in(LONG.as_secs())).unwrap();
    assert!(refused.contains("memory for 100 messages of 1048576 bytes"), "{refused}");
    for number in 1..=KEPT {
        spin_until(&keeping, "a message", || kept.lock().unwrap().len() == number);
        scene.talk(1, 8);
    }
    peer.wait_for_line(|line| line == "done", deadline_in(LONG.as_secs())).unwrap();
    assert_eq!(subscription.shared_memory_count(), 1);
    let kept = std::mem::take(&mut *kept.lock().unwrap());
    let number = |message: &Borrowed<UInt8MultiArray>| number_in(message.view().unwrap().data) as usize;
    assert!(kept.iter().map(number).eq(0..KEPT));
    scene.assert_undisturbed();
}
