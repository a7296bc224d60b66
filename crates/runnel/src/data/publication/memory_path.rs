//! One subscriber that reads its messages in memory that both processes share: the sender of the delivery machine, and the
//! channel that takes what that sends.
//!
//! There is one as long as memory carries the pair. Before and after, the network's own queue holds what the sender would: that
//! of a link of ROS 1, or the writer of the participant. So it begins where the network [left off](LeftOff), and ends with what
//! the network goes on with ([`Ended`]).

mod beginning;
mod ending;

use std::collections::VecDeque;
use std::sync::Arc;

use runnel_core::wire::Encoding;
use runnel_delivery::{Numbered, PathId, ReachedError, SendAction, Statement};
use runnel_io::{Token, clock};
use runnel_ros1::node::LinkStats;

use super::life::Life;
use crate::data::way::Channel;
use crate::frame::{Frame, Payload, QueueBound};
use crate::ipc::{self, Tally};
use beginning::policy;
pub(super) use beginning::{Delivery, LeftOff};
pub(super) use ending::Ended;

/// Slots that wait for one subscriber at most; what waits behind them is copied.
pub(super) const WAITING_SLOTS: usize = 8;

/// The sender's names of the two paths.
const NETWORK: PathId = PathId(0);
const MEMORY: PathId = PathId(1);

/// See the module's documentation.
pub(super) struct MemoryPath {
    /// By which the driver is told when the channel takes more.
    token: Token,
    channel: Channel,
    /// Of all its messages.
    encoding: Encoding,
    tally: Tally,
    pub(super) life: Option<Life>,
    /// Of a link of ROS 1.
    pub(super) stats: Option<Arc<LinkStats>>,
    bound: QueueBound,
    delivery: Delivery,
    /// A message of which the channel has taken a part, and how many bytes.
    begun: Option<(Numbered<Frame>, usize)>,
    /// Messages that went in pieces and are not known to be read, with where each ends in the session. Of the first the
    /// subscriber may have read some pieces when the session ends: the others alone are no message.
    in_pieces: VecDeque<(u64, Numbered<Frame>)>,
    /// While the subscriber waits for the network, what it has read but may not have given to its user: a link of ROS 1 that serves
    /// it next brings that.
    undrained: Option<Vec<(u64, Frame)>>,
    /// What is still to be stated.
    skip: Option<Statement>,
    /// What is to be stated of subscriptions that share the link, before the message of the number that is with it.
    pub(super) statements: VecDeque<(u64, Statement)>,
    /// Where the last message ends in the session, once that was asked for.
    end: Option<u64>,
}

impl MemoryPath {
    pub(super) fn new(
        (token, channel): (Token, Channel),
        (delivery, bound): (Delivery, QueueBound),
        encoding: Encoding,
    ) -> Self {
        let (life, stats, tally) = (None, None, Tally::default());
        Self {
            token,
            channel,
            encoding,
            tally,
            life,
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

    /// A link of ROS 1 may serve the subscriber instead.
    pub(super) fn share_with_link(&mut self) {
        self.undrained = self.delivery.0.awaits_reached().then(Vec::new);
    }

    /// What the subscriber has read but may not have given to its user.
    pub(super) fn take_undrained(&mut self) -> Vec<(u64, Frame)> {
        let mut undrained = self.undrained.take().unwrap_or_default();
        if let Some(life) = &mut self.life {
            life.retain_alive(clock::monotonic(), &mut undrained);
        }
        undrained
    }

    fn note_undrained(&mut self, message: &Numbered<Frame>) {
        if let Some(undrained) = &mut self.undrained {
            // The subscriber holds no slots of what waits either.
            undrained.push((message.number, message.message.to_own()));
        }
    }

    /// Whether it goes by this session.
    pub(super) fn is_of(&self, sender: &Arc<ipc::Sender>) -> bool {
        Arc::ptr_eq(&self.channel.sender, sender)
    }

    /// The session that it goes by.
    pub(super) fn session(&self) -> &ipc::Sender {
        &self.channel.sender
    }

    /// The greatest epoch begun.
    pub(super) fn epoch(&self) -> u32 {
        self.delivery.0.epoch()
    }

    /// Messages that were copied because the subscriber's process holds as much as it may.
    pub(super) fn copied(&self) -> u64 {
        self.tally.copied
    }

    /// Whether this is the number of a message that it has yet to get.
    pub(super) fn is_next(&self, number: u64) -> bool {
        self.delivery.0.next_number() <= number
    }

    /// Sends a message at once if nothing waits, and otherwise lets it wait; how many were dropped for it.
    pub(super) fn offer(&mut self, number: u64, frame: &Frame) -> u64 {
        self.end = None;
        if self.life.is_some() || !self.is_steady() {
            self.flush();
            let waiting = self.waiting();
            if let Some(life) = &mut self.life {
                life.begin(number, clock::monotonic(), waiting);
            }
        }
        if self.is_steady() && self.send_at_once(number, frame) {
            return 0;
        }
        let bytes = frame.as_ref().len();
        let frame = self.frame_to_queue(frame);
        // Its number is above all before.
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

    /// False if the channel takes nothing of it.
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

    /// A message was sent whole, in pieces.
    fn keep_until_read(&mut self, message: Numbered<Frame>) {
        let sender = &self.channel.sender;
        let read = sender.read_position();
        let is_read = |(end, _): &(u64, Numbered<Frame>)| *end <= read;
        while self.in_pieces.front().is_some_and(is_read) {
            self.in_pieces.pop_front();
        }
        self.in_pieces.push_back((sender.written(), message));
    }

    /// A message was sent whole.
    fn count(&self, bytes: usize) {
        if let Some(stats) = &self.stats {
            stats.count_framed(bytes);
        }
    }

    fn frame_to_queue(&mut self, frame: &Frame) -> Frame {
        // A subscriber that does not take its messages is not to take the slots of others with them.
        let copies = self.waiting() >= WAITING_SLOTS && matches!(frame.payload(), Payload::Slot(_));
        self.tally.copied += u64::from(copies);
        if copies { frame.to_own() } else { frame.clone() }
    }

    /// The driver calls [`flush`](Self::flush) when the channel takes more.
    fn wait(&self) {
        self.channel.sender.wait(self.token, &self.tally);
    }

    /// Sends what waits, as far as it is taken.
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
            match self.channel.sender.send_skip(self.channel.number, skip) {
                true => self.skip = None,
                false => self.wait(),
            }
        }
    }

    /// States what is to be stated before the message of this number. False if the channel does not take all of it.
    fn send_statements(&mut self, number: u64) -> bool {
        while let Some((_, statement)) = self.statements.front().filter(|(at, _)| *at <= number) {
            if !self.channel.sender.send_skip(self.channel.number, statement) {
                return false;
            }
            self.statements.pop_front();
        }
        true
    }

    /// Sends the rest of the message that is begun. False if there is still some.
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

    /// False if the channel does not take all of it.
    fn send_queued(&mut self, message: Numbered<Frame>) -> bool {
        let sent = self.send(message.number, &message.message, 0);
        if sent.is_some() {
            // Its number says as much.
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

    /// Drops what waits and is not worth delivering any more.
    fn expire(&mut self) {
        if let Some(life) = &mut self.life {
            let first = life.pass(clock::monotonic());
            self.delivery.0.expire_before(first);
        }
    }

    /// The subscriber tells how far it is.
    pub(super) fn reached(&mut self, epoch: u32, next: u64) -> Result<(), ReachedError> {
        self.delivery.0.reached(epoch, next)?;
        self.undrained.take_if(|_| !self.delivery.0.awaits_reached());
        self.flush();
        Ok(())
    }

    /// How many messages wait.
    pub(super) fn waiting(&self) -> usize {
        self.delivery.0.queue_len()
    }

    /// How many bytes they have.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.delivery.0.queue_bytes()
    }

    /// Whether one more message of so many bytes would push out another.
    pub(super) fn is_full(&self, bytes: usize) -> bool {
        let waiting = self.delivery.0.queue_bytes();
        self.waiting() > 0 && (self.waiting() >= self.bound.messages || waiting + bytes > self.bound.bytes)
    }

    /// The same with half of what may wait: how long the next message is, nobody knows yet.
    pub(super) fn has_little_room(&self) -> bool {
        self.is_full(self.bound.bytes / 2)
    }

    pub(super) fn set_bound(&mut self, bound: QueueBound) {
        self.bound = bound;
        self.delivery.0.set_policy(policy(bound), bound.bytes);
    }

    /// True if all went to the session.
    pub(super) fn is_sent(&self) -> bool {
        self.begun.is_none() && self.statements.is_empty() && self.delivery.0.queue_len() == 0
    }

    /// True if the subscriber's process has read all: what it leaves in the ring when it parts from a writer is lost.
    pub(super) fn has_arrived(&mut self) -> bool {
        let sender = &self.channel.sender;
        self.is_sent() && sender.is_read(*self.end.get_or_insert_with(|| sender.written()))
    }
}
