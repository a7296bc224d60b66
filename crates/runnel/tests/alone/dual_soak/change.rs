//! What happens to processes of both graphs and to what lies between them.

use runnel_testkit::net::Rng;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// All links of a process leave shared memory, and come back to it later.
    EndSessionsOfTalker,
    EndSessionsOfReader,
    CutDatagrams,
    LoseDatagrams,
    MendDatagrams,
    /// The talker's connections of ROS 1 are reset.
    KillConnections,
    AddSubscription,
    RemoveSubscription,
    /// A reader's process stands still for a moment.
    StopReader,
    /// A reader leaves both graphs, and another comes.
    ReplaceReader,
    /// A reader is killed, and another comes. Until its lease ends, the writer waits for it.
    KillReader,
    /// No datagram gets through for about as long as a lease, or longer.
    Blackout,
}

use Change::*;

/// These are over at once. What happens more often is named more often.
const QUICK: [Change; 15] = [
    EndSessionsOfTalker,
    EndSessionsOfTalker,
    EndSessionsOfReader,
    EndSessionsOfReader,
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

/// For these a lease ends.
const SLOW: [Change; 2] = [KillReader, Blackout];

impl Change {
    /// One of those that are over at once, or, as often as `slow` says in percent, one of the others.
    pub fn draw(rng: &mut Rng, slow: u32) -> Self {
        let changes: &[Self] = if slow > 0 && rng.percent(slow) { &SLOW } else { &QUICK };
        *rng.pick(changes).unwrap()
    }
}
