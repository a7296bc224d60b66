//! Readers: the state of each matched writer.

mod budget;
mod fragments;
mod proxy;
#[cfg(test)]
mod tests;

pub(crate) use budget::Budgets;
pub(crate) use fragments::Complete;
use proxy::UnmatchedWriter;
pub(crate) use proxy::{Arrival, WriterProxy, WriterSpec, copy_sample};

use crate::wire::{Guid, GuidPrefix, SequenceNumber};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::SocketAddr;
use runnel_core::time::Instant;

/// Maximum number of remembered unmatched writers.
const MAX_LEFT: usize = 256;

/// A local reader.
#[derive(Debug)]
pub(crate) struct Reader {
    /// One remote address can announce a hundred thousand writers of one topic.
    writers: BTreeMap<Guid, Box<WriterProxy>>,
    /// Unmatched writers, the latest last.
    unmatched: VecDeque<UnmatchedWriter>,
    /// The greatest acknowledgement count of forgotten writers.
    forgotten: u32,
    /// How many more samples its user accepts; `None` if unlimited.
    capacity: Option<usize>,
    /// Index of the first writer when capacity becomes available.
    turn: usize,
}

impl Reader {
    pub fn new() -> Self {
        Self { writers: BTreeMap::new(), unmatched: VecDeque::new(), forgotten: 0, capacity: None, turn: 0 }
    }

    /// Sets how many more samples its user accepts.
    pub fn set_capacity(&mut self, capacity: usize) {
        self.capacity = Some(capacity);
    }

    /// Returns whether its user accepts another sample.
    pub fn has_capacity(&self) -> bool {
        self.capacity != Some(0)
    }

    /// Counts a sample that is passed to the user.
    pub fn take_capacity(&mut self) {
        self.capacity = self.capacity.map(|capacity| capacity.saturating_sub(1));
    }

    /// Returns its writers, beginning with another one at each call.
    pub fn writers_in_turn(&mut self) -> Vec<Guid> {
        let mut writers: Vec<Guid> = self.writers.keys().copied().collect();
        self.turn = self.turn.wrapping_add(1);
        let first = self.turn % writers.len().max(1);
        writers.rotate_left(first);
        writers
    }

    /// Matches a writer. A writer that is already matched keeps its state, but may have a new address. An unmatched
    /// writer continues, so that the user receives nothing twice.
    pub fn match_writer(&mut self, spec: WriterSpec) {
        if let Some(writer) = self.writers.get_mut(&spec.guid) {
            return writer.move_to(spec.address);
        }
        let left = self.unmatched.iter().position(|left| left.writer == spec.guid);
        let left = left.and_then(|index| self.unmatched.remove(index));
        let writer = match left {
            Some(left) => WriterProxy::rematched(spec, left),
            None => WriterProxy::with_count_after(spec, self.forgotten),
        };
        self.writers.insert(writer.guid(), Box::new(writer));
    }

    /// Unmatches a writer. Returns whether it was matched.
    pub fn unmatch_writer(&mut self, writer: Guid) -> bool {
        let Some(left) = self.writers.remove(&writer) else { return false };
        self.remember_or_forget(&left);
        true
    }

    /// Unmatches all writers of a participant.
    pub fn unmatch_all(&mut self, prefix: GuidPrefix) {
        let left: Vec<_> = self.writers.extract_if(prefix.endpoints(), |_, _| true).collect();
        left.iter().for_each(|(_, writer)| self.remember_or_forget(writer));
    }

    fn remember_or_forget(&mut self, left: &WriterProxy) {
        let state = left.unmatched_state();
        match left.is_worth_remembering() {
            true => self.remember(state),
            // Thousands of silent writers must not displace one that has sent samples.
            false => self.note_forgotten(state.acknowledgements),
        }
    }

    /// As [`WriterProxy::note_received`], for an unmatched writer.
    pub fn note_received_of_unmatched(&mut self, writer: Guid, from: SequenceNumber, to: SequenceNumber) {
        if let Some(left) = self.unmatched.iter_mut().find(|left| left.writer == writer) {
            left.note_received(from, to);
        }
    }

    fn remember(&mut self, left: UnmatchedWriter) {
        if self.unmatched.len() >= MAX_LEFT
            && let Some(UnmatchedWriter { acknowledgements, .. }) = self.unmatched.pop_front()
        {
            self.note_forgotten(acknowledgements);
        }
        self.unmatched.push_back(left);
    }

    /// Records the acknowledgement count of a forgotten writer.
    fn note_forgotten(&mut self, acknowledgements: u32) {
        if acknowledgements.wrapping_sub(self.forgotten).cast_signed() > 0 {
            self.forgotten = acknowledgements;
        }
    }

    /// Sets new addresses for the writers of a participant.
    pub fn move_writers(&mut self, prefix: GuidPrefix, address: impl Fn(Guid) -> SocketAddr) {
        let writers = self.writers.range_mut(prefix.endpoints()).map(|(_, writer)| writer);
        writers.for_each(|writer| writer.move_to(address(writer.guid())));
    }

    /// Drops the incomplete samples of a participant's writers.
    pub fn forget_incomplete(&mut self, prefix: GuidPrefix) {
        let writers = self.writers.range_mut(prefix.endpoints()).map(|(_, writer)| writer);
        writers.for_each(|writer| writer.forget_incomplete());
    }

    pub fn writer_mut(&mut self, writer: Guid) -> Option<&mut WriterProxy> {
        self.writers.get_mut(&writer).map(|writer| &mut **writer)
    }

    /// Drops held samples of a participant's writers, up to `most` bytes; returns the dropped bytes.
    pub fn drop_held(&mut self, prefix: GuidPrefix, most: usize) -> usize {
        let writers = self.writers.range_mut(prefix.endpoints()).map(|(_, writer)| writer);
        writers.fold(0, |bytes, writer| bytes + writer.drop_held(most.saturating_sub(bytes)))
    }

    /// Requests heartbeats from those writers of a participant whose position is in doubt; returns them.
    pub fn probe_doubtful(&mut self, now: Instant, prefix: GuidPrefix) -> Vec<Guid> {
        let of_it = self.writers.range_mut(prefix.endpoints()).map(|(_, writer)| writer);
        let doubtful = of_it.filter(|writer| writer.is_in_doubt());
        doubtful
            .map(|writer| {
                writer.probe(now);
                writer.guid()
            })
            .collect()
    }

    pub fn writer(&self, writer: Guid) -> Option<&WriterProxy> {
        self.writers.get(&writer).map(|writer| &**writer)
    }

    /// Returns the writers of a participant.
    pub fn writers_of(&self, prefix: GuidPrefix) -> impl Iterator<Item = Guid> {
        self.writers.range(prefix.endpoints()).map(|(writer, _)| *writer)
    }

    pub fn writers(&self) -> impl Iterator<Item = &WriterProxy> {
        self.writers.values().map(|writer| &**writer)
    }
}
