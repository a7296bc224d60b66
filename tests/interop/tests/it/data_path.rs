//! What a message costs in system calls, counted by strace on both ends of a ping-pong: one wait, one read and one
//! write by a socket, one wait and one ring of the doorbell by shared memory, and nothing else. `docs/data-path.md` says
//! so; this holds it true. Topics of ROS 2 cost the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use interop::PATIENCE;
use runnel::{Context, ContextOptions, MasterOptions};
use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// Messages that the one end sends.
const MESSAGES: usize = 2000;

/// Messages until everything that happens once has happened.
const WARM_UP: usize = 500;

/// Messages in a row that must cost exactly what the page says. The master may ask something at any time, and strace
/// may make a callback so slow that a look more follows it; a cost that comes now and then breaks every such row.
const ROW: usize = 100;

/// How messages travel, and of how many bytes.
type Way = (&'static str, usize);

/// Each way, and the system calls that receive and send such a message.
const WAYS: [(Way, Option<&str>, &str); 8] = [
    (("tcp", 10), Some("recvfrom"), "sendto"),
    (("udp", 10), Some("recvfrom"), "sendmsg"),
    (("memory", 10), None, "shutdown"),
    (("memory", 100_000), None, "shutdown"),
    // Short messages are copied into their datagram, others lie beside its head.
    (("ros2-udp", 10), Some("recvmmsg"), "sendmsg"),
    (("ros2-udp", 1400), Some("recvmmsg"), "sendmsg"),
    (("ros2-memory", 10), None, "shutdown"),
    (("ros2-memory", 100_000), None, "shutdown"),
];

/// The system calls that wait for sockets, whichever the kernel and the C library have.
const WAITS: [&str; 3] = ["epoll_wait", "epoll_pwait", "epoll_pwait2"];

/// One system call: the thread that made it, and its name.
struct Call<'a> {
    thread: &'a str,
    name: &'a str,
}

/// The calls of a trace in the order in which they were begun.
fn calls(trace: &str) -> Vec<Call<'_>> {
    trace.lines().filter_map(begun).collect()
}

/// The call that a line of a trace tells the beginning of.
fn begun(line: &str) -> Option<Call<'_>> {
    let (thread, rest) = line.split_once(' ')?;
    let (name, _) = rest.trim_start().split_once('(')?;
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then_some(Call { thread, name })
}

/// Starts one end under strace, which writes to `trace`.
fn traced(role: &str, master: &str, (transport, size): Way, trace: &Path) -> Peer {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "signal=none", "-o"]).arg(trace);
    let program = env!("CARGO_BIN_EXE_pingpong");
    command.args([program, role, &MESSAGES.to_string(), &size.to_string(), transport]);
    command.env("ROS_MASTER_URI", master).env("ROS_IP", "127.0.0.1").env_remove("ROS_HOSTNAME");
    command.env("RUNNEL_IPC", if transport.ends_with("memory") { "on" } else { "off" });
    Peer::spawn(role, command).unwrap_or_else(|error| panic!("{error}"))
}

/// What the thread that sends did from each message to the next, and how much all others did meanwhile.
fn per_message<'a>(trace: &'a str, send: &str) -> (Vec<BTreeMap<&'a str, usize>>, usize) {
    let calls = calls(trace);
    let sends: Vec<usize> = (0..calls.len()).filter(|&index| calls[index].name == send).collect();
    let sends = sends.get(WARM_UP..).expect("more messages than are left out");
    let sender = calls[sends[0]].thread;
    let others = calls[sends[0]..].iter().filter(|call| call.thread != sender).count();
    let count = |pair: &[usize]| {
        let mut counts = BTreeMap::new();
        for call in calls[pair[0]..pair[1]].iter().filter(|call| call.thread == sender) {
            let name = if WAITS.contains(&call.name) { "wait" } else { call.name };
            *counts.entry(name).or_default() += 1;
        }
        counts
    };
    (sends.windows(2).map(count).collect(), others)
}

/// The most in a row of which each is `expected`.
fn longest_row<T: PartialEq>(each: &[T], expected: &T) -> usize {
    each.split(|one| one != expected).map(<[T]>::len).max().unwrap_or_default()
}

/// Takes the waits out of each, and gives how many there were for a message on average. One more comes behind a callback
/// that a tick of the kernel's clock fell into, on a busy machine into many: what arrived meanwhile is taken first. And
/// who finds the next message in shared memory before it sleeps does not wait for it, and once in vain for the bell that
/// was rung meanwhile.
fn without_waits(each: &mut [BTreeMap<&str, usize>]) -> f64 {
    let waits: usize = each.iter_mut().filter_map(|counts| counts.remove("wait")).sum();
    waits as f64 / each.len() as f64
}

#[test]
fn a_message_costs_one_wait_and_what_its_transport_needs() {
    require_private_network();
    for (way, receive, send) in WAYS {
        costs_little(way, receive, send);
    }
}

fn costs_little(way: Way, receive: Option<&str>, send: &str) {
    let options = ContextOptions::default().arguments([""; 0]).signals(false);
    let context = Context::with_options(options).unwrap();
    let master = context.start_master(MasterOptions::at(([127, 0, 0, 1], 0))).unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let (pings, pongs) = (folder.path().join("ping"), folder.path().join("pong"));
    let mut pong = traced("pong", &master, way, &pongs);
    let mut ping = traced("ping", &master, way, &pings);
    ping.wait_for_line(|line| line == "done", deadline_in(PATIENCE)).unwrap();
    ping.wait_exit(deadline_in(PATIENCE)).unwrap();
    pong.signal(Signal::TERM).unwrap();
    pong.wait_exit(deadline_in(PATIENCE)).unwrap();
    for (role, trace) in [("ping", &pings), ("pong", &pongs)] {
        let trace = fs::read_to_string(trace).unwrap();
        let (mut messages, others) = per_message(&trace, send);
        let expected: BTreeMap<_, _> = receive.into_iter().chain([send]).map(|name| (name, 1)).collect();
        let waits = without_waits(&mut messages);
        // On a machine that has more to do, many wait in vain; and participants have something to say in between.
        let most = match receive {
            Some("recvmmsg") => 2.0,
            Some(_) => 1.25,
            None => 3.0,
        };
        assert!(waits < most, "{role} waits {waits} times a message by {way:?}");
        let row = longest_row(&messages, &expected);
        assert!(
            row >= ROW,
            "only {row} of {} messages of {role} by {way:?} in a row cost what they should, the first {:?}",
            messages.len(),
            &messages[..messages.len().min(20)]
        );
        // The keeper looks a few times a second, however many messages there are.
        assert!(others < messages.len() / 2, "other threads of {role} made {others} system calls");
    }
}

#[test]
fn a_call_that_another_interrupts_is_counted_once() {
    let trace = "7 epoll_wait(3,  <unfinished ...>\n8 futex(0x1, 2) = 0\n7 <... epoll_wait resumed>[], 64, -1) = 0\n\
                 7 sendto(5, \"a(b\", 3) = 3\n8 +++ exited with 0 +++\n";
    let calls = calls(trace);
    let told: Vec<_> = calls.iter().map(|call| (call.thread, call.name)).collect();
    assert_eq!(told, [("7", "epoll_wait"), ("8", "futex"), ("7", "sendto")]);
}
