//! IPC connections with other processes of this host: set-up, and the handover of links to them and back.
//!
//! ```text
//!  subscriber or client                              publisher or service
//!     header: process id, token          ─► TCP ─►   finds the link by its token
//!                                        ◄─ TCP ◄─   header: process id
//!     (the process with the lower id connects; two processes have one IPC connection)
//!  topics:   REACHED, ASK token          ─► ring ─►  switches the link between two messages:
//!     reads the messages before on TCP   ◄─ ring ◄─  OPEN_SAMPLES channel, token, number of the first message
//!     messages                           ◄─ ring ◄─  SAMPLE, SAMPLE_SLOT, SAMPLE_BEGIN, BYTES channel
//!     REACHED                            ─► ring ─►  sends without limit
//!  services: ASK token                   ─► ring ─►  switches the link at any byte of its stream:
//!     reads that many bytes of TCP       ◄─ ring ◄─  OPEN channel, token, number of bytes sent by TCP
//!     responses                          ◄─ ring ◄─  BYTES channel
//! ```
//! A ROS 2 pair switches like a ROS 1 topic, with three differences: the request is ASK_SAMPLES, the reader sends REACHED only
//! once it has everything from RTPS, and it reads RTPS before the messages of the ring.
//!
//! Without an IPC connection, a link stays on its own connection. When the IPC connection ends, the link falls back to its own
//! connection with all messages that the peer has not read. Then the processes connect again.

mod connecting;
mod delivery;
mod handshake;
mod memory_requests;
mod orphans;
mod pairs;
mod processes;
mod records;
mod teardown;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unread_network;
mod versions;
mod waiting_streams;

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
use crate::ipc::{Pool, Receiver, Sender, sleep_flag};
use crate::log_output::console;
use crate::log_output::throttle::Throttle;
use crate::settings::environment::IpcSettings;
use handshake::Handshake;
pub(super) use memory_requests::OtherEnd;
pub(super) use orphans::Orphan;
use pairs::{SampleInput, SampleOutput};
use processes::Processes;
pub(super) use records::{Batch, MAX_CHANNELS, Taken};
use teardown::Teardown;
pub(super) use waiting_streams::CONNECTION_TIMEOUT;
use waiting_streams::WaitingStreams;

/// Maximum number of IPC connections, those in the handshake included.
const MAX_IPC_CONNECTIONS: usize = 256;

/// Iterations between two polls of the reactor (a system call) while records arrive.
const POLLS_PER_WAIT: u32 = 64;

/// Polls of the rings between two polls of the reactor, in a busy loop while no record arrives.
const RING_POLLS: u32 = 1000;

/// First pause before an IPC connection is made again. It doubles unless the connection lasted for [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// All IPC connections of a driver.
pub(crate) struct IpcConnections {
    reactor: Arc<Reactor>,
    /// Descriptors in the reactor, and entries of ROS 2 pairs.
    entries: Table<Entry>,
    /// `None` if all links stay on the network.
    settings: Option<IpcSettings>,
    /// Shared memory for long messages.
    pool: Arc<Pool>,
    /// Memory with this process's sleep flag, made for the first IPC connection.
    page: Option<SharedWords>,
    /// Doorbell by which threads of this process wake the driver. No peer has it. Made with the page.
    own_doorbell: Option<Arc<Ringer>>,
    /// The process listens, or has tried to.
    listens: bool,
    open: Table<IpcConnection>,
    /// Established IPC connections, in the order in which they are polled.
    pub(super) established: Vec<Key>,
    /// IPC connections in teardown.
    closing: Vec<Key>,
    /// Keys of the sockets of IPC connections and handshakes, by the process of the peer.
    peers: SortedMap<u128, Key>,
    /// Links and pairs whose peers may be on this host: their keys by token, and the state of each.
    links: SortedMap<u128, Key>,
    local_links: SortedMap<Key, LocalLink>,
    /// Pauses before processes are connected to again.
    reconnect_pauses: SortedMap<u128, Duration>,
    /// Processes with another version of Runnel. They get no IPC connection.
    other_versions: Processes,
    /// Processes whose handshake failed, which has been logged.
    refused: Processes,
    /// Time since when a link has waited for the rest of its connection.
    pub(super) waiting_since: Option<Instant>,
    /// Pairs that wait for samples from RTPS.
    pub(super) draining: Vec<Key>,
    /// Pairs that RTPS has lost, while their writers may still send by shared memory.
    orphans: Vec<Orphan>,
    /// RTPS was not read before some pairs switched to shared memory, since the end of another pair comes first.
    pub(super) is_network_unread: bool,
    /// These pairs, and their network path. Their samples wait until RTPS has been read.
    undrained: Vec<(Key, PathId)>,
    /// Links that wait for messages of their connections, and since when.
    owed: Vec<(Key, Instant)>,
    /// Iterations with records since the reactor was polled.
    polls: u32,
    throttle: Throttle,
}

/// Entry of one key of the component.
enum Entry {
    /// Accepts connections of other processes of this host.
    Listener(PacketListener),
    /// A connection in the handshake.
    Handshake(Handshake),
    /// Socket of an IPC connection: passes descriptors and shows the peer's end.
    IpcConnection(Key),
    /// Doorbell of an IPC connection.
    Doorbell(Key),
    /// Doorbell by which threads of this process wake the driver.
    OwnDoorbell { _doorbell: Doorbell },
    /// A remote ROS 2 writer that may be on this host. It has no descriptor.
    SampleInput(SampleInput),
    /// A remote ROS 2 reader that may be on this host. It has no descriptor.
    SampleOutput(SampleOutput),
    /// Placeholder while an entry is being made.
    Nothing,
}

/// What the event loop reads for a ready key.
pub(super) enum Readable {
    /// The records of an IPC connection.
    Doorbell(Key),
    /// The socket of an IPC connection.
    Socket(Key),
    /// The records of all IPC connections, since a thread of this process rang.
    OwnDoorbell,
}

/// A link or a pair whose peer may be on this host.
struct LocalLink {
    peer: LocalPeerId,
    other_end: OtherEnd,
}

/// An established IPC connection.
struct IpcConnection {
    process: u128,
    /// Keys of its socket and of its doorbell.
    sockets: [Key; 2],
    packets: Arc<Packets>,
    _doorbell: Doorbell,
    receiver: Receiver,
    sender: Arc<Sender>,
    /// The link or pair of each channel.
    channels: Vec<Option<Key>>,
    /// Tokens whose requests or answers wait: for space in the ring, or for the connection header that names the link.
    unsent_requests: Vec<u128>,
    pending_switches: Vec<u128>,
    /// The latest tokens that the peer has requested and this process does not know yet.
    early_requests: VecDeque<(u128, bool)>,
    /// Links and pairs whose reports to their publishers wait for space in the ring.
    unsent_reports: Vec<Key>,
    /// Links that wait for the rest of their connections.
    waiting: WaitingStreams,
    since: Instant,
    /// Set once teardown has begun. The peer may still read its ring.
    teardown: Option<Teardown>,
}

impl IpcConnection {
    /// The link or pair of a channel.
    fn link_of(&self, channel: u32) -> Option<Key> {
        self.channels.get(channel as usize).copied().flatten()
    }

    /// A new IPC connection, without channels.
    fn new(
        process: u128,
        sockets: [Key; 2],
        packets: Arc<Packets>,
        doorbell: Doorbell,
        receiver: Receiver,
        sender: Arc<Sender>,
    ) -> Self {
        Self {
            process,
            sockets,
            packets,
            _doorbell: doorbell,
            receiver,
            sender,
            channels: Vec::new(),
            unsent_requests: Vec::new(),
            pending_switches: Vec::new(),
            early_requests: VecDeque::new(),
            unsent_reports: Vec::new(),
            waiting: WaitingStreams::default(),
            since: clock::monotonic(),
            teardown: None,
        }
    }
}

impl IpcConnections {
    pub(super) fn new(reactor: Arc<Reactor>, settings: Option<IpcSettings>, pool: Arc<Pool>) -> Self {
        Self {
            reactor,
            entries: Table::of(Owner::IpcConnections),
            settings,
            pool,
            page: None,
            own_doorbell: None,
            listens: false,
            open: Table::default(),
            established: Vec::new(),
            closing: Vec::new(),
            peers: SortedMap::new(),
            links: SortedMap::new(),
            local_links: SortedMap::new(),
            reconnect_pauses: SortedMap::new(),
            other_versions: Processes::default(),
            refused: Processes::default(),
            waiting_since: None,
            draining: Vec::new(),
            orphans: Vec::new(),
            is_network_unread: false,
            undrained: Vec::new(),
            owed: Vec::new(),
            polls: 0,
            throttle: Throttle::default(),
        }
    }

    /// Handles a ready key. Returns what the event loop is to read for it.
    pub(super) fn readable(&mut self, key: Key, effects: &mut Effects) -> Option<Readable> {
        match self.entries.get(key)? {
            Entry::Doorbell(ipc_connection) => return Some(Readable::Doorbell(*ipc_connection)),
            Entry::IpcConnection(ipc_connection) => return Some(Readable::Socket(*ipc_connection)),
            Entry::OwnDoorbell { .. } => return Some(Readable::OwnDoorbell),
            Entry::Listener(_) => self.packets_accepted(key, effects),
            Entry::Handshake(_) => self.handshake_readable(key, effects),
            Entry::SampleInput(_) | Entry::SampleOutput(_) | Entry::Nothing => {}
        }
        None
    }

    /// The established IPC connection with a process.
    fn ipc_connection_with(&self, process: u128) -> Option<Key> {
        match self.peers.get(&process).and_then(|key| self.entries.get(*key)) {
            Some(Entry::IpcConnection(ipc_connection)) => Some(*ipc_connection),
            _ => None,
        }
    }

    /// The IPC connection with the peer of a link.
    pub(super) fn ipc_connection_of(&self, link: Key) -> Option<Key> {
        self.ipc_connection_with(self.peer_of(link)?.process)
    }

    /// The peer of a link on this host.
    pub(super) fn peer_of(&self, link: Key) -> Option<LocalPeerId> {
        self.local_links.get(&link).map(|link| link.peer)
    }

    /// The sender of an IPC connection.
    pub(super) fn sender(&self, ipc_connection: Key) -> Option<Arc<Sender>> {
        self.open.get(ipc_connection).map(|open| Arc::clone(&open.sender))
    }

    /// Closes and removes an entry.
    fn remove(&mut self, key: Key) {
        self.entries.remove(key);
    }

    /// Logs a fault of a peer, within a limit per time.
    fn warn(&mut self, line: fmt::Arguments<'_>) {
        self.throttle.warn(clock::monotonic(), line, |line| console::warning!("{line}"));
    }

    /// Logs the fault that ended a peer's IPC connection.
    fn warn_of_end(&mut self, why: impl fmt::Display) {
        self.warn(format_args!("IPC connection with another process of this host ended: {why}; its links continue over the network"));
    }

    /// Whether this iteration skips the reactor.
    pub(super) fn skips_reactor(&mut self) -> bool {
        self.polls = (self.polls + 1) % POLLS_PER_WAIT;
        self.polls != 0
    }

    /// From now on peers ring the doorbell. The rings must be polled once more before this process sleeps.
    pub(super) fn fall_asleep(&self) {
        self.page.iter().for_each(|page| {
            sleep_flag::fall_asleep(page.words());
        });
    }

    /// From now on peers need not ring the doorbell.
    pub(super) fn wake_up(&self) {
        self.page.iter().for_each(|page| {
            sleep_flag::wake_up(page.words());
        });
    }
}
