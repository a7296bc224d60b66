//! Tests of callback groups of QoS events and of watched parameters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::common::{Graph, LONG, wait_until};
use crate::ros2_pair::EndOnDrop;
use runnel::msgs::std_msgs::msg::Empty;
use runnel::{CallbackGroup, PublisherOptions, SubscriptionOptions, TimerOptions, WatchOptions};

const TICK: Duration = Duration::from_millis(1);

#[test]
fn events_and_parameters_of_exclusive_group_never_run_concurrently() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("node").unwrap();
    let (inside, overlaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (ran, runs) = channel();
    let overlapping = Arc::clone(&overlaps);
    let (ticking, ending) = (Arc::new(AtomicUsize::new(0)), context.clone());
    let ticked = Arc::clone(&ticking);
    let callback = move |kind: usize| {
        if inside.swap(true, Ordering::SeqCst) {
            overlapping.fetch_add(1, Ordering::SeqCst);
        }
        // Other callbacks of the group become due, while those of another one run.
        let ticks = || ticking.load(Ordering::SeqCst);
        let before = ticks();
        wait_until("ticks of the other group", || ticks() >= before + 2 || !ending.ok());
        inside.store(false, Ordering::SeqCst);
        let _ = ran.send(kind);
    };
    let group = CallbackGroup::mutually_exclusive();
    let [timed, offered, requested, changed] = [(); 4].map(|()| callback.clone());
    let _other = node.create_timer(TICK, move || _ = ticked.fetch_add(1, Ordering::SeqCst));
    let _timer = node.create_timer(TimerOptions::from(TICK).callback_group(&group), move || timed(0));
    let options = PublisherOptions::from(1).callback_group(&group).matched_callback(move |_| offered(1));
    let publisher = node.create_publisher::<Empty>("chatter", options).unwrap();
    let options = SubscriptionOptions::from(1).callback_group(&group).matched_callback(move |_| requested(2));
    let subscription = node.create_subscription("chatter", options, |_: &Empty| {}).unwrap();
    let options = WatchOptions::from("speed").callback_group(&group);
    let _speed = node.watch_param(options, move |_, _| changed(3)).unwrap();
    let other = graph.context().create_node("other").unwrap();
    let mut counts = [0; 4];
    thread::scope(|scope| {
        let _end = EndOnDrop(&context);
        let executor = context.executor().threads(4);
        scope.spawn(move || executor.spin().unwrap());
        for number in 0.. {
            assert!(number < 1000, "{counts:?}");
            other.set_param("speed", number).unwrap();
            let another = node.create_subscription("chatter", 1, |_: &Empty| {}).unwrap();
            assert!(publisher.wait_for_subscribers(2, LONG).unwrap());
            drop(another);
            let another = other.create_publisher::<Empty>("chatter", 1).unwrap();
            assert!(subscription.wait_for_publishers(2, LONG).unwrap());
            drop(another);
            runs.try_iter().for_each(|kind| counts[kind] += 1);
            if counts.iter().all(|count| *count >= 5) {
                break;
            }
        }
    });
    assert_eq!(overlaps.load(Ordering::SeqCst), 0);
}
