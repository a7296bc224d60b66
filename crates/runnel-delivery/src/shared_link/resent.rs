//! Messages of a link for one pair alone, which RTPS may not have delivered before it lost the pair.
//!
//! The publisher cannot know which of them the subscriber has had: acknowledgements are lost with everything else. So the
//! subscriber leaves out those before the number that is due. It tells them by their place on the link: some may be dropped there.

use alloc::vec::Vec;

use super::PairId;
use super::pair::ServedBy;
use super::receiver::SharedLinkReceiver;

/// Messages in a row that are of one pair alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Run {
    pub(super) pair: PairId,
    /// The number of the first on the link, and its own number.
    pub(super) at: u64,
    pub(super) number: u64,
}

impl Run {
    /// The number of the message that has this one on the link; `None` if it comes before.
    pub(super) fn number_of(&self, on_link: u64) -> Option<u64> {
        on_link.checked_sub(self.at).map(|distance| self.number + distance)
    }
}

/// The number on the link of which a statement has the low bits, where the next message has the number `next`.
pub(super) fn number_on_link(next: u64, low_bits: u32) -> u64 {
    let distance = low_bits.wrapping_sub(next as u32).cast_signed();
    next.saturating_add_signed(distance.into())
}

/// A message that comes by the link since RTPS may not have delivered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resent<S> {
    /// The pair that it is of.
    pub pair: PairId,
    /// Its number in RTPS.
    pub number: u64,
    /// The subscription that is to get it, unless it has had it.
    pub subscription: Option<S>,
}

/// Messages that neither RTPS nor the link brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lost<S> {
    /// The subscription that does not get them.
    pub subscription: S,
    /// How many.
    pub count: u64,
}

impl<S: Copy + PartialEq> SharedLinkReceiver<S> {
    /// The next message on the link has this number: statements have its low bits alone.
    pub fn note_next_on_link(&mut self, next: u64) {
        self.next_on_link = next;
    }

    /// The subscription of a pair has had, or has lost, all before this number by RTPS. To be called before RTPS has lost the pair,
    /// and before a statement is [heard](Self::statement) that ends what RTPS brings of it.
    pub fn note_position(&mut self, id: PairId, next: u64) {
        if let Some(index) = self.index(id) {
            let pair = &mut self.pairs[index];
            pair.next = pair.next.max(next);
        }
    }

    /// The subscription of a pair, and the number before which it has had all; 0 if that is not known.
    pub fn due(&self, id: PairId) -> Option<(S, u64)> {
        let pair = &self.pairs[self.index(id)?];
        Some((pair.subscription, pair.next))
    }

    /// Of the next message, which has this number on the link: that it is of one pair alone, if it is.
    pub fn resent(&self, on_link: u64) -> Option<Resent<S>> {
        let run = self.run?;
        let number = run.number_of(on_link)?;
        let pair = self.index(run.pair).map(|index| &self.pairs[index]);
        let has_had = self.had.iter().any(|(id, next)| *id == run.pair && number < *next);
        let due = pair.filter(|pair| pair.served_by == ServedBy::Resent && number >= pair.next && !has_had);
        Some(Resent { pair: run.pair, number, subscription: due.map(|pair| pair.subscription) })
    }

    /// A subscription has got such a message. How many before it are lost.
    pub fn note_resent(&mut self, resent: Resent<S>) {
        let Some(index) = self.index(resent.pair) else { return };
        let pair = &mut self.pairs[index];
        if pair.next > 0 && resent.number > pair.next {
            self.lost.push(Lost { subscription: pair.subscription, count: resent.number - pair.next });
        }
        pair.next = pair.next.max(resent.number + 1);
        // What the writer had kept was among them.
        pair.has_asked_for_kept = true;
    }

    /// Whether messages that come now may be of one pair alone.
    pub fn is_in_run(&self) -> bool {
        self.run.is_some()
    }

    /// What is lost for good, since this was last asked: the publisher does not have it any more.
    pub fn take_lost(&mut self) -> Vec<Lost<S>> {
        core::mem::take(&mut self.lost)
    }

    /// One that has come already is stated again by memory.
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
