//! Paths whose messages have no numbers: TCPROS of other implementations and older releases, and UDPROS.
//!
//! The sender begins on such a path, or leaves it, only when the old path is empty. So the receiver reads the old path
//! to its end first ([`DrainPath`](super::ReceiveAction::DrainPath)) and appends the messages of the new one. A Begin
//! waits until all paths without numbers are read, which the owner does immediately.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::held::{Held, Window};
use super::paths::Drain;
use super::{Accepted, ReceiveAction, ReceiveError, Receiver};
use crate::limits::Credit;
use crate::path::PathId;

/// Messages without numbers that are not delivered yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Unnumbered<M> {
    messages: VecDeque<(usize, M)>,
    bytes: usize,
}

impl<M> Default for Unnumbered<M> {
    fn default() -> Self {
        Self { messages: VecDeque::new(), bytes: 0 }
    }
}

impl<M> Unnumbered<M> {
    fn push(&mut self, bytes: usize, message: M, credit: Credit) -> Accepted {
        if self.messages.len() >= credit.messages as usize || self.bytes >= credit.bytes {
            return Accepted::Discarded;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.messages.push_back((bytes, message));
        Accepted::Taken
    }

    fn pop(&mut self) -> Option<M> {
        let (bytes, message) = self.messages.pop_front()?;
        self.bytes = self.bytes.saturating_sub(bytes);
        Some(message)
    }
}

/// A deferred Begin, and the messages of its path after it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Deferred<M> {
    path: PathId,
    epoch: u32,
    from: u64,
    /// No path still carries a message before `from`.
    is_settled: bool,
    /// The greatest Skip.
    position: u64,
    /// Each message with the greatest Skip before it. Their number is limited by the credit, which the sender observes
    /// until the Begin is answered.
    messages: Vec<(u64, Held<M>)>,
    bytes: usize,
}

/// State of the paths without numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plain<M> {
    /// The path whose messages are delivered, and its messages that wait for a poll.
    current: Option<PathId>,
    ready: Unnumbered<M>,
    /// The path that begins when all others are read to their ends, and its messages.
    successor: Option<PathId>,
    waiting: Unnumbered<M>,
    /// The number of the first message without one; 0 if unknown.
    start: u64,
    delivered: u64,
    /// A Begin that waits until these paths are read to their ends.
    deferred: Option<Deferred<M>>,
}

impl<M> Default for Plain<M> {
    fn default() -> Self {
        let (ready, waiting) = (Unnumbered::default(), Unnumbered::default());
        Self { current: None, ready, successor: None, waiting, start: 0, delivered: 0, deferred: None }
    }
}

impl<M> Plain<M> {
    pub(super) fn current(&self) -> Option<PathId> {
        self.current
    }

    pub(super) fn held(&self) -> usize {
        let deferred = self.deferred.as_ref().map_or(0, |deferred| deferred.messages.len());
        self.ready.messages.len() + self.waiting.messages.len() + deferred
    }

    pub(super) fn bytes(&self) -> usize {
        let deferred = self.deferred.as_ref().map_or(0, |deferred| deferred.bytes);
        self.ready.bytes.saturating_add(self.waiting.bytes).saturating_add(deferred)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none() && self.successor.is_none() && self.deferred.is_none()
    }

    /// Returns whether the pair has switched to a path without numbers, so that numbered messages are obsolete.
    pub(super) fn has_replaced_numbered(&self) -> bool {
        self.current.is_some()
    }

    /// Queues a message of the path of a deferred Begin; returns it if it is of another path.
    pub(super) fn defer(&mut self, path: PathId, held: Held<M>, credit: Credit) -> Result<Accepted, Held<M>> {
        let Some(deferred) = self.deferred.as_mut().filter(|deferred| deferred.path == path) else {
            return Err(held);
        };
        let is_full = deferred.messages.len() >= credit.messages as usize
            || deferred.bytes.saturating_add(held.bytes()) > credit.bytes && !deferred.messages.is_empty();
        if is_full {
            return Ok(Accepted::Discarded);
        }
        deferred.bytes = deferred.bytes.saturating_add(held.bytes());
        deferred.messages.push((deferred.position, held));
        Ok(Accepted::Taken)
    }

    /// Records a Skip of the path of a deferred Begin; false if it is of another path.
    pub(super) fn defer_skip(&mut self, path: PathId, to: u64) -> bool {
        let deferred = self.deferred.as_mut().filter(|deferred| deferred.path == path);
        deferred.map(|deferred| deferred.position = deferred.position.max(to)).is_some()
    }

    /// Returns the number of the next message, if the messages without numbers were counted from a known one.
    pub(super) fn counted_next(&self) -> Option<u64> {
        (self.current.is_some() && self.start > 0).then(|| self.start.saturating_add(self.delivered))
    }
}

impl<M> Receiver<M> {
    /// Steady state of a path without numbers: returns true if it is the current one and nothing waits. The caller then
    /// delivers the message. If false, call [`message_unnumbered`](Self::message_unnumbered).
    #[inline]
    pub fn accept_unnumbered(&mut self, path: PathId) -> bool {
        let plain = &mut self.plain;
        let is_steady = plain.current == Some(path)
            && plain.ready.messages.is_empty()
            && plain.successor.is_none()
            && self.lost.is_none();
        plain.delivered = plain.delivered.saturating_add(u64::from(is_steady));
        is_steady
    }

    /// Returns whether one more message without a number can wait. If not, the owner stops reading the connection.
    pub fn has_capacity_unnumbered(&self, path: PathId) -> bool {
        let queue = if self.plain.current == Some(path) { &self.plain.ready } else { &self.plain.waiting };
        queue.messages.len() < self.credit.messages as usize && queue.bytes < self.credit.bytes
    }

    /// Handles a message of a path without numbers. Returns [`Accepted::Discarded`] if too many wait
    /// ([`has_capacity_unnumbered`](Self::has_capacity_unnumbered)).
    ///
    /// # Errors
    /// The path has numbers, or is not known.
    pub fn message_unnumbered(
        &mut self,
        path: PathId,
        message: M,
        bytes: usize,
    ) -> Result<Accepted, ReceiveError> {
        let credit = self.credit;
        if self.live_path(path)?.path.is_numbered() {
            return Err(ReceiveError::WrongNumbering(path));
        }
        if let Some(known) = self.path_mut(path)
            && known.drain == Drain::Done
        {
            known.drain = Drain::Idle;
        }
        if self.plain.current == Some(path) {
            return Ok(self.plain.ready.push(bytes, message, credit));
        }
        if *self.plain.successor.get_or_insert(path) != path {
            return Ok(Accepted::Discarded);
        }
        let accepted = self.plain.waiting.push(bytes, message, credit);
        self.drain_others(path);
        Ok(accepted)
    }

    fn drain_others(&mut self, successor: PathId) {
        let current = self.plain.current;
        for known in self.paths.iter_mut().filter(|known| known.path.id != successor) {
            let is_used = known.epoch > 0 || Some(known.path.id) == current;
            if is_used && known.drain == Drain::Idle {
                known.drain = Drain::Due;
            }
        }
    }

    /// Returns whether all paths are read that precede the successor.
    fn others_are_drained(&self, successor: PathId) -> bool {
        let current = self.plain.current;
        let mut others = self.paths.iter().filter(|known| known.path.id != successor);
        others.all(|known| {
            let is_used = known.epoch > 0 || Some(known.path.id) == current;
            !is_used || known.drain == Drain::Done
        })
    }

    /// Defers a Begin until all paths without numbers are read to their ends. Returns whether it is deferred.
    pub(super) fn defer_begin(
        &mut self,
        path: PathId,
        epoch: u32,
        from: u64,
        is_settled: bool,
    ) -> Result<bool, ReceiveError> {
        if let Some(deferred) = &self.plain.deferred {
            let is_repeated = deferred.path == path && deferred.epoch == epoch;
            return if is_repeated { Ok(true) } else { Err(ReceiveError::TooManyChanges) };
        }
        let mut is_deferred =
            is_settled || !self.plain.ready.messages.is_empty() || self.plain.successor.is_some();
        for known in self.paths.iter_mut().filter(|known| known.is_read_before(path, is_settled)) {
            is_deferred = true;
            if known.drain == Drain::Idle {
                known.drain = Drain::Due;
            }
        }
        if is_deferred {
            let (position, messages, bytes) = (from, Vec::new(), 0);
            self.plain.deferred = Some(Deferred { path, epoch, from, is_settled, position, messages, bytes });
            // The Begin was read from this path, so all earlier messages of it were read.
            if let Some(known) = self.path_mut(path).filter(|known| known.epoch > 0) {
                known.drain = Drain::Done;
            }
        }
        Ok(is_deferred)
    }

    /// Switches to the successor, or executes the deferred Begin, if all earlier messages were read and delivered.
    fn settle_plain(&mut self) -> bool {
        if !self.plain.ready.messages.is_empty() {
            return false;
        }
        if let Some(successor) = self.plain.successor {
            return self.others_are_drained(successor) && self.begin_successor(successor);
        }
        let Some(Deferred { path, is_settled, .. }) = self.plain.deferred else {
            return self.give_up_missing();
        };
        let mut earlier = self.paths.iter().filter(|known| known.is_read_before(path, is_settled));
        if !earlier.all(|known| known.drain == Drain::Done) {
            return false;
        }
        if self.lost.is_some() || self.flush_before_settled() {
            return true;
        }
        if let Some(deferred) = self.plain.deferred.take() {
            self.begin_deferred(deferred);
        }
        true
    }

    fn begin_deferred(&mut self, deferred: Deferred<M>) {
        let Deferred { path, epoch, from, is_settled, position, messages, .. } = deferred;
        for known in self.paths.iter_mut().filter(|known| known.is_read_before(path, is_settled)) {
            known.drain = Drain::Idle;
        }
        if is_settled {
            self.settle_before(from);
        }
        self.return_to_numbers(from);
        self.do_begin(path, epoch, from);
        for (skipped, held) in messages {
            self.move_position(path, skipped);
            self.take_held(held);
        }
        self.move_position(path, position);
        self.advance();
    }

    /// Counts missing messages as lost if only a path without numbers is left, which cannot deliver them.
    fn give_up_missing(&mut self) -> bool {
        let mut numbered = self.paths.iter().filter(|known| known.path.is_numbered());
        let are_down = numbered.all(|known| !known.is_up);
        let has_plain = self.paths.iter().any(|known| known.is_up && !known.path.is_numbered());
        match self.window.first_held() {
            Some(ahead) if are_down && has_plain && self.plain.is_idle() => {
                self.lose_until_held(ahead);
                true
            }
            _ => false,
        }
    }

    /// Switches to the successor. Held numbered messages are delivered first; missing ones among them are lost.
    fn begin_successor(&mut self, successor: PathId) -> bool {
        if self.plain.current.is_none() && self.next > 0 {
            if let Some(ahead) = self.window.first_held() {
                self.lose_until_held(ahead);
                return true;
            }
            if self.lost.is_some() {
                return true;
            }
        }
        let plain = &mut self.plain;
        if plain.current.is_none() {
            plain.start = self.next;
            plain.delivered = 0;
        }
        plain.current = Some(successor);
        plain.successor = None;
        plain.ready = core::mem::take(&mut plain.waiting);
        self.segments = Default::default();
        self.window = Default::default();
        true
    }

    fn lose_until_held(&mut self, ahead: u64) {
        if ahead > 0 {
            self.lose_until(self.next + ahead);
        }
    }

    /// Delivers held messages before a settled Begin first; missing ones among them are lost.
    fn flush_before_settled(&mut self) -> bool {
        let settled = self.plain.deferred.as_ref().filter(|deferred| deferred.is_settled);
        let Some(from) = settled.map(|deferred| deferred.from) else { return false };
        match self.window.first_held() {
            Some(ahead) if self.plain.current.is_none() && self.next + ahead < from => {
                self.lose_until_held(ahead);
                true
            }
            _ => false,
        }
    }

    /// Counts all undelivered messages before `from` as lost.
    fn settle_before(&mut self, from: u64) {
        self.segments = Default::default();
        if self.plain.current.is_none() && (1..from).contains(&self.next) {
            self.lose_until(from);
        }
    }

    /// Returns to numbered messages. If the unnumbered ones were counted, the difference is lost.
    fn return_to_numbers(&mut self, from: u64) {
        let counted = self.plain.counted_next().unwrap_or(from);
        if self.plain.current.take().is_none() {
            return;
        }
        self.next = from;
        self.window = Window::default();
        if counted < from {
            self.lost = Some((counted, from - counted));
            self.lost_count = self.lost_count.saturating_add(from - counted);
        }
    }

    pub(super) fn poll_plain(&mut self) -> Option<ReceiveAction<M>> {
        loop {
            if self.plain.current.is_some()
                && let Some(message) = self.plain.ready.pop()
            {
                self.plain.delivered = self.plain.delivered.saturating_add(1);
                return Some(ReceiveAction::Deliver { number: None, message });
            }
            if !self.settle_plain() {
                return None;
            }
            if let Some(action) = self.poll_message() {
                return Some(action);
            }
        }
    }
}
