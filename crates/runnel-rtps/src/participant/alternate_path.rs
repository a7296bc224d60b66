//! Alternate paths of matched pairs, such as memory that both processes share. The owner of the participant decides
//! which path carries a sample, and orders the samples of several paths. Samples keep their sequence numbers on every
//! path.
//!
//! The writer's side, [`UserWriter`](crate::UserWriter), suspends a reader, and the owner sends later samples on the
//! alternate path. It resumes the reader with the samples that did not arrive there. Samples written before the
//! suspension still use RTPS. The reader's side returns RTPS samples in order as usual; the owner reports which samples
//! the alternate path has delivered when that path has ended.

use super::Participant;
use super::monitor::Monitored;
use crate::wire::{EntityId, Guid, SequenceNumber};
use runnel_core::qos::{History, Reliability};
use runnel_core::time::Instant;

impl Participant {
    /// Returns the next sample of a writer that RTPS delivers to a local reader: all earlier ones were delivered or are
    /// not due by RTPS. Returns `None` if it is not known yet, or the two are not matched.
    pub fn next_due(&self, reader: EntityId, writer: Guid) -> Option<SequenceNumber> {
        self.readers.get(&reader)?.writer(writer)?.due()
    }

    /// Returns the number before which RTPS delivers no more samples of a writer to a local reader. Unlike
    /// [`next_due`](Self::next_due), a single datagram, which may be forged, does not change it.
    pub fn passed_before(&self, reader: EntityId, writer: Guid) -> Option<SequenceNumber> {
        self.readers.get(&reader)?.writer(writer)?.passed_before()
    }

    /// Returns the last sample that a writer has announced or sent to a local reader; `None` if the two are not
    /// matched.
    pub fn last_announced(&self, reader: EntityId, writer: Guid) -> Option<SequenceNumber> {
        Some(self.readers.get(&reader)?.writer(writer)?.last_announced())
    }

    /// Records that an alternate path has delivered the samples from `from` to before `to`: RTPS neither owes nor loses
    /// them. If `from` is the first number, the user has received all samples before `to`. It also holds for an
    /// unmatched pair.
    pub fn note_received(
        &mut self,
        now: Instant,
        (reader, writer): (EntityId, Guid),
        from: SequenceNumber,
        to: SequenceNumber,
    ) {
        let Some(of) = self.readers.get_mut(&reader) else { return };
        let Some(proxy) = of.writer_mut(writer) else {
            return of.note_received_of_unmatched(writer, from, to);
        };
        proxy.note_received(from, to);
        self.finish_handling(now, reader, writer);
    }

    /// Pauses a pair while an alternate path carries it, or resumes it. Meanwhile reliable samples are held and not
    /// acknowledged; when it is resumed, [`Participant::poll_sample`] returns them. If another reader of the writer is
    /// not paused, submessages to all readers are ignored for the pair until the writer has addressed a HEARTBEAT to
    /// its reader. Best-effort samples are not held or ignored.
    pub fn set_paused(&mut self, now: Instant, (reader, writer): (EntityId, Guid), is_paused: bool) {
        let Some(proxy) = self.writer_of(reader, writer) else { return };
        if proxy.is_paused() == is_paused {
            return;
        }
        proxy.set_paused(is_paused);
        self.has_paused |= is_paused;
        if !is_paused {
            self.finish_handling(now, reader, writer);
            self.acknowledge_progress(reader, writer);
        }
    }

    /// Returns whether submessages of a writer to all readers are for a local reader. They are not if it is paused and
    /// another one is not: the writer knows the difference, and addresses each separately. Once it has resumed the reader,
    /// which begins with a HEARTBEAT to it, it may address both together again.
    pub(super) fn is_served_by_all(&self, reader: EntityId, writer: Guid, of_writer: &[EntityId]) -> bool {
        let proxy_of = |reader: &EntityId| self.readers.get(reader).and_then(|reader| reader.writer(writer));
        let is_paused = |reader: &EntityId| proxy_of(reader).is_some_and(|proxy| proxy.is_paused());
        let needs_own = || proxy_of(&reader).is_some_and(|proxy| proxy.needs_own_submessages());
        !self.has_paused || !needs_own() || of_writer.iter().all(is_paused)
    }

    /// Returns whether both ends of a matched pair are reliable.
    pub fn is_reliable_pair(&self, reader: EntityId, writer: Guid) -> bool {
        let proxy = self.readers.get(&reader).and_then(|reader| reader.writer(writer));
        proxy.is_some_and(|proxy| proxy.is_reliable())
    }

    /// Returns whether the deadline or the liveliness of a pair is monitored: then report each sample of the alternate
    /// path by [`Participant::sample_passed`].
    pub fn is_monitored(&self, reader: EntityId, writer: Guid) -> bool {
        self.is_monitored_for(reader, writer)
    }

    /// Returns whether a local reader keeps all samples, so that writers wait for its user.
    pub fn keeps_all(&self, reader: EntityId) -> bool {
        let qos = self.endpoints.get(&reader).map(|endpoint| endpoint.qos);
        qos.is_some_and(|qos| qos.history == History::KeepAll && qos.reliability == Reliability::Reliable)
    }

    /// Records that the user has received a sample on an alternate path.
    pub fn sample_passed(&mut self, now: Instant, reader: EntityId, writer: Guid) {
        self.note_occurrence(now, Monitored::Deadline(reader));
        self.note_occurrence(now, Monitored::Liveliness(reader, writer));
    }
}
