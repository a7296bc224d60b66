//! Disturbances of dual nodes and of the paths between them.

use std::str::FromStr;

use runnel_testkit::net::Rng;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Ends the talker's IPC connections. Its links fall back and return later.
    EndIpcConnectionsOfTalker,
    EndIpcConnectionsOfReader,
    CutDatagrams,
    LoseDatagrams,
    MendDatagrams,
    /// Resets the talker's ROS 1 connections.
    KillConnections,
    AddSubscription,
    RemoveSubscription,
    /// Suspends a reader's process for a moment.
    StopReader,
    /// A reader leaves both graphs, and another one joins.
    ReplaceReader,
    /// Kills a reader, and starts another. The writer waits for it until its lease ends.
    KillReader,
    /// Drops all datagrams for about a lease or longer.
    Blackout,
}

use Change::*;

/// Short ones. Those listed more often happen more often.
const QUICK: [Change; 15] = [
    EndIpcConnectionsOfTalker,
    EndIpcConnectionsOfTalker,
    EndIpcConnectionsOfReader,
    EndIpcConnectionsOfReader,
    CutDatagrams,
    CutDatagrams,
    LoseDatagrams,
    MendDatagrams,
    KillConnections,
    AddSubscription,
    AddSubscription,
    RemoveSubscription,
    StopReader,
    ReplaceReader,
    ReplaceReader,
];

/// Those that take a lease.
const SLOW: [Change; 2] = [KillReader, Blackout];

/// Selection of changes.
pub enum Changes {
    /// Short ones, or with this percent probability long ones.
    All { slow: u32 },
    /// Those of a list.
    Only(Vec<Change>),
}

impl Changes {
    pub fn draw(&self, rng: &mut Rng) -> Change {
        let changes = match self {
            Self::All { slow } if *slow > 0 && rng.percent(*slow) => &SLOW[..],
            Self::All { .. } => &QUICK[..],
            Self::Only(changes) => changes,
        };
        *rng.pick(changes).unwrap()
    }
}

impl FromStr for Change {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let mut all = QUICK.iter().chain(&SLOW);
        let found = all.find(|change| format!("{change:?}") == name).copied();
        found.ok_or_else(|| format!("no such change: {name}"))
    }
}

#[test]
fn changes_are_selected_by_name() {
    let all: Vec<Change> = QUICK.into_iter().chain(SLOW).collect();
    assert!(all.iter().all(|change| format!("{change:?}").parse() == Ok(*change)));
    assert_eq!("Blackouts".parse::<Change>(), Err("no such change: Blackouts".to_owned()));
    let only = Changes::Only(vec![StopReader]);
    assert!((0..10).all(|seed| only.draw(&mut Rng::new(seed)) == StopReader));
}
