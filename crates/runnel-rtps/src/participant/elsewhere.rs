//! Readers that hear a writer by another way than RTPS for as long as it takes until they are known to have met it, such as
//! a node that is reached by ROS 1 already. They go over to RTPS between two samples: nothing is lost for it, or doubled.

use super::Participant;
use crate::announce::{Endpoint, Role};
use crate::stored::Lend;
use crate::wire::{EntityId, Guid, GuidPrefix, SequenceNumber};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use runnel_core::time::Instant;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// By writer: the words in the user data of the readers meant, with how many ways each is reached by.
    words: BTreeMap<EntityId, BTreeMap<Vec<u8>, usize>>,
    /// Which of them are waited for.
    waiting: BTreeSet<(EntityId, Guid)>,
    /// The one whose other way has ended just now.
    over: Option<(EntityId, Guid)>,
}

impl Elsewhere {
    /// The word of this reader's user data by which it is meant.
    fn word_of<'a>(&self, writer: EntityId, reader: &'a Endpoint) -> Option<&'a [u8]> {
        let words = self.words.get(&writer)?;
        words_of(reader).find(|word| words.contains_key(*word))
    }

    pub(super) fn wait(&mut self, writer: EntityId, reader: Guid) {
        self.waiting.insert((writer, reader));
    }

    /// Whether a reader is let over now.
    pub(super) fn is_let_over(&self, writer: EntityId, reader: Guid) -> bool {
        self.over == Some((writer, reader))
    }

    pub(super) fn forget(&mut self, writer: EntityId, reader: Guid) {
        self.waiting.remove(&(writer, reader));
    }

    pub(super) fn forget_writer(&mut self, writer: EntityId) {
        self.words.remove(&writer);
        self.waiting.retain(|(of, _)| *of != writer);
    }
}

fn words_of(endpoint: &Endpoint) -> impl Iterator<Item = &[u8]> {
    endpoint.user_data.split(|byte| *byte == b';')
}

impl<P: Lend> Participant<P> {
    /// Readers with `word` among the words of their user data, which `;` ends, hear a writer of ours by another way. Those
    /// that are not matched yet are not matched before [`Participant::let_over`] says so, and are told of nothing earlier.
    /// [`Event::CanGoOver`](crate::Event::CanGoOver) tells that one has acknowledged the writer's announcement, so that it can be. To be called once
    /// for each such way.
    pub fn heard_elsewhere(&mut self, writer: EntityId, word: &[u8]) {
        if self.writers.contains_key(&writer) {
            let words = self.elsewhere.words.entry(writer).or_default();
            *words.entry(word.to_vec()).or_default() += 1;
        }
    }

    /// Such a way has ended: with the last one, readers that were waited for are matched at once.
    pub fn not_heard_elsewhere(&mut self, now: Instant, writer: EntityId, word: &[u8]) {
        let Some(words) = self.elsewhere.words.get_mut(&writer) else { return };
        let Some(ways) = words.get_mut(word) else { return };
        *ways -= 1;
        if *ways == 0 {
            words.remove(word);
            self.match_own(now, writer);
        }
    }

    /// All that was sent by the other way is on its way: readers with this word that have met the writer are matched. Whether
    /// any were.
    pub fn let_over(&mut self, now: Instant, writer: EntityId, word: &[u8]) -> bool {
        let before = self.reader_changes(writer);
        let of_writer = self.elsewhere.waiting.range((writer, Guid::default())..);
        let of_writer = of_writer.take_while(|(of, _)| *of == writer).map(|(_, reader)| *reader);
        let is_meant = |reader: &Guid| {
            let mut words = self.endpoint(*reader).into_iter().flat_map(words_of);
            words.any(|of| of == word) && self.has_met(writer, reader.prefix)
        };
        let met: Vec<Guid> = of_writer.filter(is_meant).collect();
        for reader in met {
            self.elsewhere.over = Some((writer, reader));
            self.meet(now, writer, reader);
        }
        self.elsewhere.over = None;
        self.reader_changes(writer) != before
    }

    /// How often readers of a writer of ours have been matched or left.
    pub fn reader_changes(&self, writer: EntityId) -> u32 {
        self.writers.get(&writer).map_or(0, |writer| writer.changes())
    }

    /// Whether this reader hears a writer of ours by another way. That carries nothing any more once a reader with the same
    /// word has been matched.
    pub(super) fn hears_elsewhere(&self, writer: EntityId, reader: &Endpoint) -> bool {
        let Some(word) = self.elsewhere.word_of(writer, reader) else { return false };
        let matched = self.writers.get(&writer).into_iter().flat_map(|writer| writer.readers());
        let mut matched = matched.filter_map(|proxy| self.endpoint(proxy.guid()));
        !matched.any(|other| words_of(other).any(|of| of == word))
    }

    /// Matched readers of a writer of ours that are not known to have met it: their participants have not acknowledged its
    /// announcement yet, so that they may miss what is sent to them best effort.
    pub fn not_yet_met(&self, writer: EntityId) -> Vec<Guid> {
        let readers = self.writers.get(&writer).into_iter().flat_map(|writer| writer.readers());
        readers.map(|proxy| proxy.guid()).filter(|reader| !self.has_met(writer, reader.prefix)).collect()
    }

    /// Whether a participant is known to have heard of a writer of ours.
    pub(super) fn has_met(&self, writer: EntityId, who: GuidPrefix) -> bool {
        let teller = super::teller_of(Role::Writer);
        let Some(told_at) = self.writers.get(&writer).map(|writer| writer.told_at) else { return false };
        let Some(teller) = self.writers.get(&teller) else { return false };
        let mut proxies = teller.readers().iter().filter(|proxy| proxy.guid().prefix == who);
        proxies.any(|proxy| proxy.acked() >= told_at)
    }

    /// The number under which the last endpoint was announced on this side.
    pub(super) fn told_at(&self, role: Role) -> SequenceNumber {
        let teller = self.writers.get(&super::teller_of(role));
        teller.map_or(SequenceNumber::ZERO, |teller| teller.history().last())
    }

    /// A participant has acknowledged announcements of writers.
    pub(super) fn announcements_acknowledged(&mut self, now: Instant, by: GuidPrefix) {
        let waiting = self.elsewhere.waiting.iter().filter(|(_, reader)| reader.prefix == by);
        let waiting: Vec<(EntityId, Guid)> = waiting.copied().collect();
        waiting.into_iter().for_each(|(writer, reader)| self.meet(now, writer, reader));
    }
}
