//! A participant: the endpoints of one process, and what it knows of others.
//!
//! Its methods are of four kinds: getters, mutators, `handle_*(now, ..)` and `poll_*`. After each of the others, whoever
//! drives it takes what [`Participant::poll_sample`], [`Participant::poll_writer_update`], [`Participant::poll_transmit`] and
//! [`Participant::poll_event`] give, and calls [`Participant::handle_timeout`] when [`Participant::poll_timeout`] says so.
//!
//! The user's writers are apart from it, see [`UserWriter`](crate::UserWriter): it knows which readers each has matched, and what it finds out for
//! one it gives as an update.

mod alternate_path;
mod discovery;
mod discovery_datagrams;
mod discovery_queue;
mod discovery_reads;
mod kept;
mod matching;
mod met;
mod moves;
mod numbers;
mod own_endpoints;
mod peers;
mod receive;
mod room;
mod routes;
mod search;
mod shares;
mod transmit;
mod user_writers;
mod watch;
mod word;

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
use core::net::{IpAddr, SocketAddr};
use discovery_queue::DiscoveryQueue;
use discovery_reads::DiscoveryReads;
use kept::Kept;
use numbers::Numbers;
use peers::Peers;
use runnel_core::qos::{QoS, Reliability};
use runnel_core::time::Instant;
use runnel_core::timers::Timers;
use transmit::Work;
use user_writers::UserWriterEntry;
use watch::{Watched, Watches};

/// How many events wait to be taken at most; more are dropped, but for those by which others know what there is. One datagram
/// may bring as many as there are pairs of a hundred endpoints of ours with a hundred of another, which its sender had told of.
const MOST_EVENTS: usize = 16 * 1024;

/// How many heartbeats of a participant's writers that we do not know yet are kept.
const MOST_EARLY: usize = 256;
/// The same of one that has not proved its address.
const MOST_EARLY_UNPROVED: usize = 16;

/// A participant.
#[derive(Debug)]
pub struct Participant {
    config: Config,
    /// What it says of itself.
    announcement: Arc<[u8]>,
    /// How often it has announced itself since it had something new to say.
    announced: u32,
    /// How often it tells all who have met it that it has moved.
    tell_of_move: u32,
    peers: Peers,
    endpoints: BTreeMap<EntityId, Endpoint>,
    /// Those of discovery.
    writers: BTreeMap<EntityId, Writer<Arc<[u8]>>>,
    /// Those of the user.
    user_writers: BTreeMap<EntityId, UserWriterEntry>,
    /// What they have yet to be told.
    writer_updates: VecDeque<WriterUpdate>,
    readers: BTreeMap<EntityId, Reader>,
    /// What may wait at the readers.
    budgets: Budgets,
    /// Which readers of ours hear a writer.
    heard: BTreeMap<Guid, Vec<EntityId>>,
    /// What writers have told readers of ours before we knew of them.
    early: BTreeMap<(Guid, EntityId), Heartbeat>,
    kept: Kept,
    /// What is read again of peers' discovery.
    reads: DiscoveryReads,
    /// By endpoint of ours: how often state of others was corrected.
    corrections: BTreeMap<EntityId, u64>,
    /// Writers that are for some readers only.
    audiences: BTreeMap<EntityId, Audience>,
    watches: Watches,
    numbers: Numbers,
    events: VecDeque<Event>,
    samples: VecDeque<Sample>,
    /// What users have to send, and what discovery has.
    work: VecDeque<Work>,
    discovery: DiscoveryQueue,
    timers: Timers<Timer>,
    out: Datagram<Arc<[u8]>>,
    closed: bool,
}

/// What is to be done when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Announce,
    /// A participant that was lost is looked for.
    Search,
    Peer(GuidPrefix),
    Discovery(GuidPrefix),
    Answer(EntityId, Guid),
    Watch(Watched),
    /// It is time to say that our writers live.
    GiveSign,
}

/// Whether a writer of ours is for a reader.
pub type Audience = fn(&Endpoint) -> bool;

/// What an endpoint is about.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// The topic as DDS knows it, such as `rt/chatter`.
    pub topic: String,
    /// The type as DDS knows it, such as `std_msgs::msg::dds_::String_`.
    pub type_name: String,
    /// What it offers, or asks for.
    pub qos: QoS,
    /// Of the user: words of the form `key=value;`, in ROS 2 `typehash=RIHS01_...;`.
    pub user_data: Vec<u8>,
}

impl Participant {
    /// A participant that announces itself from now on.
    pub fn new(now: Instant, config: Config) -> Self {
        let announcement = peers::announcement_of(&config);
        let mut participant = Self {
            announcement,
            announced: 0,
            tell_of_move: 0,
            peers: Peers::new(),
            endpoints: BTreeMap::new(),
            writers: BTreeMap::new(),
            user_writers: BTreeMap::new(),
            writer_updates: VecDeque::new(),
            readers: BTreeMap::new(),
            budgets: Budgets::new(config.limits.waiting_bytes),
            heard: BTreeMap::new(),
            early: BTreeMap::new(),
            kept: Kept::default(),
            reads: DiscoveryReads::default(),
            corrections: BTreeMap::new(),
            audiences: BTreeMap::new(),
            watches: Watches::default(),
            numbers: Numbers::default(),
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

    /// Who it is.
    pub fn prefix(&self) -> GuidPrefix {
        self.config.prefix
    }

    /// The participants that have named us, and so have heard of us. Not all have proved their address, see [`Peer::is_proved`].
    pub fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.peers.met()
    }

    /// All that have announced themselves, also those that have yet to name us.
    pub fn announced(&self) -> impl Iterator<Item = &Peer> {
        self.peers.all()
    }

    /// True if a participant has told of all its endpoints: what each of its writers of discovery has said that it has,
    /// has come.
    pub fn is_complete(&self, prefix: GuidPrefix) -> bool {
        let Some(peer) = self.peer(prefix) else { return false };
        [Role::Writer, Role::Reader].into_iter().all(|role| {
            let (teller, hearer) = (teller_of(role), hearer_of(role));
            let told = self.readers.get(&hearer).and_then(|reader| reader.writer(prefix.with(teller)));
            let has_told_all = told.is_some_and(WriterProxy::has_all) && self.may_tell(hearer, prefix);
            !peer.data.builtin.has(teller) || has_told_all
        })
    }

    /// One that has named us.
    pub fn peer(&self, prefix: GuidPrefix) -> Option<&Peer> {
        self.peers.get(prefix).filter(|peer| peer.standing.has_met())
    }

    /// Whether a participant is known to be at an address: it announces the address, or both are of this host.
    pub fn is_at(&self, prefix: GuidPrefix, ip: IpAddr) -> bool {
        let Some(peer) = self.peers.get(prefix) else { return false };
        let is_announced = |announced: &SocketAddr| self.config.is_one_place(announced.ip(), ip);
        peer.same_host && self.config.is_own(ip)
            || peer.data.unicast.iter().chain(&peer.data.metatraffic).any(is_announced)
    }

    /// An endpoint of ours or of a participant.
    pub fn endpoint(&self, guid: Guid) -> Option<&Endpoint> {
        if guid.prefix == self.config.prefix {
            return self.endpoints.get(&guid.entity);
        }
        self.peers.get(guid.prefix)?.endpoints.get(&guid.entity)
    }

    /// The endpoints of ours that the user made.
    pub fn own_endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.values()
    }

    /// The endpoints that one of ours has met.
    pub fn matched(&self, id: EntityId) -> Vec<Guid> {
        if let Some(writer) = self.user_writers.get(&id) {
            return writer.matched.iter().copied().collect();
        }
        self.readers
            .get(&id)
            .map_or(Vec::new(), |reader| reader.writers().map(|writer| writer.guid()).collect())
    }

    /// Tells the peers that we are gone. What [`Participant::poll_transmit`] gives then is the last; nothing is heard any
    /// more, and there are no endpoints.
    pub fn close(&mut self) {
        self.closed = true;
        self.endpoints.clear();
        self.writers.clear();
        self.user_writers.clear();
        self.writer_updates.clear();
        self.readers.clear();
        self.heard.clear();
        self.early.clear();
        self.timers = Timers::new();
        self.work.clear();
        self.discovery.clear();
        self.work.push_back(Work::Farewell);
    }

    /// Says what has happened, unless nobody has listened for long.
    fn tell(&mut self, event: Event) {
        if self.events.len() < MOST_EVENTS || !event.may_be_dropped() {
            self.events.push_back(event);
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// True if [`Participant::poll_event`] has something.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The next sample, of those that what was called last has brought. Those that lie in a datagram are to be taken before the next is handled.
    pub fn poll_sample(&mut self) -> Option<Sample> {
        self.samples.pop_front()
    }

    /// When [`Participant::handle_timeout`] is to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next_deadline().into_iter().chain(self.discovery.ready_at()).min()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, timer)) = self.timers.pop_due(now) {
            match timer {
                Timer::Announce => self.announce(now),
                Timer::Search => self.search(now),
                Timer::Peer(prefix) => self.peer_due(now, prefix),
                Timer::Discovery(prefix) => self.discovery_due(now, prefix),
                Timer::Answer(reader, writer) => self.answer_due(now, reader, writer),
                Timer::Watch(what) => self.watch_due(now, what),
                Timer::GiveSign => self.give_sign(now),
            }
        }
    }

    /// Has something done then, or when it is due already if that is earlier. What is of no use any more by then finds that out.
    fn arm(&mut self, timer: Timer, at: Option<Instant>) {
        if let Some(at) = at {
            self.timers.schedule_if_earlier(timer, at);
        }
    }

    /// How far a reader of ours is with a writer that it has met.
    fn writer_of(&mut self, reader: EntityId, writer: Guid) -> Option<&mut WriterProxy> {
        self.readers.get_mut(&reader)?.writer_mut(writer)
    }

    fn answer_due(&mut self, now: Instant, reader: EntityId, writer: Guid) {
        let Some(proxy) = self.writer_of(reader, writer) else { return };
        proxy.handle_timeout(now);
        self.wake_answer(reader, writer);
    }
}

/// The endpoints of discovery: which side of which topic each is on.
const DISCOVERY: [(EntityId, EntityId); 3] = [
    (EntityId::PUBLICATIONS_WRITER, EntityId::PUBLICATIONS_READER),
    (EntityId::SUBSCRIPTIONS_WRITER, EntityId::SUBSCRIPTIONS_READER),
    (EntityId::MESSAGE_WRITER, EntityId::MESSAGE_READER),
];

/// The encodings that readers of ours take from whoever offers one of them. A writer offers one alone, and ours offer XCDR1, as
/// those of ROS 2 do. Another writer for readers that take nothing but XCDR2 would be met by those that take both as well:
/// DDS gives it no means to pass them over, and they would have each message twice, or a publisher that never says a word.
const READ: [i16; 2] = [announce::XCDR1, announce::XCDR2];

/// What discovery is told by.
fn discovery_qos() -> QoS {
    QoS { reliability: Reliability::Reliable, ..QoS::keep_all().transient_local() }
}

/// The writer of discovery that tells of endpoints on this side.
fn teller_of(role: Role) -> EntityId {
    if role == Role::Writer { EntityId::PUBLICATIONS_WRITER } else { EntityId::SUBSCRIPTIONS_WRITER }
}

/// The reader of discovery that hears of endpoints on this side.
fn hearer_of(role: Role) -> EntityId {
    if role == Role::Writer { EntityId::PUBLICATIONS_READER } else { EntityId::SUBSCRIPTIONS_READER }
}
