//! Disturbances of dual nodes and of the paths between them.

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

impl Change {
    /// A short one, or with `slow` percent probability a long one.
    pub fn draw(rng: &mut Rng, slow: u32) -> Self {
        let changes: &[Self] = if slow > 0 && rng.percent(slow) { &SLOW } else { &QUICK };
        *rng.pick(changes).unwrap()
    }
}
