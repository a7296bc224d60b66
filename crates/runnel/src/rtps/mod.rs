//! ROS 2 side of a process: one participant for all its nodes, and its sockets.
//!
//! The participant has a lock, and each user writer has another one, so that a publishing thread needs neither the
//! driver nor the participant ([`writer`]). Both are locked after the driver and after publications. A writer is
//! locked after the participant, which passes updates to it. Samples and events are taken out, and dispatched after
//! the participant is unlocked.
//!
//! Nothing is sent under these locks. A thread that works on the participant or a writer puts the resulting datagrams
//! into its outbox before it unlocks ([`outbox`]). Then it sends them, unless another thread is sending: datagrams of
//! one source stay in order on the wire. A publishing thread sends after it has unlocked the publication as well
//! ([`sending`]).

mod alternate_path;
mod bridge_mark;
mod discovered_publisher;
mod dual_node_id;
mod endpoints;
mod outbox;
mod publishing;
mod sample;
mod sending;
mod service_ends;
mod service_framing;
mod sockets;
#[cfg(test)]
pub(crate) mod tests;
mod writer;
mod writer_timers;

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use runnel_core::qos::QoS;
use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
use runnel_io::{Datagrams, Waker, clock, host};
use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, Timestamp, VendorId};
use runnel_rtps::{Audience, Config, EndpointOptions, Event, Participant, Rate, Sample, UserWriter};

use crate::settings::environment::{Range, Ros2Settings};
use crate::sync::{Class, Mutex, lock};
pub(crate) use alternate_path::{Returned, Suspended, number, pair_id};
pub(crate) use bridge_mark::marked_endpoints;
pub use bridge_mark::{BridgeMark, EndpointMark};
pub(crate) use discovered_publisher::{DiscoveredPublisher, ros2_name};
pub(crate) use dual_node_id::random as random_dual_node_id;
use dual_node_id::user_data_entry;
use outbox::Outbox;
pub(crate) use publishing::Written;
use sample::CdrFrame;
pub(crate) use sending::Unsent;
pub(crate) use service_ends::{ServiceEnds, ServiceMessageType, ServiceRole, ServiceTypeNames};
pub(crate) use service_framing::{CallHeader, Framing, failure, failure_in};
use sockets::Sockets;
pub(crate) use writer::{LostReader, NodeReader, Writer};
use writer_timers::WriterTimers;

/// Prefix of ROS topics in DDS.
const TOPIC: &str = "rt";

/// The deadline of nothing.
const NEVER: u64 = u64::MAX;

/// See the module's documentation.
pub(crate) struct Rtps {
    core: Mutex<Core>,
    /// The datagrams of the participant.
    outbox: Outbox<Arc<[u8]>>,
    sockets: Sockets,
    /// The next timeout of the participant.
    deadline: AtomicU64,
    timers: WriterTimers,
    /// The participant has events that were not taken yet.
    has_events: AtomicBool,
    /// A subscription has capacity again for messages that its reader holds back.
    wants_more: AtomicBool,
    /// A service holds replies.
    held_replies_due: AtomicBool,
    /// A service has messages from shared memory.
    service_messages_due: AtomicBool,
    /// Until when the driver sleeps; 0 if it does not.
    sleeps_until: AtomicU64,
    waker: Waker,
    /// Set if this process is a bridge.
    bridge_mark: OnceLock<BridgeMark>,
    /// The number of the ROS 1 graph of this process's dual nodes, if it is known.
    ros1_graph: OnceLock<u64>,
}

/// The participant, and the user writers that it updates.
struct Core {
    participant: Participant,
    writers: SortedMap<EntityId, Arc<Writer>>,
}

/// Samples and events from datagrams.
#[derive(Default)]
pub(crate) struct ReceivedBatch {
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
        // Participants of other ranges announce themselves to the ports of this host, whether or not they are in use.
        config.named_only = settings.range == Range::Off;
        config.prefers_ipv6 = sockets.prefers_ipv6();
        config.multicast = sockets.groups();
        config.peers = settings.announcement_addresses();
        config.local_ports = settings.local_announcement_addresses(sockets.port());
        config.user_data = format!("enclave={};", settings.enclave).into_bytes();
        config.other_host.rate = settings.rate.map_or(config.other_host.rate, Rate::steady);
        let participant = Participant::new(clock::monotonic(), config);
        let deadline = AtomicU64::new(participant.poll_timeout().map_or(NEVER, |at| at.0));
        let (has_events, sleeps_until) = (AtomicBool::new(false), AtomicU64::new(0));
        let (wants_more, held_replies_due) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self {
            core: Mutex::new(Class::Rtps, Core { participant, writers: SortedMap::new() }),
            outbox: Outbox::new(),
            sockets,
            deadline,
            timers: WriterTimers::new(),
            has_events,
            wants_more,
            held_replies_due,
            service_messages_due: AtomicBool::new(false),
            sleeps_until,
            waker,
            bridge_mark: OnceLock::new(),
            ros1_graph: OnceLock::new(),
        })
    }

    /// The sockets whose datagrams go to [`Rtps::handle_datagram`].
    pub(crate) fn receivers(&self) -> Vec<Arc<Datagrams>> {
        self.sockets.receivers()
    }

    /// Whether a socket only receives announcements of participants.
    pub(crate) fn is_multicast(&self, socket: &Datagrams) -> bool {
        self.sockets.is_multicast(socket)
    }

    /// True if the host has an address.
    pub(crate) fn has_interface(&self) -> bool {
        !self.sockets.own().is_empty()
    }

    /// The GUID prefix of the participant.
    pub(crate) fn prefix(&self) -> GuidPrefix {
        lock(&self.core).participant.prefix()
    }

    /// Reads the participant, without anything to send afterwards.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Participant) -> T) -> T {
        read(&lock(&self.core).participant)
    }

    fn wake_sleeper(&self) {
        if self.sleeps_until.swap(0, Ordering::SeqCst) != 0 {
            self.waker.wake();
        }
    }

    /// The driver is about to sleep until then. False if it must not.
    pub(crate) fn fall_asleep(&self, until: Option<Instant>) -> bool {
        let until = until.map_or(NEVER, |at| at.0).max(1);
        self.sleeps_until.store(until, Ordering::SeqCst);
        let is_busy =
            [&self.has_events, &self.wants_more, &self.held_replies_due, &self.service_messages_due]
                .into_iter()
                .any(|flag| flag.load(Ordering::SeqCst));
        let sleeps = self.next_deadline() >= until && !is_busy;
        if !sleeps {
            self.wake_up();
        }
        sleeps
    }

    /// The driver does not sleep any more.
    pub(crate) fn wake_up(&self) {
        self.sleeps_until.store(0, Ordering::SeqCst);
    }

    /// When [`Rtps::handle_timeout`] must be called.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        Some(self.next_deadline()).filter(|at| *at != NEVER).map(Instant)
    }

    /// Like [`Rtps::deadline`]; [`NEVER`] if nothing is due.
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

    /// Acts as if all peers had been silent for longer than their leases.
    #[cfg(test)]
    pub(crate) fn end_leases(&self) {
        self.work(|participant, now| participant.handle_timeout(now + std::time::Duration::from_secs(400)));
    }

    /// Handles a datagram. Returns the time of reception.
    pub(crate) fn handle_datagram(
        &self,
        from: SocketAddr,
        datagram: &[u8],
        batch: &mut ReceivedBatch,
    ) -> Instant {
        self.work(|participant, now| {
            participant.handle_datagram(now, from, datagram);
            batch.take(participant);
            now
        })
    }

    /// Takes pending events, and the samples that came with them.
    pub(crate) fn take_events(&self) -> Option<ReceivedBatch> {
        self.has_events.load(Ordering::SeqCst).then(|| {
            let mut batch = ReceivedBatch::default();
            self.work(|participant, _| batch.take(participant));
            batch
        })
    }

    /// Requests messages that a reader holds back, since its subscription has capacity again.
    pub(crate) fn request_more(&self) {
        self.wants_more.store(true, Ordering::SeqCst);
        self.wake_sleeper();
    }

    /// Whether that was requested since the last call.
    pub(crate) fn wants_more(&self) -> bool {
        self.wants_more.load(Ordering::SeqCst) && self.wants_more.swap(false, Ordering::SeqCst)
    }

    /// Records that a service has messages from shared memory. The caller is the event loop, which looks before it
    /// sleeps: to wake it would cost two system calls for each message.
    pub(crate) fn note_service_messages_due(&self) {
        self.service_messages_due.store(true, Ordering::SeqCst);
    }

    /// Whether that was recorded since the last call.
    pub(crate) fn take_service_messages_due(&self) -> bool {
        self.service_messages_due.load(Ordering::SeqCst)
            && self.service_messages_due.swap(false, Ordering::SeqCst)
    }

    /// Records that a service holds a reply, which the event loop is to send.
    pub(crate) fn note_held_replies_due(&self) {
        self.held_replies_due.store(true, Ordering::SeqCst);
        self.wake_sleeper();
    }

    /// Whether that was recorded since the last call.
    pub(crate) fn take_held_replies_due(&self) -> bool {
        self.held_replies_due.load(Ordering::SeqCst) && self.held_replies_due.swap(false, Ordering::SeqCst)
    }

    /// Sets how many more messages a reader may deliver. Returns those that it held back.
    pub(crate) fn set_capacity(&self, reader: EntityId, room: usize) -> Vec<Sample> {
        self.work(|participant, now| {
            participant.set_capacity(now, reader, room);
            std::iter::from_fn(|| participant.poll_sample()).collect()
        })
    }

    /// Withdraws a reader's capacity. Output of RTPS for other readers stays until it is taken.
    pub(crate) fn withdraw_capacity(&self, reader: EntityId) {
        self.work(|participant, now| participant.set_capacity(now, reader, 0));
    }

    /// Updates the addresses of the host, whose interfaces may have changed.
    pub(crate) fn update_addresses(&self) -> io::Result<()> {
        self.sockets.update_addresses()?;
        let (unicast, own) = (self.sockets.reached_at(), self.sockets.own());
        self.work(|participant, now| {
            participant.set_addresses(now, unicast, own);
            participant.handle_timeout(now);
        });
        Ok(())
    }

    pub(crate) fn create_writer(&self, options: EndpointOptions) -> Arc<Writer> {
        let options = self.marked(options);
        if let Some(audience) = self.audience() {
            return self.create_writer_for(options, audience);
        }
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
        // The writer is announced before its first message, which a best-effort reader would miss otherwise.
        self.send_all();
        writer
    }

    /// True if an endpoint is known, and satisfies a condition.
    pub(crate) fn is_endpoint(&self, guid: Guid, is_so: fn(&Endpoint) -> bool) -> bool {
        lock(&self.core).participant.endpoint(guid).is_some_and(is_so)
    }

    pub(crate) fn create_reader(&self, options: EndpointOptions) -> EntityId {
        let options = self.marked(options);
        self.work(|participant, now| participant.create_reader(now, stamp(), options))
    }

    pub(crate) fn remove_endpoint(&self, id: EntityId) {
        let writer = lock(&self.core).writers.remove(&id);
        // Its last messages are sent before its end is announced.
        writer.into_iter().for_each(|writer| self.end_writer(&writer));
        self.work(|participant, now| participant.remove_endpoint(now, stamp(), id));
    }

    /// The endpoints that an endpoint of this process has matched.
    pub(crate) fn matched(&self, id: EntityId) -> Vec<Guid> {
        lock(&self.core).participant.matched(id)
    }

    /// The readers of a writer that may not have matched it yet.
    pub(crate) fn unconfirmed_matches(&self, writer: EntityId) -> Vec<Guid> {
        lock(&self.core).participant.unconfirmed_matches(writer)
    }

    /// Announces to the peers that the participant leaves.
    pub(crate) fn leave(&self) {
        let writers = mem::take(&mut lock(&self.core).writers);
        writers.values().for_each(|writer| self.end_writer(writer));
        self.work(|participant, _| participant.close());
        self.send_all();
    }
}

/// The DDS options of an endpoint of a ROS topic. `dual_node_id` is the id of its node, if that is a dual node.
pub(crate) fn endpoint_of(
    topic: &str,
    dds_type: &str,
    rihs01: &str,
    qos: QoS,
    dual_node_id: Option<u64>,
) -> EndpointOptions {
    let mut user_data =
        dual_node_id.map(|dual_node_id| user_data_entry(dual_node_id) + ";").unwrap_or_default();
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
