//! Who takes part in exchanges: each a program whose ends speak as `bench/README.md` tells, so that another joins with
//! one entry here.

use std::path::PathBuf;

use super::compile;
use super::failure::Failure;
use super::masters::Kind;
use super::plan::{Exchange, Placement, Task};
use super::room::Room;

/// What the figures of others are compared with.
pub const FLOOR: &str = "floor-tcp";

/// What they are compared with among the operating system's own ways.
pub const FLOOR_UNIX: &str = "floor-unix-stream";

/// What they are compared with over UDP.
pub const FLOOR_UDP: &str = "floor-udp";

/// The peer that the figures are compared with.
pub const ROSCPP: &str = "roscpp";

/// Runnel over TCPROS.
pub const RUNNEL: &str = "runnel-tcpros";

/// The peer at Runnel's master: where the master takes part in what is measured, it tells the one's gain from the
/// other's.
pub const ROSCPP_AT_RUNNEL: &str = "roscpp-at-runnel";

/// All contestants, in the order of their turns. Another one is a line here.
const ENTRIES: &[Entry] = &[
    Entry::new(FLOOR, Made::Own, messages),
    // One way, a pair of connections, as TCPROS has for two topics, would be no other than one.
    Entry::new("floor-tcp-pair", Made::Own, answers),
    Entry::new(FLOOR_UNIX, Made::Own, messages),
    Entry { largest: 65_507, ..Entry::new(FLOOR_UDP, Made::Own, datagrams) },
    Entry { largest: 200_000, ..Entry::new("floor-unix-dgram", Made::Own, ipc) },
    Entry { largest: 200_000, ..Entry::new("floor-unix-seqpacket", Made::Own, ipc) },
    Entry::new("floor-futex", Made::Own, ipc),
    Entry { spins: true, ..Entry::new("floor-spin", Made::Own, ipc) },
    Entry::new(RUNNEL, Made::OwnNode, nodes),
    Entry::new("runnel-ipc", Made::OwnNode, links),
    Entry { spins: true, ..Entry::new("runnel-ipc-spin", Made::OwnNode, spinning_links) },
    Entry::new("runnel-ipc-loan", Made::OwnNode, one_way),
    Entry { spins: true, ..Entry::new("runnel-ipc-loan-spin", Made::OwnNode, spinning_one_way) },
    Entry::new(ROSCPP, Made::Roscpp, nodes),
    Entry::new(ROSCPP_AT_RUNNEL, Made::Roscpp, Exchange::asks_master),
    Entry::new("iceoryx2-event", Made::Iceoryx2("event"), iceoryx2),
    Entry { spins: true, ..Entry::new("iceoryx2-poll", Made::Iceoryx2("poll"), pollers) },
    Entry::new("runnel-rtps", Made::OwnPeer, Exchange::is_of_ros2),
    Entry::new("runnel-rtps-ipc", Made::OwnPeer, ros2_links),
    Entry::new("cyclonedds", Made::CycloneDds, peers),
    Entry::new("fastdds", Made::FastDds, Exchange::is_of_ros2),
];

/// Cyclone DDS in no other network than loopback.
const CYCLONEDDS_URI: &str = concat!(
    "CYCLONEDDS_URI=<Domain><General><Interfaces>",
    r#"<NetworkInterface name="lo" multicast="true"/>"#,
    "</Interfaces></General></Domain>"
);

/// What takes part, and in what.
struct Entry {
    name: &'static str,
    made: Made,
    plays: fn(Exchange) -> bool,
    /// Whether an end looks again and again while it waits, so that each needs a CPU of its own.
    spins: bool,
    /// Bytes of the largest message that it carries.
    largest: usize,
}

/// How a contestant's program is had, and how its ends are introduced.
#[derive(Clone, Copy)]
enum Made {
    /// A part of `runnel bench-peer` whose ends are told each other's addresses.
    Own,
    /// A part of it whose ends find each other by a master.
    OwnNode,
    /// A part of it whose ends find each other by themselves.
    OwnPeer,
    /// Compiled against roscpp.
    Roscpp,
    /// Built with iceoryx2; how its ends wait.
    Iceoryx2(&'static str),
    /// Compiled against Cyclone DDS.
    CycloneDds,
    /// Compiled against Fast DDS.
    FastDds,
}

impl Entry {
    const fn new(name: &'static str, made: Made, plays: fn(Exchange) -> bool) -> Self {
        Self { name, made, plays, spins: false, largest: usize::MAX }
    }
}

/// All that needs no services or parameters, nor the wire of ROS 2.
fn messages(exchange: Exchange) -> bool {
    !exchange.is_call() && !exchange.is_of_ros2()
}

/// Where messages go both ways and a connection carries many.
fn answers(exchange: Exchange) -> bool {
    matches!(exchange, Exchange::PingPong | Exchange::Flow | Exchange::FlowPairs)
}

fn ipc(exchange: Exchange) -> bool {
    exchange == Exchange::Ipc
}

/// Where datagrams go there and back.
fn datagrams(exchange: Exchange) -> bool {
    matches!(exchange, Exchange::Ipc | Exchange::Reliable | Exchange::BestEffort)
}

/// Where what is sent is not sent back.
fn one_way(exchange: Exchange) -> bool {
    matches!(exchange, Exchange::Queue | Exchange::Rates | Exchange::Sizes | Exchange::Subscribers)
}

/// Where links carry messages or calls for some time.
fn links(exchange: Exchange) -> bool {
    messages(exchange) || exchange == Exchange::CallPersistent
}

/// Where what pairs of ROS 2 take within a host is compared with what links of ROS 1 take there.
fn ros2_links(exchange: Exchange) -> bool {
    matches!(exchange, Exchange::PingPong | Exchange::Ipc | Exchange::Sizes)
}

/// The same as far as no two ends that never sleep have to share a CPU.
fn spinning_links(exchange: Exchange) -> bool {
    links(exchange) && !matches!(exchange, Exchange::Chain | Exchange::FlowPairs | Exchange::Subscribers)
}

/// What loans memory and never sleeps, where another contestant does the same.
fn spinning_one_way(exchange: Exchange) -> bool {
    one_way(exchange) && pollers(exchange)
}

/// All but the operating system's own ways and the wire of ROS 2.
fn nodes(exchange: Exchange) -> bool {
    exchange != Exchange::Ipc && !exchange.is_of_ros2()
}

/// Messages between programs that know nothing of ROS.
fn iceoryx2(exchange: Exchange) -> bool {
    nodes(exchange) && !exchange.is_call()
}

/// The same, and what is of the wire of ROS 2.
fn peers(exchange: Exchange) -> bool {
    iceoryx2(exchange) || exchange.is_of_ros2()
}

/// As far as no two ends that never sleep have to share a CPU, none of real-time priority is to wait for long, and there
/// is one topic to look at: a thousand take milliseconds.
fn pollers(exchange: Exchange) -> bool {
    use Exchange::{Hello, PingPong, Queue, Sizes};
    matches!(exchange, PingPong | Queue | Hello | Sizes)
}

/// The names of all contestants.
pub fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.name)
}

/// What the figures of an exchange are compared with.
pub fn floor_of(exchange: Exchange) -> &'static str {
    match exchange {
        Exchange::Ipc => FLOOR_UNIX,
        Exchange::Reliable | Exchange::BestEffort => FLOOR_UDP,
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
    /// The one says where it is and the other is told by `--peer`.
    Address,
    /// By the master that runs all the time.
    Master,
    /// By a master of the run's own, on the CPU of the end that answers.
    OwnMaster(Kind),
    /// By themselves.
    Itself,
}

impl Contestant {
    /// Whether it can do a task at a place; if not although others can, the user is told why.
    pub fn can(&self, task: &Task, placement: Placement, room: &mut Room) -> bool {
        if task.largest() > self.largest {
            let (name, size, largest) = (task.exchange.name(), task.largest(), self.largest);
            room.note(format!("{name} with {size} B without {}: it carries at most {largest} B", self.name));
            return false;
        }
        !self.spins || placement == Placement::TwoCores
    }
}

/// The contestants of an exchange that are wanted and can be had; of the others the user is told.
///
/// # Errors
/// When the user asks for the end.
pub fn ready(exchange: Exchange, room: &mut Room) -> Result<Vec<Contestant>, Failure> {
    let mut ready = Vec::new();
    for entry in ENTRIES.iter().filter(|entry| (entry.plays)(exchange)) {
        if !room.wants(entry.name) {
            continue;
        }
        match taking_part(entry, exchange, room) {
            Ok(contestant) => ready.push(contestant),
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(why) => room.note(format!("{} without {}: {why}", list(exchange), entry.name)),
        }
    }
    Ok(ready)
}

/// The names of all that is exchanged in one run.
fn list(exchange: Exchange) -> String {
    exchange.by_turns().iter().map(|exchange| exchange.name()).collect::<Vec<_>>().join(" and ")
}

/// A contestant as it takes part in an exchange.
fn taking_part(entry: &Entry, exchange: Exchange, room: &mut Room) -> Result<Contestant, Failure> {
    let Some(kind) = own_master(entry.name, exchange) else { return made(entry, room) };
    kind.check()?;
    Ok(Contestant { introduction: Introduction::OwnMaster(kind), ..made(entry, room)? })
}

/// The master of a contestant's own world, where that takes part in what is measured.
fn own_master(name: &str, exchange: Exchange) -> Option<Kind> {
    let own = if name == ROSCPP { Kind::Original } else { Kind::Runnel };
    exchange.asks_master().then_some(own)
}

/// A contestant by its name.
///
/// # Errors
/// When its program cannot be had.
pub fn contestant(name: &str, room: &mut Room) -> Result<Contestant, Failure> {
    let unknown = || Failure::Missing(format!("there is no contestant {name}"));
    made(ENTRIES.iter().find(|entry| entry.name == name).ok_or_else(unknown)?, room)
}

fn made(entry: &Entry, room: &mut Room) -> Result<Contestant, Failure> {
    let own = |part: &str| vec![room.program().to_owned(), "bench-peer".into(), part.into()];
    let built = |program: PathBuf| program.display().to_string();
    let (program, introduction) = match entry.made {
        Made::Own => (own(entry.name), Introduction::Address),
        Made::OwnNode => (own(entry.name), Introduction::Master),
        Made::OwnPeer => (own(entry.name), Introduction::Itself),
        Made::Roscpp => (vec![built(compile::roscpp(room.folder())?)], Introduction::Master),
        Made::Iceoryx2(wait) => {
            (vec![built(compile::iceoryx2(room.folder())?), wait.into()], Introduction::Itself)
        }
        Made::CycloneDds => {
            let program = built(compile::cyclonedds(room.folder())?);
            (vec!["env".into(), CYCLONEDDS_URI.into(), program], Introduction::Itself)
        }
        Made::FastDds => (vec![built(compile::fast_dds(room.folder())?)], Introduction::Itself),
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
    fn roscpp_has_the_original_master_where_a_master_is_asked() {
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
    fn the_floor_and_both_kinds_of_node_play_all_that_carries_messages() {
        let carrying = Scenario::ALL.into_iter().flat_map(Scenario::exchanges).filter(|one| !one.is_call());
        for exchange in carrying {
            let playing = playing(*exchange);
            // Nobody compares what a network that is at fault carries.
            assert_ne!(playing.contains(&floor_of(*exchange)), exchange.tells_faults(), "{exchange:?}");
            let nodes = playing.contains(&RUNNEL) && playing.contains(&ROSCPP);
            assert_eq!(nodes, *exchange != Exchange::Ipc && !exchange.is_of_ros2(), "{exchange:?}");
            let peers = ["runnel-rtps", "cyclonedds", "fastdds"].map(|peer| playing.contains(&peer));
            assert_eq!(peers == [true; 3], exchange.is_of_ros2(), "{exchange:?}");
        }
    }
}
