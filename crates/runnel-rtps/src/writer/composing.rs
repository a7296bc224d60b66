//! Whose turn it is to be sent to, and what is put into its datagram.

use super::{Filled, Writer};
use crate::datagram::Datagram;
use crate::lend::Lend;
use crate::wire::{EntityId, Guid, GuidPrefix};
use runnel_core::time::Instant;

/// What came of composing a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Composed {
    /// There is one.
    Ready,
    /// There is nothing to be sent.
    Nothing,
    /// There is nothing to be sent before then.
    NotBefore(Instant),
}

impl<B: Lend> Writer<B> {
    /// Puts together the next datagram.
    pub fn compose(&mut self, now: Instant, from: GuidPrefix, out: &mut Datagram<B>) -> Composed {
        let mut not_before: Option<Instant> = None;
        // Whether the readers of a participant are equally far is asked once for all of them.
        let mut of_participant: Option<(GuidPrefix, bool)> = None;
        for _ in 0..self.readers.len() {
            let index = self.turn % self.readers.len();
            let Some(prefix) = self.open_at(index) else {
                self.turn = (index + 1) % self.readers.len();
                continue;
            };
            let known = of_participant.filter(|(of, _)| *of == prefix);
            let together = known.map_or_else(|| self.together(index), |(_, together)| together);
            of_participant = Some((prefix, together));
            let Some(reader) = self.readers.at_mut(index) else { break };
            let ends = (if together { EntityId::UNKNOWN } else { reader.guid().entity }, self.id);
            out.begin(from, reader.guid().prefix);
            match reader.fill(now, ends, &self.history, &mut self.heartbeats, out) {
                Filled::Something => {
                    out.to.push(reader.address());
                    self.follow(now, index, together);
                    self.trim();
                    return Composed::Ready;
                }
                Filled::Nothing => {}
                Filled::NotBefore(at) => not_before = Some(not_before.map_or(at, |other| other.min(at))),
            }
            self.turn = (index + 1) % self.readers.len();
        }
        not_before.map_or(Composed::Nothing, Composed::NotBefore)
    }

    /// Appends what a reader must get to a datagram that has been begun for its participant.
    pub fn fill(&mut self, now: Instant, reader: Guid, out: &mut Datagram<B>) -> Filled {
        let ends = (reader.entity, self.id);
        let Some(proxy) = self.readers.get_mut(reader) else {
            return Filled::Nothing;
        };
        let filled = proxy.fill(now, ends, &self.history, &mut self.heartbeats, out);
        self.trim();
        filled
    }

    /// Whose reader stands at this place, if it is sent anything.
    fn open_at(&self, index: usize) -> Option<GuidPrefix> {
        self.readers.at(index).filter(|reader| reader.is_open()).map(|reader| reader.guid().prefix)
    }

    /// True if there are several readers in the participant of this one and all are equally far, so that one datagram
    /// does for all.
    fn together(&self, index: usize) -> bool {
        let Some(reader) = self.readers.at(index) else { return false };
        let others = self.readers.of(reader.guid().prefix);
        others.clone().count() > 1 && others.clone().all(|other| other.is_level_with(reader, &self.history))
    }

    /// Takes it that what was sent to one reader was sent to those of its participant.
    fn follow(&mut self, now: Instant, index: usize, together: bool) {
        if !together {
            return;
        }
        let Some((guid, lead)) = self.readers.at(index).map(|leader| (leader.guid(), leader.lead())) else {
            return;
        };
        let followers = self.readers.of_mut(guid.prefix).filter(|other| other.guid() != guid);
        followers.for_each(|other| other.follow(now, lead));
    }
}
