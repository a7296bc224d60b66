//! Pairs of the ROS 2 graph whose session ends, or whose other end is killed: what goes on over the network is neither lost
//! nor doubled, and nobody else notices.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::LONG;
use crate::end_sessions::end_sessions;
use crate::process::alone;
use crate::ros2_pair::{Ends, Pair, context, listen, new_domain, number_in, numbered};
use runnel::QoS;
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel_testkit::process::{Peer, Signal};
use rustix::process::set_parent_process_death_signal;

const ENTRY: &str = "ros2_ipc_ends::child_process_runs_its_role";

/// Bytes of a message that goes through the ring in several pieces: of these, one read of the ring takes one and a part of the
/// next.
const LONG_MESSAGE: usize = 60_000;

/// Names the part that a program plays where another started it, and its domain.
const PART: &str = "RUNNEL_TEST_PART";

#[test]
fn child_process_runs_its_role() {
    let Ok(asked) = std::env::var(PART) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let (part, domain) = asked.rsplit_once(' ').unwrap();
    let context = context(domain.parse().unwrap(), true);
    match part {
        "talks" => talk(&context),
        "listens" => hear(&context),
        "tells" => tell(&context, false),
        "stops itself" => tell(&context, true),
        other => panic!("no such part: {other}"),
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

fn hear(context: &runnel::Context) {
    let node = context.create_node("listener").unwrap();
    let mut next = 0;
    let take = move |message: &UInt8MultiArray| {
        let number = number_in(&message.data);
        assert!(number >= next, "{number} after {next}");
        next = number + 1;
    };
    let subscription = node.create_subscription("data", 1000, take).unwrap();
    let mut said = false;
    loop {
        context.spin_once(Duration::from_millis(10)).unwrap();
        if !said && subscription.shared_memory_count() > 0 {
            said = true;
            println!("\nlinked");
        }
    }
}

/// Prints the numbers of what it hears, and stops itself, if it is to, in the callback of the first long message.
fn tell(context: &runnel::Context, mut stops: bool) {
    let node = context.create_node("listener").unwrap();
    let take = move |message: &UInt8MultiArray| {
        println!("\nheard {}", number_in(&message.data));
        if stops && message.data.len() >= LONG_MESSAGE {
            stops = false;
            // To this thread, which stops before the call returns; to the process, another thread may take it later.
            // SAFETY: the call takes a number only.
            assert_eq!(unsafe { libc::raise(libc::SIGSTOP) }, 0);
        }
    };
    let _subscription = node.create_subscription("data", 1000, take).unwrap();
    context.spin().unwrap();
}

/// What such a one has printed.
fn told(peer: &Peer) -> Vec<u32> {
    let lines = peer.lines();
    lines.iter().filter_map(|line| line.strip_prefix("heard ")).map(|told| told.parse().unwrap()).collect()
}

fn start(part: &str, domain: u16) -> Peer {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", ENTRY, "--nocapture", "--test-threads=1"]);
    command.env(PART, format!("{part} {domain}"));
    Peer::spawn(part, command).unwrap()
}

#[test]
fn pair_falls_back_and_uses_memory_again() {
    let _alone = alone();
    for qos in [QoS::keep_last(1000), QoS::sensor_data(), QoS::keep_last(1000).transient_local()] {
        let pair = Pair::new(qos);
        pair.go_over();
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
            // Of these the listener takes some by the session, and the others by the network. A best-effort pair has no more
            // under way than a socket takes.
            let burst = if qos == QoS::sensor_data() { 3 } else { 30 };
            let published = publish(burst);
            assert!(end_sessions() > 0);
            pair.turn_until("the network", |pair| pair.publisher.shared_memory_count() == 0);
            pair.hears(0..published);
            let published = publish(burst);
            pair.hears(0..published);
            pair.go_over();
            let published = publish(burst);
            pair.hears(0..published);
        }
        assert_eq!((pair.publisher.dropped(), pair.subscription.lost()), (0, 0), "{qos:?}");
    }
}

/// A talker of this process, and a listener in another, which gets its messages by memory and is stopped in a moment.
struct Stopping {
    talking: runnel::Context,
    publisher: runnel::Publisher<UInt8MultiArray>,
    peer: Peer,
    until: Instant,
    published: u32,
}

impl Stopping {
    fn new(qos: QoS) -> Self {
        Self::with("tells", qos)
    }

    /// The listener plays this part.
    fn with(part: &str, qos: QoS) -> Self {
        let domain = new_domain();
        let talking = context(domain, true);
        let publisher = talking.create_node("talker").unwrap().create_publisher("data", qos).unwrap();
        let peer = start(part, domain);
        let mut stopping = Self { talking, publisher, peer, until: Instant::now() + LONG, published: 0 };
        stopping.turn_until("the pair in shared memory", |pair| pair.publisher.shared_memory_count() == 1);
        // From now on the listener has the memory in which messages of this length lie.
        let published = stopping.publish(&[10, 5000]);
        stopping.turn_until("these are heard", |pair| told(&pair.peer).len() == published as usize);
        stopping.peer.stop(stopping.until).unwrap();
        stopping
    }

    fn turn_until(&self, what: &str, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            assert!(Instant::now() < self.until, "still not: {what}; heard: {:?}", told(&self.peer));
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
        assert!(end_sessions() > 0);
        self.turn_until("the network", |pair| pair.publisher.shared_memory_count() == 0);
    }

    /// What the listener has heard once it goes on and has heard the last.
    fn goes_on(self) -> Vec<u32> {
        self.peer.signal(Signal::CONT).unwrap();
        self.turn_until("the last is heard", |pair| told(&pair.peer).last() == Some(&(pair.published - 1)));
        told(&self.peer)
    }
}

#[test]
fn unread_samples_arrive_once_after_teardown() {
    let _alone = alone();
    let mut pair = Stopping::new(QoS::keep_last(1000));
    pair.publish(&[10, 5000, 10, 10, 5000, 5000, 10]);
    // Memory that it does not have yet: four of these fill the ring, and of the fifth a part is sent. Others wait.
    pair.publish(&[60_000; 6]);
    pair.publish(&[10, 5000, 5000]);
    pair.goes_to_network();
    let published = pair.publish(&[10, 60_000, 10]);
    assert_eq!((pair.publisher.dropped(), pair.publisher.shm_fallback_count()), (0, 0));
    let heard = pair.goes_on();
    assert!(heard.iter().copied().eq(0..published), "{heard:?}");
}

#[test]
fn partly_read_sample_arrives_once_after_teardown() {
    let _alone = alone();
    let mut pair = Stopping::with("stops itself", QoS::keep_last(1000));
    // Memory that the listener does not have yet: these go through the ring.
    pair.publish(&[LONG_MESSAGE; 4]);
    let stopped_again = |pair: &Stopping| told(&pair.peer).len() == 3;
    pair.peer.signal(Signal::CONT).unwrap();
    pair.turn_until("the listener has heard the first of them", stopped_again);
    pair.peer.wait_until_stopped(pair.until).unwrap();
    pair.goes_to_network();
    let published = pair.publish(&[10, LONG_MESSAGE, 10]);
    let heard = pair.goes_on();
    assert!(heard.iter().copied().eq(0..published), "{heard:?}");
}

#[test]
fn samples_beyond_lifespan_are_not_delivered() {
    let _alone = alone();
    let lifespan = Duration::from_secs(4);
    for session_ends in [false, true] {
        let mut pair = Stopping::new(QoS::keep_last(1000).lifespan(lifespan));
        // These fill the ring, and a part of the last is sent; the others wait.
        let begun = pair.publish(&[60_000; 5]);
        pair.publish(&[10, 5000, 10, 60_000]);
        let over = Instant::now() + lifespan;
        let worth = pair.published;
        pair.turn_until("they are old", |_| Instant::now() > over);
        if session_ends {
            pair.goes_to_network();
        }
        let published = pair.publish(&[10, 5000, 60_000]);
        // What was in the ring is as good as delivered, while there is one.
        let expected: Vec<_> = (0..if session_ends { 2 } else { begun }).chain(worth..published).collect();
        assert_eq!(
            pair.goes_on(),
            expected,
            "the session ends: {session_ends}, {begun} had begun, {worth} are old"
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
    let (subscription, heard) = listen(&near, "data", QoS::keep_last(100_000));
    let mut published = 0;
    let until = Instant::now() + LONG * 2;
    for _ in 0..3 {
        let peer = start("listens", domain);
        // The one before, which was killed, makes room for this one.
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
    while heard.lock().unwrap().len() < published as usize {
        assert!(Instant::now() < until, "{} of {published} heard", heard.lock().unwrap().len());
        talking.spin_once(Duration::from_millis(1)).unwrap();
        listening.spin_once(Duration::from_millis(1)).unwrap();
    }
    assert!(heard.lock().unwrap().iter().copied().eq(0..published));
}

#[test]
fn killed_talker_is_replaced_in_order() {
    let _alone = alone();
    let domain = new_domain();
    let listening = context(domain, true);
    let near = listening.create_node("near").unwrap();
    let (subscription, heard) = listen(&near, "data", QoS::keep_last(1000));
    for _ in 0..3 {
        heard.lock().unwrap().clear();
        let peer = start("talks", domain);
        let until = Instant::now() + LONG;
        while heard.lock().unwrap().len() < 300 || subscription.shared_memory_count() == 0 {
            assert!(Instant::now() < until, "{} heard", heard.lock().unwrap().len());
            listening.spin_once(Duration::from_millis(1)).unwrap();
        }
        peer.signal(Signal::KILL).unwrap();
        drop(peer);
        while subscription.shared_memory_count() > 0 {
            assert!(Instant::now() < until, "its session ends with it");
            listening.spin_once(Duration::from_millis(1)).unwrap();
        }
        // What it brought may still wait for the callback.
        while listening.spin_once(Duration::ZERO).unwrap() {}
        let heard = heard.lock().unwrap();
        assert!(heard.windows(2).all(|pair| pair[1] == pair[0] + 1), "{heard:?}");
    }
    assert_eq!((subscription.dropped(), subscription.lost(), subscription.malformed()), (0, 0, 0));
}

/// Sessions end again and again while a pair with such a QoS is busy; what that costs it.
fn sessions_end_under_load(qos: QoS) {
    let _alone = alone();
    let pair = Pair::new(qos);
    pair.go_over();
    std::thread::scope(|scope| {
        let _ends = Ends(&pair.listening);
        scope.spawn(|| pair.listening.spin().unwrap());
        let mut ends = 0;
        for number in 0..10_000 {
            pair.publisher.publish(numbered(number, [10, 6000][number as usize % 2])).unwrap();
            if number % 1000 == 500 {
                ends += end_sessions();
            }
        }
        let until = Instant::now() + LONG;
        while pair.heard.lock().unwrap().len() < 10_000 {
            assert!(Instant::now() < until, "{} heard", pair.heard.lock().unwrap().len());
            pair.talking.spin_once(Duration::from_millis(1)).unwrap();
        }
        assert!(ends > 0);
    });
    assert!(pair.heard.lock().unwrap().iter().copied().eq(0..10_000));
    assert_eq!((pair.publisher.dropped(), pair.subscription.dropped(), pair.subscription.lost()), (0, 0, 0));
}

#[test]
fn keep_last_pair_survives_teardowns_under_load() {
    sessions_end_under_load(QoS::keep_last(10_000));
}

#[test]
fn keep_all_pair_survives_teardowns_under_load() {
    sessions_end_under_load(QoS::keep_all());
}
