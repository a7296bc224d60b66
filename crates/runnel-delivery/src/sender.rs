//! Sender: the publisher's end of one pair. Only it decides which path carries a message.
//!
//! Each stream and subscription has one sender. Its send queue is above the paths; a message leaves it when a path
//! takes it. The rules of a change of path are in [`changes`].

mod action;
mod changes;
mod paths;
mod snapshot;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::limits::{Credit, MAX_NUMBER};
use crate::path::{Order, PathId};
use crate::send_queue::{Numbered, QueuePolicy, SendQueue};
use crate::statement::{Statement, StreamId};

pub use action::{PublishError, ReachedError, SendAction, SenderOptions, SenderState};
pub use changes::{PathError, SwitchError};
use paths::SenderPath;
pub use snapshot::SenderSnapshot;

/// The publisher's end of one pair.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sender<M> {
    id: StreamId,
    credit: Credit,
    queue: SendQueue<M>,
    /// The number after the last published one.
    next_number: u64,
    /// The number after the highest one that a path accepted.
    next_unsent: u64,
    epoch: u32,
    state: SenderState,
    /// The Begin of the current epoch is still to be written.
    begin_due: bool,
    /// No other path still carries a message before the current Begin.
    is_settled: bool,
    /// The subscriber has all before this number.
    reached: u64,
    paths: Vec<SenderPath>,
    /// An inactive path has a Skip or a Close due.
    has_left_paths: bool,
    /// While draining or paced: the messages sent from `reached` on, by number, with their bytes.
    unreached: VecDeque<(u64, usize)>,
    unreached_bytes: usize,
    /// The credit also applies while a path is active.
    is_paced: bool,
}

impl<M> Sender<M> {
    /// Creates a sender without a path.
    pub fn new(options: SenderOptions) -> Self {
        let SenderOptions { id, first, policy, max_bytes, credit } = options;
        let first = first.clamp(1, MAX_NUMBER);
        Self {
            id,
            credit,
            queue: SendQueue::new(policy, max_bytes),
            next_number: first,
            next_unsent: first,
            epoch: 0,
            state: SenderState::Waiting { from: first },
            begin_due: false,
            is_settled: false,
            reached: first,
            paths: Vec::new(),
            has_left_paths: false,
            unreached: VecDeque::new(),
            unreached_bytes: 0,
            is_paced: false,
        }
    }

    /// Enables flow control: the subscriber holds messages until its user takes them, and reports its position
    /// ([`Receiver::report_every`](crate::Receiver::report_every)). From now on the credit also applies while a path is
    /// active. One message may exceed the bytes.
    pub fn pace(&mut self) {
        self.is_paced = true;
    }

    /// Returns the current state and path.
    pub fn state(&self) -> SenderState {
        self.state
    }

    /// Returns the greatest epoch begun; 0 before the first.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Returns the number after the last published one.
    pub fn next_number(&self) -> u64 {
        self.next_number
    }

    /// Returns the number before which the subscriber is known to have all messages.
    pub fn highest_reached(&self) -> u64 {
        self.reached
    }

    /// Returns the number of queued messages.
    pub fn queue_len(&self) -> usize {
        self.queue.len()
    }

    /// Returns the bytes of queued messages.
    pub fn queue_bytes(&self) -> usize {
        self.queue.bytes()
    }

    /// Returns the numbers of the queued messages.
    pub fn queued(&self) -> impl Iterator<Item = u64> {
        self.queue.iter().map(|message| message.number)
    }

    /// Returns the number of messages that this sender dropped.
    pub fn dropped(&self) -> u64 {
        self.queue.dropped()
    }

    /// Changes the queue policy, from the next message on.
    pub fn set_policy(&mut self, policy: QueuePolicy, max_bytes: usize) {
        self.queue.set_policy(policy, max_bytes);
    }

    /// Returns whether [`publish`](Self::publish) refuses a message of this size now.
    pub fn is_full(&self, bytes: usize) -> bool {
        self.queue.is_refused(bytes)
    }

    /// Queues a message for the subscriber; returns how many older ones were dropped. Numbers ascend; gaps are allowed.
    ///
    /// # Errors
    /// The queue is full and keeps all, or the number is out of order.
    pub fn publish(&mut self, number: u64, message: M, bytes: usize) -> Result<u64, PublishError> {
        if number < self.next_number || number > MAX_NUMBER {
            return Err(PublishError::NumberOutOfOrder(number));
        }
        if self.queue.is_refused(bytes) {
            return Err(PublishError::Full);
        }
        self.next_number = number + 1;
        let waits = matches!(self.state, SenderState::Waiting { .. });
        if waits && matches!(self.queue.policy(), QueuePolicy::BestEffort { .. }) {
            self.queue.count_dropped(1);
            return Ok(1);
        }
        Ok(self.queue.push(Numbered { number, bytes, message }))
    }

    /// Records that a path already carries a message: for another subscription of the same link, or by one RTPS write
    /// for all readers. Returns true if it is this sender's next message and path; the sender then does not send it.
    pub fn carried(&mut self, path: PathId, number: u64) -> bool {
        let is_next = self.queue.front().is_some_and(|first| first.number == number);
        // The Begin and Skip go first.
        let is_stated = !self.begin_due && self.path(path).is_some_and(|known| known.stated == number);
        let is_due = self.state.path() == Some(path) && is_next && is_stated;
        if !is_due || !self.can_send_first() || self.is_awaiting_settled_begin(path) {
            return false;
        }
        self.take_first(path);
        true
    }

    /// Records that one RTPS write for all readers carried all messages before `next` on this path, without
    /// [`publish`](Self::publish). Returns false unless the sender is active on the path with nothing left to send or
    /// state; then publish each message.
    #[inline]
    pub fn carried_until(&mut self, path: PathId, next: u64) -> bool {
        if !self.is_steady(path) || next < self.next_number || next > MAX_NUMBER + 1 {
            return false;
        }
        let Some(active) = self.path_mut(path) else { return false };
        active.sent_before(next);
        self.next_number = next;
        self.next_unsent = next;
        true
    }

    /// Steady state: returns true if this path is active, without limit, with nothing left to send or state. It may
    /// then carry messages without [`publish`](Self::publish); record them with [`carried_until`](Self::carried_until).
    #[inline]
    pub fn is_steady(&self, path: PathId) -> bool {
        let is_idle = self.state == SenderState::Active { path } && self.queue.len() == 0 && !self.is_paced;
        is_idle && self.path(path).is_some_and(|active| active.stated >= self.next_number)
    }

    /// Removes queued messages below this number, whose lifespan has ended. Returns their number; they do not count as
    /// dropped.
    pub fn expire_before(&mut self, number: u64) -> usize {
        let before = self.queue.len();
        self.queue.forget_before(number);
        before - self.queue.len()
    }

    /// Puts the message of the last [`SendAction::Send`] back, of which the path accepted no byte. It is the first in the
    /// queue, and the path is blocked.
    pub fn return_unsent(&mut self, path: PathId, message: Numbered<M>) {
        let number = message.number;
        if let Some(active) = self.path_mut(path)
            && active.stated == number + 1
        {
            active.stated = number;
        }
        self.queue.push_front(message);
        self.path_blocked(path);
    }

    /// Records that the path takes no more messages for now. A Begin is still returned, at most one at a time, and so
    /// is a Skip for RTPS: a GAP needs no capacity of the writer's window.
    pub fn path_blocked(&mut self, path: PathId) {
        self.set_blocked(path, true);
    }

    /// Records that the path takes messages again.
    pub fn path_writable(&mut self, path: PathId) {
        self.set_blocked(path, false);
    }

    fn set_blocked(&mut self, path: PathId, blocked: bool) {
        if let Some(path) = self.path_mut(path) {
            path.is_blocked = blocked;
        }
    }

    /// Handles a Reached of the subscriber, by any path.
    ///
    /// # Errors
    /// It cannot be true; it changes nothing.
    pub fn reached(&mut self, epoch: u32, next: u64) -> Result<(), ReachedError> {
        if epoch > self.epoch {
            return Err(ReachedError::UnknownEpoch(epoch));
        }
        if next > self.next_number {
            return Err(ReachedError::NotPublished(next));
        }
        self.reached = self.reached.max(next);
        self.queue.forget_before(self.reached);
        while let Some((_, bytes)) = self.unreached.pop_front_if(|(number, _)| *number < self.reached) {
            self.unreached_bytes -= bytes;
        }
        if let SenderState::Draining { path, from } = self.state
            && epoch == self.epoch
            && self.reached >= from
        {
            self.is_drained(path);
        }
        Ok(())
    }

    /// Returns whether the subscriber has not confirmed the current epoch. While true, call [`repeat`](Self::repeat)
    /// with back-off: a Begin or a Reached may be lost where they are datagrams.
    pub fn awaits_reached(&self) -> bool {
        matches!(self.state, SenderState::Draining { .. })
    }

    /// Schedules the Begin of the current epoch again, which the subscriber answers.
    pub fn repeat(&mut self) {
        self.begin_due |= self.awaits_reached();
    }

    /// Returns the next action. Call it until it returns `None`, after each call that changes the sender.
    pub fn poll_action(&mut self) -> Option<SendAction<M>> {
        if self.has_left_paths
            && let Some(action) = self.poll_left_paths()
        {
            return Some(action);
        }
        let path = match self.state {
            SenderState::Active { path } | SenderState::Draining { path, .. } => path,
            SenderState::Waiting { .. } | SenderState::Emptying { .. } => return None,
        };
        let active = self.path_mut(path)?;
        let (begin, states) = (active.first, active.path.has_statements);
        let (can_skip, can_send) = (active.can_take_skips(), !active.is_blocked);
        if self.begin_due {
            self.begin_due = false;
            if states {
                let (id, epoch, from, is_settled) = (self.id, self.epoch, begin, self.is_settled);
                let statement = Statement::Begin { id, epoch, from, is_settled };
                return Some(SendAction::Begin { path, statement });
            }
        }
        if self.is_awaiting_settled_begin(path) {
            return None;
        }
        if can_skip && let Some(skip) = self.poll_skip(path) {
            return Some(skip);
        }
        if !can_send || !self.can_send_first() {
            return None;
        }
        self.take_first(path).map(|message| SendAction::Send { path, message })
    }

    /// States numbers that will not follow immediately: that takes no credit.
    fn poll_skip(&mut self, path: PathId) -> Option<SendAction<M>> {
        let (id, first_unsent) = (self.id, self.first_unsent());
        let active = self.path_mut(path)?;
        let from = active.stated;
        if from >= first_unsent {
            return None;
        }
        active.sent_before(first_unsent);
        active.skip_action(id, from, first_unsent)
    }

    /// Returns the first message that no path has next_unsent, or the next one to be published.
    fn first_unsent(&self) -> u64 {
        self.queue.front().map_or(self.next_number, |first| first.number)
    }

    /// Returns whether messages wait for the answer to a settled Begin. A datagram may overtake that Begin, and only it
    /// marks the end of a path without numbers.
    fn is_awaiting_settled_begin(&self, path: PathId) -> bool {
        let keeps_order = |known: &SenderPath| known.path.traits().order == Order::Fifo;
        self.is_settled && self.awaits_reached() && !self.path(path).is_some_and(keeps_order)
    }

    fn can_send_first(&self) -> bool {
        let Some(first) = self.queue.front() else { return false };
        let path = match self.state {
            SenderState::Active { .. } if !self.is_paced => return true,
            SenderState::Active { path } | SenderState::Draining { path, .. } => path,
            SenderState::Waiting { .. } | SenderState::Emptying { .. } => return false,
        };
        let order = self.path(path).map(|known| known.path.traits().order);
        // Best effort does not wait: its receiver discards messages that it cannot hold.
        if order == Some(Order::Lossy) || first.number == self.reached {
            return true;
        }
        let is_sent = self.unreached.binary_search_by_key(&first.number, |(number, _)| *number).is_ok();
        let bytes = if is_sent { 0 } else { first.bytes };
        let has_bytes = match self.is_paced {
            true => self.unreached_bytes < self.credit.bytes,
            false => self.unreached_bytes.saturating_add(bytes) <= self.credit.bytes,
        };
        first.number < self.reached.saturating_add(u64::from(self.credit.messages)) && has_bytes
    }

    fn take_first(&mut self, path: PathId) -> Option<Numbered<M>> {
        let message = self.queue.pop()?;
        self.next_unsent = self.next_unsent.max(message.number + 1);
        if self.is_paced || matches!(self.state, SenderState::Draining { .. }) {
            self.count_unreached(message.number, message.bytes);
        }
        if let Some(active) = self.path_mut(path) {
            active.sent_before(message.number + 1);
        }
        Some(message)
    }

    /// Records a sent message. The list has no more entries than the credit has messages, since numbers beyond it are
    /// not sent while draining; those of lossy paths are unlimited and not counted.
    fn count_unreached(&mut self, number: u64, bytes: usize) {
        if self.unreached.len() >= self.credit.messages as usize {
            return;
        }
        if let Err(index) = self.unreached.binary_search_by_key(&number, |(number, _)| *number) {
            self.unreached.insert(index, (number, bytes));
            self.unreached_bytes = self.unreached_bytes.saturating_add(bytes);
        }
    }
}
