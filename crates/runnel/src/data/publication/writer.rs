//! The subscribers in the ROS 2 graph, which writers of the process's participant serve.

use std::net::IpAddr;
use std::sync::Arc;

use runnel_core::wire::{Encoding, GrowingSink};
use runnel_rtps::wire::{EntityId, Guid};

use super::{Offer, Outgoing, Publication, State};
use crate::data::frames::SHORT;
use crate::error::Unfit;
use crate::frame::Frame;
use crate::linger::Unarrived;
use crate::rtps::{LeftReader, NodeReader, Returned, Rtps, Suspended, Unsent, Writer, Written};
use crate::sync::lock;

/// The writer of a topic in the ROS 2 graph.
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

    /// There is a link of ROS 1 to the node of this origin: readers of it that are matched from now on are held, if their
    /// participants are where the link leads. Gives those that RTPS carries already.
    pub(super) fn link(&self, origin: u64, address: Option<IpAddr>) -> Vec<Guid> {
        self.writer.link(origin, address)
    }

    /// Such a link has ended. Gives the readers that were held for it, and get all from here that it has not carried.
    pub(super) fn unlink(&self, origin: u64, address: Option<IpAddr>) -> Vec<Guid> {
        self.rtps.unlink(&self.writer, origin, address)
    }

    /// The reader of this id of a node, if it is matched: that of the participant where the node's link leads.
    pub(super) fn reader_of(
        &self,
        origin: u64,
        reader: EntityId,
        address: Option<IpAddr>,
    ) -> Option<NodeReader> {
        let of_node = self.writer.readers(origin).into_iter().filter(|of| of.guid.entity == reader);
        let of_node: Vec<NodeReader> = of_node.collect();
        let there = of_node.iter().find(|of| self.is_at(of.guid, address));
        there.or(of_node.first()).copied()
    }

    /// A reader of a node, if it is matched.
    pub(super) fn reader(&self, origin: u64, reader: Guid) -> Option<NodeReader> {
        self.writer.readers(origin).into_iter().find(|of| of.guid == reader)
    }

    /// The readers that a node has on a topic, matched or not.
    pub(super) fn readers_on(&self, topic: &str, origin: u64) -> Vec<Guid> {
        self.rtps.readers_on(topic, origin)
    }

    /// Whether a link of ROS 1 that leads there is one of the node of a reader, and not of somebody who claims to be that.
    pub(super) fn is_at(&self, reader: Guid, address: Option<IpAddr>) -> bool {
        address.is_some_and(|address| self.rtps.is_at(reader, address))
    }

    /// Whether a reader is reliable and a link of ROS 1 can serve it, now or later.
    pub(super) fn may_be_linked(&self, reader: Guid) -> bool {
        self.writer.may_be_linked(reader)
    }

    /// Whether a reader is held.
    pub(super) fn is_held(&self, reader: Guid) -> bool {
        self.writer.is_held(reader)
    }

    /// Readers of nodes with links of ROS 1 that have been lost or have ended, since this was last asked.
    pub(super) fn take_left(&self) -> Vec<LeftReader> {
        self.writer.take_left()
    }

    /// A reader gets nothing more from here. Gives what it is not known to have, with the numbers.
    pub(super) fn hold(&self, reader: Guid) -> Vec<(u64, Frame)> {
        self.writer.hold(reader)
    }

    /// A reader is held no longer: these messages and all that follow go to it, and what is kept from the number `from` on.
    pub(super) fn release(&self, reader: Guid, from: u64, waiting: Vec<Returned>) {
        self.rtps.release(&self.writer, reader, from, waiting);
    }

    /// Readers that it has met and that may not have met it.
    pub(super) fn unconfirmed_matches(&self) -> Vec<Guid> {
        self.rtps.unconfirmed_matches(self.id())
    }

    /// The readers that have yet to acknowledge messages.
    pub(super) fn unarrived(&self) -> Vec<Unarrived> {
        self.rtps.unarrived(&self.writer)
    }

    fn is_acknowledged(&self) -> bool {
        self.writer.unacknowledged() == 0
    }

    /// The number of the message that was written last.
    pub(super) fn last_number(&self) -> Option<u64> {
        self.writer.last_number()
    }

    /// What is written from now on reaches a reader by an alternate path. `None` if the two are not matched.
    pub(super) fn suspend(&self, reader: Guid) -> Option<Suspended> {
        self.writer.suspend(reader)
    }

    /// That path has ended: these messages and all that follow go by the network. All before `from` have arrived.
    pub(super) fn resume(&self, reader: Guid, from: u64, unsent: Vec<Returned>) {
        self.rtps.resume(&self.writer, reader, from, unsent);
    }
}

impl Offer {
    /// True if somebody in the ROS 2 graph is to get messages, now or later.
    pub(super) fn is_heard_in_ros2(&self) -> bool {
        self.writer().is_some() && self.is_heard()
    }

    /// True if nobody in the ROS 2 graph has yet to get a message, by whichever way.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.publication().is_none_or(|publication| lock(&publication.state).has_arrived(self))
    }
}

impl State {
    /// Who stands in the way of another message in the ROS 2 graph.
    pub(super) fn full_in_ros2(&mut self, offer: &Offer) -> Option<String> {
        let writer = offer.writer().filter(|_| offer.is_heard())?;
        if let Some(full) = self.full_in_memory(writer.id()).or_else(|| self.full_for_link(writer.id())) {
            return Some(full);
        }
        writer.writer.full()
    }

    /// True if nobody in the ROS 2 graph has yet to get a message.
    pub(super) fn is_acknowledged(&mut self) -> bool {
        self.offers.clone().iter().all(|offer| self.has_arrived(offer))
    }

    /// The same of what was published with one offer. What goes by sessions is no matter of the participant's.
    fn has_arrived(&mut self, offer: &Offer) -> bool {
        offer.writer().is_none_or(|writer| {
            self.has_arrived_in_memory(writer.id())
                && !self.waits_for_link(writer.id())
                && writer.is_acknowledged()
        })
    }

    /// The message in the encoding of ROS 2, if anybody there is to get it.
    pub(super) fn written_cdr(
        &mut self,
        message: &impl Outgoing,
        offer: &Offer,
    ) -> Result<Option<Frame>, Unfit> {
        if !offer.is_heard_in_ros2() {
            return Ok(None);
        }
        let short = (1..=SHORT / 2).contains(&message.wire_len());
        self.framed_cdr(short, |out| message.write_cdr(out)).map(Some)
    }

    /// What is written in the encoding of ROS 2 as a frame.
    pub(super) fn framed_cdr(
        &mut self,
        short: bool,
        write: impl FnOnce(&mut GrowingSink) -> Result<(), Unfit>,
    ) -> Result<Frame, Unfit> {
        self.pooled((Encoding::Xcdr1, short), write, |_| ())
    }
}

impl Publication {
    /// True if nobody in the ROS 2 graph has yet to get a message.
    pub(crate) fn is_acknowledged(&self) -> bool {
        lock(&self.state).is_acknowledged()
    }

    /// Publishes a message that is in the encoding of ROS 2. After it is known who gets it by a link of ROS 1. It is sent
    /// when what this gives is dropped: without the lock.
    pub(super) fn send_cdr<'a>(
        &self,
        state: &mut State,
        frame: Frame,
        offer: &'a Offer,
    ) -> Option<Unsent<'a>> {
        let Some(writer) = offer.writer().filter(|_| offer.is_heard()) else {
            state.give_back(frame);
            return None;
        };
        let has_more = state.has_memory_link(writer.id()) || !state.leaving.is_empty();
        let more = has_more.then(|| frame.clone());
        let Written { displaced, left, unsent } = writer.rtps.write(&writer.writer, frame);
        // The message that was written now is the first that the links carry for them.
        let first = writer.last_number().unwrap_or(1);
        self.readers_left(state, writer, (first, left));
        if let Some(frame) = more {
            self.send_in_memory(state, writer, &frame);
            self.count_dropped(state.wait_for_link(writer, &frame));
        }
        displaced.into_iter().for_each(|displaced| state.give_back(displaced));
        Some(unsent)
    }
}
