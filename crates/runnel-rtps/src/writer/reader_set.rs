//! Matched readers of a writer, sorted by GUID: an attacker can invent thousands of them, and each datagram looks one up.

use super::ReaderProxy;
use crate::wire::{Guid, GuidPrefix};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::{Range, RangeInclusive};

/// Matched readers, sorted by GUID.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "inserting and removing one of thousands moves pointers only")]
pub(crate) struct ReaderSet(Vec<Box<ReaderProxy>>);

impl ReaderSet {
    /// Returns the number of readers.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no reader is matched.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all readers, in the order of their GUIDs.
    pub fn iter(&self) -> impl Iterator<Item = &ReaderProxy> {
        self.0.iter().map(|reader| &**reader)
    }

    /// Returns all readers, in the order of their GUIDs.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut ReaderProxy> {
        self.0.iter_mut().map(|reader| &mut **reader)
    }

    /// Returns the readers of one participant.
    pub fn of_participant(&self, prefix: GuidPrefix) -> impl Iterator<Item = &ReaderProxy> + Clone {
        self.in_range(prefix.endpoints())
    }

    /// Returns the readers in a range.
    pub fn in_range(&self, readers: RangeInclusive<Guid>) -> impl Iterator<Item = &ReaderProxy> + Clone {
        let range = self.indices(readers);
        self.0.get(range).unwrap_or_default().iter().map(|reader| &**reader)
    }

    /// Returns the readers of one participant.
    pub fn of_participant_mut(&mut self, prefix: GuidPrefix) -> impl Iterator<Item = &mut ReaderProxy> {
        let range = self.indices(prefix.endpoints());
        self.0.get_mut(range).unwrap_or_default().iter_mut().map(|reader| &mut **reader)
    }

    /// Returns the reader with this GUID.
    pub fn get(&self, guid: Guid) -> Option<&ReaderProxy> {
        let index = self.search(guid).ok()?;
        self.get_index(index)
    }

    /// Returns the reader with this GUID.
    pub fn get_mut(&mut self, guid: Guid) -> Option<&mut ReaderProxy> {
        let index = self.search(guid).ok()?;
        self.get_index_mut(index)
    }

    /// Returns the index of the reader with this GUID.
    pub fn index_of(&self, guid: Guid) -> Option<usize> {
        self.search(guid).ok()
    }

    /// Returns the reader at this index in the order of GUIDs.
    pub fn get_index(&self, index: usize) -> Option<&ReaderProxy> {
        self.0.get(index).map(|reader| &**reader)
    }

    /// Returns the reader at this index in the order of GUIDs.
    pub fn get_index_mut(&mut self, index: usize) -> Option<&mut ReaderProxy> {
        self.0.get_mut(index).map(|reader| &mut **reader)
    }

    /// Inserts a reader, or replaces the one with the same GUID.
    pub fn insert(&mut self, reader: ReaderProxy) {
        match self.search(reader.guid()) {
            Ok(index) => *self.0[index] = reader,
            Err(index) => self.0.insert(index, Box::new(reader)),
        }
    }

    /// Removes the readers in a range.
    pub fn remove_range(&mut self, readers: RangeInclusive<Guid>) -> Vec<ReaderProxy> {
        let range = self.indices(readers);
        self.0.drain(range).map(|reader| *reader).collect()
    }

    fn search(&self, guid: Guid) -> Result<usize, usize> {
        self.0.binary_search_by_key(&guid, |reader| reader.guid())
    }

    fn indices(&self, readers: RangeInclusive<Guid>) -> Range<usize> {
        let begin = self.0.partition_point(|reader| reader.guid() < *readers.start());
        let end = self.0.partition_point(|reader| reader.guid() <= *readers.end());
        begin..end
    }
}
