//! Readers that hear a writer by another way than RTPS for as long as it takes until they are known to have met it, such as
//! a node that is reached by ROS 1 already. They go over to RTPS between two samples: nothing is lost for it, or doubled.

use super::Participant;
use crate::announce::{Endpoint, Role};
use crate::wire::{EntityId, Guid, GuidPrefix, SequenceNumber};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use runnel_core::time::Instant;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// By writer: the words in the user data of the readers meant.
    words: BTreeMap<EntityId, BTreeMap<Vec<u8>, Ways>>,
    /// Which of them are waited for, and whether they are newer than the ways.
    waiting: BTreeMap<(EntityId, Guid), bool>,
    /// The one whose other way has ended just now.
    over: Option<(EntityId, Guid)>,
    /// Words of readers that have ended while no way stood, by writer: a way that begins before another reader with this word
    /// comes was made for the one that has ended.
    ended: BTreeSet<(EntityId, Vec<u8>)>,
}

/// How many words of readers that have ended are remembered.
const MOST_ENDED: usize = 1024;

/// The ways by which the readers with a word are reached.
#[derive(Debug, Default)]
struct Ways {
    count: usize,
    /// The readers that they were made for have ended: who comes now has got nothing by them.
    outlived: bool,
}

impl Elsewhere {
    /// The word of this reader's user data by which it is meant.
    fn word_of<'a>(&self, writer: EntityId, reader: &'a Endpoint) -> Option<&'a [u8]> {
        let words = self.words.get(&writer)?;
        words_of(reader).find(|word| words.contains_key(*word))
    }

    pub(super) fn wait(&mut self, writer: EntityId, reader: &Endpoint) {
        let ways = self.word_of(writer, reader).and_then(|word| self.words.get(&writer)?.get(word));
        let is_new = ways.is_some_and(|ways| ways.outlived);
        self.waiting.entry((writer, reader.guid)).or_insert(is_new);
    }

    /// Whether a reader that is waited for, and whose ways stand, has got by these what is earlier.
    pub(super) fn has_got_earlier(&self, writer: EntityId, reader: &Endpoint) -> bool {
        self.waiting.get(&(writer, reader.guid)) == Some(&false) && self.word_of(writer, reader).is_some()
    }

    /// A reader is joined: the ways are its own from now on.
    pub(super) fn joined(&mut self, writer: EntityId, reader: &Endpoint) {
        self.forget(writer, reader.guid);
        let has_its_word = |word: &[u8]| words_of(reader).any(|of| of == word);
        self.ended.retain(|(of, word)| *of != writer || !has_its_word(word));
        let words = self.words.get_mut(&writer);
        words
            .into_iter()
            .flatten()
            .filter(|(word, _)| words_of(reader).any(|of| of == *word))
            .for_each(|(_, ways)| ways.outlived = false);
    }

    /// Which readers of a writer are waited for.
    fn awaited(&self, writer: EntityId) -> impl Iterator<Item = Guid> {
        let of_writer = self.waiting.range((writer, Guid::default())..).map(|(of, _)| *of);
        of_writer.take_while(move |(of, _)| *of == writer).map(|(_, reader)| reader)
    }

    /// Whether a reader is let over now.
    pub(super) fn is_let_over(&self, writer: EntityId, reader: Guid) -> bool {
        self.over == Some((writer, reader))
    }

    pub(super) fn forget(&mut self, writer: EntityId, reader: Guid) {
        self.waiting.remove(&(writer, reader));
    }

    /// A reader has ended whose words stand for no way.
    fn note_ended(&mut self, writer: EntityId, gone: &Endpoint) {
        if self.ended.len() >= MOST_ENDED {
            self.ended.clear();
        }
        self.ended.extend(words_of(gone).filter(|word| !word.is_empty()).map(|word| (writer, word.to_vec())));
    }

    pub(super) fn forget_writer(&mut self, writer: EntityId) {
        self.words.remove(&writer);
        self.ended.retain(|(of, _)| *of != writer);
        self.waiting.retain(|(of, _), _| *of != writer);
    }
}

fn words_of(endpoint: &Endpoint) -> impl Iterator<Item = &[u8]> {
    endpoint.user_data.split(|byte| *byte == b';')
}

impl Participant {
    /// Readers with `word` among the words of their user data, which `;` ends, hear a writer of ours by another way. Those
    /// that are not matched yet are not matched before [`Participant::let_over`] says so, and are told of nothing earlier, unless
    /// they come after the last reader that the way was made for.
    /// [`Event::CanGoOver`](crate::Event::CanGoOver) tells that one has acknowledged the writer's announcement, so that it can be. To be called once
    /// for each such way.
    pub fn heard_elsewhere(&mut self, writer: EntityId, word: &[u8]) {
        if self.user_writers.contains_key(&writer) {
            let outlived = self.elsewhere.ended.remove(&(writer, word.to_vec()));
            let words = self.elsewhere.words.entry(writer).or_default();
            let ways = words.entry(word.to_vec()).or_default();
            ways.count += 1;
            ways.outlived |= outlived;
        }
    }

    /// Such a way has ended: with the last one, readers that were waited for are matched at once.
    pub fn not_heard_elsewhere(&mut self, now: Instant, writer: EntityId, word: &[u8]) {
        let Some(words) = self.elsewhere.words.get_mut(&writer) else { return };
        let Some(ways) = words.get_mut(word) else { return };
        ways.count -= 1;
        if ways.count == 0 {
            words.remove(word);
            let waiting: Vec<Guid> =
                self.elsewhere.awaited(writer).filter(|reader| self.has_word(*reader, word)).collect();
            waiting.into_iter().for_each(|reader| self.meet(now, writer, reader));
        }
    }

    /// A reader of another has been ended there. If no other of its node is left, the ways are those of what has ended: that
    /// they are ended, too, may be known later than who comes next.
    pub(super) fn reader_ended(&mut self, gone: &Endpoint) {
        let is_of_topic =
            |writer: &EntityId| self.endpoints.get(writer).is_some_and(|ours| ours.topic == gone.topic);
        let writers: Vec<EntityId> = self.user_writers.keys().copied().filter(is_of_topic).collect();
        for writer in writers {
            let Some(word) = self.elsewhere.word_of(writer, gone).map(<[u8]>::to_vec) else {
                self.elsewhere.note_ended(writer, gone);
                continue;
            };
            let is_awaited = self.elsewhere.awaited(writer).any(|other| self.has_word(other, &word));
            let outlived = self.hears_elsewhere(writer, gone) && !is_awaited;
            let words = self.elsewhere.words.get_mut(&writer);
            if let Some(ways) = words.and_then(|words| words.get_mut(&word)) {
                ways.outlived |= outlived;
            }
        }
    }

    fn has_word(&self, endpoint: Guid, word: &[u8]) -> bool {
        self.endpoint(endpoint).into_iter().flat_map(words_of).any(|of| of == word)
    }

    /// All that was sent by the other way is on its way: readers with this word that have met the writer are matched. Whether
    /// any were.
    pub fn let_over(&mut self, now: Instant, writer: EntityId, word: &[u8]) -> bool {
        let is_meant = |reader: &Guid| self.has_word(*reader, word) && self.has_met(writer, reader.prefix);
        let met: Vec<Guid> = self.elsewhere.awaited(writer).filter(is_meant).collect();
        let mut any = false;
        for reader in met {
            self.elsewhere.over = Some((writer, reader));
            self.meet(now, writer, reader);
            any |= self.user_writers.get(&writer).is_some_and(|writer| writer.matched.contains(&reader));
        }
        self.elsewhere.over = None;
        any
    }

    /// Whether this reader hears a writer of ours by another way. That carries nothing any more once a reader with the same
    /// word has been matched.
    pub(super) fn hears_elsewhere(&self, writer: EntityId, reader: &Endpoint) -> bool {
        let Some(word) = self.elsewhere.word_of(writer, reader) else { return false };
        let matched = self.user_writers.get(&writer).into_iter().flat_map(|writer| &writer.matched);
        let mut matched = matched.filter_map(|reader| self.endpoint(*reader));
        !matched.any(|other| words_of(other).any(|of| of == word))
    }

    /// Matched readers of a writer of ours that are not known to have met it: their participants have not acknowledged its
    /// announcement yet, so that they may miss what is sent to them best effort.
    pub fn not_yet_met(&self, writer: EntityId) -> Vec<Guid> {
        let readers = self.user_writers.get(&writer).into_iter().flat_map(|writer| &writer.matched).copied();
        readers.filter(|reader| !self.has_met(writer, reader.prefix)).collect()
    }

    /// Whether a participant is known to have heard of a writer of ours.
    pub(super) fn has_met(&self, writer: EntityId, who: GuidPrefix) -> bool {
        let teller = super::teller_of(Role::Writer);
        let Some(told_at) = self.user_writers.get(&writer).map(|writer| writer.told_at) else { return false };
        let Some(teller) = self.writers.get(&teller) else { return false };
        let mut proxies = teller.readers().of(who);
        proxies.any(|proxy| proxy.acked() >= told_at)
    }

    /// The number under which the last endpoint was announced on this side.
    pub(super) fn told_at(&self, role: Role) -> SequenceNumber {
        let teller = self.writers.get(&super::teller_of(role));
        teller.map_or(SequenceNumber::ZERO, |teller| teller.history().last())
    }

    /// A participant has acknowledged announcements of writers.
    pub(super) fn announcements_acknowledged(&mut self, now: Instant, by: GuidPrefix) {
        let waiting = self.elsewhere.waiting.keys().filter(|(_, reader)| reader.prefix == by);
        let waiting: Vec<(EntityId, Guid)> = waiting.copied().collect();
        waiting.into_iter().for_each(|(writer, reader)| self.meet(now, writer, reader));
    }
}
