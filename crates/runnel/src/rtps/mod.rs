//! The ROS 2 side of a process: one participant for all its nodes, and the sockets by which that is reached.
//!
//! The participant has a lock, and each writer of its user's another, so that a thread that publishes needs neither the driver
//! nor the participant ([`writer`]). Both are locked after the driver and after publications. A writer is locked after the
//! participant, which gives it what it has found out for it. Samples and events are taken out and given on when the participant
//! is free.
//!
//! Nothing is sent under these locks. A thread that works on the participant or a writer puts the datagrams that come of it into
//! its outbox before the lock is free again ([`outbox`]). Then it sends what is there, unless another thread is sending: the
//! order on the wire of what one gives is that in which it gave it. A thread that publishes sends once the publication is
//! free as well ([`sending`]).

mod alternate_path;
mod origin;
mod outbox;
mod publishing;
mod sample;
mod sending;
mod sockets;
#[cfg(test)]
pub(crate) mod tests;
mod told;
mod writer;
mod writer_timers;

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use runnel_core::qos::QoS;
use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
use runnel_io::{Datagrams, Waker, clock, host};
use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, Timestamp, VendorId};
use runnel_rtps::{Audience, Config, EndpointOptions, Event, Participant, Rate, Sample, UserWriter};

use crate::environment::{Range, Ros2Settings};
use crate::sync::{Class, Mutex, lock};
pub(crate) use alternate_path::{Returned, Suspended, number, pair_id};
pub(crate) use origin::random as random_origin;
use origin::word;
use outbox::Outbox;
pub(crate) use publishing::Written;
use sample::CdrFrame;
pub(crate) use sending::Unsent;
use sockets::Sockets;
pub(crate) use told::{Told, ros2_name};
pub(crate) use writer::{LeftReader, NodeReader, Writer};
use writer_timers::WriterTimers;

/// What topics of ROS begin with in DDS.
const TOPIC: &str = "rt";

/// No time at all.
const NEVER: u64 = u64::MAX;

/// See the module's documentation.
pub(crate) struct Rtps {
    core: Mutex<Core>,
    /// Of the participant.
    outbox: Outbox<Arc<[u8]>>,
    sockets: Sockets,
    /// When the participant has something to do by itself.
    deadline: AtomicU64,
    timers: WriterTimers,
    /// It has events that nobody has taken yet.
    has_events: AtomicBool,
    /// A subscription has room again for what its reader holds back.
    wants_more: AtomicBool,
    /// Until when the driver sleeps, if it does.
    sleeps_until: AtomicU64,
    waker: Waker,
}

/// The participant, and the writers that it finds something out for.
struct Core {
    participant: Participant,
    writers: SortedMap<EntityId, Arc<Writer>>,
}

/// What a datagram has brought.
#[derive(Default)]
pub(crate) struct Brought {
    pub(crate) samples: Vec<Sample>,
    pub(crate) events: Vec<Event>,
}

impl Rtps {
    pub(crate) fn open(settings: &Ros2Settings, waker: Waker) -> io::Result<Self> {
        let sockets = Sockets::open(settings)?;
        let mut prefix = [0; 12];
        prefix[..2].copy_from_slice(&VendorId::RUNNEL.0);
        prefix[2..10].copy_from_slice(&host::random()?.to_ne_bytes());
        prefix[10..].copy_from_slice(&host::random()?.to_ne_bytes()[..2]);
        let mut config = Config::new(GuidPrefix(prefix), settings.domain.into());
        config.secret = [host::random()?, host::random()?];
        config.unicast = sockets.reached_at();
        config.own_addresses = sockets.own();
        config.own_host_only = settings.range == Range::Localhost;
        // Those of other ranges announce themselves to the ports of this host, whoever is there.
        config.named_only = settings.range == Range::Off;
        config.prefers_ipv6 = sockets.prefers_ipv6();
        config.multicast = sockets.groups();
        config.peers = settings.calls();
        config.local_ports = settings.local_calls(sockets.port());
        config.user_data = format!("enclave={};", settings.enclave).into_bytes();
        config.other_host.rate = settings.rate.map_or(config.other_host.rate, Rate::steady);
        let participant = Participant::new(clock::monotonic(), config);
        let deadline = AtomicU64::new(participant.poll_timeout().map_or(NEVER, |at| at.0));
        let (has_events, sleeps_until) = (AtomicBool::new(false), AtomicU64::new(0));
        let wants_more = AtomicBool::new(false);
        Ok(Self {
            core: Mutex::new(Class::Rtps, Core { participant, writers: SortedMap::new() }),
            outbox: Outbox::new(),
            sockets,
            deadline,
            timers: WriterTimers::new(),
            has_events,
            wants_more,
            sleeps_until,
            waker,
        })
    }

    /// The sockets from which datagrams are given to [`Rtps::handle_datagram`].
    pub(crate) fn receivers(&self) -> Vec<Arc<Datagrams>> {
        self.sockets.receivers()
    }

    /// Whether one of them brings announcements of participants alone.
    pub(crate) fn hears_groups(&self, socket: &Datagrams) -> bool {
        self.sockets.hears_groups(socket)
    }

    /// True if the host has an address.
    pub(crate) fn has_interface(&self) -> bool {
        !self.sockets.own().is_empty()
    }

    /// Who the participant is.
    pub(crate) fn prefix(&self) -> GuidPrefix {
        lock(&self.core).participant.prefix()
    }

    /// Looks at the participant, of which nothing comes that would have to be sent.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Participant) -> T) -> T {
        look(&lock(&self.core).participant)
    }

    fn wake_sleeper(&self) {
        if self.sleeps_until.swap(0, Ordering::SeqCst) != 0 {
            self.waker.wake();
        }
    }

    /// The driver is about to sleep until then: false if it must not.
    pub(crate) fn fall_asleep(&self, until: Option<Instant>) -> bool {
        let until = until.map_or(NEVER, |at| at.0).max(1);
        self.sleeps_until.store(until, Ordering::SeqCst);
        let is_busy = self.has_events.load(Ordering::SeqCst) || self.wants_more.load(Ordering::SeqCst);
        let sleeps = self.next_deadline() >= until && !is_busy;
        if !sleeps {
            self.wake_up();
        }
        sleeps
    }

    /// The driver sleeps no longer.
    pub(crate) fn wake_up(&self) {
        self.sleeps_until.store(0, Ordering::SeqCst);
    }

    /// When [`Rtps::handle_timeout`] is to be called.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        Some(self.next_deadline()).filter(|at| *at != NEVER).map(Instant)
    }

    /// The same; [`NEVER`] if nothing is due at any time.
    fn next_deadline(&self) -> u64 {
        self.deadline.load(Ordering::SeqCst).min(self.timers.deadline())
    }

    pub(crate) fn handle_timeout(&self) {
        let now = clock::monotonic();
        if self.deadline.load(Ordering::SeqCst) <= now.0 {
            self.work(|participant, now| participant.handle_timeout(now));
        }
        self.handle_writer_timeouts(now);
    }

    /// All peers have been silent for longer than any of their leases.
    #[cfg(test)]
    pub(crate) fn end_leases(&self) {
        self.work(|participant, now| participant.handle_timeout(now + std::time::Duration::from_secs(400)));
    }

    /// A datagram has come; tells when.
    pub(crate) fn handle_datagram(
        &self,
        from: SocketAddr,
        datagram: &[u8],
        brought: &mut Brought,
    ) -> Instant {
        self.work(|participant, now| {
            participant.handle_datagram(now, from, datagram);
            brought.take(participant);
            now
        })
    }

    /// What has happened beside, and what came of it.
    pub(crate) fn take_events(&self) -> Option<Brought> {
        self.has_events.load(Ordering::SeqCst).then(|| {
            let mut brought = Brought::default();
            self.work(|participant, _| brought.take(participant));
            brought
        })
    }

    /// A subscription has room again for what its reader holds back.
    pub(crate) fn ask_for_more(&self) {
        self.wants_more.store(true, Ordering::SeqCst);
        self.wake_sleeper();
    }

    /// Whether one has, since this was last asked.
    pub(crate) fn wants_more(&self) -> bool {
        self.wants_more.load(Ordering::SeqCst) && self.wants_more.swap(false, Ordering::SeqCst)
    }

    /// There is room for so many messages more of a reader; gives those that it held back.
    pub(crate) fn set_capacity(&self, reader: EntityId, room: usize) -> Vec<Sample> {
        self.work(|participant, now| {
            participant.set_capacity(now, reader, room);
            std::iter::from_fn(|| participant.poll_sample()).collect()
        })
    }

    /// The endpoints that others have on a topic of ROS.
    pub(crate) fn endpoints_on(&self, topic: &str) -> Vec<Endpoint> {
        let core = lock(&self.core);
        let all = core.participant.peers().flat_map(|peer| peer.endpoints.values());
        let on_topic = |endpoint: &&Endpoint| endpoint.topic.strip_prefix(TOPIC) == Some(topic);
        all.filter(on_topic).cloned().collect()
    }

    /// An endpoint of ours or of another.
    pub(crate) fn endpoint(&self, guid: Guid) -> Option<Endpoint> {
        lock(&self.core).participant.endpoint(guid).cloned()
    }

    /// The interfaces of this host may be others.
    pub(crate) fn look_at_interfaces(&self) -> io::Result<()> {
        self.sockets.look_again()?;
        let (unicast, own) = (self.sockets.reached_at(), self.sockets.own());
        self.work(|participant, now| {
            participant.set_addresses(now, unicast, own);
            participant.handle_timeout(now);
        });
        Ok(())
    }

    pub(crate) fn create_writer(&self, options: EndpointOptions) -> Arc<Writer> {
        self.add_writer(|participant, now| participant.create_writer(now, stamp(), options))
    }

    /// A writer for some of the readers only.
    pub(crate) fn create_writer_for(&self, options: EndpointOptions, audience: Audience) -> Arc<Writer> {
        self.add_writer(|participant, now| participant.create_writer_for(now, stamp(), options, audience))
    }

    fn add_writer(
        &self,
        create: impl FnOnce(&mut Participant, Instant) -> UserWriter<CdrFrame>,
    ) -> Arc<Writer> {
        let writer = self.work_on_core(|core, now| {
            let writer = Arc::new(Writer::new(create(&mut core.participant, now)));
            core.writers.insert(writer.id(), Arc::clone(&writer));
            writer
        });
        // It is announced before its first message, which a best-effort reader would miss else.
        self.send_all();
        writer
    }

    /// True if an endpoint is known, and is so.
    pub(crate) fn is_endpoint(&self, guid: Guid, is_so: Audience) -> bool {
        lock(&self.core).participant.endpoint(guid).is_some_and(is_so)
    }

    pub(crate) fn create_reader(&self, options: EndpointOptions) -> EntityId {
        self.work(|participant, now| participant.create_reader(now, stamp(), options))
    }

    pub(crate) fn remove_endpoint(&self, id: EntityId) {
        let writer = lock(&self.core).writers.remove(&id);
        // Its last messages go before the peers are told of its end.
        writer.into_iter().for_each(|writer| self.end_writer(&writer));
        self.work(|participant, now| participant.remove_endpoint(now, stamp(), id));
    }

    /// The endpoints of others that one of ours has matched.
    pub(crate) fn matched(&self, id: EntityId) -> Vec<Guid> {
        lock(&self.core).participant.matched(id)
    }

    /// The readers of a writer that may not know of it yet.
    pub(crate) fn unconfirmed_matches(&self, writer: EntityId) -> Vec<Guid> {
        lock(&self.core).participant.unconfirmed_matches(writer)
    }

    /// Tells the peers that the process leaves.
    pub(crate) fn leave(&self) {
        let writers = mem::take(&mut lock(&self.core).writers);
        writers.values().for_each(|writer| self.end_writer(writer));
        self.work(|participant, _| participant.close());
        self.send_all();
    }
}

/// What an endpoint of a ROS topic is in DDS, if it is of a node of this origin.
pub(crate) fn endpoint_of(
    topic: &str,
    dds_type: &str,
    rihs01: &str,
    qos: QoS,
    origin: Option<u64>,
) -> EndpointOptions {
    let mut user_data = origin.map(|origin| word(origin) + ";").unwrap_or_default();
    if !rihs01.is_empty() {
        user_data = format!("typehash={rihs01};{user_data}");
    }
    EndpointOptions {
        topic: format!("{TOPIC}{topic}"),
        type_name: dds_type.to_owned(),
        qos,
        user_data: user_data.into_bytes(),
    }
}

fn stamp() -> Timestamp {
    clock::realtime().into()
}
