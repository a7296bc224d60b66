//! The subscribers in the ROS 2 graph, which a writer of the process's participant serves.

use std::sync::Arc;

use runnel_rtps::wire::EntityId;

use super::{Outgoing, Publication, State, Unfit};
use crate::data::LENGTH;
use crate::data::frames::SHORT;
use crate::ipc::Frame;
use crate::rtps::Rtps;
use crate::sync::lock;

/// The writer of a topic in the ROS 2 graph.
pub(crate) struct RtpsWriter {
    rtps: Arc<Rtps>,
    id: EntityId,
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
        let former = std::mem::replace(&mut lock(&self.state).writer, writer);
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
    pub(super) fn full_in_ros2(&self) -> Option<String> {
        let writer = self.writer.as_ref().filter(|writer| writer.is_heard())?;
        writer.rtps.full(writer.id)
    }

    /// True if nobody in the ROS 2 graph has yet to get a message.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.writer.as_ref().is_none_or(|writer| writer.rtps.unacknowledged(writer.id) == 0)
    }

    /// True if somebody in the ROS 2 graph is to get messages, now or later.
    pub(super) fn is_heard_in_ros2(&self) -> bool {
        self.writer.as_ref().is_some_and(RtpsWriter::is_heard)
    }

    /// The message in the encoding of ROS 2, if anybody there is to get it.
    pub(super) fn written_cdr(&mut self, message: &impl Outgoing) -> Result<Option<Frame>, Unfit> {
        if !self.is_heard_in_ros2() {
            return Ok(None);
        }
        let short = (1..=SHORT / 2).contains(&message.wire_len());
        self.framed_cdr(short, |out| message.write_cdr(out)).map(Some)
    }

    /// What is written in the encoding of ROS 2 as a frame.
    pub(super) fn framed_cdr(
        &mut self,
        short: bool,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Unfit>,
    ) -> Result<Frame, Unfit> {
        let mut written = Ok(());
        let bytes = self.pool.filled(short, |out| {
            out.extend_from_slice(&[0; LENGTH]);
            written = write(out);
        });
        match written {
            Ok(()) => Ok(Frame::Own(bytes)),
            Err(unfit) => {
                self.pool.give_back(bytes);
                Err(unfit)
            }
        }
    }

    /// Publishes a message that is in the encoding of ROS 2.
    pub(super) fn send_cdr(&mut self, frame: Frame) {
        let Some(writer) = self.writer.as_ref().filter(|writer| writer.is_heard()) else {
            return self.give_back(frame);
        };
        let (rtps, id) = (Arc::clone(&writer.rtps), writer.id);
        if let Some(displaced) = rtps.write(id, frame) {
            self.give_back(displaced);
        }
    }
}
