//! Who takes part in exchanges: each a program whose ends speak as `bench/README.md` tells, so that another joins with
//! one entry here.

use super::failure::Failure;
use super::masters::Kind;
use super::room::Room;
use super::{compile, plan::Exchange, plan::Placement};

/// What the figures of others are compared with.
pub const FLOOR: &str = "floor-tcp";

/// The floor with a connection each way, as TCPROS has one for each topic.
pub const FLOOR_PAIR: &str = "floor-tcp-pair";

/// The peer that the figures are compared with.
pub const ROSCPP: &str = "roscpp";

/// Runnel over TCPROS.
pub const RUNNEL: &str = "runnel-tcpros";

/// The peer at Runnel's master: where the master takes part in what is measured, it tells the one's gain from the
/// other's.
pub const ROSCPP_AT_RUNNEL: &str = "roscpp-at-runnel";

/// iceoryx2 whose ends sleep until they are notified.
pub const ICEORYX2_EVENT: &str = "iceoryx2-event";

/// iceoryx2 whose ends never sleep.
pub const ICEORYX2_POLL: &str = "iceoryx2-poll";

/// Cyclone DDS over UDP.
pub const CYCLONEDDS: &str = "cyclonedds";

/// Everything that `--only` can name: contestants of exchanges and idle programs.
pub const NAMES: [&str; 12] = [
    FLOOR,
    FLOOR_PAIR,
    RUNNEL,
    ROSCPP,
    ROSCPP_AT_RUNNEL,
    ICEORYX2_EVENT,
    ICEORYX2_POLL,
    CYCLONEDDS,
    "runnel",
    "runnel-static",
    "bare-static",
    "topic-echo",
];

/// A contestant that can be started.
#[derive(Clone, Debug)]
pub struct Contestant {
    /// Its name in tables and results.
    pub name: &'static str,
    /// The program and the arguments that come before the role.
    pub program: Vec<String>,
    /// How its ends find each other.
    pub introduction: Introduction,
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
    /// Whether it can be measured there: an end that never sleeps needs a CPU of its own.
    pub fn fits(&self, placement: Placement) -> bool {
        self.name != ICEORYX2_POLL || placement == Placement::TwoCores
    }
}

/// The contestants of an exchange that are wanted and can be had; of the others the user is told.
///
/// # Errors
/// When no master can be started.
pub fn ready(exchange: Exchange, room: &mut Room) -> Result<Vec<Contestant>, Failure> {
    let mut ready = Vec::new();
    let wanted: Vec<_> = names(exchange).iter().filter(|name| room.wants(name)).collect();
    for &name in wanted {
        match taking_part(name, exchange, room) {
            Ok(contestant) => ready.push(contestant),
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(why) => room.note(format!("{} without {name}: {why}", list(exchange))),
        }
    }
    if ready.iter().any(|contestant| contestant.introduction == Introduction::Master) {
        room.start_master()?;
    }
    Ok(ready)
}

/// Who takes part in an exchange. One way, a pair of connections would be no other than one.
fn names(exchange: Exchange) -> &'static [&'static str] {
    match exchange {
        Exchange::PingPong => &[FLOOR, FLOOR_PAIR, RUNNEL, ROSCPP, ICEORYX2_EVENT, ICEORYX2_POLL, CYCLONEDDS],
        Exchange::Queue => &[FLOOR, RUNNEL, ROSCPP, ICEORYX2_EVENT, ICEORYX2_POLL, CYCLONEDDS],
        Exchange::CallPersistent => &[RUNNEL, ROSCPP],
        Exchange::CallOnce | Exchange::SetParam | Exchange::GetParam => &[RUNNEL, ROSCPP, ROSCPP_AT_RUNNEL],
    }
}

/// The names of all that is exchanged in one run.
fn list(exchange: Exchange) -> String {
    exchange.by_turns().iter().map(|exchange| exchange.name()).collect::<Vec<_>>().join(" and ")
}

/// A contestant as it takes part in an exchange.
fn taking_part(name: &'static str, exchange: Exchange, room: &mut Room) -> Result<Contestant, Failure> {
    let Some(kind) = own_master(name, exchange) else { return contestant(name, room) };
    kind.check()?;
    Ok(Contestant { introduction: Introduction::OwnMaster(kind), ..contestant(name, room)? })
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
pub fn contestant(name: &'static str, room: &mut Room) -> Result<Contestant, Failure> {
    let own = |part: &str| vec![room.program().to_owned(), "bench-peer".into(), part.into()];
    let (program, introduction) = match name {
        FLOOR | FLOOR_PAIR => (own(name), Introduction::Address),
        RUNNEL => (own(RUNNEL), Introduction::Master),
        ICEORYX2_EVENT => (iceoryx2("event", room)?, Introduction::Itself),
        ICEORYX2_POLL => (iceoryx2("poll", room)?, Introduction::Itself),
        CYCLONEDDS => (cyclonedds(room)?, Introduction::Itself),
        _ => (vec![compile::roscpp(room.folder())?.display().to_string()], Introduction::Master),
    };
    Ok(Contestant { name, program, introduction })
}

fn iceoryx2(wait: &str, room: &Room) -> Result<Vec<String>, Failure> {
    Ok(vec![compile::iceoryx2(room.folder())?.display().to_string(), wait.into()])
}

/// Cyclone DDS in no other network than loopback.
fn cyclonedds(room: &Room) -> Result<Vec<String>, Failure> {
    let interface = r#"<NetworkInterface name="lo" multicast="true"/>"#;
    let domain = format!("<Domain><General><Interfaces>{interface}</Interfaces></General></Domain>");
    let program = compile::cyclonedds(room.folder())?.display().to_string();
    Ok(vec!["env".into(), format!("CYCLONEDDS_URI={domain}"), program])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roscpp_has_the_original_master_where_a_master_is_asked() {
        let masters =
            |exchange| names(exchange).iter().map(|name| own_master(name, exchange)).collect::<Vec<_>>();
        let (runnel, original) = (Some(Kind::Runnel), Some(Kind::Original));
        for exchange in [Exchange::CallOnce, Exchange::SetParam, Exchange::GetParam] {
            assert_eq!(masters(exchange), [runnel, original, runnel]);
        }
        assert_eq!(masters(Exchange::CallPersistent), [None, None]);
        assert_eq!(masters(Exchange::PingPong), [None; 7]);
    }

    #[test]
    fn every_contestant_can_be_asked_for() {
        let exchanges = [Exchange::PingPong, Exchange::Queue, Exchange::CallOnce, Exchange::CallPersistent];
        let mut all = exchanges.into_iter().chain(Exchange::SetParam.by_turns()).flat_map(names);
        assert!(all.all(|name| NAMES.contains(name)));
    }
}
