//! Readers whose user has room for so many samples: more are held and not acknowledged, so that writers wait.

use super::Participant;
use crate::event::{Sample, SamplePayload};
use crate::reader::{Complete, Reader, WriterProxy};
use crate::wire::{EntityId, Guid, GuidPrefix, SequenceNumber};
use alloc::collections::BTreeMap;
use runnel_core::time::Instant;

impl Participant {
    /// The user of a reader has room for so many samples more, however many it was before. Until then a reader takes all
    /// that comes; from now on what finds no room is held and not acknowledged, as far as it comes from writers that are
    /// reliable, and given when there is room again. [`Participant::poll_sample`] has what was held.
    pub fn set_room(&mut self, now: Instant, reader: EntityId, room: usize) {
        let Some(of) = self.readers.get_mut(&reader) else { return };
        of.set_room(room);
        let mut writers = of.writers_in_turn();
        writers.retain(|writer| self.deliver_held(now, reader, *writer));
        let progressed = writers.clone();
        while !writers.is_empty() {
            // One of each in turn: none is to take all the room there is.
            writers.retain(|writer| self.deliver_held(now, reader, *writer));
        }
        progressed.into_iter().for_each(|writer| self.tell_progress(reader, writer));
    }

    /// A writer is about to leave a reader: what was held for want of room alone is the user's, who gets it now.
    pub(super) fn give_held(&mut self, reader: EntityId, writer: Guid) {
        if reader.is_builtin() {
            return;
        }
        while let Some((number, sample)) = self.writer_of(reader, writer).and_then(WriterProxy::take_held) {
            let Complete { bytes, stamp, is_key, .. } = sample;
            if !is_key {
                let payload = SamplePayload::Own(bytes);
                self.samples.push_back(Sample { reader, writer, number, stamp, payload });
            }
        }
    }

    /// Holds a sample that came early, if there is room for it or others can make some.
    pub(super) fn hold(
        &mut self,
        now: Instant,
        (reader, writer): (EntityId, Guid),
        number: SequenceNumber,
        sample: Complete,
    ) {
        let lacks = self.writer_of(reader, writer).and_then(|proxy| proxy.lacks_to_hold(sample.bytes.len()));
        if let Some(bytes) = lacks {
            self.make_room_to_hold(writer.prefix, bytes);
        }
        if let Some(proxy) = self.writer_of(reader, writer) {
            proxy.hold(now, number, sample);
        }
    }

    /// The participant of which most is held lets go of the latest of that, if it is more than one has that asks: none is to
    /// take all for as long as it likes.
    fn make_room_to_hold(&mut self, asks: GuidPrefix, bytes: usize) {
        let mut held: BTreeMap<GuidPrefix, usize> = BTreeMap::new();
        for writer in self.readers.values().flat_map(Reader::writers) {
            *held.entry(writer.guid().prefix).or_default() += writer.held_bytes();
        }
        let own = held.get(&asks).copied().unwrap_or(0) + bytes;
        let most = held.into_iter().max_by_key(|(_, bytes)| *bytes).filter(|(_, most)| *most > own);
        if let Some((prefix, _)) = most.filter(|(prefix, _)| *prefix != asks) {
            let readers = self.readers.values_mut();
            readers.fold(0, |done, reader| done + reader.let_go(prefix, bytes.saturating_sub(done)));
        }
    }

    /// A writer may have waited for what its reader has taken.
    fn tell_progress(&mut self, reader: EntityId, writer: Guid) {
        if let Some(proxy) = self.writer_of(reader, writer) {
            proxy.tell_progress();
        }
        self.wake_answer(reader, writer);
    }
}
