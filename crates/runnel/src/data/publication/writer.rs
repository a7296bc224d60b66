//! RTPS writers of a publication, which serve its ROS 2 subscribers.

use std::net::IpAddr;
use std::sync::Arc;

use runnel_core::wire::{Encoding, GrowingSink};
use runnel_rtps::NotSent;
use runnel_rtps::wire::{EntityId, Guid, SampleIdentity};

use super::{Outgoing, Publication, State, WriterGroup};
use crate::data::frames::SHORT;
use crate::error::ConversionError;
use crate::frame::Frame;
use crate::rtps::{LostReader, NodeReader, Returned, Rtps, Suspended, Unsent, Writer, Written};
use crate::settings::linger::Unarrived;
use crate::sync::lock;

/// The RTPS writer of one writer group.
#[derive(Clone)]
pub(crate) struct RtpsWriter {
    rtps: Arc<Rtps>,
    writer: Arc<Writer>,
}

impl RtpsWriter {
    pub(crate) fn new(rtps: Arc<Rtps>, writer: Arc<Writer>) -> Self {
        Self { rtps, writer }
    }

    pub(super) fn id(&self) -> EntityId {
        self.writer.id()
    }

    pub(super) fn assert_liveliness(&self) {
        self.rtps.assert_liveliness(&self.writer);
    }

    /// Registers a ROS 1 link to the dual node `dual_node_id`: readers of that node that are matched from now on are held,
    /// if their participants are at `address`. Returns the readers that RTPS already serves.
    pub(super) fn link(&self, dual_node_id: u64, address: Option<IpAddr>) -> Vec<Guid> {
        self.writer.link(dual_node_id, address)
    }

    /// Unregisters such a link. Returns the readers that were held for it; they get the messages that the link has not
    /// carried.
    pub(super) fn unlink(&self, dual_node_id: u64, address: Option<IpAddr>) -> Vec<Guid> {
        self.rtps.unlink(&self.writer, dual_node_id, address)
    }

    /// The matched reader of a node with this entity id; preferably that of a participant at `address`, where the
    /// node's link leads.
    pub(super) fn reader_of(
        &self,
        dual_node_id: u64,
        reader: EntityId,
        address: Option<IpAddr>,
    ) -> Option<NodeReader> {
        let of_node = self.writer.readers(dual_node_id).into_iter().filter(|of| of.guid.entity == reader);
        let of_node: Vec<NodeReader> = of_node.collect();
        let at_address = of_node.iter().find(|of| self.is_at(of.guid, address));
        at_address.or(of_node.first()).copied()
    }

    /// A reader of a node, if it is matched.
    pub(super) fn reader(&self, dual_node_id: u64, reader: Guid) -> Option<NodeReader> {
        self.writer.readers(dual_node_id).into_iter().find(|of| of.guid == reader)
    }

    /// The readers of a node on a topic, matched or not.
    pub(super) fn readers_on(&self, topic: &str, dual_node_id: u64) -> Vec<Guid> {
        self.rtps.readers_on(topic, dual_node_id)
    }

    /// Whether a ROS 1 link to this address leads to the node of the reader. A peer can claim to be that node.
    pub(super) fn is_at(&self, reader: Guid, address: Option<IpAddr>) -> bool {
        address.is_some_and(|address| self.rtps.is_at(reader, address))
    }

    /// Whether the reader is reliable and a ROS 1 link can serve it, now or later.
    pub(super) fn may_be_linked(&self, reader: Guid) -> bool {
        self.writer.may_be_linked(reader)
    }

    /// Whether a reader is held.
    pub(super) fn is_held(&self, reader: Guid) -> bool {
        self.writer.is_held(reader)
    }

    /// Takes the readers of nodes with ROS 1 links that have been lost or have ended.
    pub(super) fn take_lost(&self) -> Vec<LostReader> {
        self.writer.take_lost()
    }

    /// Holds a reader, so that it gets nothing more from here. Returns the messages that it may lack, with their
    /// numbers.
    pub(super) fn hold(&self, reader: Guid) -> Vec<(u64, Frame)> {
        self.writer.hold(reader)
    }

    /// Releases a held reader: it gets these messages, kept messages from the number `from` on, and all that follow.
    pub(super) fn release(&self, reader: Guid, from: u64, waiting: Vec<Returned>) {
        self.rtps.release(&self.writer, reader, from, waiting);
    }

    /// Matched readers that may not have matched the writer yet.
    pub(super) fn unconfirmed_matches(&self) -> Vec<Guid> {
        self.rtps.unconfirmed_matches(self.id())
    }

    /// The readers that have unacknowledged messages.
    pub(super) fn unarrived(&self) -> Vec<Unarrived> {
        self.rtps.unarrived(&self.writer)
    }

    /// Text for a remote reader.
    pub(super) fn describe(&self, reader: Guid) -> String {
        self.rtps.describe(reader)
    }

    /// Writes a message for one reader. RTPS sends it when the returned value is dropped.
    pub(super) fn write_to(
        &self,
        frame: Frame,
        to: (Guid, Option<SampleIdentity>),
    ) -> Result<(u64, Unsent<'_>), NotSent> {
        self.rtps.write_to(&self.writer, frame, to)
    }

    /// Keeps a message for readers that match later. Returns one that the writer dropped for it.
    pub(super) fn write_for_late(&self, frame: Frame) -> Option<Frame> {
        self.rtps.write_for_late(&self.writer, frame)
    }

    fn is_acknowledged(&self) -> bool {
        self.writer.unacknowledged() == 0
    }

    /// The number of the last message.
    pub(super) fn last_number(&self) -> Option<u64> {
        self.writer.last_number()
    }

    /// Suspends a reader: an alternate path carries all messages from now on. `None` if the reader is not matched.
    pub(super) fn suspend(&self, reader: Guid) -> Option<Suspended> {
        self.writer.suspend(reader)
    }

    /// Resumes a suspended reader: the network carries these messages and all that follow. All before `from` have
    /// arrived.
    pub(super) fn resume(&self, reader: Guid, from: u64, unsent: Vec<Returned>) {
        self.rtps.resume(&self.writer, reader, from, unsent);
    }
}

impl WriterGroup {
    /// True if its messages must be encoded for ROS 2 subscribers, now or later.
    pub(super) fn needs_cdr(&self) -> bool {
        self.writer().is_some() && self.needs_writer()
    }

    /// True if every ROS 2 subscriber has all messages, on whichever path.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.publication().is_none_or(|publication| lock(&publication.state).has_arrived(self))
    }
}

impl State {
    /// A ROS 2 subscriber whose queue is full.
    pub(super) fn full_in_ros2(&mut self, group: &WriterGroup) -> Option<String> {
        let writer = group.writer().filter(|_| group.needs_writer())?;
        if let Some(full) = self.full_in_memory(writer.id()).or_else(|| self.full_leaving_reader(writer.id()))
        {
            return Some(full);
        }
        writer.writer.full()
    }

    /// True if every ROS 2 subscriber has all messages.
    pub(super) fn is_acknowledged(&mut self) -> bool {
        self.groups.clone().iter().all(|group| self.has_arrived(group))
    }

    /// The same for one writer group. The RTPS writer does not know about messages in shared memory.
    fn has_arrived(&mut self, group: &WriterGroup) -> bool {
        group.writer().is_none_or(|writer| {
            self.has_arrived_in_memory(writer.id())
                && !self.has_leaving_messages(writer.id())
                && writer.is_acknowledged()
        })
    }

    /// The message in the ROS 2 encoding, if a ROS 2 subscriber needs it.
    pub(super) fn written_cdr(
        &mut self,
        message: &impl Outgoing,
        group: &WriterGroup,
    ) -> Result<Option<Frame>, ConversionError> {
        if !group.needs_cdr() {
            return Ok(None);
        }
        let short = (1..=SHORT / 2).contains(&message.wire_len());
        self.framed_cdr(short, |out| message.write_cdr(out)).map(Some)
    }

    /// Serializes a message in the ROS 2 encoding to a frame.
    pub(super) fn framed_cdr(
        &mut self,
        short: bool,
        write: impl FnOnce(&mut GrowingSink) -> Result<(), ConversionError>,
    ) -> Result<Frame, ConversionError> {
        self.pooled((Encoding::Xcdr1, short), write, |_| ())
    }
}

impl Publication {
    /// True if every ROS 2 subscriber has all messages.
    pub(crate) fn is_acknowledged(&self) -> bool {
        lock(&self.state).is_acknowledged()
    }

    /// Publishes a message in the ROS 2 encoding. Afterwards it is settled which readers the ROS 1 links serve. RTPS
    /// sends the message when the returned value is dropped, which the caller does without the lock.
    pub(super) fn send_cdr<'a>(
        &self,
        state: &mut State,
        frame: Frame,
        group: &'a WriterGroup,
    ) -> Option<Unsent<'a>> {
        let Some(writer) = group.writer().filter(|_| group.needs_writer()) else {
            state.recycle(frame);
            return None;
        };
        let has_more = state.has_memory_link(writer.id()) || !state.leaving.is_empty();
        let more = has_more.then(|| frame.clone());
        let Written { displaced, left, unsent } = writer.rtps.write(&writer.writer, frame);
        // This message is the first that the links carry for them.
        let first = writer.last_number().unwrap_or(1);
        self.on_readers_lost(state, writer, (first, left));
        if let Some(frame) = more {
            self.send_in_memory(state, writer, &frame);
            self.count_dropped(state.queue_for_leaving(writer, &frame));
        }
        displaced.into_iter().for_each(|displaced| state.recycle(displaced));
        Some(unsent)
    }
}
