//! Composition of datagrams: selection of the next reader, and the content for it.

use super::{Filled, ReaderProxy, Writer};
use crate::datagram::Datagram;
use crate::lend::Lend;
use crate::wire::{EntityId, Guid, GuidPrefix};
use runnel_core::time::Instant;

/// Result of composing a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Composed {
    /// A datagram was composed.
    Ready,
    /// Nothing is to be sent.
    Nothing,
    /// Nothing is to be sent before this time.
    NotBefore(Instant),
}

impl<B: Lend> Writer<B> {
    /// Composes the next datagram.
    pub fn compose(&mut self, now: Instant, from: GuidPrefix, out: &mut Datagram<B>) -> Composed {
        let mut not_before: Option<Instant> = None;
        // The comparison of a participant's readers is made once for all of them.
        let mut of_participant: Option<(GuidPrefix, bool)> = None;
        for _ in 0..self.candidates() {
            let Some(index) = self.candidate() else { break };
            let Some(prefix) = self.open_at(index) else {
                self.pass(index, false);
                continue;
            };
            let known = of_participant.filter(|(of, _)| *of == prefix);
            let serves_all = known.map_or_else(|| self.serves_all(index), |(_, serves_all)| serves_all);
            of_participant = Some((prefix, serves_all));
            let Some(reader) = self.readers.get_index_mut(index) else { break };
            let guid = reader.guid();
            let ends = (if serves_all { EntityId::UNKNOWN } else { guid.entity }, self.id);
            out.begin(from, guid.prefix);
            match reader.fill(now, ends, &self.history, &mut self.heartbeats, out) {
                Filled::Something => {
                    out.to.push(reader.address());
                    self.follow(now, index, serves_all);
                    self.note_changed(guid);
                    self.trim_for(guid);
                    return Composed::Ready;
                }
                Filled::Nothing => self.pass(index, false),
                Filled::NotBefore(at) => {
                    not_before = Some(not_before.map_or(at, |other| other.min(at)));
                    self.pass(index, true);
                }
            }
        }
        not_before.map_or(Composed::Nothing, Composed::NotBefore)
    }

    /// Appends the pending content of a reader to a datagram for its participant.
    pub fn fill(&mut self, now: Instant, reader: Guid, out: &mut Datagram<B>) -> Filled {
        let ends = (reader.entity, self.id);
        let Some(proxy) = self.readers.get_mut(reader) else {
            return Filled::Nothing;
        };
        let filled = proxy.fill(now, ends, &self.history, &mut self.heartbeats, out);
        self.trim();
        filled
    }

    /// Returns the participant of the reader at this index, if its gate is open.
    fn open_at(&self, index: usize) -> Option<GuidPrefix> {
        self.readers.get_index(index).filter(|reader| reader.is_open()).map(|reader| reader.guid().prefix)
    }

    /// Returns whether the participant of this reader has several readers, all with the same progress, so that one
    /// datagram serves all.
    fn serves_all(&self, index: usize) -> bool {
        let is_common =
            |reader: &&ReaderProxy| !self.history.is_addressed() || reader.shares_reorder_buffer();
        let Some(reader) = self.readers.get_index(index).filter(is_common) else { return false };
        let others = self.readers.of_participant(reader.guid().prefix);
        others.clone().count() > 1
            && others.clone().all(|other| other.has_same_progress(reader, &self.history))
    }

    /// Records that a datagram for one reader was also sent to the other readers of its participant.
    fn follow(&mut self, now: Instant, index: usize, serves_all: bool) {
        if !serves_all {
            return;
        }
        let Some((guid, lead)) = self.readers.get_index(index).map(|leader| (leader.guid(), leader.lead()))
        else {
            return;
        };
        let followers = self.readers.of_participant_mut(guid.prefix).filter(|other| other.guid() != guid);
        followers.for_each(|other| other.follow(now, lead));
        self.note_participant_changed(guid.prefix);
    }
}
