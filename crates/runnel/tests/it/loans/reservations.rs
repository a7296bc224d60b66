//! Tests of preallocated shared memory for loans, and of its limits.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Borrowed, Context};

use super::{KeepingScene, Link};
use crate::common::{Graph, spin_until};

/// Addresses of segments of this length, mapped with these rights.
fn segments(bytes: usize, rights: &str) -> Vec<Range<usize>> {
    all_segments(rights).into_iter().filter(|place| place.len() == bytes).collect()
}

fn all_segments(rights: &str) -> Vec<Range<usize>> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let place = |line: &str| {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
    };
    let ours = maps.lines().filter(|line| line.contains("runnel-segment") && line.contains(rights));
    ours.filter_map(place).collect()
}

#[test]
fn first_message_uses_reserved_memory_of_its_topic() {
    // With its length prefix, as long as a slot.
    const MESSAGE: usize = (3 << 19) - 4;
    let graph = Graph::new();
    // Several segments, of which the test checks the last.
    for (before, messages, rest) in [(true, 42 + 42 + 7, 7), (false, 42 + 9, 9)] {
        let (near, far) = (graph.context(), graph.context());
        let node = near.create_node("talker").unwrap();
        let publisher = node.create_publisher::<UInt8MultiArray>("reserved", 10).unwrap();
        let reserve = || publisher.preallocate(messages, MESSAGE).unwrap();
        if before {
            reserve();
        }
        let received = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&received);
        let listener = far.create_node("listener").unwrap();
        let subscription = listener.create_view_subscription::<UInt8MultiArray, _>("reserved", 10, {
            move |message| into.lock().unwrap().push(message.data.as_ptr().addr())
        });
        let subscription = subscription.unwrap();
        Link::Memory.wait_for_path(&far, &publisher, &subscription);
        if !before {
            // The other end maps it meanwhile.
            reserve_while_serving(&far, reserve);
        }
        let place = segments(rest * (3 << 19), " r--s ");
        assert_eq!(place.len(), 1, "it is mapped");
        publisher.loan(&UInt8MultiArray::default(), MESSAGE - 100).unwrap().publish().unwrap();
        spin_until(&far, "the message", || received.lock().unwrap().len() == 1);
        assert!(place[0].contains(&received.lock().unwrap()[0]));
        drop(publisher);
        spin_until(&near, "it is returned", || segments(place[0].len(), " rw-s ").is_empty());
    }
}

#[test]
fn unreserved_memory_is_released_with_its_topic() {
    const MESSAGE: usize = 5 << 20;
    let graph = Graph::new();
    let keeping = KeepingScene::over(Link::Memory, &graph, 0);
    keeping.send(MESSAGE - 100, 1);
    assert_eq!(segments(2 * MESSAGE, " rw-s ").len(), 1);
    let KeepingScene { publisher, far, _near: near, .. } = keeping;
    drop(publisher);
    spin_until(&near, "it is returned", || segments(2 * MESSAGE, " rw-s ").is_empty());
    drop(far);
}

fn reserve_while_serving(far: &Context, reserve: impl FnOnce()) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| spin_until(far, "it is reserved", || done.load(Ordering::SeqCst)));
        reserve();
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn reservation_beyond_memory_fails() {
    let graph = Graph::new();
    let node = graph.context().create_node("talker").unwrap();
    let publisher = node.create_publisher::<UInt8MultiArray>("reserved", 10).unwrap();
    let error = publisher.preallocate(1 << 30, 1 << 30).unwrap_err().to_string();
    assert!(error.contains("/reserved") && error.contains("1073741824 messages"), "{error}");
    publisher.preallocate(usize::MAX, 100).unwrap();
}

#[test]
fn lending_is_limited_by_setting_and_reservation() {
    const MEGABYTE: usize = 1 << 20;
    let graph = Graph::new();
    let lent = |memory: usize, share: usize, reserved: usize| {
        let near = Context::with_options(graph.options().shared_memory(memory, share)).unwrap();
        let keeping = KeepingScene::between(Link::Memory, (near, graph.context()), 1);
        reserve_while_serving(&keeping.far, || {
            keeping.publisher.preallocate(reserved, MEGABYTE + 100).unwrap();
        });
        (0..20).for_each(|_| keeping.send(MEGABYTE, 1));
        let segments = all_segments(" r--s ");
        let in_place = |message: &&Borrowed<UInt8MultiArray>| {
            let place = message.view().unwrap().data.as_ptr().addr();
            segments.iter().any(|segment| segment.contains(&place))
        };
        keeping.kept.lock().unwrap().iter().filter(in_place).count()
    };
    assert_eq!((lent(0, 64 << 20, 0), lent(64 << 20, 0, 0)), (0, 0));
    assert_eq!((lent(0, 0, 5), lent(0, 0, 20)), (5, 20));
    // The first message in each segment is copied, until the segment is mapped.
    assert!((1..=4).contains(&lent(64 << 20, 5 << 20, 0)));
    assert!(lent(64 << 20, 64 << 20, 0) > 5);
}
