//! Publishing, and what else is done with writers by the threads of the user and of the driver.

use std::mem;
use std::net::IpAddr;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_rtps::wire::Guid;

use super::alternate_path::{Returned, sequence};
use super::writer::{LeftReader, State, Writer};
use super::{CdrFrame, Rtps, Unsent, stamp};
use crate::frame::Frame;
use crate::linger::Unarrived;
use crate::sync::{MutexGuard, lock};

/// What came of writing a message.
pub(crate) struct Written<'a> {
    /// A frame that is not held any more.
    pub(crate) displaced: Option<Frame>,
    /// Readers of nodes with links of ROS 1 that have been lost or have ended: they did not get it.
    pub(crate) left: Vec<LeftReader>,
    /// The message is sent when this is dropped, unless another thread has sent it.
    pub(crate) unsent: Unsent<'a>,
}

impl Rtps {
    /// Publishes a message.
    pub(crate) fn write<'a>(&'a self, writer: &'a Writer, frame: Frame) -> Written<'a> {
        debug_assert!(!frame.encoding().is_ros1(), "RTPS carries encodings of ROS 2");
        let state = &mut *self.lock_to_publish(writer);
        let now = clock::monotonic();
        let displaced = state.writer.write(now, stamp(), CdrFrame(frame));
        let displaced = displaced.ok().flatten().map(|frame| frame.0);
        let left = mem::take(&mut state.left);
        let wakes = self.settle(writer, state, now);
        Written { displaced, left, unsent: Unsent { rtps: self, writer, wakes } }
    }

    /// The user says that a writer lives.
    pub(crate) fn assert_liveliness(&self, writer: &Writer) {
        self.work_on(writer, |state, now| state.writer.assert_liveliness(now));
    }

    /// The alternate path of a reader has ended: these messages and all that follow go by the network. All before `from` have
    /// arrived.
    pub(crate) fn resume(&self, writer: &Writer, reader: Guid, from: u64, unsent: Vec<Returned>) {
        self.work_on(writer, |state, now| {
            let written =
                |(at, written, frame): Returned| (sequence(at), written.unwrap_or(now), CdrFrame(frame));
            let unsent = unsent.into_iter().map(written);
            state.writer.resume(now, stamp(), reader, sequence(from), unsent);
        });
    }

    /// A reader is held no longer: these messages and all that follow go to it, and what is kept from the number `from` on.
    pub(crate) fn release(&self, writer: &Writer, reader: Guid, from: u64, waiting: Vec<Returned>) {
        self.work_on(writer, |state, _| state.release(reader));
        self.resume(writer, reader, from, waiting);
    }

    /// A link of ROS 1 to the node of this origin has ended, which led there. Readers that were held for it, and are not for another
    /// one, get all from here that the link has not carried. Gives these readers.
    pub(crate) fn unlink(&self, writer: &Writer, origin: u64, address: Option<IpAddr>) -> Vec<Guid> {
        let (from, others) = lock(&writer.state).unlink(origin, address);
        let is_linked = |reader: Guid| others.iter().flatten().any(|address| self.is_at(reader, *address));
        let held = writer.readers(origin).into_iter().filter(|reader| reader.is_held);
        let released: Vec<Guid> =
            held.map(|reader| reader.guid).filter(|reader| !is_linked(*reader)).collect();
        released.iter().for_each(|reader| self.release(writer, *reader, from, Vec::new()));
        released
    }

    /// Whether the participant of an endpoint is known to be at an address.
    pub(crate) fn is_at(&self, endpoint: Guid, address: IpAddr) -> bool {
        lock(&self.core).participant.is_at(endpoint.prefix, address)
    }

    /// The readers that have yet to acknowledge messages of a writer, or to be sent them.
    pub(crate) fn unarrived(&self, writer: &Writer) -> Vec<Unarrived> {
        let unacknowledged_by_reader = lock(&writer.state).writer.unacknowledged_by_reader().into_iter();
        let core = lock(&self.core);
        let at = |reader: Guid| match core.participant.peer(reader.prefix) {
            Some(peer) => format!("{reader} ({} at {})", peer.data.vendor, peer.address()),
            None => reader.to_string(),
        };
        unacknowledged_by_reader
            .map(|(reader, messages)| Unarrived { subscriber: at(reader), messages: messages.into() })
            .collect()
    }

    /// Does what is due of writers.
    pub(super) fn handle_writer_timeouts(&self, now: Instant) {
        while let Some(id) = self.timers.pop_due(now) {
            let writer = lock(&self.core).writers.get(&id).map(Arc::clone);
            if let Some(writer) = writer {
                self.work_on(&writer, |state, now| {
                    state.armed = None;
                    // What has been promised to readers is watched for with what happens within the process: no event is taken.
                    state.writer.handle_timeout(now);
                });
            }
        }
    }

    /// A writer ends: what it has in its outbox is sent, and nothing else.
    pub(super) fn end_writer(&self, writer: &Writer) {
        lock(&writer.state).writer.close();
        self.timers.cancel(writer.id());
        self.send_all_of(writer);
    }

    /// A writer in which nothing waits for room in its outbox: else one that keeps the last would lose it.
    fn lock_to_publish<'a>(&self, writer: &'a Writer) -> MutexGuard<'a, State> {
        loop {
            let state = lock(&writer.state);
            if !state.writer.has_pending_datagrams() {
                return state;
            }
            drop(state);
            writer.outbox.wait_for_batch();
            self.send_of(writer);
        }
    }
}
