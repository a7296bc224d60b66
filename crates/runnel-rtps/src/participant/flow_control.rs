//! Flow control of readers: samples beyond the user's capacity are held and not acknowledged, so that writers wait.

use super::Participant;
use crate::event::{Sample, SamplePayload};
use crate::reader::{Complete, Reader, WriterProxy};
use crate::wire::{EntityId, Guid, GuidPrefix, SequenceNumber};
use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;

impl Participant {
    /// Sets how many more samples the user of a reader accepts. Before the first call a reader delivers all samples.
    /// From then on samples of reliable writers beyond the capacity are held and not acknowledged, and delivered when
    /// there is capacity again. [`Participant::poll_sample`] returns held samples.
    pub fn set_capacity(&mut self, now: Instant, reader: EntityId, capacity: usize) {
        let Some(of) = self.readers.get_mut(&reader) else { return };
        of.set_capacity(capacity);
        let mut writers = of.writers_in_turn();
        writers.retain(|writer| self.deliver_held(now, reader, *writer));
        let progressed = writers.clone();
        while !writers.is_empty() {
            // Round-robin, so that none takes all the capacity.
            writers.retain(|writer| self.deliver_held(now, reader, *writer));
        }
        progressed.into_iter().for_each(|writer| self.acknowledge_progress(reader, writer));
    }

    /// Passes samples that were held only for lack of capacity, or since the pair is paused, to the user, before a writer
    /// is unmatched.
    pub(super) fn deliver_held_samples(&mut self, reader: EntityId, writer: Guid) {
        if reader.is_builtin() {
            return;
        }
        if let Some(proxy) = self.writer_of(reader, writer) {
            proxy.set_paused(false);
        }
        while let Some((number, sample)) = self.writer_of(reader, writer).and_then(WriterProxy::take_held) {
            let Complete { bytes, stamp, is_key, related } = sample;
            if !is_key {
                let payload = SamplePayload::Owned(bytes);
                self.samples.push_back(Sample { reader, writer, number, stamp, payload, related });
            }
        }
    }

    /// Holds an early sample, if there is memory or other participants can free some.
    pub(super) fn hold(
        &mut self,
        now: Instant,
        (reader, writer): (EntityId, Guid),
        number: SequenceNumber,
        sample: Complete,
    ) {
        let lacks = self.writer_of(reader, writer).and_then(|proxy| proxy.needed_budget(sample.bytes.len()));
        if let Some(bytes) = lacks {
            self.free_held_memory(writer.prefix, bytes);
        }
        if let Some(proxy) = self.writer_of(reader, writer) {
            proxy.hold(now, number, sample);
        }
    }

    /// Drops the latest held samples of the participant with the most held bytes, if it holds more than the requesting
    /// one: none can keep all memory.
    fn free_held_memory(&mut self, asks: GuidPrefix, bytes: usize) {
        let mut held: SortedMap<GuidPrefix, usize> = SortedMap::new();
        for writer in self.readers.values().flat_map(Reader::writers) {
            *held.entry(writer.guid().prefix).or_default() += writer.held_bytes();
        }
        let own = held.get(&asks).copied().unwrap_or(0) + bytes;
        let most = held.into_iter().max_by_key(|(_, bytes)| *bytes).filter(|(_, most)| *most > own);
        if let Some((prefix, _)) = most.filter(|(prefix, _)| *prefix != asks) {
            let readers = self.readers.values_mut();
            readers.fold(0, |done, reader| done + reader.drop_held(prefix, bytes.saturating_sub(done)));
        }
    }

    /// Schedules an acknowledgement, since a writer may wait for the samples that its reader has delivered.
    pub(super) fn acknowledge_progress(&mut self, reader: EntityId, writer: Guid) {
        if let Some(proxy) = self.writer_of(reader, writer) {
            proxy.acknowledge_progress();
        }
        self.wake_acknack(reader, writer);
    }
}
