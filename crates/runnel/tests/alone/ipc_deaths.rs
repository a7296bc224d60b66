//! Tests of processes that are killed, suspended or forked while they share memory. Others lose nothing, wait for
//! nobody and leak nothing.

use std::ffi::{CStr, CString};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::child_process::{FIRST_CHILD_NUMBER, context, print_line, run_role_if_child, start, talk};
use crate::common;
use crate::common::{LONG, wait_until};
use crate::fake_process;
use crate::fake_process::END;
use crate::ipc_scene::{Reader, Scene, number_in};
use crate::process::{alone, resident};
use crate::resources::Resources;
use runnel::core::wire::Bytes;
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel_io::host;
use runnel_testkit::process::{Peer, Signal, deadline_in};

const ENTRY: &str = "ipc_deaths::child_process_runs_its_role";

/// How long processes are killed, unless `RUNNEL_KILLS` sets their number.
const KILLING: Duration = Duration::from_secs(60);

/// Minimum number of killed processes that used shared memory.
const MIN_LINKED: u64 = 20;

#[test]
fn child_process_runs_its_role() {
    run_role_if_child(|role, argument| match role {
        "talks" => talk(&[10, 100, 5000, 20_000]),
        "reads" => read(argument),
        "forks" => fork_with_a_message(argument),
        other => panic!("no such role: {other}"),
    });
}

/// Receives until killed. The numbers increase, and messages are complete.
fn read(goal: &str) {
    let goal: u32 = goal.parse().unwrap_or(u32::MAX);
    let context = context();
    let node = context.create_node(&format!("reader{}", std::process::id())).unwrap();
    let (next, skipped) = (AtomicU64::new(0), AtomicU64::new(0));
    let subscription = node.create_subscription("data", 100_000, move |message: &UInt8MultiArray| {
        let number = number_in(&message.data);
        if number >= FIRST_CHILD_NUMBER {
            return;
        }
        let expected = next.swap(u64::from(number) + 1, Ordering::SeqCst);
        assert!(u64::from(number) >= expected, "{number} after {expected}");
        skipped.fetch_add(u64::from(number) - expected, Ordering::SeqCst);
        if number % 500 == 499 || number == goal {
            print_line(&format!("received {number}, skipped {}", skipped.load(Ordering::SeqCst)));
        }
    });
    let subscription = subscription.unwrap();
    print_line("ready");
    let mut linked = false;
    loop {
        context.spin_once(Duration::from_millis(10)).unwrap();
        if !linked && subscription.shared_memory_count() > 0 {
            linked = true;
            print_line("linked");
        }
    }
}

/// A random number.
fn below(bound: u64) -> u64 {
    host::random().unwrap() % bound
}

/// Publishes with flow control until killed, so that nothing is dropped for the listener.
fn talk_to_listener(scene: &Scene, sizes: &[usize]) {
    for _ in 0..20 {
        let size = sizes[scene.published.get() as usize % sizes.len()];
        scene.talk(1, size);
    }
    let dropped = || (scene.publisher.dropped(), scene.subscription.dropped());
    wait_until("the listener keeps up", || {
        assert_eq!(scene.subscription.dropped(), 0, "of {:?}", dropped());
        scene.received.lock().unwrap().len() + 200 > scene.published.get() as usize
    });
}

/// Child processes of different roles, which live for a while.
struct Children {
    peers: Vec<Peer>,
    killed: u64,
    /// How many of the killed ones used shared memory.
    linked: u64,
}

impl Children {
    const PARTS: [&str; 2] = ["reads", "talks"];

    fn new(scene: &Scene, count: usize) -> Self {
        let peers = (0..count).map(|index| start(scene, ENTRY, Self::PARTS[index % 2], "")).collect();
        Self { peers, killed: 0, linked: 0 }
    }

    /// Kills one at a random moment, preferably one in shared memory, and starts another.
    fn kill_one(&mut self, scene: &Scene) {
        loop {
            let until = Instant::now() + Duration::from_micros(below(20_000));
            while Instant::now() < until {
                talk_to_listener(scene, &[10, 100, 5000, 20_000, 60_000]);
            }
            let index = below(self.peers.len() as u64) as usize;
            let is_linked = self.peers[index].lines().iter().any(|line| line == "linked");
            if is_linked || below(8) == 0 {
                self.linked += u64::from(is_linked);
                let name = self.peers[index].name().to_owned();
                let killed = std::mem::replace(&mut self.peers[index], start(scene, ENTRY, &name, ""));
                self.killed += 1;
                return kill(killed);
            }
        }
    }
}

fn kill(peer: Peer) {
    peer.signal(Signal::KILL).unwrap();
    let output = peer.output();
    assert!(!output.contains("panicked"), "{output}");
}

/// `RUNNEL_KILLS=1000 cargo test -p runnel --test alone killed` kills a thousand.
#[test]
fn killed_processes_harm_no_other_process() {
    let _alone = alone();
    let scene = Scene::new();
    let alone = || wait_until("those killed are gone", || links(&scene) == (1, 1));
    talk_to_listener(&scene, &[10, 5000, 100_000]);
    let first = Children::new(&scene, 2);
    wait_until("both are linked", || links(&scene) == (2, 2));
    first.peers.into_iter().for_each(kill);
    alone();
    let before = Resources::now();
    let kills = std::env::var("RUNNEL_KILLS").ok().map(|kills| kills.parse::<u64>().unwrap());
    let until = Instant::now() + if kills.is_some() { Duration::from_secs(7200) } else { KILLING };
    let mut crowd = Children::new(&scene, 6);
    // On a busy machine few use shared memory by the end of that time.
    let is_enough = |crowd: &Children| Instant::now() >= until && crowd.linked >= MIN_LINKED;
    while kills.is_none_or(|kills| crowd.killed < kills) && !is_enough(&crowd) {
        crowd.kill_one(&scene);
    }
    crowd.peers.into_iter().for_each(kill);
    println!("{} killed, {} of them linked", crowd.killed, crowd.linked);
    alone();
    before.wait_for_release();
    scene.assert_undisturbed();
    assert!(crowd.linked >= MIN_LINKED, "{}", crowd.linked);
}

/// Numbers of the talker's subscribers and of the listener's publishers.
fn links(scene: &Scene) -> (usize, usize) {
    (scene.publisher.subscription_count(), scene.subscription.publisher_count())
}

/// Publishes this many messages, and waits for all readers after every five hundred. Returns the time it took.
fn publish_to(scene: &Scene, readers: &mut [Peer], count: u32) -> Duration {
    let began = Instant::now();
    for _ in 0..count / 500 {
        for number in 0..500 {
            scene.talk(1, if number % 10 == 0 { 5000 } else { 100 });
        }
        let line = format!("received {}, skipped 0", scene.published.get() - 1);
        for reader in &mut *readers {
            reader.wait_for_line(|printed| printed == line, deadline_in(LONG.as_secs())).unwrap();
        }
    }
    began.elapsed()
}

#[test]
fn suspended_reader_delays_no_other_and_continues_in_order() {
    let _alone = alone();
    let scene = Scene::with_queue(2000);
    let mut readers: Vec<Peer> = (0..10).map(|_| start(&scene, ENTRY, "reads", "30000")).collect();
    for reader in &mut readers {
        reader.wait_for_line(|line| line == "linked", deadline_in(LONG.as_secs())).unwrap();
    }
    let all_run = publish_to(&scene, &mut readers, 10_000);
    let mut stopped = readers.pop().unwrap();
    stopped.stop(deadline_in(LONG.as_secs())).unwrap();
    let before = resident();
    // Other processes may have used the processor during some of these.
    let one_stopped = (0..4).map(|_| publish_to(&scene, &mut readers, 5000)).min().unwrap();
    assert!(one_stopped < 2 * all_run + Duration::from_millis(500), "{one_stopped:?} after {all_run:?}");
    let grown = resident().saturating_sub(before);
    assert!(grown < 32 << 20, "{} KiB for one that is stopped", grown / 1024);
    stopped.signal(Signal::CONT).unwrap();
    scene.talk(1, 100);
    // It receives messages in order up to the last one, without the dropped ones.
    let last = stopped
        .wait_for_line(|line| line.starts_with("received 30000,"), deadline_in(LONG.as_secs()))
        .unwrap();
    let dropped = scene.publisher.dropped();
    assert_eq!((last, dropped > 10_000), (format!("received 30000, skipped {dropped}"), true));
    scene.assert_undisturbed();
}

/// Readers need not ring: each end also checks by itself.
#[test]
fn teardown_ends_without_doorbell() {
    let _alone = alone();
    let scene = Scene::new();
    let end_one = || {
        let reader = Reader::new(&scene);
        reader.session.packets.shutdown().unwrap();
        wait_until("it has read its last", || reader.session.peer_word(END) == 1);
        // The first check is immediate, and the next one follows after a lock of the driver. From then on nothing wakes
        // the talker.
        drop(scene.talking.create_node("next").unwrap());
        let began = Instant::now();
        reader.session.set_without_doorbell(END, 1);
        wait_until("the link on the network", || scene.publisher.shared_memory_count() == 1);
        let waited = began.elapsed();
        drop(reader);
        wait_until("it is gone", || links(&scene) == (1, 1));
        waited
    };
    // The teardown times out after a second. On a busy machine one of many may take as long.
    let shortest = (0..5).map(|_| end_one()).min().unwrap();
    assert!(shortest < Duration::from_millis(500), "{shortest:?}");
    scene.assert_undisturbed();
}

#[test]
fn stalled_reader_leaves_slots_to_others() {
    let _alone = alone();
    let scene = Scene::with_queue(200);
    let before = Resources::now();
    let reader = Reader::new(&scene);
    // More messages than slots. The listener takes all, the reader none.
    for _ in 0..160 {
        scene.talk(1, 2 << 20);
        wait_until("the listener has it", || {
            scene.received.lock().unwrap().len() == scene.published.get() as usize
        });
    }
    // The reader is lent 64 MiB, 8 more messages wait in slots, and some slots are free.
    let held = segment_bytes();
    assert!(held <= 120 << 20, "{} MiB of slots are held", held >> 20);
    drop(reader);
    wait_until("it is gone", || links(&scene) == (1, 1));
    before.wait_for_release();
    scene.assert_undisturbed();
}

/// Mapped bytes of segments: once writable by this process, and once more by each reader here.
fn segment_bytes() -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let of_segment = |line: &&str| line.contains("runnel-segment") && line.contains(" rw-s ");
    let length = |line: &str| {
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        usize::from_str_radix(end, 16).unwrap() - usize::from_str_radix(start, 16).unwrap()
    };
    maps.lines().filter(of_segment).map(length).sum()
}

/// Forks in a callback that holds a message in the talker's memory. The parent ends at once, the child continues to
/// read.
fn fork_with_a_message(signal: &str) {
    let context = context();
    let signal = CString::new(signal).unwrap();
    let node = context.create_node("forker").unwrap();
    let by_memory = Arc::new(AtomicBool::new(false));
    let looked = Arc::clone(&by_memory);
    let subscription = node.create_raw_subscription("data", None, 10, move |message| {
        if message.bytes().len() < 100_000 || !looked.load(Ordering::SeqCst) {
            return;
        }
        // SAFETY: the child takes no lock and allocates nothing: it compares bytes, checks for a file, writes and
        // exits.
        match unsafe { libc::fork() } {
            0 => read_on(message.bytes(), &signal),
            // SAFETY: this exits without clean-up, like a crash.
            _ => unsafe { libc::_exit(0) },
        }
    });
    let subscription = subscription.unwrap();
    print_line("ready");
    loop {
        context.spin_once(Duration::from_millis(10)).unwrap();
        if subscription.shared_memory_count() > 0 && !by_memory.swap(true, Ordering::SeqCst) {
            print_line("linked");
        }
    }
}

/// Compares the message again and again while the talker publishes others, until the file `signal` exists.
fn read_on(bytes: Bytes<'_>, signal: &CStr) -> ! {
    let first = bytes.get(12);
    let whole = || bytes.iter().skip(16).all(|byte| Some(byte) == first);
    // The talker publishes nearly a thousand messages meanwhile.
    let deadline = Instant::now() + 10 * LONG;
    let is_signalled = || rustix::fs::access(signal, rustix::fs::Access::EXISTS).is_ok();
    let mut same = whole();
    while same && !is_signalled() && Instant::now() < deadline {
        same = whole();
    }
    same &= whole() && is_signalled();
    let line: &[u8] = if same { b"\nunchanged\n" } else { b"\nspoilt\n" };
    let _ = rustix::io::write(std::io::stdout(), line);
    // SAFETY: as in the parent.
    unsafe { libc::_exit(0) }
}

#[test]
fn reader_may_fork_while_it_holds_messages() {
    let _alone = alone();
    let scene = Scene::new();
    talk_to_listener(&scene, &[100_000]);
    let before = Resources::now();
    let signal = std::env::temp_dir().join(format!("runnel_forked_{}", host::pid()));
    let mut forker = start(&scene, ENTRY, "forks", signal.to_str().unwrap());
    forker.wait_for_line(|line| line == "linked", deadline_in(LONG.as_secs())).unwrap();
    // The child holds the first long message. The others use every slot many times.
    (0..300).for_each(|_| talk_to_listener(&scene, &[100_000, 10, 5000]));
    fs::write(&signal, "").unwrap();
    let printed = forker
        .wait_for_line(|line| line == "unchanged" || line == "spoilt", deadline_in(LONG.as_secs()))
        .unwrap();
    fs::remove_file(&signal).unwrap();
    assert_eq!(printed, "unchanged");
    drop(forker);
    wait_until("it is gone", || links(&scene) == (1, 1));
    before.wait_for_release();
    talk_to_listener(&scene, &[100_000]);
    scene.assert_undisturbed();
}

/// `RUNNEL_VISITS=10000 cargo test -p runnel --test alone leak_nothing` runs ten thousand.
#[test]
fn departed_readers_leak_nothing() {
    let _alone = alone();
    let visits: u32 = std::env::var("RUNNEL_VISITS").map_or(1000, |visits| visits.parse().unwrap());
    let scene = Scene::new();
    let visit = |round: u32| {
        let mut reader = Reader::new(&scene);
        if round.is_multiple_of(4) {
            // Leaves with a slot that it has not returned.
            reader.borrow(&scene, 1);
        } else {
            scene.talk(1, 100);
            reader.session.wait_for(fake_process::SAMPLE);
        }
        scene.wait_for_departure(reader);
    };
    (0..50).for_each(visit);
    let (before, memory) = (Resources::now(), resident());
    (0..visits).for_each(visit);
    before.wait_for_release();
    let grown = resident().saturating_sub(memory);
    // Retired segments end with their last message.
    assert!(grown < 16 << 20, "{} KiB after {visits} readers", grown / 1024);
    scene.assert_undisturbed();
}

#[test]
fn dropped_subscriptions_leak_nothing() {
    let _alone = alone();
    let visits: u32 = std::env::var("RUNNEL_VISITS").map_or(300, |visits| visits.parse().unwrap());
    let scene = Scene::new();
    let visitor = scene.graph.context();
    let node = visitor.create_node("visitor").unwrap();
    let visit = |_| {
        let received = Arc::new(AtomicBool::new(false));
        let taken = Arc::clone(&received);
        let subscription = node.create_subscription("data", 10, move |_: &UInt8MultiArray| {
            taken.store(true, Ordering::SeqCst);
        });
        let subscription = subscription.unwrap();
        common::spin_until(&visitor, "a link in shared memory", || subscription.shared_memory_count() == 1);
        scene.talk(1, 5000);
        common::spin_until(&visitor, "one message", || received.load(Ordering::SeqCst));
        scene.wait_for_departure(subscription);
    };
    (0..20).for_each(visit);
    let (before, memory) = (Resources::now(), resident());
    (0..visits).for_each(visit);
    before.wait_for_release();
    let grown = resident().saturating_sub(memory);
    assert!(grown < 16 << 20, "{} KiB after {visits} subscriptions", grown / 1024);
    scene.assert_undisturbed();
}
