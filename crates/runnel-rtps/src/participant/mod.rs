//! A participant: the endpoints of one process, and what it knows of others.
//!
//! Its methods are of four kinds: getters, mutators, `handle_*(now, ..)` and `poll_*`. After each of the others, whoever
//! drives it takes what [`Participant::poll_sample`], [`Participant::poll_transmit`] and [`Participant::poll_event`]
//! give, and calls [`Participant::handle_timeout`] when [`Participant::poll_timeout`] says so.

mod discovery;
mod discovery_datagrams;
mod discovery_queue;
mod elsewhere;
mod matching;
mod moves;
mod numbers;
mod other_way;
mod peers;
mod receive;
mod room;
mod routes;
mod search;
mod shares;
mod transmit;
mod watch;
mod word;

pub use peers::Peer;

use crate::announce::{self, Endpoint, Role};
use crate::config::{Config, Limits};
use crate::datagram::Datagram;
use crate::event::{Event, Sample};
use crate::reader::{Budgets, Reader, WriterProxy};
use crate::stored::{Lend, Stored};
use crate::timers::Timers;
use crate::wire::{EntityId, EntityKind, Guid, GuidPrefix, Heartbeat, Timestamp};
use crate::writer::{Full, Writer};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use discovery_queue::DiscoveryQueue;
use elsewhere::Elsewhere;
use numbers::Numbers;
use peers::Peers;
use runnel_core::qos::{QoS, Reliability};
use runnel_core::time::Instant;
use transmit::Work;
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
pub struct Participant<P> {
    config: Config,
    /// What it says of itself.
    announcement: Arc<[u8]>,
    /// How often it has announced itself since it had something new to say.
    announced: u32,
    /// How often it tells all who have met it that it has moved.
    tell_of_move: u32,
    peers: Peers,
    endpoints: BTreeMap<EntityId, Endpoint>,
    writers: BTreeMap<EntityId, Writer<Stored<P>>>,
    readers: BTreeMap<EntityId, Reader>,
    /// What may wait at the readers.
    budgets: Budgets,
    /// Which readers of ours hear a writer.
    heard: BTreeMap<Guid, Vec<EntityId>>,
    /// What writers have told readers of ours before we knew of them.
    early: BTreeMap<(Guid, EntityId), Heartbeat>,
    elsewhere: Elsewhere,
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
    /// When it announces itself, looks for who was lost, and says that its writers live.
    announce_at: Option<Instant>,
    search_at: Option<Instant>,
    sign_at: Option<Instant>,
    out: Datagram<Stored<P>>,
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
    Writer(EntityId),
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

impl<P: Lend> Participant<P> {
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
            readers: BTreeMap::new(),
            budgets: Budgets::new(config.limits.waiting_bytes),
            heard: BTreeMap::new(),
            early: BTreeMap::new(),
            elsewhere: Elsewhere::default(),
            audiences: BTreeMap::new(),
            watches: Watches::default(),
            numbers: Numbers::default(),
            events: VecDeque::new(),
            samples: VecDeque::new(),
            work: VecDeque::new(),
            discovery: DiscoveryQueue::new(),
            timers: Timers::new(),
            announce_at: None,
            search_at: None,
            sign_at: None,
            out: Datagram::new(),
            closed: false,
            config,
        };
        participant.add_discovery();
        participant.timers.arm(&mut participant.announce_at, Some(now), Timer::Announce);
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
            !peer.data.builtin.has(teller) || told.is_some_and(WriterProxy::has_all)
        })
    }

    /// One that has named us.
    pub fn peer(&self, prefix: GuidPrefix) -> Option<&Peer> {
        self.peers.get(prefix).filter(|peer| peer.standing.has_met())
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

    /// Makes a writer.
    pub fn create_writer(&mut self, now: Instant, stamp: Timestamp, options: EndpointOptions) -> EntityId {
        let id = self.new_id(EntityId::user_writer);
        self.begin_writer(now, stamp, id, options);
        id
    }

    /// Makes a writer that meets only those of the readers which `audience` is true for.
    pub fn create_writer_for(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        options: EndpointOptions,
        audience: Audience,
    ) -> EntityId {
        let id = self.new_id(EntityId::user_writer);
        self.audiences.insert(id, audience);
        self.begin_writer(now, stamp, id, options);
        id
    }

    fn begin_writer(&mut self, now: Instant, stamp: Timestamp, id: EntityId, options: EndpointOptions) {
        let Limits { kept, kept_bytes, .. } = self.config.limits;
        self.writers.insert(id, Writer::new(id, options.qos, kept).within(kept_bytes));
        self.announce_endpoint(now, stamp, id, options);
    }

    /// Makes a reader.
    pub fn create_reader(&mut self, now: Instant, stamp: Timestamp, options: EndpointOptions) -> EntityId {
        let id = self.new_id(EntityId::user_reader);
        self.readers.insert(id, Reader::new());
        self.announce_endpoint(now, stamp, id, options);
        id
    }

    /// A name of this kind for an endpoint of ours, which no other bears.
    fn new_id(&mut self, id: impl Fn(u32) -> EntityId) -> EntityId {
        id(self.numbers.next(|number| !self.endpoints.contains_key(&id(number))))
    }

    fn announce_endpoint(&mut self, now: Instant, stamp: Timestamp, id: EntityId, options: EndpointOptions) {
        let EndpointOptions { topic, type_name, qos, user_data } = options;
        let endpoint = Endpoint {
            guid: self.config.prefix.with(id),
            topic,
            type_name,
            qos,
            tells_history: true,
            exclusive: false,
            in_default_partition: true,
            // What a writer offers when nothing is said is XCDR1.
            representations: if id.kind() == EntityKind::Reader { READ.to_vec() } else { Vec::new() },
            expects_inline_qos: false,
            unicast: Vec::new(),
            user_data,
        };
        self.watch_own(now, id, &qos, endpoint.role() == Role::Writer);
        self.tell_of_endpoint(now, stamp, &endpoint);
        let told_at = self.told_at(endpoint.role());
        if let Some(writer) = self.writers.get_mut(&id) {
            writer.told_at = told_at;
        }
        self.endpoints.insert(id, endpoint);
        self.match_own(now, id);
    }

    /// Ends an endpoint of ours. Nobody is told by events, but the peers are.
    pub fn remove_endpoint(&mut self, now: Instant, stamp: Timestamp, id: EntityId) {
        if self.endpoints.remove(&id).is_none() {
            return;
        }
        self.tell_of_end(now, stamp, id);
        self.audiences.remove(&id);
        if let Some(writer) = self.writers.remove(&id) {
            self.timers.disarm(writer.armed, Timer::Writer(id));
        }
        self.elsewhere.forget_writer(id);
        self.readers.remove(&id);
        self.early.retain(|(_, reader), _| *reader != id);
        self.unwatch(|what| match what {
            Watched::Deadline(of) | Watched::OwnLife(of) | Watched::Life(of, _) => *of == id,
        });
        self.heard.retain(|_, readers| {
            readers.retain(|reader| *reader != id);
            !readers.is_empty()
        });
    }

    /// Writes a sample. Gives one back that made room for it, or this one if nobody is to get it.
    ///
    /// # Errors
    /// When the writer keeps all and a reader does not keep pace.
    pub fn write(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        writer: EntityId,
        sample: P,
    ) -> Result<Option<P>, Full> {
        let Some(of) = self.writers.get_mut(&writer) else { return Ok(Some(sample)) };
        let displaced = of.write(now, stamp, Stored::User(sample))?;
        let expiry = of.expire(now);
        self.timers.arm(&mut of.armed, expiry, Timer::Writer(writer));
        self.wake_writer(writer);
        self.happened(now, Watched::Deadline(writer));
        self.happened(now, Watched::OwnLife(writer));
        Ok(displaced.and_then(Stored::user))
    }

    /// The reader that stands in the way of another sample of a writer that keeps all.
    pub fn full(&self, writer: EntityId) -> Option<Full> {
        self.writers.get(&writer)?.full()
    }

    /// How many samples of a writer some reader has yet to acknowledge, or to be sent.
    pub fn unacknowledged(&self, writer: EntityId) -> u32 {
        self.writers.get(&writer).map_or(0, Writer::unacknowledged)
    }

    /// The readers that have yet to acknowledge samples of a writer, or to be sent them, and how many.
    pub fn owing(&self, writer: EntityId) -> Vec<(Guid, u32)> {
        self.writers.get(&writer).map_or(Vec::new(), Writer::owing)
    }

    /// How many samples of a writer made room for others before every reader had acknowledged them.
    pub fn overwritten(&self, writer: EntityId) -> u64 {
        self.writers.get(&writer).map_or(0, Writer::overwritten)
    }

    /// The endpoints that one of ours has met.
    pub fn matched(&self, id: EntityId) -> Vec<Guid> {
        if let Some(writer) = self.writers.get(&id) {
            return writer.readers().iter().map(|reader| reader.guid()).collect();
        }
        self.readers
            .get(&id)
            .map_or(Vec::new(), |reader| reader.writers().map(|writer| writer.guid()).collect())
    }

    /// The user says that a writer lives.
    pub fn assert_liveliness(&mut self, now: Instant, writer: EntityId) {
        if let Some(of) = self.writers.get_mut(&writer) {
            of.assert_liveliness();
            self.wake_writer(writer);
            self.happened(now, Watched::OwnLife(writer));
        }
    }

    /// Tells the peers that we are gone. What [`Participant::poll_transmit`] gives then is the last; nothing is heard any
    /// more, and there are no endpoints.
    pub fn close(&mut self) {
        self.closed = true;
        self.endpoints.clear();
        self.writers.clear();
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
        self.timers.next().into_iter().chain(self.discovery.ready_at()).min()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.pop(now) {
            match timer {
                Timer::Announce => self.announce(now),
                Timer::Search => self.search(now),
                Timer::Peer(prefix) => self.peer_due(now, prefix),
                Timer::Discovery(prefix) => self.discovery_due(now, prefix),
                Timer::Writer(id) => self.writer_due(now, id),
                Timer::Answer(reader, writer) => self.answer_due(now, reader, writer),
                Timer::Watch(what) => self.watch_due(now, what),
                Timer::GiveSign => self.give_sign(now),
            }
        }
    }

    fn writer_due(&mut self, now: Instant, id: EntityId) {
        let Some(writer) = self.writers.get_mut(&id) else { return };
        writer.armed = None;
        let expiry = writer.expire(now);
        self.timers.arm(&mut writer.armed, expiry, Timer::Writer(id));
        writer.handle_timeout(now);
        self.wake_writer(id);
    }

    /// How far a reader of ours is with a writer that it has met.
    fn writer_of(&mut self, reader: EntityId, writer: Guid) -> Option<&mut WriterProxy> {
        self.readers.get_mut(&reader)?.writer_mut(writer)
    }

    fn answer_due(&mut self, now: Instant, reader: EntityId, writer: Guid) {
        let Some(proxy) = self.writer_of(reader, writer) else { return };
        proxy.armed = None;
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
