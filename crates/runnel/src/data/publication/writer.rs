//! The subscribers in the ROS 2 graph, which a writer of the process's participant serves.

use std::sync::Arc;

use runnel_core::wire::EncodeError;
use runnel_rtps::wire::EntityId;

use super::{Outgoing, Publication, State};
use crate::data::LENGTH;
use crate::data::frames::SHORT;
use crate::ipc::Frame;
use crate::rtps::Rtps;
use crate::sync::lock;

/// The writer of a topic in the ROS 2 graph.
pub(crate) struct RtpsWriter {
    pub(super) rtps: Arc<Rtps>,
    pub(super) id: EntityId,
    /// Subscriptions that it has met.
    matched: usize,
    /// It holds messages for those who come later.
    latching: bool,
}

impl RtpsWriter {
    pub(crate) fn new(rtps: Arc<Rtps>, id: EntityId, latching: bool) -> Self {
        Self { rtps, id, matched: 0, latching }
    }

    fn is_heard(&self) -> bool {
        self.matched > 0 || self.latching
    }
}

impl Publication {
    /// From now on it has this writer. The one that it had.
    pub(crate) fn set_writer(&self, writer: Option<RtpsWriter>) -> Option<EntityId> {
        let state = &mut *lock(&self.state);
        let former = std::mem::replace(&mut state.writer, writer);
        state.sample_links.clear();
        self.count_sample_channels(state);
        former.map(|writer| writer.id)
    }

    pub(crate) fn has_writer(&self) -> bool {
        lock(&self.state).writer.is_some()
    }

    /// So many subscriptions have been met, or left.
    pub(crate) fn count_matched(&self, by: isize) {
        if let Some(writer) = &mut lock(&self.state).writer {
            writer.matched = writer.matched.saturating_add_signed(by);
        }
    }
}

impl State {
    /// Subscriptions that its writer has met.
    pub(super) fn matched(&self) -> usize {
        self.writer.as_ref().map_or(0, |writer| writer.matched)
    }

    /// Who stands in the way of another message in the ROS 2 graph.
    pub(super) fn full_in_ros2(&mut self) -> Option<String> {
        if let Some(full) = self.full_beside() {
            return Some(full);
        }
        let writer = self.writer.as_ref().filter(|writer| writer.is_heard())?;
        writer.rtps.full(writer.id)
    }

    /// True if nobody in the ROS 2 graph has yet to get a message.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.writer.as_ref().is_none_or(|writer| writer.rtps.unacknowledged(writer.id) == 0)
    }
}

impl Publication {
    /// Publishes a message in the ROS 2 graph, if anybody there is to get it.
    pub(super) fn write_in_ros2(
        &self,
        state: &mut State,
        message: &impl Outgoing,
    ) -> Result<(), EncodeError> {
        let Some(writer) = state.writer.as_ref().filter(|writer| writer.is_heard()) else { return Ok(()) };
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
