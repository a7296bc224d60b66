//! Participants that are none: announcements in great number, from addresses where nobody is. What may be counted is held
//! to limits here; the figures that are times:
//!
//! ```text
//! cargo build --release -p interop --bins
//! unshare -rnm bash -c 'ip link set lo up; ip link set lo multicast on; ip route add 224.0.0.0/4 dev lo
//!   mount -t tmpfs none /dev/shm; cargo test --release -p interop --test it ros2_flood -- --nocapture --test-threads 1'
//! ```
//!
//! `VICTIM=cyclone` or `fastdds` floods the others' talkers. `WAVES=12` repeats the attack of invented participants every five
//! seconds for a minute.

use std::collections::HashMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use interop::PATIENCE;
use interop::fakes::{LEASE, PORT, address, announcement, announcement_for, everybody};
use interop::ros2::{Origin, Ros2Graph};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, QoS, Subscription};
use runnel_testkit::process::{Peer, deadline_in};

/// Fake participants, and how many a second.
const FAKES: u32 = 20_000;
const RATE: u32 = 2_500;

/// Bytes sent back at most for each that came, and bytes that a victim may grow by.
const SENT_BACK: f64 = 3.0;
const GROWTH: i64 = 8 << 20;

/// Bytes that come where the fakes claim to be, by the port that they are sent from, which is one of a participant's.
struct Echo {
    bytes: Arc<Mutex<HashMap<u16, u64>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    _alone: MutexGuard<'static, ()>,
}

impl Echo {
    /// Waits until no other test listens there.
    fn listen() -> Echo {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let (bytes, over) = (Arc::<Mutex<HashMap<u16, u64>>>::default(), Arc::<AtomicBool>::default());
        let (counted, ended) = (Arc::clone(&bytes), Arc::clone(&over));
        let thread = thread::spawn(move || {
            let mut datagram = vec![0; 65_536];
            while !ended.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut datagram) else { continue };
                *counted.lock().unwrap().entry(from.port()).or_default() += length as u64;
            }
        });
        Echo { bytes, over, thread: Some(thread), _alone: alone }
    }

    /// Of the participant that got the most.
    fn most(&self) -> u64 {
        self.bytes.lock().unwrap().values().copied().max().unwrap_or_default()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Announces so many fakes from a first one on, each once and at the rate, to all participants of a domain; gives the bytes
/// that each of these was sent.
fn flood(domain: u16, first: u32) -> u64 {
    let begun = Instant::now();
    let mut bytes = 0;
    for index in 0..FAKES {
        let (number, due) = (first + index, begun + Duration::from_secs(1) * index / RATE);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let socket = UdpSocket::bind((address(number), 0)).unwrap();
        bytes += socket.send_to(&announcement(number), everybody(domain)).unwrap() as u64;
    }
    bytes
}

/// A subscription of this process: the longest time between two messages, in nanoseconds.
struct Live {
    _subscription: Subscription,
    context: Context,
    longest: Arc<AtomicU64>,
    count: Arc<AtomicU64>,
    spinning: Option<JoinHandle<()>>,
}

impl Live {
    fn begin(graph: &Ros2Graph, ipc: bool) -> Live {
        let context = Context::with_options(graph.options().ipc(ipc)).unwrap();
        let node = context.create_node("live").unwrap();
        let longest = Arc::new(AtomicU64::new(0));
        let count = Arc::new(AtomicU64::new(0));
        let (noted, counted, mut last) = (Arc::clone(&longest), Arc::clone(&count), None::<Instant>);
        let take = move |_: &Text| {
            let now = Instant::now();
            let silence = last.replace(now).map_or(Duration::ZERO, |last| now - last);
            counted.fetch_add(1, Ordering::Relaxed);
            noted.fetch_max(silence.as_nanos() as u64, Ordering::Relaxed);
        };
        let subscription = node.create_subscription("/live", QoS::keep_last(10), take).unwrap();
        let spun = context.clone();
        let spinning = thread::spawn(move || spun.spin().unwrap());
        Live { _subscription: subscription, context, longest, count, spinning: Some(spinning) }
    }

    /// How many messages have come.
    fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The longest silence since this was asked before.
    fn longest_silence(&self) -> Duration {
        Duration::from_nanos(self.longest.swap(0, Ordering::Relaxed))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.context.shutdown();
        let _ = self.spinning.take().map(JoinHandle::join);
    }
}

fn resident(process: &Peer) -> i64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<i64>().unwrap() * 1024
}

fn victim() -> Origin {
    match std::env::var("VICTIM").as_deref() {
        Ok("cyclone") => Origin::Cyclone,
        Ok("fastdds") => Origin::FastDds,
        Ok(other) => panic!("{other} is flooded nowhere"),
        Err(_) => Origin::Runnel,
    }
}

/// Starts a listener; gives it and how long it took until it had found the talker.
fn newcomer(graph: &Ros2Graph) -> (Peer, Duration) {
    let begun = Instant::now();
    let mut command = graph.program(Origin::Runnel, "listener");
    command.args(["/live", "--count", "0", "--depth", "10"]);
    let mut listener = Peer::spawn("newcomer", command).unwrap();
    listener.wait_for_line(|line| line == "matched 1", deadline_in(PATIENCE)).unwrap();
    (listener, begun.elapsed())
}

#[test]
fn a_flood_of_fake_participants_draws_little_back_and_takes_little_memory() {
    // Whatever the flood does to the network, the topic is to be on it.
    let (graph, victim) = (Ros2Graph::new().with("RUNNEL_IPC", "off"), victim());
    let live = Live::begin(&graph, false);
    let mut command = graph.program(victim, "talker");
    command.args(["/live", "--count", "0", "--rate", "100", "--depth", "10"]);
    let mut talker = Peer::spawn("talker", command).unwrap();
    talker.wait_for_line(|line| line.starts_with("sent 200 "), deadline_in(PATIENCE)).unwrap();
    let (before, calm) = (resident(&talker), live.longest_silence());
    let echo = Echo::listen();
    let domain = graph.domain();
    let flooding = thread::spawn(move || flood(domain, 0));
    thread::sleep(Duration::from_secs(u64::from(FAKES / RATE / 2)));
    let half = resident(&talker);
    let (_newcomer, found) = newcomer(&graph);
    let sent = flooding.join().unwrap();
    let (after, silence) = (resident(&talker), live.longest_silence());
    thread::sleep(LEASE + LEASE / 2);
    let (later, quiet, back) = (resident(&talker), live.longest_silence(), echo.most());
    // An allocator may keep what it is given back; others then take no more.
    flood(domain, FAKES);
    let again = resident(&talker);
    let share = back as f64 / sent as f64;
    let kilobytes = |bytes: i64| bytes / 1024;
    println!(
        "\n{victim}: {FAKES} fakes, {sent} B; sent back by one participant: {back} B, {share:.2} times that"
    );
    println!(
        "resident kB: {} before, +{} half-way, +{} at the end, +{} after the lease, +{} after a second flood",
        kilobytes(before),
        kilobytes(half - before),
        kilobytes(after - before),
        kilobytes(later - before),
        kilobytes(again - before)
    );
    println!("longest silence of 100/s: {calm:.1?} before, {silence:.1?} meanwhile, {quiet:.1?} after");
    println!("a participant that starts meanwhile is matched after {found:.1?}");
    if victim == Origin::Runnel {
        assert!(share <= SENT_BACK, "{back} B were sent back for {sent} B");
        assert!(after - before <= GROWTH && later - before <= GROWTH, "{before} {after} {later}");
        assert!(
            again - later <= GROWTH / 8,
            "what the first flood took is not free: {after} {later} {again}"
        );
    }
}

#[test]
fn an_announcement_of_a_fake_is_taken_for_that_of_a_participant() {
    // A flood that nobody understands would prove nothing: one that is answered is.
    let graph = Ros2Graph::new();
    let _live = Live::begin(&graph, false);
    let echo = Echo::listen();
    let everybody = everybody(graph.domain());
    let socket = UdpSocket::bind((address(7), 0)).unwrap();
    let deadline = deadline_in(PATIENCE);
    while echo.most() == 0 {
        assert!(Instant::now() < deadline, "nobody answers");
        socket.send_to(&announcement(7), everybody).unwrap();
        thread::sleep(Duration::from_millis(100));
    }
}

/// Invented participants: how many each victim hears of in a wave, at how many addresses of one host, and for how long a wave
/// is watched before the next.
const INVENTED: u32 = 1000;
const ADDRESSES: u32 = 8;
const WAVE: Duration = Duration::from_secs(5);

/// The prefix of each participant of a graph, and where it is reached.
fn participants(graph: &Ros2Graph, least: usize) -> Vec<([u8; 12], SocketAddr)> {
    let context = Context::with_options(graph.options().ipc(false)).unwrap();
    let _node = context.create_node("watcher").unwrap();
    let deadline = deadline_in(PATIENCE);
    loop {
        let seen = context.ros2_graph().unwrap().unwrap_or_default().participants;
        let others = seen.iter().filter(|one| !one.is_own && one.answers);
        let found: Vec<_> =
            others.map(|one| (one.gid.0[..12].try_into().unwrap(), one.addresses[0])).collect();
        if found.len() >= least {
            return found;
        }
        assert!(Instant::now() < deadline, "{found:?}");
        context.spin_once(Duration::from_millis(10)).unwrap();
    }
}

/// Sends each victim one datagram for each participant of a wave, by the victim's prefix and with a lease that never ends; gives
/// the bytes that each was sent.
fn invent(wave: u32, victims: &[([u8; 12], SocketAddr)]) -> u64 {
    let home = |index: u32| Ipv4Addr::new(127, 66, 0, 1 + index as u8);
    let sockets: Vec<_> = (0..ADDRESSES).map(|index| UdpSocket::bind((home(index), 0)).unwrap()).collect();
    let mut bytes = 0;
    for index in 0..INVENTED {
        for (prefix, to) in victims {
            let (number, at) = (wave * INVENTED + index, index % ADDRESSES);
            let datagram = announcement_for(number, home(at), None, Some(*prefix));
            bytes += sockets[at as usize].send_to(&datagram, to).unwrap() as u64;
        }
    }
    bytes / victims.len() as u64
}

/// The attack on a talker and its listener: what they send back, and how their link fares.
fn invented_participants_draw_little(ipc: bool) {
    let graph = Ros2Graph::new().with("RUNNEL_IPC", if ipc { "on" } else { "off" });
    let live = Live::begin(&graph, ipc);
    let mut command = graph.program(Origin::Runnel, "talker");
    command.args(["/live", "--count", "0", "--rate", "100", "--depth", "10"]);
    let mut talker = Peer::spawn("talker", command).unwrap();
    talker.wait_for_line(|line| line.starts_with("sent 200 "), deadline_in(PATIENCE)).unwrap();
    let victims = participants(&graph, 2);
    let (echo, before, calm) = (Echo::listen(), resident(&talker), live.longest_silence());
    let waves = std::env::var("WAVES").map_or(1, |waves| waves.parse().unwrap());
    let mut sent = 0;
    for wave in 0..waves {
        let (begun, first) = (Instant::now(), live.count());
        sent += invent(wave, &victims);
        let (_newcomer, found) = newcomer(&graph);
        thread::sleep(WAVE.saturating_sub(begun.elapsed()));
        let rate = (live.count() - first) as f64 / begun.elapsed().as_secs_f64();
        let silence = live.longest_silence();
        println!(
            "wave {wave}: {rate:.1} of 100 messages a second, longest silence {silence:.1?} (calm: {calm:.1?}), \
             newcomer matched after {found:.1?}"
        );
    }
    thread::sleep(WAVE);
    let (back, grown) = (echo.most(), resident(&talker) - before);
    let share = back as f64 / sent as f64;
    println!(
        "{INVENTED} invented, {waves} times: {sent} B; sent back {back} B, {share:.2} times; +{} kB",
        grown / 1024
    );
    assert!(back > 0, "nobody answers: the attack proves nothing");
    assert!(share <= SENT_BACK, "{back} B were sent back for {sent} B");
    assert!(grown <= 3 * GROWTH, "{grown} B");
}

#[test]
fn invented_participants_draw_little_over_udp() {
    invented_participants_draw_little(false);
}

#[test]
fn invented_participants_draw_little_with_shared_memory() {
    invented_participants_draw_little(true);
}
