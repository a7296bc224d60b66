//! Resent messages of a link for one pair, which RTPS may not have delivered before it lost the pair.
//!
//! The publisher cannot know which of them the subscriber has: acknowledgements may be lost, too. So the subscriber
//! skips those before the number that is due. It identifies messages by their position on the link, where some may be
//! dropped.

use alloc::vec::Vec;

use super::PairId;
use super::pair::ServedBy;
use super::receiver::SharedLinkReceiver;

/// Consecutive resent messages of one pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Run {
    pub(super) pair: PairId,
    /// Link number of the first message, and its RTPS number.
    pub(super) at: u64,
    pub(super) number: u64,
}

impl Run {
    /// Returns the RTPS number of a message from its link number; `None` if it precedes the run.
    pub(super) fn number_of(&self, on_link: u64) -> Option<u64> {
        on_link.checked_sub(self.at).map(|distance| self.number + distance)
    }
}

/// The number on the link of which a statement has the low bits, where the next message has the number `next`.
pub(super) fn number_on_link(next: u64, low_bits: u32) -> u64 {
    let distance = low_bits.wrapping_sub(next as u32).cast_signed();
    next.saturating_add_signed(distance.into())
}

/// Message on the link that RTPS may not have delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resent<S> {
    /// The pair.
    pub pair: PairId,
    /// RTPS number.
    pub number: u64,
    /// The subscription that needs it; `None` if it has it.
    pub subscription: Option<S>,
}

/// Messages that neither RTPS nor the link delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lost<S> {
    /// The subscription that misses them.
    pub subscription: S,
    /// Number of messages.
    pub count: u64,
}

impl<S: Copy + PartialEq> SharedLinkReceiver<S> {
    /// Notes the number of the next message on the link, of which statements have only the low bits.
    pub fn note_next_on_link(&mut self, next: u64) {
        self.next_on_link = next;
    }

    /// Records the RTPS position of a pair: its subscription has received, or has lost, all messages before this
    /// number. Call it before RTPS loses the pair, and before [`statement`](Self::statement) handles one that ends
    /// delivery by RTPS.
    pub fn note_position(&mut self, id: PairId, next: u64) {
        if let Some(index) = self.index(id) {
            let pair = &mut self.pairs[index];
            pair.next = pair.next.max(next);
        }
    }

    /// Returns the subscription of a pair, and the number before which it has all messages; 0 if that is not known.
    pub fn due(&self, id: PairId) -> Option<(S, u64)> {
        let pair = &self.pairs[self.index(id)?];
        Some((pair.subscription, pair.next))
    }

    /// Returns the resent message with this number on the link, if the next message belongs to a run.
    pub fn resent(&self, on_link: u64) -> Option<Resent<S>> {
        let run = self.run?;
        let number = run.number_of(on_link)?;
        let pair = self.index(run.pair).map(|index| &self.pairs[index]);
        let is_received =
            self.received_before_link.iter().any(|(id, next)| *id == run.pair && number < *next);
        let due =
            pair.filter(|pair| pair.served_by == ServedBy::Resent && number >= pair.next && !is_received);
        Some(Resent { pair: run.pair, number, subscription: due.map(|pair| pair.subscription) })
    }

    /// Records that a subscription has received a resent message. Missing ones before it are lost.
    pub fn note_resent(&mut self, resent: Resent<S>) {
        let Some(index) = self.index(resent.pair) else { return };
        let pair = &mut self.pairs[index];
        if pair.next > 0 && resent.number > pair.next {
            self.lost.push(Lost { subscription: pair.subscription, count: resent.number - pair.next });
        }
        pair.next = pair.next.max(resent.number + 1);
        // The writer's history was among the resent messages.
        pair.has_requested_history = true;
    }

    /// Returns whether the next messages may be resent ones of one pair.
    pub fn is_in_run(&self) -> bool {
        self.run.is_some()
    }

    /// Returns the messages lost since the last call: the publisher no longer holds them.
    pub fn take_lost(&mut self) -> Vec<Lost<S>> {
        core::mem::take(&mut self.lost)
    }

    /// Begins a run. One that has already arrived may be stated again on the shared-memory path.
    pub(super) fn begin_run(&mut self, run: Run) {
        if self.last_run.is_some_and(|last| run.at <= last) {
            return;
        }
        (self.run, self.last_run) = (Some(run), Some(run.at));
        if let Some(index) = self.index(run.pair)
            && !self.pairs[index].is_on_link()
        {
            self.pairs[index].served_by = ServedBy::Resent;
        }
    }
}
