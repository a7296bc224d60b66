//! The subscribers in the ROS 2 graph, which a writer of the process's participant serves.

use std::sync::Arc;

use runnel_rtps::wire::{EntityId, Guid};

use super::{Outgoing, Publication, State, Unfit};
use crate::data::LENGTH;
use crate::data::frames::SHORT;
use crate::ipc::Frame;
use crate::rtps::{Rtps, Written};
use crate::sync::lock;

/// The writer of a topic in the ROS 2 graph.
pub(crate) struct RtpsWriter {
    pub(super) rtps: Arc<Rtps>,
    pub(super) id: EntityId,
    /// Subscriptions that it has met, with the origin of those whose nodes are in both graphs.
    readers: Vec<(Guid, Option<u64>)>,
    /// How often its readers had changed when links were last told to carry messages or to stand by.
    divided_at: Option<u32>,
    /// It holds messages for those who come later.
    latching: bool,
}

impl RtpsWriter {
    pub(crate) fn new(rtps: Arc<Rtps>, id: EntityId, latching: bool) -> Self {
        Self { rtps, id, readers: Vec::new(), divided_at: None, latching }
    }

    fn is_heard(&self) -> bool {
        !self.readers.is_empty() || self.latching
    }
}

impl Publication {
    /// From now on it has this writer. The one that it had.
    pub(crate) fn set_writer(&self, writer: Option<RtpsWriter>) -> Option<EntityId> {
        let state = &mut *lock(&self.state);
        let former = std::mem::replace(&mut state.writer, writer);
        for origin in state.linked_origins() {
            let _ = state.link_begins(Some(origin));
        }
        self.divide(state, &[]);
        former.map(|writer| writer.id)
    }

    pub(crate) fn has_writer(&self) -> bool {
        lock(&self.state).writer.is_some()
    }

    /// A subscription has been met, of a node of this origin if it is in both graphs.
    pub(crate) fn met(&self, reader: Guid, origin: Option<u64>) {
        if let Some(writer) = &mut lock(&self.state).writer {
            writer.readers.push((reader, origin));
        }
    }

    /// A subscription that had been met has left.
    pub(crate) fn left(&self, reader: Guid) {
        let state = &mut *lock(&self.state);
        let Some(writer) = &mut state.writer else { return };
        writer.readers.retain(|(other, _)| *other != reader);
        if !writer.is_heard() {
            writer.divided_at = None;
            self.divide(state, &[]);
        }
    }
}

impl State {
    /// Subscriptions that its writer has met, apart from those who have a link of ROS 1 as well.
    pub(super) fn matched(&self) -> usize {
        let linked: Vec<u64> = self.linked_origins().collect();
        let is_linked = |origin: &Option<u64>| origin.is_some_and(|origin| linked.contains(&origin));
        let readers = self.writer.iter().flat_map(|writer| &writer.readers);
        readers.filter(|(_, origin)| !is_linked(origin)).count()
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
}

impl Publication {
    /// Publishes a message that is in the encoding of ROS 2. After it is known who gets it by a link of ROS 1.
    pub(super) fn send_cdr(&self, state: &mut State, frame: Frame) {
        let Some(writer) = state.writer.as_ref().filter(|writer| writer.is_heard()) else {
            return state.give_back(frame);
        };
        let (rtps, id, known) = (Arc::clone(&writer.rtps), writer.id, writer.divided_at);
        let Written { displaced, readers } = rtps.write(id, frame, known);
        if let Some(displaced) = displaced {
            state.give_back(displaced);
        }
        if let Some((changes, by_rtps)) = readers {
            self.divide(state, &by_rtps);
            if let Some(writer) = &mut state.writer {
                writer.divided_at = Some(changes);
            }
        }
    }
}
