//! Processes that are killed, stopped or forked while they share memory with others: these lose nothing, wait for nobody
//! and keep nothing.

use std::ffi::{CStr, CString};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common;
use crate::common::{LONG, wait_until};
use crate::fake_process;
use crate::fake_process::END;
use crate::held::Held;
use crate::ipc_scene::{Reader, Scene, number_in};
use crate::played::{THEIRS, context, play_if_asked, say, start, talk};
use crate::process::{alone, resident};
use runnel::core::wire::Bytes;
use runnel::io::host;
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel_testkit::process::{Peer, Signal, within};

const ENTRY: &str = "ipc_deaths::child_process_runs_its_role";

/// How long processes are killed, unless `RUNNEL_KILLS` says how many are.
const KILLING: Duration = Duration::from_secs(60);

/// Of those killed, so many are linked at least.
const LINKED: u64 = 20;

#[test]
fn child_process_runs_its_role() {
    play_if_asked(|part, argument| match part {
        "talks" => talk(&[10, 100, 5000, 20_000]),
        "reads" => read(argument),
        "forks" => fork_with_a_message(argument),
        other => panic!("no such part: {other}"),
    });
}

/// Reads until it is ended. What comes rises, and is whole.
fn read(goal: &str) {
    let goal: u32 = goal.parse().unwrap_or(u32::MAX);
    let context = context();
    let node = context.create_node(&format!("reader{}", std::process::id())).unwrap();
    let (next, skipped) = (AtomicU64::new(0), AtomicU64::new(0));
    let subscription = node.create_subscription("data", 100_000, move |message: &UInt8MultiArray| {
        let number = number_in(&message.data);
        if number >= THEIRS {
            return;
        }
        let expected = next.swap(u64::from(number) + 1, Ordering::SeqCst);
        assert!(u64::from(number) >= expected, "{number} after {expected}");
        skipped.fetch_add(u64::from(number) - expected, Ordering::SeqCst);
        if number % 500 == 499 || number == goal {
            say(&format!("heard {number}, skipped {}", skipped.load(Ordering::SeqCst)));
        }
    });
    let subscription = subscription.unwrap();
    say("ready");
    let mut linked = false;
    loop {
        context.spin_once(Duration::from_millis(10)).unwrap();
        if !linked && subscription.shared_memory_count() > 0 {
            linked = true;
            say("linked");
        }
    }
}

/// Numbers by lot.
fn below(bound: u64) -> u64 {
    host::random().unwrap() % bound
}

/// Publishes under flow control, as long as it lives: what the listener cannot take is not dropped.
fn talk_to_listener(scene: &Scene, sizes: &[usize]) {
    for _ in 0..20 {
        let size = sizes[scene.published.get() as usize % sizes.len()];
        scene.talk(1, size);
    }
    let dropped = || (scene.publisher.dropped(), scene.subscription.dropped());
    wait_until("the listener keeps up", || {
        assert_eq!(scene.subscription.dropped(), 0, "of {:?}", dropped());
        scene.heard.lock().unwrap().len() + 200 > scene.published.get() as usize
    });
}

/// Processes that live for a while. The part of each is one of these.
struct Crowd {
    peers: Vec<Peer>,
    killed: u64,
    /// Of those, how many were linked.
    linked: u64,
}

impl Crowd {
    const PARTS: [&str; 2] = ["reads", "talks"];

    fn new(scene: &Scene, count: usize) -> Self {
        let peers = (0..count).map(|index| start(scene, ENTRY, Self::PARTS[index % 2], "")).collect();
        Self { peers, killed: 0, linked: 0 }
    }

    /// Kills one of them at some instant, most often one that is linked, and starts another in its place.
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

/// A thousand are killed by `RUNNEL_KILLS=1000 cargo test -p runnel --test alone killed`.
#[test]
fn killed_processes_harm_no_other_process() {
    let _alone = alone();
    let scene = Scene::new();
    let alone = || wait_until("those killed are gone", || links(&scene) == (1, 1));
    talk_to_listener(&scene, &[10, 5000, 100_000]);
    let first = Crowd::new(&scene, 2);
    wait_until("both are linked", || links(&scene) == (2, 2));
    first.peers.into_iter().for_each(kill);
    alone();
    let before = Held::now();
    let kills = std::env::var("RUNNEL_KILLS").ok().map(|kills| kills.parse::<u64>().unwrap());
    let until = Instant::now() + if kills.is_some() { Duration::from_secs(7200) } else { KILLING };
    let mut crowd = Crowd::new(&scene, 6);
    // On a busy machine few are linked by the end of that time.
    let is_enough = |crowd: &Crowd| Instant::now() >= until && crowd.linked >= LINKED;
    while kills.is_none_or(|kills| crowd.killed < kills) && !is_enough(&crowd) {
        crowd.kill_one(&scene);
    }
    crowd.peers.into_iter().for_each(kill);
    println!("{} killed, {} of them linked", crowd.killed, crowd.linked);
    alone();
    before.wait_for_no_more();
    scene.is_undisturbed();
    assert!(crowd.linked >= LINKED, "{}", crowd.linked);
}

/// Subscribers of the talker, and publishers of the listener.
fn links(scene: &Scene) -> (usize, usize) {
    (scene.publisher.subscription_count(), scene.subscription.publisher_count())
}

/// Publishes so many messages, and waits for each reader after every five hundred. How long that took.
fn publish_to(scene: &Scene, readers: &mut [Peer], count: u32) -> Duration {
    let began = Instant::now();
    for _ in 0..count / 500 {
        for number in 0..500 {
            scene.talk(1, if number % 10 == 0 { 5000 } else { 100 });
        }
        let line = format!("heard {}, skipped 0", scene.published.get() - 1);
        for reader in &mut *readers {
            reader.wait_for_line(|said| said == line, within(LONG.as_secs())).unwrap();
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
        reader.wait_for_line(|line| line == "linked", within(LONG.as_secs())).unwrap();
    }
    let all_run = publish_to(&scene, &mut readers, 10_000);
    let mut stopped = readers.pop().unwrap();
    stopped.stop(within(LONG.as_secs())).unwrap();
    let before = resident();
    // Others may have the processor during some of these.
    let one_stopped = (0..4).map(|_| publish_to(&scene, &mut readers, 5000)).min().unwrap();
    assert!(one_stopped < 2 * all_run + Duration::from_millis(500), "{one_stopped:?} after {all_run:?}");
    let grown = resident().saturating_sub(before);
    assert!(grown < 32 << 20, "{} KiB for one that is stopped", grown / 1024);
    stopped.signal(Signal::CONT).unwrap();
    scene.talk(1, 100);
    // What it gets is in order, up to the last, and lacks what was dropped.
    let last =
        stopped.wait_for_line(|line| line.starts_with("heard 30000,"), within(LONG.as_secs())).unwrap();
    let dropped = scene.publisher.dropped();
    assert_eq!((last, dropped > 10_000), (format!("heard 30000, skipped {dropped}"), true));
    scene.is_undisturbed();
}

/// A reader need not ring: each end also looks by itself.
#[test]
fn teardown_ends_without_doorbell() {
    let _alone = alone();
    let scene = Scene::new();
    let end_one = || {
        let reader = Reader::new(&scene);
        reader.session.packets.shutdown().unwrap();
        wait_until("it has read its last", || reader.session.told(END) == 1);
        // It looks once at once, and who has the driver comes after that; from then on nobody wakes it.
        drop(scene.talking.create_node("next").unwrap());
        let began = Instant::now();
        reader.session.set_quietly(END, 1);
        wait_until("the link on the network", || scene.publisher.shared_memory_count() == 1);
        let waited = began.elapsed();
        drop(reader);
        wait_until("it is gone", || links(&scene) == (1, 1));
        waited
    };
    // It would be given up after a second. One of many may be that late because others had the processor.
    let shortest = (0..5).map(|_| end_one()).min().unwrap();
    assert!(shortest < Duration::from_millis(500), "{shortest:?}");
    scene.is_undisturbed();
}

#[test]
fn stalled_reader_leaves_slots_to_others() {
    let _alone = alone();
    let scene = Scene::with_queue(200);
    let before = Held::now();
    let reader = Reader::new(&scene);
    // More than all slots can hold, of which the listener takes each and the reader none.
    for _ in 0..160 {
        scene.talk(1, 2 << 20);
        wait_until("the listener has it", || {
            scene.heard.lock().unwrap().len() == scene.published.get() as usize
        });
    }
    // The reader is lent 64 MiB, 8 messages more wait in slots, and some are free.
    let held = segment_bytes();
    assert!(held <= 120 << 20, "{} MiB of slots are held", held >> 20);
    drop(reader);
    wait_until("it is gone", || links(&scene) == (1, 1));
    before.wait_for_no_more();
    scene.is_undisturbed();
}

/// Bytes of segments that this process has made: each is mapped here once to write and, by who reads it, once more.
fn segment_bytes() -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let of_segment = |line: &&str| line.contains("runnel-segment") && line.contains(" rw-s ");
    let length = |line: &str| {
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        usize::from_str_radix(end, 16).unwrap() - usize::from_str_radix(start, 16).unwrap()
    };
    maps.lines().filter(of_segment).map(length).sum()
}

/// Forks in a callback that holds a message in memory of the talker. The parent ends at once, the child reads on.
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
        // SAFETY: what the child does takes no lock and no memory: it compares bytes, looks for a file, writes and ends.
        match unsafe { libc::fork() } {
            0 => read_on(message.bytes(), &signal),
            // SAFETY: it ends this process without a word, as a crash would.
            _ => unsafe { libc::_exit(0) },
        }
    });
    let subscription = subscription.unwrap();
    say("ready");
    loop {
        context.spin_once(Duration::from_millis(10)).unwrap();
        if subscription.shared_memory_count() > 0 && !by_memory.swap(true, Ordering::SeqCst) {
            say("linked");
        }
    }
}

/// Looks at the message again and again while the talker publishes others, until a file is there.
fn read_on(bytes: Bytes<'_>, signal: &CStr) -> ! {
    let first = bytes.get(12);
    let whole = || bytes.iter().skip(16).all(|byte| Some(byte) == first);
    // The talker publishes nearly a thousand messages meanwhile.
    let deadline = Instant::now() + 10 * LONG;
    let is_told = || rustix::fs::access(signal, rustix::fs::Access::EXISTS).is_ok();
    let mut same = whole();
    while same && !is_told() && Instant::now() < deadline {
        same = whole();
    }
    same &= whole() && is_told();
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
    let before = Held::now();
    let signal = std::env::temp_dir().join(format!("runnel_forked_{}", host::pid()));
    let mut forker = start(&scene, ENTRY, "forks", signal.to_str().unwrap());
    forker.wait_for_line(|line| line == "linked", within(LONG.as_secs())).unwrap();
    // Its child has the first of the long ones. The others take every slot that there is, many times over.
    (0..300).for_each(|_| talk_to_listener(&scene, &[100_000, 10, 5000]));
    fs::write(&signal, "").unwrap();
    let said =
        forker.wait_for_line(|line| line == "unchanged" || line == "spoilt", within(LONG.as_secs())).unwrap();
    fs::remove_file(&signal).unwrap();
    assert_eq!(said, "unchanged");
    drop(forker);
    wait_until("it is gone", || links(&scene) == (1, 1));
    before.wait_for_no_more();
    talk_to_listener(&scene, &[100_000]);
    scene.is_undisturbed();
}

/// Ten thousand come by `RUNNEL_VISITS=10000 cargo test -p runnel --test alone leak_nothing`.
#[test]
fn departed_readers_leak_nothing() {
    let _alone = alone();
    let visits: u32 = std::env::var("RUNNEL_VISITS").map_or(1000, |visits| visits.parse().unwrap());
    let scene = Scene::new();
    let visit = |round: u32| {
        let mut reader = Reader::new(&scene);
        if round.is_multiple_of(4) {
            // Leaves with slots that it has not given back.
            reader.borrow(&scene, 1);
        } else {
            scene.talk(1, 100);
            reader.session.wait_for(fake_process::SAMPLE);
        }
        scene.is_left_by(reader);
    };
    (0..50).for_each(visit);
    let (before, memory) = (Held::now(), resident());
    (0..visits).for_each(visit);
    before.wait_for_no_more();
    let grown = resident().saturating_sub(memory);
    // Segments that were given up go with the last message in them.
    assert!(grown < 16 << 20, "{} KiB after {visits} readers", grown / 1024);
    scene.is_undisturbed();
}

#[test]
fn dropped_subscriptions_leak_nothing() {
    let _alone = alone();
    let visits: u32 = std::env::var("RUNNEL_VISITS").map_or(300, |visits| visits.parse().unwrap());
    let scene = Scene::new();
    let visitor = scene.graph.context();
    let node = visitor.create_node("visitor").unwrap();
    let visit = |_| {
        let heard = Arc::new(AtomicBool::new(false));
        let taken = Arc::clone(&heard);
        let subscription = node.create_subscription("data", 10, move |_: &UInt8MultiArray| {
            taken.store(true, Ordering::SeqCst);
        });
        let subscription = subscription.unwrap();
        common::spin_until(&visitor, "a link in shared memory", || subscription.shared_memory_count() == 1);
        scene.talk(1, 5000);
        common::spin_until(&visitor, "one message", || heard.load(Ordering::SeqCst));
        scene.is_left_by(subscription);
    };
    (0..20).for_each(visit);
    let (before, memory) = (Held::now(), resident());
    (0..visits).for_each(visit);
    before.wait_for_no_more();
    let grown = resident().saturating_sub(memory);
    assert!(grown < 16 << 20, "{} KiB after {visits} subscriptions", grown / 1024);
    scene.is_undisturbed();
}
