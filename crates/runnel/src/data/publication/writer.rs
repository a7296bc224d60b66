//! The subscribers in the ROS 2 graph, which writers of the process's participant serve.

use std::sync::Arc;

use runnel_core::wire::EncodeError;
use runnel_rtps::wire::EntityId;

use super::{Offer, Outgoing, Publication, State};
use crate::data::LENGTH;
use crate::data::frames::SHORT;
use crate::ipc::Frame;
use crate::rtps::Rtps;

/// The writer of a topic in the ROS 2 graph.
pub(crate) struct RtpsWriter {
    pub(super) rtps: Arc<Rtps>,
    pub(super) id: EntityId,
}

impl RtpsWriter {
    pub(crate) fn new(rtps: Arc<Rtps>, id: EntityId) -> Self {
        Self { rtps, id }
    }

    pub(super) fn id(&self) -> EntityId {
        self.id
    }

    pub(super) fn assert_liveliness(&self) {
        self.rtps.assert_liveliness(self.id);
    }

    fn is_acknowledged(&self) -> bool {
        self.rtps.unacknowledged(self.id) == 0
    }
}

impl Offer {
    /// True if nobody in the ROS 2 graph has yet to get a message.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.writer().is_none_or(RtpsWriter::is_acknowledged)
    }
}

impl State {
    /// Who stands in the way of another message in the ROS 2 graph.
    pub(super) fn full_in_ros2(&mut self, offer: &Offer) -> Option<String> {
        let writer = offer.writer().filter(|_| offer.is_heard())?;
        if let Some(full) = self.full_beside(writer.id) {
            return Some(full);
        }
        writer.rtps.full(writer.id)
    }

    /// True if nobody in the ROS 2 graph has yet to get a message.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.offers.iter().all(|offer| offer.is_acknowledged())
    }
}

impl Publication {
    /// Publishes a message in the ROS 2 graph, if anybody there is to get it.
    pub(super) fn write_in_ros2(
        &self,
        state: &mut State,
        message: &impl Outgoing,
        offer: &Offer,
    ) -> Result<(), EncodeError> {
        let Some(writer) = offer.writer().filter(|_| offer.is_heard()) else { return Ok(()) };
        // What is known as bytes only has the form of ROS 1.
        if message.shared_type().is_none() {
            return Ok(());
        }
        let (rtps, id) = (Arc::clone(&writer.rtps), writer.id);
        let mut encoded = Ok(());
        let short = (1..=SHORT / 2).contains(&message.wire_len());
        let frame = state.pool.filled(short, |out| {
            out.extend_from_slice(&[0; LENGTH]);
            encoded = message.write_cdr(out);
            number_of_bytes(out);
        });
        if encoded.is_err() {
            state.pool.give_back(frame);
            return encoded;
        }
        let beside = state.has_beside(id).then(|| Frame::Own(Arc::clone(&frame)));
        let displaced = rtps.write(id, Frame::Own(frame));
        beside.into_iter().for_each(|frame| self.send_beside(state, id, &frame));
        if let Some(Frame::Own(displaced)) = displaced {
            state.pool.give_back(displaced);
        }
        Ok(())
    }
}

/// Writes how many bytes follow where room was left for that.
fn number_of_bytes(frame: &mut [u8]) {
    let length = frame.len().saturating_sub(LENGTH) as u32;
    if let Some(head) = frame.first_chunk_mut::<LENGTH>() {
        *head = length.to_le_bytes();
    }
}
