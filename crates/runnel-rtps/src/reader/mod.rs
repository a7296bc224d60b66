//! A reader: how far it is with each of its writers.

mod fragments;
mod proxy;
#[cfg(test)]
mod tests;

pub(crate) use fragments::Complete;
pub(crate) use proxy::{Arrival, WriterProxy, WriterSpec, copied};

use crate::wire::{EntityId, Guid, GuidPrefix};
use alloc::collections::BTreeMap;
use core::net::SocketAddr;

/// A reader of ours.
#[derive(Debug)]
pub(crate) struct Reader {
    pub id: EntityId,
    writers: BTreeMap<Guid, WriterProxy>,
}

impl Reader {
    pub fn new(id: EntityId) -> Self {
        Self { id, writers: BTreeMap::new() }
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
