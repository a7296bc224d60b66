//! Processes that may have little memory or few descriptors: their messages are copied or go by the network, and none is
//! lost.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{LONG, spin_until, wait_until};
use crate::group::Group;
use crate::ipc_scene::{Scene, number_in, numbered};
use crate::played::{context, play_if_asked, say, start};
use crate::process::{alone, descriptors};
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Borrowed, Context, ContextOptions};
use runnel_testkit::process::{Peer, within};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const ENTRY: &str = "ipc_limits::child_process_runs_its_role";

/// Messages that each of two ends sends the other.
const COUNT: usize = 300;

#[test]
fn child_process_runs_its_role() {
    play_if_asked(|part, argument| {
        if part == "is in a group" {
            return in_a_group(argument);
        }
        let (limit, expected) = argument.split_once(' ').unwrap();
        let limit: usize = limit.parse().unwrap();
        let limited = Limited { context: context(), expected: expected.to_owned() };
        match part {
            "has few descriptors" => few_descriptors(&limited, limit),
            "has little memory" => little_memory(&limited, limit),
            "may make no memory" => may_make_no_memory(&limited, limit),
            other => panic!("no such part: {other}"),
        }
    });
}

/// A process of little, and by which way its messages are to go.
struct Limited {
    context: Context,
    expected: String,
}

/// Hears and says `COUNT` messages, of which most are long, and says which way they came and went.
fn both_ways(Limited { context, expected }: &Limited, then: impl FnOnce()) {
    let node = context.create_node("limited").unwrap();
    let heard = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&heard);
    // Before there is anything that another process could have a session for.
    then();
    let publisher = node.create_publisher::<UInt8MultiArray>("answers", 2 * COUNT).unwrap();
    let subscription = node.create_subscription("data", 2 * COUNT, move |message: &UInt8MultiArray| {
        assert_eq!(number_in(&message.data) as usize, counted.fetch_add(1, Ordering::SeqCst));
    });
    let subscription = subscription.unwrap();
    spin_until(context, "a subscriber", || publisher.subscription_count() == 1);
    spin_until(context, "a publisher", || subscription.publisher_count() == 1);
    let ways = || (subscription.shared_memory_count(), publisher.shared_memory_count());
    // What comes about by itself has come about: to memory, or after a while to nothing.
    if expected == BY_MEMORY {
        spin_until(context, "both in shared memory", || ways() == (1, 1));
    }
    for _ in 0..30 {
        context.spin_once(Duration::from_millis(10)).unwrap();
    }
    say("ready");
    for number in 0..COUNT {
        publisher.publish(numbered(number as u32, 5000)).unwrap();
        context.spin_once(Duration::ZERO).unwrap();
    }
    spin_until(context, "all heard", || heard.load(Ordering::SeqCst) == COUNT);
    let (came, went) = ways();
    say(&format!("done, {came} came and {went} went by memory"));
    // The other end has heard all when it ends this.
    context.spin().unwrap();
}

/// So many more descriptors may be had.
fn few_descriptors(limited: &Limited, spare: usize) {
    both_ways(limited, || lower(Resource::Nofile, descriptors() - 1 + spare));
}

/// So many more bytes of memory may be mapped.
fn little_memory(limited: &Limited, spare: usize) {
    both_ways(limited, || {
        // What is given back here stays with the process, for everything but mappings.
        let mut heap: Vec<Vec<u8>> = (0..8192).map(|_| vec![1; 1024]).collect();
        let last = heap.pop();
        drop(heap);
        std::mem::forget(last);
        let pages = fs::read_to_string("/proc/self/statm").unwrap();
        let pages: usize = pages.split_whitespace().next().unwrap().parse().unwrap();
        lower(Resource::As, pages * 4096 + spare);
    });
}

/// No memory of more bytes can be made for others.
fn may_make_no_memory(limited: &Limited, most: usize) {
    both_ways(limited, || lower(Resource::Fsize, most));
}

fn lower(resource: Resource, current: usize) {
    let before = getrlimit(resource);
    setrlimit(resource, Rlimit { current: Some(current as u64), ..before }).unwrap();
}

/// What a limited process says when it has heard everything; the other end has heard all of its messages, too. By memory they
/// go only if that is expected, or happens soon.
fn outcome(part: &str, limit: usize, expected: &str) -> (String, Peer) {
    println!("{part}: {limit}");
    let scene = Scene::new();
    let heard = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&heard);
    let asker = scene.graph.context();
    let node = asker.create_node("asker").unwrap();
    let _answers = node.create_subscription("answers", 2 * COUNT, move |message: &UInt8MultiArray| {
        assert_eq!(number_in(&message.data) as usize, counted.fetch_add(1, Ordering::SeqCst));
    });
    let mut peer = start(&scene, ENTRY, part, &format!("{limit} {expected}"));
    peer.wait_for_line(|line| line == "ready", within(LONG.as_secs())).unwrap();
    scene.talk(COUNT as u32, 5000);
    let said = peer.wait_for_line(|line| line.starts_with("done"), within(LONG.as_secs())).unwrap();
    spin_until(&asker, "all answers", || heard.load(Ordering::SeqCst) == COUNT);
    scene.is_undisturbed();
    (said, peer)
}

const BY_MEMORY: &str = "done, 1 came and 1 went by memory";
const BY_NETWORK: &str = "done, 0 came and 0 went by memory";

#[test]
fn process_with_few_descriptors_uses_the_network() {
    let _alone = alone();
    let outcome = |spare: usize, expected| outcome("has few descriptors", spare, expected).0;
    // A session leaves 16 of them.
    for spare in (3..=12).step_by(3) {
        assert_eq!(outcome(spare, BY_NETWORK), BY_NETWORK, "{spare}");
    }
    // By either way nothing is lost.
    let outcomes: Vec<String> = (15..30).step_by(3).map(|spare| outcome(spare, "")).collect();
    println!("{outcomes:?}");
    assert_eq!(outcome(30, BY_MEMORY), BY_MEMORY);
}

#[test]
fn process_with_little_address_space_gets_copies() {
    let _alone = alone();
    let (said, peer) = outcome("has little memory", 100 << 10, BY_NETWORK);
    assert_eq!(said, BY_NETWORK, "{}", peer.output());
    let (said, peer) = outcome("has little memory", 3 << 20, BY_MEMORY);
    assert_eq!(said, BY_MEMORY, "{}", peer.output());
    let not_mapped = "memory of another process is not mapped, its messages are copied";
    wait_until("it says that it maps no more", || peer.output().contains(not_mapped));
}

#[test]
fn process_without_shared_memory_sends_copies() {
    let _alone = alone();
    let (said, peer) = outcome("may make no memory", 100 << 10, BY_NETWORK);
    assert_eq!(said, BY_NETWORK, "{}", peer.output());
    let no_session = "no IPC connection with another process of this host";
    wait_until("it says that there is no session", || peer.output().contains(no_session));
    let (said, peer) = outcome("may make no memory", 1 << 20, BY_MEMORY);
    assert_eq!(said, BY_MEMORY, "{}", peer.output());
}

/// Bytes that the group may take, and messages of a mebibyte that the other end keeps.
const GROUP: usize = 48 << 20;
const KEPT: usize = 100;

/// In a group of little memory: publishes messages that the other end keeps, each when it has the one before.
fn in_a_group(group: &str) {
    Group::join(group);
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
    say(&format!("refused: {}", publisher.preallocate(KEPT, 1 << 20).unwrap_err()));
    for number in 0..KEPT {
        publisher.publish(numbered(number as u32, 1 << 20)).unwrap();
        spin_until(&context, "word of it", || had.load(Ordering::SeqCst) > number);
    }
    say("done");
    context.spin().unwrap();
}

#[test]
fn process_in_small_cgroup_lends_and_copies() {
    let Some(group) = Group::of_bytes(GROUP) else { return };
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
    let refused = peer.wait_for_line(|line| line.starts_with("refused"), within(LONG.as_secs())).unwrap();
    assert!(refused.contains("memory for 100 messages of 1048576 bytes"), "{refused}");
    for number in 1..=KEPT {
        spin_until(&keeping, "a message", || kept.lock().unwrap().len() == number);
        scene.talk(1, 8);
    }
    peer.wait_for_line(|line| line == "done", within(LONG.as_secs())).unwrap();
    assert_eq!(subscription.shared_memory_count(), 1);
    let kept = std::mem::take(&mut *kept.lock().unwrap());
    let number = |message: &Borrowed<UInt8MultiArray>| number_in(message.view().unwrap().data) as usize;
    assert!(kept.iter().map(number).eq(0..KEPT));
    scene.is_undisturbed();
}
