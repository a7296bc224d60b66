//! Samples that the writer no longer holds: irrelevant to a reader, or lost.
//!
//! A GAP declares samples irrelevant. Samples that were displaced before a reader received them are lost to it; the
//! first number of heartbeats announces them, if the reader has acknowledged all earlier samples, since it counts
//! everything before the first number as lost.

use super::ReaderProxy;
use crate::datagram::Datagram;
use crate::history::History;
use crate::lend::Lend;
use crate::wire::{EntityId, Gap, SequenceNumber};

impl ReaderProxy {
    /// Returns whether a missing sample is lost to this reader. Discovery samples were replaced by others, and samples
    /// that were missing when it was matched are irrelevant, and so are those of services for other readers.
    fn has_lost<B>(&self, number: SequenceNumber, history: &History<B>) -> bool {
        let is_due = number > self.acked.max(self.matched_at) && !self.spec.guid.entity.is_builtin();
        is_due && !history.is_addressed()
    }

    /// Returns the first sample number of heartbeats to this reader.
    pub(super) fn first_announced<B>(&self, history: &History<B>) -> SequenceNumber {
        if history.is_addressed() {
            // What is missing before it was for other readers: a GAP declares it irrelevant on request.
            return self.confirmed.next().max(self.start).min(self.next);
        }
        let wanted = self.acked.next().max(self.start);
        let there = history.at_or_after(wanted).map_or(self.next, |change| change.number.min(self.next));
        let has_lost = there > wanted && self.has_lost(wanted, history);
        let first = if has_lost { there } else { history.first().max(self.start) };
        first.min(self.next)
    }

    /// Returns the reader that a GAP names: Cyclone DDS ignores one that names none.
    fn addressee_of_gap(&self, reader: EntityId) -> EntityId {
        if self.spec.shares_reorder_buffer { self.spec.guid.entity } else { reader }
    }

    /// Skips missing samples up to the next held one, and announces them. Returns false if the announcement does not
    /// fit into this datagram.
    pub(super) fn announce_hole<B: Lend>(
        &mut self,
        (reader, writer): (EntityId, EntityId),
        end: SequenceNumber,
        history: &History<B>,
        out: &mut Datagram<B>,
    ) -> bool {
        if self.spec.plain.is_some() {
            return self.fill_hole((reader, writer), end, out);
        }
        if !self.spec.reliable || self.has_lost(self.next, history) {
            self.heartbeat |= self.spec.reliable;
        } else if self.has_space_for_gap(out) {
            let reader = self.addressee_of_gap(reader);
            Gap::range(reader, writer, self.numbered(self.next), self.numbered(end)).emit(out.out());
        } else {
            return false;
        }
        (self.next, self.fragment) = (end, 1);
        true
    }

    /// Declares a requested sample irrelevant, with consecutive missing ones and other requested ones. Returns false if
    /// the GAP does not fit into this datagram.
    pub(super) fn announce_gone<B: Lend>(
        &mut self,
        number: SequenceNumber,
        (reader, writer): (EntityId, EntityId),
        history: &History<B>,
        out: &mut Datagram<B>,
    ) -> bool {
        if self.spec.plain.is_some() {
            let has_capacity = self.put_filler(number, (reader, writer), out);
            if has_capacity {
                self.requested.remove(&number);
            }
            return has_capacity;
        }
        if self.has_lost(number, history) {
            self.requested.remove(&number);
            self.heartbeat = true;
            return true;
        }
        if !self.has_space_for_gap(out) {
            return false;
        }
        let there = history
            .next_for(&self.spec.receives_samples_for(), number.max(self.start))
            .map(|change| change.number);
        let end = there.unwrap_or(history.last().next()).min(self.last_due(history).next());
        let mut gap = Gap::range(self.addressee_of_gap(reader), writer, number, end.max(number.next()));
        let mut requested = core::mem::take(&mut self.requested);
        let readers = self.spec.receives_samples_for();
        let is_missing = |number| history.get_for(&readers, number).is_none();
        let is_gone = |number| number < self.start || is_missing(number) && !self.has_lost(number, history);
        requested.retain(|other| *other >= gap.list.base && !(is_gone(*other) && gap.list.insert(*other)));
        self.requested = requested;
        gap.start = self.numbered(gap.start);
        gap.list.base = self.numbered(gap.list.base);
        gap.emit(out.out());
        true
    }
}
