//! The ROS 2 side of a process: one participant for all its nodes, and the sockets by which that is reached.
//!
//! The participant has a lock of its own, so that a thread that publishes needs no driver. It is locked after the driver and after
//! publications, and after it only the outbox: samples and events are taken out and given on when it is free.
//!
//! Nothing is sent under that lock. A thread that works on the participant puts the datagrams that come of it into the outbox
//! before the lock is free again ([`outbox`]). Then it sends what is there, unless another thread is sending: the order on
//! the wire is that in which the participant gave them. A thread that publishes sends once the publication is free as well.
//! It has the participant before the driver has it again, which locks it for one datagram at a time ([`sending`]).

mod alternate_path;
mod origin;
mod outbox;
mod sample;
mod sending;
mod sockets;
#[cfg(test)]
pub(crate) mod tests;
mod told;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use runnel_core::qos::QoS;
use runnel_core::time::Instant;
use runnel_io::{Datagrams, Waker, clock, host};
use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, Timestamp, VendorId};
use runnel_rtps::{Audience, Config, EndpointOptions, Event, Participant, Rate, Sample};

use crate::environment::{Range, Ros2Settings};
use crate::linger::Unarrived;
use crate::sync::{Class, Mutex, lock};
pub(crate) use alternate_path::{Returned, number};
use origin::word;
pub(crate) use origin::{Written, random as random_origin};
use outbox::Outbox;
pub(crate) use sample::CdrFrame;
pub(crate) use sending::Unsent;
use sockets::Sockets;
pub(crate) use told::{Told, ros2_name};

/// What topics of ROS begin with in DDS.
const TOPIC: &str = "rt";

/// No time at all.
const NEVER: u64 = u64::MAX;

/// See the module's documentation.
pub(crate) struct Rtps {
    participant: Mutex<Participant<CdrFrame>>,
    /// Held by a thread that waits for the participant to publish.
    gate: Mutex<()>,
    outbox: Outbox,
    sockets: Sockets,
    /// When the participant has something to do by itself.
    deadline: AtomicU64,
    /// It has events that nobody has taken yet.
    has_events: AtomicBool,
    /// A subscription has room again for what its reader holds back.
    wants_more: AtomicBool,
    /// Until when the driver sleeps, if it does.
    sleeps_until: AtomicU64,
    waker: Waker,
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
            participant: Mutex::new(Class::Rtps, participant),
            gate: Mutex::new(Class::RtpsGate, ()),
            outbox: Outbox::new(),
            sockets,
            deadline,
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

    /// True if the host has an address.
    pub(crate) fn has_interface(&self) -> bool {
        !self.sockets.own().is_empty()
    }

    /// Who the participant is.
    pub(crate) fn prefix(&self) -> GuidPrefix {
        lock(&self.participant).prefix()
    }

    /// Looks at the participant, of which nothing comes that would have to be sent.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Participant<CdrFrame>) -> T) -> T {
        look(&lock(&self.participant))
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
        let sleeps = self.deadline.load(Ordering::SeqCst) >= until && !is_busy;
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
        Some(self.deadline.load(Ordering::SeqCst)).filter(|at| *at != NEVER).map(Instant)
    }

    pub(crate) fn handle_timeout(&self) {
        self.work(|participant, now| participant.handle_timeout(now));
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
    pub(crate) fn set_room(&self, reader: EntityId, room: usize) -> Vec<Sample> {
        self.work(|participant, now| {
            participant.set_room(now, reader, room);
            std::iter::from_fn(|| participant.poll_sample()).collect()
        })
    }

    /// The user says that a writer lives.
    pub(crate) fn assert_liveliness(&self, writer: EntityId) {
        self.work(|participant, now| participant.assert_liveliness(now, writer));
    }

    /// The endpoints that others have on a topic of ROS.
    pub(crate) fn endpoints_on(&self, topic: &str) -> Vec<Endpoint> {
        let participant = lock(&self.participant);
        let all = participant.peers().flat_map(|peer| peer.endpoints.values());
        let on_topic = |endpoint: &&Endpoint| endpoint.topic.strip_prefix(TOPIC) == Some(topic);
        all.filter(on_topic).cloned().collect()
    }

    /// An endpoint of ours or of another.
    pub(crate) fn endpoint(&self, guid: Guid) -> Option<Endpoint> {
        lock(&self.participant).endpoint(guid).cloned()
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

    pub(crate) fn create_writer(&self, options: EndpointOptions) -> EntityId {
        self.work(|participant, now| participant.create_writer(now, stamp(), options))
    }

    /// A writer for some of the readers only.
    pub(crate) fn create_writer_for(&self, options: EndpointOptions, audience: Audience) -> EntityId {
        self.work(|participant, now| participant.create_writer_for(now, stamp(), options, audience))
    }

    /// True if an endpoint is known, and is so.
    pub(crate) fn is_endpoint(&self, guid: Guid, is_so: Audience) -> bool {
        lock(&self.participant).endpoint(guid).is_some_and(is_so)
    }

    pub(crate) fn create_reader(&self, options: EndpointOptions) -> EntityId {
        self.work(|participant, now| participant.create_reader(now, stamp(), options))
    }

    pub(crate) fn remove_endpoint(&self, id: EntityId) {
        self.work(|participant, now| participant.remove_endpoint(now, stamp(), id));
    }

    /// Who stands in the way of another message of a writer that keeps all.
    pub(crate) fn full(&self, writer: EntityId) -> Option<String> {
        let full = lock(&self.participant).full(writer)?;
        Some(full.reader.to_string())
    }

    /// How many messages of a writer some reader has yet to acknowledge.
    pub(crate) fn unacknowledged(&self, writer: EntityId) -> u32 {
        lock(&self.participant).unacknowledged(writer)
    }

    /// The readers that have yet to acknowledge messages of a writer, or to be sent them.
    pub(crate) fn unarrived(&self, writer: EntityId) -> Vec<Unarrived> {
        let participant = lock(&self.participant);
        let owing = participant.owing(writer).into_iter();
        let at = |reader: Guid| match participant.peer(reader.prefix) {
            Some(peer) => format!("{reader} ({} at {})", peer.data.vendor, peer.address()),
            None => reader.to_string(),
        };
        owing
            .map(|(reader, messages)| Unarrived { subscriber: at(reader), messages: messages.into() })
            .collect()
    }

    /// The readers of a writer that may not know of it yet.
    pub(crate) fn not_yet_met(&self, writer: EntityId) -> Vec<Guid> {
        lock(&self.participant).not_yet_met(writer)
    }

    /// Tells the peers that the process leaves.
    pub(crate) fn leave(&self) {
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
