//! The contestants of the exchanges. Each is a program whose ends speak the protocol of `bench/README.md`, so a new
//! contestant needs only one entry here.

use std::path::PathBuf;

use super::compile;
use super::failure::Failure;
use super::masters::Kind;
use super::plan::{Exchange, Placement, Task};
use super::workspace::Workspace;

/// The reference of all figures.
pub const FLOOR: &str = "floor-tcp";

/// The reference among the operating system's own transports.
pub const FLOOR_UNIX: &str = "floor-unix-stream";

/// The reference over UDP.
pub const FLOOR_UDP: &str = "floor-udp";

/// The peer that the figures are compared with.
pub const ROSCPP: &str = "roscpp";

/// Runnel over TCPROS.
pub const RUNNEL: &str = "runnel-tcpros";

/// roscpp with Runnel's master: where the master takes part in a measurement, this separates the gain of the master
/// from that of the library.
pub const ROSCPP_AT_RUNNEL: &str = "roscpp-at-runnel";

/// Runnel over TCPROS and RTPS with a bridge between, and the contestants without it.
pub const BRIDGED: [&str; 3] = ["runnel-bridge", RUNNEL, "runnel-rtps"];

/// The same over shared memory.
pub const BRIDGED_IPC: [&str; 3] = ["runnel-bridge-ipc", "runnel-ipc", "runnel-rtps-ipc"];

/// All contestants, in the order of their turns.
const ENTRIES: &[Entry] = &[
    Entry::new(FLOOR, ProgramKind::Own, messages),
    // One way, a pair of connections, as TCPROS has for two topics, equals one connection.
    Entry::new("floor-tcp-pair", ProgramKind::Own, answers),
    Entry::new(FLOOR_UNIX, ProgramKind::Own, messages),
    Entry { largest: 65_507, ..Entry::new(FLOOR_UDP, ProgramKind::Own, datagrams) },
    Entry { largest: 200_000, ..Entry::new("floor-unix-dgram", ProgramKind::Own, ipc) },
    Entry { largest: 200_000, ..Entry::new("floor-unix-seqpacket", ProgramKind::Own, ipc) },
    Entry::new("floor-futex", ProgramKind::Own, ipc),
    Entry { spins: true, ..Entry::new("floor-spin", ProgramKind::Own, ipc) },
    Entry::new(RUNNEL, ProgramKind::OwnNode, nodes),
    Entry::new("runnel-ipc", ProgramKind::OwnNode, links),
    Entry { spins: true, ..Entry::new("runnel-ipc-spin", ProgramKind::OwnNode, spinning_links) },
    Entry::new("runnel-ipc-loan", ProgramKind::OwnNode, one_way),
    Entry { spins: true, ..Entry::new("runnel-ipc-loan-spin", ProgramKind::OwnNode, spinning_one_way) },
    Entry::new(ROSCPP, ProgramKind::Roscpp, nodes),
    Entry::new(ROSCPP_AT_RUNNEL, ProgramKind::Roscpp, Exchange::uses_master),
    Entry::new("iceoryx2-event", ProgramKind::Iceoryx2("event"), iceoryx2),
    Entry { spins: true, ..Entry::new("iceoryx2-poll", ProgramKind::Iceoryx2("poll"), pollers) },
    Entry::new("runnel-rtps", ProgramKind::OwnPeer, ros2_nodes),
    Entry::new("runnel-rtps-ipc", ProgramKind::OwnPeer, ros2_links),
    Entry::new("runnel-bridge", ProgramKind::OwnBridged, bridged),
    Entry::new("runnel-bridge-ipc", ProgramKind::OwnBridged, bridged),
    Entry::new("cyclonedds", ProgramKind::CycloneDds, peers),
    Entry::new("fastdds", ProgramKind::FastDds, Exchange::is_ros2),
    Entry::new("runnel-rtps-ipc-topic", ProgramKind::OwnPeer, ros2_calls),
    Entry::new("rcl", ProgramKind::Rcl(&[]), ros2_calls),
    Entry::new("rcl-udp", ProgramKind::Rcl(&[ONLY_UDP]), ros2_calls),
    Entry::new("rclpy", ProgramKind::Rclpy, ros2_calls),
];

/// Restricts Cyclone DDS to loopback.
const CYCLONEDDS_URI: &str = concat!(
    "CYCLONEDDS_URI=<Domain><General><Interfaces>",
    r#"<NetworkInterface name="lo" multicast="true"/>"#,
    "</Interfaces></General></Domain>"
);

/// Restricts Fast DDS below rcl to UDP.
const ONLY_UDP: &str = "FASTDDS_BUILTIN_TRANSPORTS=UDPv4";

/// A contestant, and the exchanges it takes part in.
struct Entry {
    name: &'static str,
    made: ProgramKind,
    plays: fn(Exchange) -> bool,
    /// Whether an end busy-waits, so that each end needs a CPU of its own.
    spins: bool,
    /// Bytes of the largest message.
    largest: usize,
}

/// How a contestant's program is made, and how its ends find each other.
#[derive(Clone, Copy)]
enum ProgramKind {
    /// A part of `runnel bench-peer` whose ends are given each other's addresses.
    Own,
    /// A part of it whose ends find each other through a master.
    OwnNode,
    /// A part of it whose ends discover each other.
    OwnPeer,
    /// A part of it whose ends are in one graph each, joined by a bridge.
    OwnBridged,
    /// Compiled against roscpp.
    Roscpp,
    /// Built with iceoryx2; how its ends wait.
    Iceoryx2(&'static str),
    /// Compiled against Cyclone DDS.
    CycloneDds,
    /// Compiled against Fast DDS.
    FastDds,
    /// Compiled against the rcl of the environment; the variables its ends run with.
    Rcl(&'static [&'static str]),
    /// A Python program on the rclpy of the environment.
    Rclpy,
}

impl Entry {
    const fn new(name: &'static str, made: ProgramKind, plays: fn(Exchange) -> bool) -> Self {
        Self { name, made, plays, spins: false, largest: usize::MAX }
    }
}

/// All exchanges except calls and those of ROS 2.
fn messages(exchange: Exchange) -> bool {
    !exchange.is_call() && !exchange.is_ros2()
}

/// Exchanges with messages in both directions on one connection.
fn answers(exchange: Exchange) -> bool {
    matches!(exchange, Exchange::PingPong | Exchange::Flow | Exchange::FlowPairs)
}

fn ipc(exchange: Exchange) -> bool {
    exchange == Exchange::Ipc
}

/// Exchanges with datagrams in both directions.
fn datagrams(exchange: Exchange) -> bool {
    matches!(exchange, Exchange::Ipc | Exchange::Reliable | Exchange::BestEffort | Exchange::Ros2Call)
}

/// Exchanges whose messages are not sent back.
fn one_way(exchange: Exchange) -> bool {
    matches!(exchange, Exchange::Queue | Exchange::Rates | Exchange::Sizes | Exchange::Subscribers)
}

/// Exchanges in which links carry messages or calls for some time.
fn links(exchange: Exchange) -> bool {
    messages(exchange) || exchange == Exchange::CallPersistent
}

/// Exchanges that a bridge may carry.
fn bridged(exchange: Exchange) -> bool {
    exchange == Exchange::Bridge
}

/// Exchanges of ROS 2 nodes.
fn ros2_nodes(exchange: Exchange) -> bool {
    exchange.is_ros2() || bridged(exchange)
}

/// Calls of a ROS 2 service.
fn ros2_calls(exchange: Exchange) -> bool {
    exchange == Exchange::Ros2Call
}

/// Exchanges of ROS 2 pairs on one host: those that compare them with ROS 1 links, and calls.
fn ros2_links(exchange: Exchange) -> bool {
    matches!(exchange, Exchange::PingPong | Exchange::Ipc | Exchange::Sizes | Exchange::Ros2Call)
        || bridged(exchange)
}

/// The same, except where two busy-waiting ends would share a CPU.
fn spinning_links(exchange: Exchange) -> bool {
    links(exchange)
        && !bridged(exchange)
        && !matches!(exchange, Exchange::Chain | Exchange::FlowPairs | Exchange::Subscribers)
}

/// Exchanges for contestants that loan memory and busy-wait.
fn spinning_one_way(exchange: Exchange) -> bool {
    one_way(exchange) && pollers(exchange)
}

/// All except the operating system's own transports and the ROS 2 wire.
fn nodes(exchange: Exchange) -> bool {
    exchange != Exchange::Ipc && !exchange.is_ros2()
}

/// Messages between programs without ROS.
fn iceoryx2(exchange: Exchange) -> bool {
    nodes(exchange) && !exchange.is_call() && !bridged(exchange)
}

/// The same, and messages over the ROS 2 wire.
fn peers(exchange: Exchange) -> bool {
    iceoryx2(exchange) || exchange.is_ros2() && !exchange.is_call()
}

/// Exchanges in which no two busy-waiting ends share a CPU, none of real-time priority waits for long, and there is
/// only one topic: polling a thousand takes milliseconds.
fn pollers(exchange: Exchange) -> bool {
    use Exchange::{Hello, PingPong, Queue, Sizes};
    matches!(exchange, PingPong | Queue | Hello | Sizes)
}

/// The names of all contestants.
pub fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.name)
}

/// The reference of an exchange's figures.
pub fn floor_of(exchange: Exchange) -> &'static str {
    match exchange {
        Exchange::Ipc => FLOOR_UNIX,
        Exchange::Reliable | Exchange::BestEffort | Exchange::Ros2Call => FLOOR_UDP,
        _ => FLOOR,
    }
}

/// A contestant that can be started.
#[derive(Clone, Debug)]
pub struct Contestant {
    /// Its name in tables and results.
    pub name: &'static str,
    /// The program and the arguments that come before the role.
    pub program: Vec<String>,
    /// How its ends find each other.
    pub introduction: Introduction,
    spins: bool,
    largest: usize,
}

/// How the two ends of an exchange find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Introduction {
    /// One end prints its address, the other gets it by `--peer`.
    Address,
    /// By the master that always runs.
    Master,
    /// By the master that always runs, by their own discovery, and by a bridge on the CPU of the end that answers.
    Bridge,
    /// By a master of this run, on the CPU of the end that answers.
    OwnMaster(Kind),
    /// By their own discovery.
    Itself,
}

impl Contestant {
    /// Whether it can do a task in a placement. If only this contestant cannot, a note says why.
    pub fn can(&self, task: &Task, placement: Placement, workspace: &mut Workspace) -> bool {
        if task.largest() > self.largest {
            let (name, size, largest) = (task.exchange.name(), task.largest(), self.largest);
            workspace
                .note(format!("{name} with {size} B without {}: it carries at most {largest} B", self.name));
            return false;
        }
        !self.spins || placement == Placement::TwoCores
    }
}

/// The wanted contestants of an exchange that are available. A note names the others.
///
/// # Errors
/// When the user interrupts.
pub fn ready(exchange: Exchange, workspace: &mut Workspace) -> Result<Vec<Contestant>, Failure> {
    let mut ready = Vec::new();
    for entry in ENTRIES.iter().filter(|entry| (entry.plays)(exchange)) {
        if !workspace.wants(entry.name) {
            continue;
        }
        match taking_part(entry, exchange, workspace) {
            Ok(contestant) => ready.push(contestant),
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(why) => workspace.note(format!("{} without {}: {why}", list(exchange), entry.name)),
        }
    }
    Ok(ready)
}

/// The names of all exchanges of one run.
fn list(exchange: Exchange) -> String {
    exchange.by_turns().iter().map(|exchange| exchange.name()).collect::<Vec<_>>().join(" and ")
}

/// A contestant prepared for an exchange.
fn taking_part(entry: &Entry, exchange: Exchange, workspace: &mut Workspace) -> Result<Contestant, Failure> {
    let Some(kind) = own_master(entry.name, exchange) else { return made(entry, workspace) };
    kind.check()?;
    Ok(Contestant { introduction: Introduction::OwnMaster(kind), ..made(entry, workspace)? })
}

/// The master that a contestant needs for itself, where the master takes part in the measurement.
fn own_master(name: &str, exchange: Exchange) -> Option<Kind> {
    let own = if name == ROSCPP { Kind::Original } else { Kind::Runnel };
    exchange.uses_master().then_some(own)
}

/// A contestant by its name.
///
/// # Errors
/// When its program cannot be made.
pub fn contestant(name: &str, workspace: &mut Workspace) -> Result<Contestant, Failure> {
    let unknown = || Failure::Missing(format!("there is no contestant {name}"));
    made(ENTRIES.iter().find(|entry| entry.name == name).ok_or_else(unknown)?, workspace)
}

fn made(entry: &Entry, workspace: &mut Workspace) -> Result<Contestant, Failure> {
    let own = |part: &str| vec![workspace.program().to_owned(), "bench-peer".into(), part.into()];
    let built = |program: PathBuf| program.display().to_string();
    let (program, introduction) = match entry.made {
        ProgramKind::Own => (own(entry.name), Introduction::Address),
        ProgramKind::OwnNode => (own(entry.name), Introduction::Master),
        ProgramKind::OwnPeer => (own(entry.name), Introduction::Itself),
        ProgramKind::OwnBridged => (own(entry.name), Introduction::Bridge),
        ProgramKind::Roscpp => (vec![built(compile::roscpp(workspace.folder())?)], Introduction::Master),
        ProgramKind::Iceoryx2(wait) => {
            (vec![built(compile::iceoryx2(workspace.folder())?), wait.into()], Introduction::Itself)
        }
        ProgramKind::CycloneDds => {
            let program = built(compile::cyclonedds(workspace.folder())?);
            (vec!["env".into(), CYCLONEDDS_URI.into(), program], Introduction::Itself)
        }
        ProgramKind::FastDds => (vec![built(compile::fast_dds(workspace.folder())?)], Introduction::Itself),
        ProgramKind::Rcl(variables) => {
            let mut program = compile::rcl(workspace.folder())?;
            program.splice(1..1, variables.iter().map(|variable| (*variable).to_owned()));
            (program, Introduction::Itself)
        }
        ProgramKind::Rclpy => {
            let program = built(compile::rclpy(workspace.folder())?);
            (vec!["python3".into(), program], Introduction::Itself)
        }
    };
    let Entry { name, spins, largest, .. } = *entry;
    Ok(Contestant { name, program, introduction, spins, largest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::plan::Scenario;

    fn playing(exchange: Exchange) -> Vec<&'static str> {
        ENTRIES.iter().filter(|entry| (entry.plays)(exchange)).map(|entry| entry.name).collect()
    }

    #[test]
    fn roscpp_uses_rosmaster_where_a_master_takes_part() {
        let masters = |exchange| {
            playing(exchange).into_iter().map(|name| own_master(name, exchange)).collect::<Vec<_>>()
        };
        let (runnel, original) = (Some(Kind::Runnel), Some(Kind::Original));
        for exchange in [Exchange::CallOnce, Exchange::SetParam, Exchange::GetParam] {
            assert_eq!(masters(exchange), [runnel, original, runnel]);
        }
        assert!(masters(Exchange::CallPersistent).iter().all(Option::is_none));
        assert!(masters(Exchange::PingPong).iter().all(Option::is_none));
    }

    #[test]
    fn floor_and_both_nodes_run_every_message_exchange() {
        let carrying = Scenario::ALL.into_iter().flat_map(Scenario::exchanges).filter(|one| !one.is_call());
        for exchange in carrying {
            let playing = playing(*exchange);
            // Exchanges with network faults have no floor.
            assert_ne!(playing.contains(&floor_of(*exchange)), exchange.counts_faults(), "{exchange:?}");
            let nodes = playing.contains(&RUNNEL) && playing.contains(&ROSCPP);
            assert_eq!(nodes, *exchange != Exchange::Ipc && !exchange.is_ros2(), "{exchange:?}");
            let peers = ["runnel-rtps", "cyclonedds", "fastdds"].map(|peer| playing.contains(&peer));
            assert_eq!(peers == [true; 3], exchange.is_ros2(), "{exchange:?}");
        }
    }
}
