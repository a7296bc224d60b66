//! Shared memory path of one subscriber: the sender of `runnel-delivery`, and the channel that carries its messages.
//!
//! It exists as long as memory carries the pair. Before and after, the network's own queue holds the messages: that of
//! a ROS 1 link, or that of the RTPS writer. So it begins from the [network's state](NetworkState), and ends with the
//! state from which the network continues ([`ReturnedState`]).

mod start;
mod teardown;

use std::collections::VecDeque;
use std::sync::Arc;

use runnel_core::wire::Encoding;
use runnel_delivery::{Numbered, PathId, ReachedError, SendAction, Statement};
use runnel_io::{Token, clock};
use runnel_ros1::node::LinkStats;

use super::lifespan::Lifespan;
use crate::data::stream_path::Channel;
use crate::frame::{Frame, Payload, QueueBound};
use crate::ipc::{self, Tally};
use start::policy;
pub(super) use start::{Delivery, NetworkState};
pub(super) use teardown::ReturnedState;

/// Slots in the queue of one subscriber; messages queued behind these are copied.
pub(super) const WAITING_SLOTS: usize = 8;

/// The sender's ids of the two paths.
const NETWORK: PathId = PathId(0);
const MEMORY: PathId = PathId(1);

/// See the module's documentation.
pub(super) struct MemoryPath {
    /// Identifies it to the driver when the channel is writable again.
    token: Token,
    channel: Channel,
    /// The encoding of all its messages.
    encoding: Encoding,
    tally: Tally,
    pub(super) lifespan: Option<Lifespan>,
    /// For a ROS 1 link.
    pub(super) stats: Option<Arc<LinkStats>>,
    bound: QueueBound,
    delivery: Delivery,
    /// A message that the channel has accepted in part, and the accepted bytes.
    begun: Option<(Numbered<Frame>, usize)>,
    /// Messages sent in pieces that the subscriber is not known to have read, with their end positions in the ring. It
    /// may have read some pieces of the first one when the IPC connection ends, and the other pieces are useless
    /// without these.
    in_pieces: VecDeque<(u64, Numbered<Frame>)>,
    /// While the subscriber waits for the network: messages that it has read but may not have delivered to its user. A
    /// ROS 1 link that serves it next delivers these.
    undrained: Option<Vec<(u64, Frame)>>,
    /// A skip that is still to be stated.
    skip: Option<Statement>,
    /// Statements about the subscriptions that share the link, each before the message of the given number.
    pub(super) statements: VecDeque<(u64, Statement)>,
    /// The end position of the last message in the ring, once it was needed.
    end: Option<u64>,
}

impl MemoryPath {
    pub(super) fn new(
        (token, channel): (Token, Channel),
        (delivery, bound): (Delivery, QueueBound),
        encoding: Encoding,
    ) -> Self {
        let (lifespan, stats, tally) = (None, None, Tally::default());
        Self {
            token,
            channel,
            encoding,
            tally,
            lifespan,
            stats,
            bound,
            delivery,
            begun: None,
            in_pieces: VecDeque::new(),
            undrained: None,
            skip: None,
            statements: VecDeque::new(),
            end: None,
        }
    }

    /// Allows that a ROS 1 link serves the subscriber instead.
    pub(super) fn share_with_link(&mut self) {
        self.undrained = self.delivery.0.awaits_reached().then(Vec::new);
    }

    /// Messages that the subscriber has read but may not have delivered to its user.
    pub(super) fn take_undrained(&mut self) -> Vec<(u64, Frame)> {
        let mut undrained = self.undrained.take().unwrap_or_default();
        if let Some(lifespan) = &mut self.lifespan {
            lifespan.retain_valid(clock::monotonic(), &mut undrained);
        }
        undrained
    }

    fn note_undrained(&mut self, message: &Numbered<Frame>) {
        if let Some(undrained) = &mut self.undrained {
            // Like the subscriber, this must not occupy slots with waiting messages.
            undrained.push((message.number, message.message.to_own()));
        }
    }

    /// Whether it uses this IPC connection.
    pub(super) fn is_of(&self, sender: &Arc<ipc::Sender>) -> bool {
        Arc::ptr_eq(&self.channel.sender, sender)
    }

    /// The IPC connection that it uses.
    pub(super) fn ipc_connection(&self) -> &ipc::Sender {
        &self.channel.sender
    }

    /// The highest epoch begun.
    pub(super) fn epoch(&self) -> u32 {
        self.delivery.0.epoch()
    }

    /// Messages copied because the subscriber's process had reached its quota.
    pub(super) fn shm_copies(&self) -> u64 {
        self.tally.shm_copies
    }

    /// Whether the subscriber has yet to get the message of this number.
    pub(super) fn is_next(&self, number: u64) -> bool {
        self.delivery.0.next_number() <= number
    }

    /// Sends a message at once if the queue is empty, otherwise queues it. Returns the number of dropped messages.
    pub(super) fn send_or_queue(&mut self, number: u64, frame: &Frame) -> u64 {
        self.end = None;
        if self.lifespan.is_some() || !self.is_steady() {
            self.flush();
            let waiting = self.waiting();
            if let Some(lifespan) = &mut self.lifespan {
                lifespan.record_write(number, clock::monotonic(), waiting);
            }
        }
        if self.is_steady() && self.send_at_once(number, frame) {
            return 0;
        }
        let bytes = frame.as_ref().len();
        let frame = self.frame_to_queue(frame);
        // Its number is above all earlier ones.
        let dropped = self.delivery.0.publish(number, frame, bytes).unwrap_or_default();
        self.flush();
        dropped
    }

    fn is_steady(&self) -> bool {
        self.begun.is_none()
            && self.skip.is_none()
            && self.statements.is_empty()
            && self.delivery.0.is_steady(MEMORY)
    }

    /// False if the channel accepts no byte of it.
    fn send_at_once(&mut self, number: u64, frame: &Frame) -> bool {
        let Some(sent) = self.send(number, frame, 0) else { return false };
        self.delivery.0.carried_until(MEMORY, number + 1);
        let bytes = frame.as_ref().len();
        if sent == bytes {
            self.count(bytes);
            if self.tally.in_pieces {
                self.keep_until_read(Numbered { number, bytes, message: frame.clone() });
            }
        } else {
            self.begun = Some((Numbered { number, bytes, message: self.frame_to_queue(frame) }, sent));
            self.wait();
        }
        true
    }

    fn send(&mut self, number: u64, frame: &Frame, sent: usize) -> Option<usize> {
        let channel = (self.channel.number, number);
        self.channel.sender.send_sample(channel, frame, sent, &mut self.tally)
    }

    /// Keeps a message that was sent completely, in pieces, until it is known to be read.
    fn keep_until_read(&mut self, message: Numbered<Frame>) {
        let sender = &self.channel.sender;
        let read = sender.read_position();
        let is_read = |(end, _): &(u64, Numbered<Frame>)| *end <= read;
        while self.in_pieces.front().is_some_and(is_read) {
            self.in_pieces.pop_front();
        }
        self.in_pieces.push_back((sender.written(), message));
    }

    /// Counts a message that was sent completely.
    fn count(&self, bytes: usize) {
        if let Some(stats) = &self.stats {
            stats.count_framed(bytes);
        }
    }

    fn frame_to_queue(&mut self, frame: &Frame) -> Frame {
        // A slow subscriber must not occupy slots that other subscribers need.
        let copies = self.waiting() >= WAITING_SLOTS && matches!(frame.payload(), Payload::Slot(_));
        self.tally.shm_copies += u64::from(copies);
        if copies { frame.to_own() } else { frame.clone() }
    }

    /// The driver calls [`flush`](Self::flush) when the channel is writable.
    fn wait(&self) {
        self.channel.sender.wait(self.token, &self.tally);
    }

    /// Sends the queue, until the channel accepts no more.
    pub(super) fn flush(&mut self) {
        self.expire();
        if !self.finish_begun() {
            return;
        }
        self.delivery.0.path_writable(MEMORY);
        while let Some(action) = self.delivery.0.poll_action() {
            match action {
                SendAction::Skip { path: MEMORY, statement, .. } => self.skip = Some(statement),
                SendAction::Send { message, .. } => {
                    if !self.send_statements(message.number) {
                        self.delivery.0.return_unsent(MEMORY, message);
                        return self.wait();
                    }
                    if !self.send_queued(message) {
                        return;
                    }
                }
                SendAction::Begin { .. } | SendAction::Skip { .. } | SendAction::Close { .. } => {}
            }
        }
        let is_sent = self.delivery.0.queue_len() > 0 || self.send_statements(u64::MAX);
        if !is_sent {
            self.wait();
        }
        if let Some(skip) = &self.skip {
            match self.channel.sender.send_statement(self.channel.number, skip) {
                true => self.skip = None,
                false => self.wait(),
            }
        }
    }

    /// Sends the statements due before the message of this number. False if the channel did not accept all.
    fn send_statements(&mut self, number: u64) -> bool {
        while let Some((_, statement)) = self.statements.front().filter(|(at, _)| *at <= number) {
            if !self.channel.sender.send_statement(self.channel.number, statement) {
                return false;
            }
            self.statements.pop_front();
        }
        true
    }

    /// Sends the rest of a partly sent message. False if some of it remains.
    fn finish_begun(&mut self) -> bool {
        let Some((message, before)) = self.begun.take() else { return true };
        let sent = before + self.send(message.number, &message.message, before).unwrap_or(0);
        if sent < message.bytes {
            self.begun = Some((message, sent));
            self.wait();
            return false;
        }
        self.count(message.bytes);
        self.note_undrained(&message);
        self.keep_until_read(message);
        true
    }

    /// False if the channel did not accept all of it.
    fn send_queued(&mut self, message: Numbered<Frame>) -> bool {
        let sent = self.send(message.number, &message.message, 0);
        if sent.is_some() {
            // The message's number implies the skip.
            self.skip = None;
        }
        match sent {
            Some(sent) if sent == message.bytes => {
                self.count(sent);
                self.note_undrained(&message);
                if self.tally.in_pieces {
                    self.keep_until_read(message);
                }
                return true;
            }
            Some(sent) => {
                self.delivery.0.path_blocked(MEMORY);
                self.begun = Some((message, sent));
            }
            None => self.delivery.0.return_unsent(MEMORY, message),
        }
        self.wait();
        false
    }

    /// Drops expired messages.
    fn expire(&mut self) {
        if let Some(lifespan) = &mut self.lifespan {
            let first = lifespan.drop_expired(clock::monotonic());
            self.delivery.0.expire_before(first);
        }
    }

    /// The subscriber reports its position.
    pub(super) fn reached(&mut self, epoch: u32, next: u64) -> Result<(), ReachedError> {
        self.delivery.0.reached(epoch, next)?;
        self.undrained.take_if(|_| !self.delivery.0.awaits_reached());
        self.flush();
        Ok(())
    }

    /// Queued messages.
    pub(super) fn waiting(&self) -> usize {
        self.delivery.0.queue_len()
    }

    /// Bytes of the queued messages.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.delivery.0.queue_bytes()
    }

    /// Whether one more message of `bytes` bytes would drop another.
    pub(super) fn is_full(&self, bytes: usize) -> bool {
        let waiting = self.delivery.0.queue_bytes();
        self.waiting() > 0 && (self.waiting() >= self.bound.messages || waiting + bytes > self.bound.bytes)
    }

    /// Like [`is_full`](Self::is_full), for half of the byte limit: the length of the next message is not known yet.
    pub(super) fn is_half_full(&self) -> bool {
        self.is_full(self.bound.bytes / 2)
    }

    pub(super) fn set_bound(&mut self, bound: QueueBound) {
        self.bound = bound;
        self.delivery.0.set_policy(policy(bound), bound.bytes);
    }

    /// True if the IPC connection has everything.
    pub(super) fn is_sent(&self) -> bool {
        self.begun.is_none() && self.statements.is_empty() && self.delivery.0.queue_len() == 0
    }

    /// True if the subscriber's process has read everything. What it leaves in the ring when it unmatches a writer is
    /// lost.
    pub(super) fn has_arrived(&mut self) -> bool {
        let sender = &self.channel.sender;
        self.is_sent() && sender.is_read(*self.end.get_or_insert_with(|| sender.written()))
    }
}
