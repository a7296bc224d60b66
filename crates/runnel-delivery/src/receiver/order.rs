//! Order: selection of the next message, and detection of losses.

use super::{ReceiveAction, Receiver};
use crate::limits::MAX_NUMBER;

impl<M> Receiver<M> {
    pub(super) fn poll_message(&mut self) -> Option<ReceiveAction<M>> {
        if self.plain.has_replaced_numbered() {
            return None;
        }
        if let Some((from, count)) = self.lost.take() {
            return Some(ReceiveAction::Lost { from, count });
        }
        let held = self.window.pop_first()?;
        if self.report_every > 0 {
            self.unreported_bytes = self.unreported_bytes.saturating_add(held.bytes());
        }
        let (number, message) = held.into_parts();
        self.next = number + 1;
        self.advance();
        Some(ReceiveAction::Deliver { number: Some(number), message })
    }

    /// Counts messages as lost that are known not to arrive.
    pub(super) fn advance(&mut self) {
        while self.next > 0
            && !self.plain.has_replaced_numbered()
            && !self.window.holds(Some(0))
            && let Some(end) = self.passed_until()
        {
            self.lose_until(end);
        }
        self.release_segments();
    }

    /// If the next message will not arrive, returns the first number after it that still may.
    pub(super) fn passed_until(&self) -> Option<u64> {
        let next = self.next;
        let owner = self.segments.owner(next)?;
        let path = self.paths.iter().find(|known| known.path.id == owner.path)?;
        let newer = self.segments.next_change(next, owner.epoch);
        let passed = match newer {
            Some(newer) if path.has_finished(owner.epoch) => newer,
            _ if self.window.is_gap(path.path.id) => next + 1,
            newer => path.passed(next).min(newer.unwrap_or(MAX_NUMBER)),
        };
        let held = self.window.first_held().map_or(MAX_NUMBER, |ahead| next + ahead);
        let end = passed.min(held);
        (end > next).then_some(end)
    }

    pub(super) fn lose_until(&mut self, end: u64) {
        let count = end - self.next;
        let (from, before) = self.lost.unwrap_or((self.next, 0));
        self.lost = Some((from, before + count));
        self.lost_count = self.lost_count.saturating_add(count);
        self.window.skip(count);
        self.next = end;
    }

    /// Forgets complete segments.
    pub(super) fn release_segments(&mut self) {
        if !self.segments.release(self.next) || self.has_confirmed {
            return;
        }
        self.has_confirmed = true;
        self.reached_due = true;
        self.window.release_memory();
    }

    /// Updates the operands of [`accept_in_order`](Self::accept_in_order).
    pub(super) fn update_steady(&mut self) {
        let single = self.segments.single(self.next).filter(|path| !self.has_far_gap(*path));
        let is_quiet = self.window.is_empty() && self.lost.is_none() && self.plain.is_idle();
        let may_skip_checks = is_quiet && !self.reached_due && self.report_every == 0;
        // Far below the end of the range, so that the counter never reaches it.
        self.steady_path = single.filter(|_| may_skip_checks && self.next <= MAX_NUMBER / 2);
        self.steady_next = self.next;
    }
}
