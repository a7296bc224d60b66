//! Tests of programs that leave the ROS 2 graph: their last messages arrive, and afterwards they sleep.

use std::fs;
use std::time::{Duration, Instant};

use crate::common::{LONG, wait_until};
use crate::process::alone;
use crate::ros2_pair::{EndOnDrop, Pair, context, lingering, listen, new_domain, numbered};
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Publisher, QoS};

/// CPU time of all threads of this process.
fn cpu_time() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let of_task = |task: fs::DirEntry| fs::read_to_string(task.path().join("schedstat")).ok();
    let nanos = |text: String| text.split_whitespace().next().unwrap().parse::<u64>().unwrap();
    Duration::from_nanos(tasks.filter_map(of_task).map(nanos).sum())
}

#[test]
fn long_message_before_exit_arrives() {
    let _alone = alone();
    let domain = new_domain();
    let (talking, listening) = (lingering(domain, false), context(domain, false));
    let nodes = [talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap()];
    let publisher: Publisher<UInt8MultiArray> = nodes[0].create_publisher("data", QoS::default()).unwrap();
    let (_subscription, received) = listen(&nodes[1], "data", QoS::default());
    std::thread::scope(|scope| {
        scope.spawn(|| listening.spin().unwrap());
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
        // More than the socket accepts at once: the rest follows as the peer reads.
        publisher.publish(numbered(7, 8 << 20)).unwrap();
        talking.shutdown();
        talking.spin().unwrap();
        let until = Instant::now() + LONG;
        while received.lock().unwrap().is_empty() && Instant::now() < until {
            listening.sleep_wall(Duration::from_millis(1)).unwrap();
        }
        listening.shutdown();
    });
    assert_eq!(*received.lock().unwrap(), [7]);
}

/// More messages than an IPC connection holds: the rest waits at the publisher.
const MANY: u32 = 3000;

/// A pair in shared memory whose talker has published many messages while the listener was not polled, and further
/// publishers of the node with another QoS.
fn pair_with_queued_samples(others: usize) -> (Pair, Vec<Publisher<UInt8MultiArray>>) {
    let pair = Pair::lingering(QoS::keep_last(4000));
    let other = |depth| pair.nodes[0].create_publisher("data", QoS::keep_last(depth)).unwrap();
    let others: Vec<_> = (1..=others).map(other).collect();
    let all = 1 + others.len();
    pair.poll_until("all in shared memory", |pair| {
        pair.publisher.shared_memory_count() == all && pair.subscription.shared_memory_count() == all
    });
    (0..MANY).for_each(|number| pair.publisher.publish(numbered(number, 1000)).unwrap());
    (pair, others)
}

#[test]
fn queued_samples_arrive_after_program_ends() {
    let _alone = alone();
    let (pair, _) = pair_with_queued_samples(0);
    std::thread::scope(|scope| {
        let _ends = EndOnDrop(&pair.listening);
        scope.spawn(|| pair.listening.spin().unwrap());
        pair.talking.shutdown();
        pair.talking.spin().unwrap();
        wait_until("all received", || pair.received.lock().unwrap().len() >= MANY as usize);
    });
    assert!(pair.received.lock().unwrap().iter().copied().eq(0..MANY));
}

#[test]
fn queued_samples_arrive_after_publisher_ends() {
    let _alone = alone();
    for others in [0, 1] {
        let (pair, _others) = pair_with_queued_samples(others);
        let Pair {
            talking: _talking,
            listening,
            publisher,
            subscription: _subscription,
            received,
            nodes: _nodes,
        } = pair;
        std::thread::scope(|scope| {
            let _ends = EndOnDrop(&listening);
            scope.spawn(|| listening.spin().unwrap());
            drop(publisher);
            wait_until("all received", || received.lock().unwrap().len() >= MANY as usize);
        });
        assert!(received.lock().unwrap().iter().copied().eq(0..MANY));
    }
}

#[test]
fn process_sleeps_after_leaving_the_graph() {
    let _alone = alone();
    let domain = new_domain();
    let (leaving, staying) = (lingering(domain, false), context(domain, false));
    let nodes = [leaving.create_node("leaving").unwrap(), staying.create_node("staying").unwrap()];
    let publisher: Publisher<UInt8MultiArray> = nodes[0].create_publisher("data", QoS::default()).unwrap();
    let kept: Publisher<UInt8MultiArray> = nodes[0].create_publisher("other", QoS::default()).unwrap();
    let (_subscription, received) = listen(&nodes[1], "data", QoS::default());
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    leaving.shutdown();
    leaving.spin().unwrap();
    // Nobody acknowledges this any more.
    publisher.publish(numbered(1, 10)).unwrap();
    let before = Instant::now();
    drop(publisher);
    assert!(before.elapsed() < LONG / 2, "an end that was over took {:?}", before.elapsed());
    // New participants announce themselves to the ports of the departed one, too.
    let _newcomer = context(domain, false).create_node("newcomer").unwrap();
    let (before, time) = (cpu_time(), Duration::from_secs(2));
    // The measured time.
    std::thread::sleep(time);
    let spent = cpu_time() - before;
    assert!(spent < time / 4, "{spent:?} in {time:?}");
    assert!(received.lock().unwrap().is_empty());
    // A query of the graph does not make it join again.
    assert_eq!(leaving.ros2_graph().unwrap().map(|graph| graph.participants.len()), None);
    drop(kept);
}
