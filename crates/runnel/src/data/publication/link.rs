//! One subscriber of a publication: what it is sent, and what waits for it.

use std::io::IoSlice;
use std::sync::Arc;

use runnel_io::segment::Segment;
use runnel_io::{Reactor, Stream, Token};
use runnel_ros1::net::ConnId;
use runnel_ros1::node::{LinkStats, SubscriberLink};
use runnel_ros1::tcpros::{Front, SendQueue};

use crate::data::way::Way;
use crate::frame::{Frame, QueueBound};
use crate::ipc::{Sender, Unread};

/// Frames given to the kernel in one call.
const BATCH: usize = 64;

/// Slots that wait for one subscriber at most; what waits behind them is copied.
pub(super) const WAITING_SLOTS: usize = 8;

/// See the module's documentation. What each message touches lies in the middle, from the end of `way` to the beginning
/// of `queue`.
#[repr(C)]
pub(super) struct Link {
    pub(super) conn: ConnId,
    pub(super) subscriber: String,
    /// By what the subscriber's node is known in both graphs, if it is in both.
    pub(super) origin: Option<u64>,
    way: Way,
    stats: Arc<LinkStats>,
    /// Sending failed; the reactor will tell the driver of the end.
    failed: bool,
    queue: SendQueue<Frame>,
}

impl Link {
    /// A link that stands, on which `unsent` is still to go of our header.
    pub(super) fn new(
        link: SubscriberLink,
        (token, stream): (Token, Arc<Stream>),
        unsent: Vec<u8>,
        bound: QueueBound,
    ) -> Self {
        let SubscriberLink { conn, subscriber, origin, stats, .. } = link;
        let way = Way::new(stream, token, unsent.len());
        let queue = SendQueue::behind(unsent, bound);
        Self { conn, subscriber, origin, way, stats, failed: false, queue }
    }

    /// Sends a frame at once if nothing waits, and otherwise lets it wait; how many were dropped for it.
    pub(super) fn offer(&mut self, reactor: &Reactor, frame: &Frame) -> u64 {
        if self.failed {
            return 0;
        }
        self.flush_if_waiting(reactor);
        let sent = if self.queue.is_empty() { self.send(frame) } else { 0 };
        if sent == frame.as_ref().len() {
            self.stats.count(1, sent as u64);
        } else if !self.failed {
            return self.wait_in_line(reactor, frame, sent);
        }
        0
    }

    fn wait_in_line(&mut self, reactor: &Reactor, frame: &Frame, sent: usize) -> u64 {
        // A subscriber that does not take its messages is not to take the slots of others with them.
        let copies = self.queue.len() >= WAITING_SLOTS && matches!(frame, Frame::Slot(_));
        let frame = if copies { self.way.copy(frame) } else { frame.clone() };
        let dropped = self.queue.push(frame, sent);
        self.stats.count_dropped(dropped);
        self.watch(reactor, true);
        dropped
    }

    /// Sends what waits, as far as it is taken.
    pub(super) fn flush(&mut self, reactor: &Reactor) {
        while !self.queue.is_empty() && !self.failed {
            let header = self.way.header_left();
            let (offered, sent) = if self.is_channel() { self.send_next() } else { self.send_batch() };
            let completed = self.queue.advance(sent);
            // The header is none of the messages.
            self.stats.count(completed, (sent - (header - self.way.header_left())) as u64);
            if sent < offered {
                break;
            }
        }
        self.watch(reactor, !self.queue.is_empty());
    }

    /// The same, with no system call if nothing does.
    pub(super) fn flush_if_waiting(&mut self, reactor: &Reactor) {
        if !self.queue.is_empty() {
            self.flush(reactor);
        }
    }

    /// Has the reactor tell when more is taken, or no longer.
    fn watch(&mut self, reactor: &Reactor, watch: bool) {
        if !self.failed {
            self.failed = self.way.watch(reactor, watch).is_err();
        }
    }

    /// Goes over to a session, where the link is known by `token`; false if that cannot be now.
    pub(super) fn go_over(&mut self, reactor: &Reactor, sender: &Arc<Sender>, token: u128) -> bool {
        self.flush(reactor);
        let gone_over = self.way.go_over(reactor, sender, token);
        self.stats.set_by_memory(self.is_channel());
        self.flush(reactor);
        gone_over
    }

    /// Goes back to the connection, if the link had gone over to this session. `unread` has what the subscriber did not
    /// read of each channel. Without memory for that, the link ends and is made anew.
    pub(super) fn fall_back(&mut self, reactor: &Reactor, sender: &Arc<Sender>, unread: &mut Unread) {
        let Some(channel) = self.way.channel_of(sender) else { return };
        self.way.fall_back();
        self.stats.set_by_memory(false);
        match unread.take_stream(channel).and_then(|bytes| self.queue.send_again(bytes)) {
            Ok(completed) => {
                self.stats.count(completed, 0);
                self.flush(reactor);
            }
            // The stream has a hole. The reactor tells of its end.
            Err(_) => {
                self.failed = true;
                self.way.end();
            }
        }
    }

    /// Whether messages can be lent to the subscriber.
    pub(super) fn is_channel(&self) -> bool {
        self.way.is_channel()
    }

    /// Has the subscriber's process map memory of which it may be lent messages later; false until it has.
    pub(super) fn give(&self, segments: &[Arc<Segment>]) -> bool {
        self.way.give(segments)
    }

    /// Takes back the memory of messages that the subscriber has read.
    pub(super) fn take_back(&self) {
        self.way.take_back();
    }

    /// Messages that were copied because the subscriber's process holds as much as it may.
    pub(super) fn copied(&self) -> u64 {
        self.way.copied()
    }

    pub(super) fn set_bound(&mut self, bound: QueueBound) {
        self.queue.set_bound(bound);
    }

    /// Messages that wait.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Whether one more message of so many bytes would push out another.
    pub(super) fn is_full(&self, bytes: usize) -> bool {
        !self.failed && self.queue.is_full(bytes)
    }

    /// True if nothing waits that could still go.
    pub(super) fn is_flushed(&self) -> bool {
        self.queue.is_empty() || self.failed
    }

    /// True if nothing is under way to the subscriber, as far as the kernel can tell: what is in memory that it shares is there.
    pub(super) fn is_delivered(&self) -> bool {
        self.failed || self.way.is_delivered()
    }

    /// Sends a message, as far as it is taken; how many bytes.
    fn send(&mut self, frame: &Frame) -> usize {
        let sent = self.way.send_frame(frame, 0);
        self.failed |= sent.is_err();
        sent.unwrap_or(0)
    }

    /// Sends the message that waits longest: how many bytes it had, and how many were taken.
    fn send_next(&mut self) -> (usize, usize) {
        let Some(front) = self.queue.front() else { return (0, 0) };
        let (offered, sent) = match front {
            Front::Preamble(bytes) => (bytes.len(), self.way.send_slices(&[IoSlice::new(bytes)])),
            Front::Message(frame, sent) => (frame.as_ref().len() - sent, self.way.send_frame(frame, sent)),
        };
        self.failed |= sent.is_err();
        (offered, sent.unwrap_or(0))
    }

    /// Sends many of those that wait at once, likewise.
    fn send_batch(&mut self) -> (usize, usize) {
        let mut slices: [IoSlice<'_>; BATCH] = std::array::from_fn(|_| IoSlice::new(&[]));
        let (mut count, mut offered) = (0, 0);
        for (place, bytes) in slices.iter_mut().zip(self.queue.slices()) {
            *place = IoSlice::new(bytes);
            offered += bytes.len();
            count += 1;
        }
        let sent = self.way.send_slices(&slices[..count]);
        self.failed |= sent.is_err();
        (offered, sent.unwrap_or(0))
    }
}
