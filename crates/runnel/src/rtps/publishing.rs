//! Publishing, and other work of the user's and the driver's threads on writers.

use std::mem;
use std::net::IpAddr;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_rtps::wire::Guid;

use super::alternate_path::{Returned, sequence};
use super::writer::{LostReader, State, Writer};
use super::{CdrFrame, Rtps, Unsent, stamp};
use crate::frame::Frame;
use crate::settings::linger::Unarrived;
use crate::sync::{MutexGuard, lock};

/// The result of writing a message.
pub(crate) struct Written<'a> {
    /// A frame that the writer dropped for it.
    pub(crate) displaced: Option<Frame>,
    /// Readers of nodes with ROS 1 links that have been lost or have ended: they did not get the message.
    pub(crate) left: Vec<LostReader>,
    /// Sends the message when dropped, unless another thread has sent it.
    pub(crate) unsent: Unsent<'a>,
}

impl Rtps {
    /// Publishes a message. The caller has checked that a keep-all writer is not [full](Writer::full).
    pub(crate) fn write<'a>(&'a self, writer: &'a Writer, frame: Frame) -> Written<'a> {
        debug_assert!(!frame.encoding().is_ros1(), "RTPS carries encodings of ROS 2");
        let state = &mut *self.lock_to_publish(writer);
        let now = clock::monotonic();
        let displaced = state.writer.write_admitted(now, stamp(), CdrFrame(frame)).map(|frame| frame.0);
        let left = mem::take(&mut state.left);
        let wakes = self.settle(writer, state, now);
        Written { displaced, left, unsent: Unsent { rtps: self, writer, wakes, evicted: None } }
    }

    /// Keeps a message for readers that match later: those of now do not get it. Returns one that the writer dropped.
    pub(crate) fn write_for_late(&self, writer: &Writer, frame: Frame) -> Option<Frame> {
        let mut displaced = None;
        self.work_on(writer, |state, now| {
            displaced = state.writer.write_for_late(now, stamp(), CdrFrame(frame)).map(|frame| frame.0);
        });
        displaced
    }

    /// Asserts the liveliness of a writer for its user.
    pub(crate) fn assert_liveliness(&self, writer: &Writer) {
        self.work_on(writer, |state, now| state.writer.assert_liveliness(now));
    }

    /// Resumes a suspended reader: the network carries these messages and all that follow. All before `from` have
    /// arrived.
    pub(crate) fn resume(&self, writer: &Writer, reader: Guid, from: u64, unsent: Vec<Returned>) {
        self.work_on(writer, |state, now| {
            let written =
                |(at, written, frame): Returned| (sequence(at), written.unwrap_or(now), CdrFrame(frame));
            let unsent = unsent.into_iter().map(written);
            state.writer.resume(now, stamp(), reader, sequence(from), unsent);
        });
    }

    /// Releases a held reader: it gets these messages, kept messages from the number `from` on, and all that follow.
    pub(crate) fn release(&self, writer: &Writer, reader: Guid, from: u64, waiting: Vec<Returned>) {
        self.work_on(writer, |state, _| state.release(reader));
        self.resume(writer, reader, from, waiting);
    }

    /// Unregisters a ROS 1 link to the dual node `dual_node_id` at `address`. Readers that were held for it, and not for
    /// another link, get all messages that the link has not carried. Returns these readers.
    pub(crate) fn unlink(&self, writer: &Writer, dual_node_id: u64, address: Option<IpAddr>) -> Vec<Guid> {
        let (from, others) = lock(&writer.state).unlink(dual_node_id, address);
        let is_linked = |reader: Guid| others.iter().flatten().any(|address| self.is_at(reader, *address));
        let held = writer.readers(dual_node_id).into_iter().filter(|reader| reader.is_held);
        let released: Vec<Guid> =
            held.map(|reader| reader.guid).filter(|reader| !is_linked(*reader)).collect();
        released.iter().for_each(|reader| self.release(writer, *reader, from, Vec::new()));
        released
    }

    /// Whether the participant of an endpoint is known to be at an address.
    pub(crate) fn is_at(&self, endpoint: Guid, address: IpAddr) -> bool {
        lock(&self.core).participant.is_at(endpoint.prefix, address)
    }

    /// The readers that have unsent or unacknowledged messages of a writer.
    pub(crate) fn unarrived(&self, writer: &Writer) -> Vec<Unarrived> {
        let unacknowledged_by_reader = lock(&writer.state).writer.unacknowledged_by_reader().into_iter();
        unacknowledged_by_reader
            .map(|(reader, messages)| Unarrived {
                subscriber: self.describe(reader),
                messages: messages.into(),
            })
            .collect()
    }

    /// Text for a remote endpoint: its GUID, with the implementation and address of its participant.
    pub(crate) fn describe(&self, endpoint: Guid) -> String {
        match lock(&self.core).participant.peer(endpoint.prefix) {
            Some(peer) => format!("{endpoint} ({} at {})", peer.data.vendor, peer.address()),
            None => endpoint.to_string(),
        }
    }

    /// Handles the timeouts of writers.
    pub(super) fn handle_writer_timeouts(&self, now: Instant) {
        while let Some(id) = self.timers.pop_due(now) {
            let writer = lock(&self.core).writers.get(&id).map(Arc::clone);
            if let Some(writer) = writer {
                self.work_on(&writer, |state, now| {
                    state.armed = None;
                    // Deadline and liveliness are monitored together with those within the process, so no event is
                    // taken here.
                    state.writer.handle_timeout(now);
                });
            }
        }
    }

    /// Ends a writer: sends only the content of its outbox.
    pub(super) fn end_writer(&self, writer: &Writer) {
        lock(&writer.state).writer.close();
        self.timers.cancel(writer.id());
        self.send_all_of(writer);
    }

    /// Locks a writer that has no datagrams waiting for its outbox, since a keep-last writer would drop them.
    fn lock_to_publish<'a>(&self, writer: &'a Writer) -> MutexGuard<'a, State> {
        loop {
            let state = lock(&writer.state);
            if !state.writer.has_pending_datagrams() {
                return state;
            }
            drop(state);
            writer.outbox.wait_until_sent();
            self.send_of(writer);
        }
    }
}
