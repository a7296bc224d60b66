//! Participant: the endpoints of one process, and the state of remote participants.
//!
//! Its methods are of four kinds: getters, mutators, `handle_*(now, ..)` and `poll_*`. After each mutator or handler
//! its owner polls [`Participant::poll_sample`], [`Participant::poll_writer_update`], [`Participant::poll_transmit`]
//! and [`Participant::poll_event`], and calls [`Participant::handle_timeout`] at the time of
//! [`Participant::poll_timeout`].
//!
//! User writers are separate, see [`UserWriter`](crate::UserWriter): the participant knows which readers each has
//! matched, and returns its findings as updates.

mod acknowledgements;
mod address_quota;
mod addresses;
mod alternate_path;
mod discovery;
mod discovery_datagrams;
mod discovery_queue;
mod discovery_reads;
mod entity_ids;
mod flow_control;
mod local_readers;
mod matching;
mod monitor;
mod own_endpoints;
mod peers;
mod receive;
mod rediscovery;
mod relocation;
mod remembered;
mod remote_matches;
mod transmit;
mod user_writers;
mod vendor_message;

pub use peers::Peer;

use crate::announce::{self, Endpoint, Role};
use crate::config::Config;
use crate::datagram::Datagram;
use crate::event::{Event, Sample};
use crate::reader::{Budgets, Reader, WriterProxy};
use crate::wire::{EntityId, Guid, GuidPrefix, Heartbeat};
use crate::writer::{Writer, WriterUpdate};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, SocketAddr};
use discovery_queue::DiscoveryQueue;
use discovery_reads::DiscoveryReads;
use entity_ids::EntityIds;
use monitor::{Monitored, Monitors};
use peers::Peers;
use remembered::Remembered;
use runnel_core::qos::{QoS, Reliability};
use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
use runnel_core::timers::Timers;
use transmit::Work;
use user_writers::UserWriterEntry;

/// Maximum number of queued events; further ones are dropped, except those that maintain the graph. One datagram may
/// cause as many as there are pairs of a hundred local endpoints with a hundred remote ones.
const MAX_EVENTS: usize = 16 * 1024;

/// Maximum number of early heartbeats of a participant's unknown writers that are remembered.
const MAX_EARLY: usize = 256;
/// The same for an unproved participant.
const MAX_EARLY_UNPROVED: usize = 16;

/// RTPS participant.
#[derive(Debug)]
pub struct Participant {
    config: Config,
    /// Serialized announcement.
    announcement: Arc<[u8]>,
    /// Number of announcements since it last changed.
    announced: u32,
    /// Number of remaining reminders of our new addresses to all participants that have named us.
    move_reminders: u32,
    peers: Peers,
    endpoints: SortedMap<EntityId, Endpoint>,
    /// Discovery writers.
    writers: SortedMap<EntityId, Writer<Arc<[u8]>>>,
    /// User writers.
    user_writers: SortedMap<EntityId, UserWriterEntry>,
    /// Pending updates of user writers.
    writer_updates: VecDeque<WriterUpdate>,
    readers: SortedMap<EntityId, Reader>,
    /// Memory budgets of the readers.
    budgets: Budgets,
    /// Local readers of each remote writer.
    readers_by_writer: BTreeMap<Guid, Vec<EntityId>>,
    /// A pair was paused.
    has_paused: bool,
    /// Heartbeats of writers that are not discovered yet.
    early: BTreeMap<(Guid, EntityId), Heartbeat>,
    remembered: Remembered,
    /// Repeated reads of peers' discovery.
    reads: DiscoveryReads,
    /// Number of corrections of remote state, by local endpoint.
    corrections: SortedMap<EntityId, u64>,
    /// Filters of writers that match only some readers.
    audiences: SortedMap<EntityId, Audience>,
    monitors: Monitors,
    entity_ids: EntityIds,
    events: VecDeque<Event>,
    samples: VecDeque<Sample>,
    /// Pending datagrams of user endpoints.
    work: VecDeque<Work>,
    discovery: DiscoveryQueue,
    timers: Timers<Timer>,
    out: Datagram<Arc<[u8]>>,
    closed: bool,
}

/// Timers of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Announce,
    /// Search for lost participants.
    Search,
    Peer(GuidPrefix),
    Discovery(GuidPrefix),
    AckNack(EntityId, Guid),
    Monitor(Monitored),
    /// Liveliness assertion of our writers.
    AssertLiveliness,
}

/// Filter of the readers that a local writer matches.
#[derive(Clone)]
pub struct Audience(Arc<dyn Fn(&Endpoint) -> bool + Send + Sync>);

impl Audience {
    /// The readers for which `includes` is true.
    pub fn new(includes: impl Fn(&Endpoint) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(includes))
    }

    fn includes(&self, reader: &Endpoint) -> bool {
        (self.0)(reader)
    }
}

impl fmt::Debug for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Audience")
    }
}

/// Parameters of a local endpoint.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// DDS topic name, such as `rt/chatter`.
    pub topic: String,
    /// DDS type name, such as `std_msgs::msg::dds_::String_`.
    pub type_name: String,
    /// Offered or requested QoS.
    pub qos: QoS,
    /// User data: entries of the form `key=value;`, in ROS 2 `typehash=RIHS01_...;`.
    pub user_data: Vec<u8>,
}

impl Participant {
    /// Creates a participant, which begins to announce itself.
    pub fn new(now: Instant, config: Config) -> Self {
        let announcement = peers::announcement_of(&config);
        let mut participant = Self {
            announcement,
            announced: 0,
            move_reminders: 0,
            peers: Peers::new(),
            endpoints: SortedMap::new(),
            writers: SortedMap::new(),
            user_writers: SortedMap::new(),
            writer_updates: VecDeque::new(),
            readers: SortedMap::new(),
            budgets: Budgets::new(config.limits.waiting_bytes),
            readers_by_writer: BTreeMap::new(),
            has_paused: false,
            early: BTreeMap::new(),
            remembered: Remembered::default(),
            reads: DiscoveryReads::default(),
            corrections: SortedMap::new(),
            audiences: SortedMap::new(),
            monitors: Monitors::default(),
            entity_ids: EntityIds::default(),
            events: VecDeque::new(),
            samples: VecDeque::new(),
            work: VecDeque::new(),
            discovery: DiscoveryQueue::new(),
            timers: Timers::new(),
            out: Datagram::new(),
            closed: false,
            config,
        };
        participant.add_discovery();
        participant.timers.schedule(Timer::Announce, now);
        participant
    }

    /// Returns its GUID prefix.
    pub fn prefix(&self) -> GuidPrefix {
        self.config.prefix
    }

    /// Returns the participants that have named our prefix. Not all have proved their address, see [`Peer::is_proved`].
    pub fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.peers.discovered()
    }

    /// Returns all participants that have announced themselves, including those that have not named our prefix.
    pub fn announced(&self) -> impl Iterator<Item = &Peer> {
        self.peers.all()
    }

    /// Returns whether all announced samples of a participant's discovery writers have arrived, so that all its
    /// endpoints are known.
    pub fn is_complete(&self, prefix: GuidPrefix) -> bool {
        let Some(peer) = self.peer(prefix) else { return false };
        [Role::Writer, Role::Reader].into_iter().all(|role| {
            let (announcer, listener) = (discovery_writer(role), discovery_reader(role));
            let announcements =
                self.readers.get(&listener).and_then(|reader| reader.writer(prefix.with(announcer)));
            let has_announced_all =
                announcements.is_some_and(WriterProxy::has_all) && self.can_announce(listener, prefix);
            !peer.data.builtin.has(announcer) || has_announced_all
        })
    }

    /// Returns a participant that has named our prefix.
    pub fn peer(&self, prefix: GuidPrefix) -> Option<&Peer> {
        self.peers.get(prefix).filter(|peer| peer.standing.is_discovered())
    }

    /// Returns whether a participant is known to be at an address: it announces the address, or both are of this host.
    pub fn is_at(&self, prefix: GuidPrefix, ip: IpAddr) -> bool {
        let Some(peer) = self.peers.get(prefix) else { return false };
        let is_announced = |announced: &SocketAddr| self.config.is_one_place(announced.ip(), ip);
        peer.same_host && self.config.is_own(ip)
            || peer.data.unicast.iter().chain(&peer.data.metatraffic).any(is_announced)
    }

    /// Returns a local or remote endpoint.
    pub fn endpoint(&self, guid: Guid) -> Option<&Endpoint> {
        if guid.prefix == self.config.prefix {
            return self.endpoints.get(&guid.entity);
        }
        self.peers.get(guid.prefix)?.endpoints.get(&guid.entity).map(|endpoint| &**endpoint)
    }

    /// Returns the local user endpoints.
    pub fn own_endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.values()
    }

    /// Returns the remote endpoints that are matched with a local one.
    pub fn matched(&self, id: EntityId) -> Vec<Guid> {
        if let Some(writer) = self.user_writers.get(&id) {
            return writer.matched.iter().copied().collect();
        }
        self.readers
            .get(&id)
            .map_or(Vec::new(), |reader| reader.writers().map(|writer| writer.guid()).collect())
    }

    /// Returns the readers of a participant that a local writer has matched.
    pub fn matched_readers_of(&self, writer: EntityId, prefix: GuidPrefix) -> impl Iterator<Item = Guid> {
        self.user_writers.get(&writer).into_iter().flat_map(move |writer| writer.matched_of(prefix))
    }

    /// Returns the writers of a participant that a local reader has matched.
    pub fn matched_writers_of(&self, reader: EntityId, prefix: GuidPrefix) -> impl Iterator<Item = Guid> {
        self.readers.get(&reader).into_iter().flat_map(move |reader| reader.writers_of(prefix))
    }

    /// Closes the participant. [`Participant::poll_transmit`] then returns its disposal, for the peers. Later datagrams
    /// are ignored, and there are no endpoints.
    pub fn close(&mut self) {
        self.closed = true;
        self.endpoints.clear();
        self.writers.clear();
        self.user_writers.clear();
        self.writer_updates.clear();
        self.readers.clear();
        self.readers_by_writer.clear();
        self.early.clear();
        self.timers = Timers::new();
        self.work.clear();
        self.discovery.clear();
        self.work.push_back(Work::Disposal);
    }

    /// Queues an event, unless too many are queued.
    fn push_event(&mut self, event: Event) {
        if self.events.len() < MAX_EVENTS || !event.can_be_dropped() {
            self.events.push_back(event);
        }
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns whether an event is queued.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns the next sample of the last call. Take samples that are in a datagram before the next datagram is
    /// handled.
    pub fn poll_sample(&mut self) -> Option<Sample> {
        self.samples.pop_front()
    }

    /// Returns when [`Participant::handle_timeout`] is to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next_deadline().into_iter().chain(self.discovery.ready_at()).min()
    }

    /// Handles due timers.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, timer)) = self.timers.pop_due(now) {
            match timer {
                Timer::Announce => self.announce(now),
                Timer::Search => self.search(now),
                Timer::Peer(prefix) => self.peer_due(now, prefix),
                Timer::Discovery(prefix) => self.discovery_due(now, prefix),
                Timer::AckNack(reader, writer) => self.acknack_due(now, reader, writer),
                Timer::Monitor(what) => self.monitor_due(now, what),
                Timer::AssertLiveliness => self.assert_own_liveliness(now),
            }
        }
    }

    /// Arms a timer, unless it is armed for an earlier time. Obsolete timers have no effect.
    fn arm(&mut self, timer: Timer, at: Option<Instant>) {
        if let Some(at) = at {
            self.timers.schedule_if_earlier(timer, at);
        }
    }

    /// Returns the state of a writer that a local reader has matched.
    fn writer_of(&mut self, reader: EntityId, writer: Guid) -> Option<&mut WriterProxy> {
        self.readers.get_mut(&reader)?.writer_mut(writer)
    }

    fn acknack_due(&mut self, now: Instant, reader: EntityId, writer: Guid) {
        let Some(proxy) = self.writer_of(reader, writer) else { return };
        proxy.handle_timeout(now);
        self.wake_acknack(reader, writer);
    }
}

/// Discovery endpoints: the writer and reader of each builtin topic.
const DISCOVERY: [(EntityId, EntityId); 3] = [
    (EntityId::PUBLICATIONS_WRITER, EntityId::PUBLICATIONS_READER),
    (EntityId::SUBSCRIPTIONS_WRITER, EntityId::SUBSCRIPTIONS_READER),
    (EntityId::MESSAGE_WRITER, EntityId::MESSAGE_READER),
];

/// Data representations that local readers accept. A writer offers only one, and ours offer XCDR1, as those of ROS 2
/// do. A second writer for readers that accept only XCDR2 would also be matched by readers that accept both: DDS cannot
/// exclude them, and they would receive each message twice, or see a publisher that never sends.
const ACCEPTED_REPRESENTATIONS: [i16; 2] = [announce::XCDR1, announce::XCDR2];

/// Returns the QoS of discovery writers.
fn discovery_qos() -> QoS {
    QoS { reliability: Reliability::Reliable, ..QoS::keep_all().transient_local() }
}

/// Returns the discovery writer that announces endpoints of this role.
fn discovery_writer(role: Role) -> EntityId {
    if role == Role::Writer { EntityId::PUBLICATIONS_WRITER } else { EntityId::SUBSCRIPTIONS_WRITER }
}

/// Returns the discovery reader of endpoints of this role.
fn discovery_reader(role: Role) -> EntityId {
    if role == Role::Writer { EntityId::PUBLICATIONS_READER } else { EntityId::SUBSCRIPTIONS_READER }
}
