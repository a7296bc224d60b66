//! Arrivals: received messages are delivered, held, or discarded.

use super::held::Held;
use super::paths::ReceiverPath;
use super::{Accepted, ReceiveError, Receiver};
use crate::path::{Numbering, Order, PathId};

impl<M> Receiver<M> {
    /// Steady state: returns true if this is the next message, on the only path, and no message is held. The caller
    /// then delivers it. If false, call [`message`](Self::message).
    #[inline]
    pub fn accept_in_order(&mut self, path: PathId, number: u64) -> bool {
        if number != self.steady_next || self.steady_path != Some(path) {
            return false;
        }
        self.steady_next += 1;
        self.next = self.steady_next;
        true
    }

    /// Handles a message of a path with numbers.
    ///
    /// # Errors
    /// Its number is not plausible, it exceeds the credit, or the path is not known. The message is discarded.
    pub fn message(
        &mut self,
        path: PathId,
        number: u64,
        message: M,
        bytes: usize,
    ) -> Result<Accepted, ReceiveError> {
        self.check_number(number)?;
        let next = self.next;
        let known = self.live_path(path)?;
        if !known.path.is_numbered() {
            return Err(ReceiveError::WrongNumbering(path));
        }
        known.check_leap(next, number)?;
        let order = known.path.traits().order;
        let held = Held::new(number, message, bytes, (path, order));
        match self.plain.defer(path, held, self.credit) {
            Ok(deferred) => Ok(deferred),
            Err(held) => self.take(path, order, held),
        }
    }

    fn take(&mut self, path: PathId, order: Order, held: Held<M>) -> Result<Accepted, ReceiveError> {
        let number = held.number();
        let is_own = self.is_own(path, number);
        if order != Order::Resent && is_own {
            // The path keeps order, so no earlier message follows.
            self.move_position(path, number);
            self.advance();
        }
        let is_counted = self.is_counted(path);
        let accepted = self.hold(path, (order, is_own), held);
        // On a shared link, a message beyond the credit of this subscription is not its own either.
        let accepted = if is_counted { Ok(accepted.unwrap_or(Accepted::Discarded)) } else { accepted };
        if is_own && !(is_counted && accepted == Ok(Accepted::Discarded)) {
            self.move_position(path, number + 1);
            self.advance();
        }
        accepted
    }

    /// Records that no message before this number follows on this path. RTPS with resending sends GAPs instead.
    pub(super) fn move_position(&mut self, path: PathId, to: u64) {
        let is_in_order = |known: &&mut ReceiverPath| known.path.traits().order != Order::Resent;
        if let Some(known) = self.path_mut(path).filter(is_in_order) {
            known.position = known.position.max(to);
            known.highest_received = known.highest_received.max(to);
        }
    }

    fn is_counted(&self, path: PathId) -> bool {
        let known = self.paths.iter().find(|known| known.path.id == path);
        known.is_some_and(|known| known.path.traits().numbering == Numbering::Counted)
    }

    /// Returns whether a message was sent to this subscription: on a shared link it also reads messages of others. A
    /// Skip precedes the next message where its sender leaves messages out.
    fn is_own(&self, path: PathId, number: u64) -> bool {
        let Some(known) = self.paths.iter().find(|known| known.path.id == path) else { return false };
        if !self.is_counted(path) {
            return true;
        }
        // Messages that were accepted in order did not move the position.
        let is_owner = self.segments.owner(self.next).is_some_and(|owner| owner.path == path);
        let position = if is_owner { known.position.max(self.next) } else { known.position };
        number == position
    }

    /// Accepts a deferred message. One that no longer fits is as lost as on a path that died.
    pub(super) fn take_held(&mut self, held: Held<M>) {
        let _discarded = self.take(held.path(), held.order(), held);
    }

    /// Holds a message if it can be delivered later and this path is its owner.
    fn hold(
        &mut self,
        path: PathId,
        (order, is_own): (Order, bool),
        held: Held<M>,
    ) -> Result<Accepted, ReceiveError> {
        let number = held.number();
        if self.next == 0 || self.plain.has_replaced_numbered() {
            return Ok(Accepted::Discarded);
        }
        if number < self.next || self.window.holds(Some(number - self.next)) {
            return Ok(Accepted::Duplicate);
        }
        let ahead = number - self.next;
        if ahead >= u64::from(self.credit.messages.max(1)) {
            return Ok(Accepted::Discarded);
        }
        let is_owner = self.segments.owner(number).is_some_and(|owner| owner.path == path);
        if ahead > 0 && order == Order::Fifo && !(is_owner && is_own) {
            return Ok(Accepted::Discarded);
        }
        // A sender that is paced may exceed the bytes by one message.
        let bytes = if self.report_every > 0 { 1 } else { held.bytes() };
        if ahead > 0 && !self.window.has_capacity(order, bytes, self.credit.bytes) {
            let is_fault = order == Order::Fifo;
            return if is_fault {
                Err(ReceiveError::CreditExceeded(number))
            } else {
                Ok(Accepted::Discarded)
            };
        }
        self.window.insert(ahead, held);
        Ok(Accepted::Taken)
    }
}
