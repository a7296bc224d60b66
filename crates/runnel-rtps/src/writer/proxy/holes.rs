//! Samples that its writer does not hold any more: of no concern to a reader, or lost.
//!
//! GAP says that samples are of no concern, and that is how readers take it. What made room for others before a reader got
//! it is lost to it, and told by where heartbeats begin: as far as the reader has acknowledged all that is before, since it
//! takes everything before the first sample for lost.

use super::ReaderProxy;
use crate::datagram::Datagram;
use crate::history::History;
use crate::lend::Lend;
use crate::wire::{EntityId, Gap, SequenceNumber};

impl ReaderProxy {
    /// True if a sample that is not held is lost to it. Of discovery another has replaced it, and what was not held when it
    /// came is of no concern.
    fn has_lost(&self, number: SequenceNumber) -> bool {
        number > self.acked.max(self.met_at) && !self.spec.guid.entity.is_builtin()
    }

    /// The first sample that it is told of.
    pub(super) fn first_told<B>(&self, history: &History<B>) -> SequenceNumber {
        let wanted = self.acked.next().max(self.start);
        let there = history.at_or_after(wanted).map_or(self.next, |change| change.number.min(self.next));
        let has_lost = there > wanted && self.has_lost(wanted);
        let first = if has_lost { there } else { history.first().max(self.start) };
        first.min(self.next)
    }

    /// Steps over what is not there, up to the next sample that is, and tells of it. False if that has no room in this
    /// datagram.
    pub(super) fn tell_of_hole<B: Lend>(
        &mut self,
        (reader, writer): (EntityId, EntityId),
        end: SequenceNumber,
        out: &mut Datagram<B>,
    ) -> bool {
        if self.spec.plain.is_some() {
            return self.fill_hole((reader, writer), end, out);
        }
        if !self.spec.reliable || self.has_lost(self.next) {
            self.heartbeat |= self.spec.reliable;
        } else if self.fits_gap(out) {
            Gap::range(reader, writer, self.numbered(self.next), self.numbered(end)).emit(out.out());
        } else {
            return false;
        }
        (self.next, self.fragment) = (end, 1);
        true
    }

    /// Tells that a sample that it has asked for will not come, along with those behind it that are not there either and
    /// others that it has asked for. False if that has no room in this datagram.
    pub(super) fn tell_of_asked<B: Lend>(
        &mut self,
        number: SequenceNumber,
        (reader, writer): (EntityId, EntityId),
        history: &History<B>,
        out: &mut Datagram<B>,
    ) -> bool {
        if self.spec.plain.is_some() {
            let has_room = self.put_filler(number, (reader, writer), out);
            if has_room {
                self.asked.remove(&number);
            }
            return has_room;
        }
        if self.has_lost(number) {
            self.asked.remove(&number);
            self.heartbeat = true;
            return true;
        }
        if !self.fits_gap(out) {
            return false;
        }
        let there = history.at_or_after(number.max(self.start)).map(|change| change.number);
        let end = there.unwrap_or(history.last().next()).min(self.last_due(history).next());
        let mut gap = Gap::range(reader, writer, number, end.max(number.next()));
        let mut asked = core::mem::take(&mut self.asked);
        let is_gone = |number| number < self.start || history.get(number).is_none() && !self.has_lost(number);
        asked.retain(|other| *other >= gap.list.base && !(is_gone(*other) && gap.list.insert(*other)));
        self.asked = asked;
        gap.start = self.numbered(gap.start);
        gap.list.base = self.numbered(gap.list.base);
        gap.emit(out.out());
        true
    }
}
