//! A reader: how far it is with each of its writers.

mod fragments;
mod proxy;
#[cfg(test)]
mod tests;

pub(crate) use fragments::Complete;
pub(crate) use proxy::{Arrival, WriterProxy, WriterSpec, copied};

use crate::wire::{EntityId, Guid, GuidPrefix};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::SocketAddr;

/// A reader of ours.
#[derive(Debug)]
pub(crate) struct Reader {
    pub id: EntityId,
    writers: BTreeMap<Guid, WriterProxy>,
    /// How many more samples its user has room for; `None` if for all.
    room: Option<usize>,
    /// Which writer is first when there is room again.
    turn: usize,
}

impl Reader {
    pub fn new(id: EntityId) -> Self {
        Self { id, writers: BTreeMap::new(), room: None, turn: 0 }
    }

    /// Its user has room for so many samples from now on.
    pub fn set_room(&mut self, room: usize) {
        self.room = Some(room);
    }

    /// True if its user has room for another sample.
    pub fn has_room(&self) -> bool {
        self.room != Some(0)
    }

    /// A sample goes to its user.
    pub fn take_room(&mut self) {
        self.room = self.room.map(|room| room.saturating_sub(1));
    }

    /// Its writers, each time another one first.
    pub fn writers_in_turn(&mut self) -> Vec<Guid> {
        let mut writers: Vec<Guid> = self.writers.keys().copied().collect();
        self.turn = self.turn.wrapping_add(1);
        let first = self.turn % writers.len().max(1);
        writers.rotate_left(first);
        writers
    }

    /// Joins a writer; one that is joined already is as it was.
    pub fn join(&mut self, spec: WriterSpec) {
        self.writers.entry(spec.guid).or_insert_with(|| WriterProxy::new(spec));
    }

    /// Leaves a writer. True if it was joined.
    pub fn leave(&mut self, writer: Guid) -> bool {
        self.writers.remove(&writer).is_some()
    }

    /// Leaves all writers of a participant.
    pub fn leave_all(&mut self, prefix: GuidPrefix) {
        self.writers.retain(|guid, _| guid.prefix != prefix);
    }

    /// The writers of a participant are reached elsewhere.
    pub fn move_writers(&mut self, prefix: GuidPrefix, address: SocketAddr) {
        let writers = self.writers.values_mut().filter(|writer| writer.guid().prefix == prefix);
        writers.for_each(|writer| writer.move_to(address));
    }

    pub fn writer_mut(&mut self, writer: Guid) -> Option<&mut WriterProxy> {
        self.writers.get_mut(&writer)
    }

    pub fn writer(&self, writer: Guid) -> Option<&WriterProxy> {
        self.writers.get(&writer)
    }

    pub fn writers(&self) -> impl Iterator<Item = &WriterProxy> {
        self.writers.values()
    }
}
