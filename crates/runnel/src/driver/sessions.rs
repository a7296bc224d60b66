//! Sessions with other processes of this host: how they come about, how links go over to them and back.
//!
//! ```text
//!  subscriber or client                              publisher or service
//!     header: my process, a token        ─► TCP ─►   a link of that token
//!                                        ◄─ TCP ◄─   header: my process
//!     (whose number is less connects: one session for each pair of processes)
//!  topics:   REACHED, ASK token        ─► ring ─►    the link goes over between two messages:
//!     reads messages before that of TCP ◄─ ring ◄─   OPEN_SAMPLES channel, token, the first message
//!     messages                         ◄─ ring ◄─    SAMPLE, SAMPLE_SLOT, SAMPLE_BEGIN, BYTES channel
//!     REACHED                          ─► ring ─►    sends without limit
//!  services: ASK token                 ─► ring ─►    the link goes over, wherever its stream is:
//!     reads that many bytes of TCP     ◄─ ring ◄─    OPEN channel, token, bytes that went by TCP
//!     responses                        ◄─ ring ◄─    BYTES channel
//! ```
//! A pair of the ROS 2 graph goes over as a topic of ROS 1 does, but for three things: it asks by ASK_SAMPLES, says REACHED only once
//! it has what RTPS brings, and reads that before the messages of the ring.
//!
//! Where no session comes about, the link stays on its connection. It also goes back to it when the session ends, with
//! what the other end has not read; then the processes meet again.

mod delivery;
mod ending;
mod finding;
mod greeting;
mod hearing;
mod late;
mod meeting;
mod orphans;
mod pairs;
mod processes;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unread_network;
mod versions;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::local_peer::LocalPeerId;
use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
use runnel_delivery::PathId;
use runnel_io::memory::SharedWords;
use runnel_io::unix::Packets;
use runnel_io::{Doorbell, PacketListener, Reactor, Ringer, clock};

use super::effect::Effects;
use super::table::{Key, Owner, Table};
use super::throttle::Throttle;
use crate::environment::IpcSettings;
use crate::ipc::{Pool, Receiver, Sender, awake};
use crate::log_output::console;
use ending::Ending;
use greeting::Greeting;
pub(super) use hearing::{Batch, MOST_CHANNELS, Taken};
use late::LateLinks;
pub(super) use late::PATIENCE;
pub(super) use meeting::OtherEnd;
pub(super) use orphans::Orphan;
use pairs::{SampleInput, SampleOutput};
use processes::Processes;

/// Processes that may have a session with this one at a time, those that are being greeted included.
const MOST_SESSIONS: usize = 256;

/// Turns with messages for each look at the reactor, which takes a system call, while messages come.
const TURNS: u32 = 64;

/// Looks at the rings for each look at the reactor, while nobody sleeps and none comes.
const LOOKS: u32 = 1000;

/// The pause before a session that ended is made again, doubled each time that it did not stand for [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// All sessions of a driver.
pub(crate) struct Sessions {
    reactor: Arc<Reactor>,
    /// What the reactor tells of, and what stands for pairs of the ROS 2 graph.
    entries: Table<Entry>,
    /// `None` if links stay on the network.
    settings: Option<IpcSettings>,
    /// Memory for long messages.
    pool: Arc<Pool>,
    /// Whether this process sleeps; made with the first session.
    page: Option<SharedWords>,
    /// By which threads wake the driver: no peer has it. Made with the page.
    own_bell: Option<Arc<Ringer>>,
    /// It listens, or has tried to.
    listens: bool,
    open: Table<Session>,
    /// Those, to be looked at one after the other.
    pub(super) standing: Vec<Key>,
    /// Those whose other end may still read.
    ending: Vec<Key>,
    /// Sockets of sessions that stand or are being made, by the process at the other end.
    peers: SortedMap<u128, Key>,
    /// Links and pairs whose other end may be of this host, by token, and what is known of each.
    links: SortedMap<u128, Key>,
    met: SortedMap<Key, Met>,
    /// Processes that were met, and the pause before they are met again.
    again: SortedMap<u128, Duration>,
    /// Processes with which there can be no session.
    other_versions: Processes,
    /// Processes that made no session, of which the log has said why.
    refused: Processes,
    /// Since when a link of some session waits for what its connection still has.
    pub(super) late_since: Option<Instant>,
    /// Pairs that wait for samples of RTPS.
    pub(super) draining: Vec<Key>,
    /// Pairs that RTPS has lost, and whose writers may not know that.
    orphans: Vec<Orphan>,
    /// RTPS has not been read before pairs that began: the end of another pair is to be done first.
    pub(super) is_network_unread: bool,
    /// These pairs, whose samples wait for that, and their path by it.
    undrained: Vec<(Key, PathId)>,
    /// Links that wait for messages of their connections, and since when.
    owed: Vec<(Key, Instant)>,
    /// With messages, since the reactor was looked at.
    turns: u32,
    throttle: Throttle,
}

/// What stands for one key of the component.
enum Entry {
    /// Accepts other processes of this host.
    Listener(PacketListener),
    /// Another process of this host is about to greet on it.
    Greeting(Greeting),
    /// Stands for the other end of a session: carries descriptors, and tells of its end.
    Session(Key),
    /// The doorbell of a session.
    Bell(Key),
    /// The bell by which threads of this process wake the driver for sessions.
    OwnBell { _doorbell: Doorbell },
    /// A writer of another process in the ROS 2 graph, which may be of this host; no descriptor.
    SampleInput(SampleInput),
    /// A reader of another process, likewise.
    SampleOutput(SampleOutput),
    /// Is about to be another.
    Nothing,
}

/// What the loop reads when the reactor tells of a key.
pub(super) enum Readable {
    /// A session, whose doorbell has rung.
    Bell(Key),
    /// The socket of a session.
    Socket(Key),
    /// All sessions: a thread of this process has rung.
    OwnBell,
}

/// A link or a pair whose other end may be of this host.
struct Met {
    peer: LocalPeerId,
    other_end: OtherEnd,
}

/// A session that stands.
struct Session {
    process: u128,
    /// Its socket in the driver, and that of its doorbell.
    sockets: [Key; 2],
    packets: Arc<Packets>,
    _bell: Doorbell,
    receiver: Receiver,
    sender: Arc<Sender>,
    /// Sockets of the links that come by each channel.
    channels: Vec<Option<Key>>,
    /// Tokens that were not asked for or not answered yet: for want of room, or because a header of ours is on its way.
    unasked: Vec<u128>,
    unopened: Vec<u128>,
    /// Tokens that the other process has asked for and this one does not know yet, the latest.
    early: VecDeque<(u128, bool)>,
    /// Pairs whose writers could not be told how far their readers are.
    untold: Vec<Key>,
    /// Links that wait for what their connections still have.
    late: LateLinks,
    since: Instant,
    /// The session ends, but the peer may still read what it finds.
    ending: Option<Ending>,
}

impl Session {
    /// What a channel carries.
    fn link_of(&self, channel: u32) -> Option<Key> {
        self.channels.get(channel as usize).copied().flatten()
    }

    /// One that nothing has come by.
    fn new(
        process: u128,
        sockets: [Key; 2],
        packets: Arc<Packets>,
        bell: Doorbell,
        receiver: Receiver,
        sender: Arc<Sender>,
    ) -> Self {
        Self {
            process,
            sockets,
            packets,
            _bell: bell,
            receiver,
            sender,
            channels: Vec::new(),
            unasked: Vec::new(),
            unopened: Vec::new(),
            early: VecDeque::new(),
            untold: Vec::new(),
            late: LateLinks::default(),
            since: clock::monotonic(),
            ending: None,
        }
    }
}

impl Sessions {
    pub(super) fn new(reactor: Arc<Reactor>, settings: Option<IpcSettings>, pool: Arc<Pool>) -> Self {
        Self {
            reactor,
            entries: Table::of(Owner::Sessions),
            settings,
            pool,
            page: None,
            own_bell: None,
            listens: false,
            open: Table::default(),
            standing: Vec::new(),
            ending: Vec::new(),
            peers: SortedMap::new(),
            links: SortedMap::new(),
            met: SortedMap::new(),
            again: SortedMap::new(),
            other_versions: Processes::default(),
            refused: Processes::default(),
            late_since: None,
            draining: Vec::new(),
            orphans: Vec::new(),
            is_network_unread: false,
            undrained: Vec::new(),
            owed: Vec::new(),
            turns: 0,
            throttle: Throttle::default(),
        }
    }

    /// The reactor tells of a key: what the loop is to read for it.
    pub(super) fn readable(&mut self, key: Key, effects: &mut Effects) -> Option<Readable> {
        match self.entries.get(key)? {
            Entry::Bell(session) => return Some(Readable::Bell(*session)),
            Entry::Session(session) => return Some(Readable::Socket(*session)),
            Entry::OwnBell { .. } => return Some(Readable::OwnBell),
            Entry::Listener(_) => self.packets_accepted(key, effects),
            Entry::Greeting(_) => self.greeting_readable(key, effects),
            Entry::SampleInput(_) | Entry::SampleOutput(_) | Entry::Nothing => {}
        }
        None
    }

    /// The session with a process, if it stands.
    fn session_with(&self, process: u128) -> Option<Key> {
        match self.peers.get(&process).and_then(|key| self.entries.get(*key)) {
            Some(Entry::Session(session)) => Some(*session),
            _ => None,
        }
    }

    /// The session with the process at the other end of a link.
    pub(super) fn session_of(&self, link: Key) -> Option<Key> {
        self.session_with(self.peer_of(link)?.process)
    }

    /// How a link finds its other end on this host.
    pub(super) fn peer_of(&self, link: Key) -> Option<LocalPeerId> {
        self.met.get(&link).map(|met| met.peer)
    }

    /// What is sent by a session.
    pub(super) fn sender(&self, session: Key) -> Option<Arc<Sender>> {
        self.open.get(session).map(|open| Arc::clone(&open.sender))
    }

    /// Closes what stands for a key.
    fn remove(&mut self, key: Key) {
        self.entries.remove(key);
    }

    /// Logs what a peer did, unless there is too much of it.
    fn warn(&mut self, line: fmt::Arguments<'_>) {
        self.throttle.warn(clock::monotonic(), line, |line| console::warning!("{line}"));
    }

    /// Logs what a peer did that ended its session.
    fn warn_of_end(&mut self, why: impl fmt::Display) {
        self.warn(format_args!("another process of this host: {why}; its links go on over the network"));
    }

    /// Whether the reactor may be passed over once more.
    pub(super) fn passes_over_reactor(&mut self) -> bool {
        self.turns = (self.turns + 1) % TURNS;
        self.turns != 0
    }

    /// From now on peers ring. Their rings are to be looked at before this process sleeps.
    pub(super) fn fall_asleep(&self) {
        self.page.iter().for_each(|page| {
            awake::fall_asleep(page.words());
        });
    }

    /// Peers need not ring.
    pub(super) fn wake_up(&self) {
        self.page.iter().for_each(|page| {
            awake::wake_up(page.words());
        });
    }
}
