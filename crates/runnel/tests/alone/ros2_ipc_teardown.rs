//! Tests of ROS 2 pairs whose IPC connection ends or whose peer is killed: nothing is lost or doubled by the fallback,
//! and others are not affected.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::LONG;
use crate::end_ipc_connections::end_ipc_connections;
use crate::process::alone;
use crate::ros2_pair::{EndOnDrop, Pair, context, listen, new_domain, number_in, numbered};
use runnel::QoS;
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel_testkit::process::{Peer, Signal};
use rustix::process::set_parent_process_death_signal;

const ENTRY: &str = "ros2_ipc_teardown::child_process_runs_its_role";

/// Length of a message that goes through the ring in pieces: one read of the ring takes one message and a part of the
/// next.
const LONG_MESSAGE: usize = 60_000;

/// Environment variable with the role and the domain of a child process.
const ROLE: &str = "RUNNEL_TEST_PART";

#[test]
fn child_process_runs_its_role() {
    let Ok(asked) = std::env::var(ROLE) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let (role, domain) = asked.rsplit_once(' ').unwrap();
    let context = context(domain.parse().unwrap(), true);
    match role {
        "talks" => talk(&context),
        "listens" => run_silent_listener(&context),
        "prints" => run_listener(&context, false),
        "stops itself" => run_listener(&context, true),
        other => panic!("no such role: {other}"),
    }
}

fn talk(context: &runnel::Context) {
    let node = context.create_node("talker").unwrap();
    let publisher = node.create_publisher::<UInt8MultiArray>("data", 1000).unwrap();
    for number in 0.. {
        let size = [10, 5000, 20_000][number as usize % 3];
        publisher.publish(numbered(number, size)).unwrap();
        context.spin_once(Duration::from_millis(1)).unwrap();
    }
}

fn run_silent_listener(context: &runnel::Context) {
    let node = context.create_node("listener").unwrap();
    let mut next = 0;
    let take = move |message: &UInt8MultiArray| {
        let number = number_in(&message.data);
        assert!(number >= next, "{number} after {next}");
        next = number + 1;
    };
    let subscription = node.create_subscription("data", 1000, take).unwrap();
    let mut printed = false;
    loop {
        context.spin_once(Duration::from_millis(10)).unwrap();
        if !printed && subscription.shared_memory_count() > 0 {
            printed = true;
            println!("\nlinked");
        }
    }
}

/// Prints the numbers it receives. If `stops`, suspends itself in the callback of the first long message.
fn run_listener(context: &runnel::Context, mut stops: bool) {
    let node = context.create_node("listener").unwrap();
    let take = move |message: &UInt8MultiArray| {
        println!("\nreceived {}", number_in(&message.data));
        if stops && message.data.len() >= LONG_MESSAGE {
            stops = false;
            // The signal suspends this thread before the call returns, while other threads may handle a process-wide
            // signal later. SAFETY: the call takes only a number.
            assert_eq!(unsafe { libc::raise(libc::SIGSTOP) }, 0);
        }
    };
    let _subscription = node.create_subscription("data", 1000, take).unwrap();
    context.spin().unwrap();
}

/// Numbers that such a process has printed.
fn printed_numbers(peer: &Peer) -> Vec<u32> {
    let lines = peer.lines();
    lines
        .iter()
        .filter_map(|line| line.strip_prefix("received "))
        .map(|number| number.parse().unwrap())
        .collect()
}

fn start(role: &str, domain: u16) -> Peer {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", ENTRY, "--nocapture", "--test-threads=1"]);
    command.env(ROLE, format!("{role} {domain}"));
    Peer::spawn(role, command).unwrap()
}

#[test]
fn pair_falls_back_and_uses_memory_again() {
    let _alone = alone();
    for qos in [QoS::keep_last(1000), QoS::sensor_data(), QoS::keep_last(1000).transient_local()] {
        let pair = Pair::new(qos);
        pair.switch_to_memory();
        let mut number = 0;
        let mut publish = |count: u32| {
            for _ in 0..count {
                let size = [10, 1000, 5000, 20_000, 100_000][number as usize % 5];
                pair.publisher.publish(numbered(number, size)).unwrap();
                number += 1;
            }
            number
        };
        for _ in 0..3 {
            // The listener receives some by shared memory and the rest by the network. A best-effort pair has no more
            // in transit than a socket buffer holds.
            let burst = if qos == QoS::sensor_data() { 3 } else { 30 };
            let published = publish(burst);
            assert!(end_ipc_connections() > 0);
            pair.poll_until("the network", |pair| pair.publisher.shared_memory_count() == 0);
            pair.receives(0..published);
            let published = publish(burst);
            pair.receives(0..published);
            pair.switch_to_memory();
            let published = publish(burst);
            pair.receives(0..published);
        }
        assert_eq!((pair.publisher.dropped(), pair.subscription.lost()), (0, 0), "{qos:?}");
    }
}

/// A talker in this process, and a listener in another one, which receives by shared memory and suspends itself soon.
struct SuspendedListener {
    talking: runnel::Context,
    publisher: runnel::Publisher<UInt8MultiArray>,
    peer: Peer,
    until: Instant,
    published: u32,
}

impl SuspendedListener {
    fn new(qos: QoS) -> Self {
        Self::with("prints", qos)
    }

    /// The listener has this role.
    fn with(role: &str, qos: QoS) -> Self {
        let domain = new_domain();
        let talking = context(domain, true);
        let publisher = talking.create_node("talker").unwrap().create_publisher("data", qos).unwrap();
        let peer = start(role, domain);
        let mut stopping = Self { talking, publisher, peer, until: Instant::now() + LONG, published: 0 };
        stopping.poll_until("the pair in shared memory", |pair| pair.publisher.shared_memory_count() == 1);
        // From now on the listener has mapped the memory for messages of this length.
        let published = stopping.publish(&[10, 5000]);
        stopping
            .poll_until("these are received", |pair| printed_numbers(&pair.peer).len() == published as usize);
        stopping.peer.stop(stopping.until).unwrap();
        stopping
    }

    fn poll_until(&self, what: &str, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            assert!(
                Instant::now() < self.until,
                "timed out: {what}; received: {:?}",
                printed_numbers(&self.peer)
            );
            self.talking.spin_once(Duration::from_millis(1)).unwrap();
        }
    }

    fn publish(&mut self, sizes: &[usize]) -> u32 {
        for size in sizes {
            self.publisher.publish(numbered(self.published, *size)).unwrap();
            self.published += 1;
        }
        self.published
    }

    fn goes_to_network(&self) {
        assert!(end_ipc_connections() > 0);
        self.poll_until("the network", |pair| pair.publisher.shared_memory_count() == 0);
    }

    /// Resumes the listener. Returns everything it has received, up to the last message.
    fn resume(self) -> Vec<u32> {
        self.peer.signal(Signal::CONT).unwrap();
        self.poll_until("the last is received", |pair| {
            printed_numbers(&pair.peer).last() == Some(&(pair.published - 1))
        });
        printed_numbers(&self.peer)
    }
}

#[test]
fn unread_samples_arrive_once_after_teardown() {
    let _alone = alone();
    let mut pair = SuspendedListener::new(QoS::keep_last(1000));
    pair.publish(&[10, 5000, 10, 10, 5000, 5000, 10]);
    // The listener has not mapped this memory: four of these fill the ring, of the fifth a part is sent, and the rest
    // waits.
    pair.publish(&[60_000; 6]);
    pair.publish(&[10, 5000, 5000]);
    pair.goes_to_network();
    let published = pair.publish(&[10, 60_000, 10]);
    assert_eq!((pair.publisher.dropped(), pair.publisher.shm_fallback_count()), (0, 0));
    let received = pair.resume();
    assert!(received.iter().copied().eq(0..published), "{received:?}");
}

#[test]
fn partly_read_sample_arrives_once_after_teardown() {
    let _alone = alone();
    let mut pair = SuspendedListener::with("stops itself", QoS::keep_last(1000));
    // The listener has not mapped this memory, so these go through the ring.
    pair.publish(&[LONG_MESSAGE; 4]);
    let stopped_again = |pair: &SuspendedListener| printed_numbers(&pair.peer).len() == 3;
    pair.peer.signal(Signal::CONT).unwrap();
    pair.poll_until("the listener has received the first of them", stopped_again);
    pair.peer.wait_until_stopped(pair.until).unwrap();
    pair.goes_to_network();
    let published = pair.publish(&[10, LONG_MESSAGE, 10]);
    let received = pair.resume();
    assert!(received.iter().copied().eq(0..published), "{received:?}");
}

#[test]
fn samples_beyond_lifespan_are_not_delivered() {
    let _alone = alone();
    let lifespan = Duration::from_secs(4);
    for ipc_connection_ends in [false, true] {
        let mut pair = SuspendedListener::new(QoS::keep_last(1000).lifespan(lifespan));
        // These fill the ring, a part of the last one is sent, and the rest waits.
        let begun = pair.publish(&[60_000; 5]);
        pair.publish(&[10, 5000, 10, 60_000]);
        let over = Instant::now() + lifespan;
        let worth = pair.published;
        pair.poll_until("they are old", |_| Instant::now() > over);
        if ipc_connection_ends {
            pair.goes_to_network();
        }
        let published = pair.publish(&[10, 5000, 60_000]);
        // Samples in the ring count as delivered as long as there is one.
        let expected: Vec<_> =
            (0..if ipc_connection_ends { 2 } else { begun }).chain(worth..published).collect();
        assert_eq!(
            pair.resume(),
            expected,
            "the ipc_connection ends: {ipc_connection_ends}, {begun} had begun, {worth} are old"
        );
    }
}

#[test]
fn killed_listener_harms_no_other() {
    let _alone = alone();
    let domain = new_domain();
    let (talking, listening) = (context(domain, true), context(domain, true));
    let talker = talking.create_node("talker").unwrap();
    let near = listening.create_node("near").unwrap();
    let publisher = talker.create_publisher::<UInt8MultiArray>("data", 100_000).unwrap();
    let (subscription, received) = listen(&near, "data", QoS::keep_last(100_000));
    let mut published = 0;
    let until = Instant::now() + LONG * 2;
    for _ in 0..3 {
        let peer = start("listens", domain);
        // The killed process before this one must leave first.
        while publisher.shared_memory_count() < 2 || subscription.shared_memory_count() == 0 {
            assert!(Instant::now() < until, "{} in shared memory", publisher.shared_memory_count());
            talking.spin_once(Duration::from_millis(1)).unwrap();
            listening.spin_once(Duration::from_millis(1)).unwrap();
        }
        for burst in 0..300 {
            publisher.publish(numbered(published, [10, 5000, 200_000][burst % 3])).unwrap();
            published += 1;
            talking.spin_once(Duration::ZERO).unwrap();
            listening.spin_once(Duration::ZERO).unwrap();
            if burst == 150 {
                peer.signal(Signal::KILL).unwrap();
            }
        }
    }
    while received.lock().unwrap().len() < published as usize {
        assert!(Instant::now() < until, "{} of {published} received", received.lock().unwrap().len());
        talking.spin_once(Duration::from_millis(1)).unwrap();
        listening.spin_once(Duration::from_millis(1)).unwrap();
    }
    assert!(received.lock().unwrap().iter().copied().eq(0..published));
}

#[test]
fn killed_talker_is_replaced_in_order() {
    let _alone = alone();
    let domain = new_domain();
    let listening = context(domain, true);
    let near = listening.create_node("near").unwrap();
    let (subscription, received) = listen(&near, "data", QoS::keep_last(1000));
    for _ in 0..3 {
        received.lock().unwrap().clear();
        let peer = start("talks", domain);
        let until = Instant::now() + LONG;
        while received.lock().unwrap().len() < 300 || subscription.shared_memory_count() == 0 {
            assert!(Instant::now() < until, "{} received", received.lock().unwrap().len());
            listening.spin_once(Duration::from_millis(1)).unwrap();
        }
        peer.signal(Signal::KILL).unwrap();
        drop(peer);
        while subscription.shared_memory_count() > 0 {
            assert!(Instant::now() < until, "its IPC connection ends with it");
            listening.spin_once(Duration::from_millis(1)).unwrap();
        }
        // Its last samples may still wait for the callback.
        while listening.spin_once(Duration::ZERO).unwrap() {}
        let received = received.lock().unwrap();
        assert!(received.windows(2).all(|pair| pair[1] == pair[0] + 1), "{received:?}");
    }
    assert_eq!((subscription.dropped(), subscription.lost(), subscription.malformed()), (0, 0, 0));
}

/// Ends IPC connections again and again while a pair with this QoS is busy, and counts its losses.
fn ipc_connections_end_under_load(qos: QoS) {
    let _alone = alone();
    let pair = Pair::new(qos);
    pair.switch_to_memory();
    std::thread::scope(|scope| {
        let _ends = EndOnDrop(&pair.listening);
        scope.spawn(|| pair.listening.spin().unwrap());
        let mut ends = 0;
        for number in 0..10_000 {
            pair.publisher.publish(numbered(number, [10, 6000][number as usize % 2])).unwrap();
            if number % 1000 == 500 {
                ends += end_ipc_connections();
            }
        }
        let until = Instant::now() + LONG;
        while pair.received.lock().unwrap().len() < 10_000 {
            assert!(Instant::now() < until, "{} received", pair.received.lock().unwrap().len());
            pair.talking.spin_once(Duration::from_millis(1)).unwrap();
        }
        assert!(ends > 0);
    });
    assert!(pair.received.lock().unwrap().iter().copied().eq(0..10_000));
    assert_eq!((pair.publisher.dropped(), pair.subscription.dropped(), pair.subscription.lost()), (0, 0, 0));
}

#[test]
fn keep_last_pair_survives_teardowns_under_load() {
    ipc_connections_end_under_load(QoS::keep_last(10_000));
}

#[test]
fn keep_all_pair_survives_teardowns_under_load() {
    ipc_connections_end_under_load(QoS::keep_all());
}
