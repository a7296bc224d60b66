//! How a program leaves the ROS 2 graph: what it published last arrives, and whatever it does afterwards, it sleeps.

use std::fs;
use std::time::{Duration, Instant};

use crate::common::{LONG, wait_until};
use crate::process::alone;
use crate::ros2_pair::{Ends, Pair, context, lingering, listen, new_domain, numbered};
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Publisher, QoS};

/// What all threads of this process have had of a CPU so far.
fn used() -> Duration {
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
    let (_subscription, heard) = listen(&nodes[1], "data", QoS::default());
    std::thread::scope(|scope| {
        scope.spawn(|| listening.spin().unwrap());
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
        // More than goes out at once: the rest follows as the other end takes it.
        publisher.publish(numbered(7, 8 << 20)).unwrap();
        talking.shutdown();
        talking.spin().unwrap();
        let until = Instant::now() + LONG;
        while heard.lock().unwrap().is_empty() && Instant::now() < until {
            listening.sleep_wall(Duration::from_millis(1)).unwrap();
        }
        listening.shutdown();
    });
    assert_eq!(*heard.lock().unwrap(), [7]);
}

/// More messages than a session between two processes takes at once: the rest waits at the publisher.
const MANY: u32 = 3000;

/// A pair in shared memory whose talker has published so many while the listener did not look, and other publishers of
/// the same node with another quality of service.
fn pair_with_many_under_way(others: usize) -> (Pair, Vec<Publisher<UInt8MultiArray>>) {
    let pair = Pair::lingering(QoS::keep_last(4000));
    let other = |depth| pair.nodes[0].create_publisher("data", QoS::keep_last(depth)).unwrap();
    let others: Vec<_> = (1..=others).map(other).collect();
    let all = 1 + others.len();
    pair.turn_until("all in shared memory", |pair| {
        pair.publisher.shared_memory_count() == all && pair.subscription.shared_memory_count() == all
    });
    (0..MANY).for_each(|number| pair.publisher.publish(numbered(number, 1000)).unwrap());
    (pair, others)
}

#[test]
fn queued_samples_arrive_after_program_ends() {
    let _alone = alone();
    let (pair, _) = pair_with_many_under_way(0);
    std::thread::scope(|scope| {
        let _ends = Ends(&pair.listening);
        scope.spawn(|| pair.listening.spin().unwrap());
        pair.talking.shutdown();
        pair.talking.spin().unwrap();
        wait_until("all heard", || pair.heard.lock().unwrap().len() >= MANY as usize);
    });
    assert!(pair.heard.lock().unwrap().iter().copied().eq(0..MANY));
}

#[test]
fn queued_samples_arrive_after_publisher_ends() {
    let _alone = alone();
    for others in [0, 1] {
        let (pair, _others) = pair_with_many_under_way(others);
        let Pair {
            talking: _talking,
            listening,
            publisher,
            subscription: _subscription,
            heard,
            nodes: _nodes,
        } = pair;
        std::thread::scope(|scope| {
            let _ends = Ends(&listening);
            scope.spawn(|| listening.spin().unwrap());
            drop(publisher);
            wait_until("all heard", || heard.lock().unwrap().len() >= MANY as usize);
        });
        assert!(heard.lock().unwrap().iter().copied().eq(0..MANY));
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
    let (_subscription, heard) = listen(&nodes[1], "data", QoS::default());
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    leaving.shutdown();
    leaving.spin().unwrap();
    // Nobody acknowledges this any more.
    publisher.publish(numbered(1, 10)).unwrap();
    let before = Instant::now();
    drop(publisher);
    assert!(before.elapsed() < LONG / 2, "an end that was over took {:?}", before.elapsed());
    // Newcomers announce themselves to the ports of the one that left, too.
    let _newcomer = context(domain, false).create_node("newcomer").unwrap();
    let (before, time) = (used(), Duration::from_secs(2));
    // The span that is looked at.
    std::thread::sleep(time);
    let spent = used() - before;
    assert!(spent < time / 4, "{spent:?} in {time:?}");
    assert!(heard.lock().unwrap().is_empty());
    // Nor does a look at the graph bring it back.
    assert_eq!(leaving.ros2_graph().unwrap().map(|graph| graph.participants.len()), None);
    drop(kept);
}
