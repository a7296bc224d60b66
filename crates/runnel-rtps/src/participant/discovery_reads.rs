//! Repeated reads of what a peer's writers of discovery have: what discovery says of endpoints may have been forged. A writer
//! that has said less than came in its name is read again as a whole, and endpoints that it does not tell of any more are
//! dropped then. What is forged meanwhile may take the place of a true sample, so such a writer is read, with each announcement
//! of its participant, until two reads in a row have told the same.

use super::{Participant, teller_of};
use crate::announce::{Endpoint, Role};
use crate::wire::{EntityId, Guid, GuidPrefix};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use runnel_core::time::Instant;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct DiscoveryReads {
    /// By writer that is read again.
    under_way: BTreeMap<Guid, Read>,
    /// What the last read gave of a writer whose last two do not agree.
    unsettled: BTreeMap<Guid, Digest>,
    /// Writers that have changed what they had said, and are read again once all that they have has come.
    changed: BTreeSet<Guid>,
}

/// One read.
#[derive(Debug)]
struct Read {
    /// The endpoints that were known, and that the writer has not told of since.
    unconfirmed: BTreeSet<EntityId>,
    /// Of all that it has told since.
    digest: Digest,
}

/// Digest of the samples of a read, in order: also of those that are refused, which come again in each read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digest(u64);

impl Digest {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    fn add(&mut self, bytes: &[u8]) {
        // FNV-1a.
        let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        self.0 = bytes.iter().chain(&bytes.len().to_le_bytes()).fold(self.0, fold);
    }
}

impl DiscoveryReads {
    /// A participant is lost, or found anew: what is read again of it is read from the beginning.
    pub fn forget(&mut self, prefix: GuidPrefix) {
        self.under_way.extract_if(prefix.endpoints(), |_, _| true).for_each(drop);
        self.unsettled.extract_if(prefix.endpoints(), |_, _| true).for_each(drop);
        self.changed.retain(|writer| writer.prefix != prefix);
    }

    /// A writer of discovery has told something.
    pub fn note_sample(&mut self, writer: Guid, bytes: &[u8]) {
        if let Some(read) = self.under_way.get_mut(&writer) {
            read.digest.add(bytes);
        }
    }

    /// An endpoint was told of.
    pub fn note_told_of(&mut self, guid: Guid) {
        for (_, read) in self.under_way.range_mut(guid.prefix.endpoints()) {
            read.unconfirmed.remove(&guid.entity);
        }
    }

    /// A read has given this. True if the one before gave the same.
    fn settles(&mut self, writer: Guid, digest: Digest) -> bool {
        let is_same = self.unsettled.remove(&writer) == Some(digest);
        if !is_same {
            self.unsettled.insert(writer, digest);
        }
        is_same
    }

    #[cfg(test)]
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }
}

impl Participant {
    /// What was believed of a participant's endpoints may have been forged: they are read again when it announces itself.
    pub(super) fn distrust_discovery(&mut self, prefix: GuidPrefix) {
        if let Some(peer) = self.peers.get_mut(prefix) {
            peer.was_corrected = true;
        }
    }

    /// A writer of discovery has changed what it had said. It is asked where it stands: its HEARTBEATs contradict a sample that
    /// it has not written. While its position is in doubt they may agree with one under a number of its own, so all is read
    /// again.
    pub(super) fn check_discovery(&mut self, now: Instant, writer: Guid) {
        let readers: Vec<EntityId> = self.heard.get(&writer).cloned().unwrap_or_default();
        for reader in readers {
            let Some(proxy) = self.writer_of(reader, writer) else { continue };
            proxy.probe(now);
            if proxy.is_in_doubt() {
                self.reads.changed.insert(writer);
                self.distrust_discovery(writer.prefix);
            }
            self.wake_answer(reader, writer);
        }
    }

    /// A participant announces itself whose discovery had to be corrected: all that it has told is read again, since what was
    /// forged meanwhile may have hidden endpoints that say nothing themselves.
    pub(super) fn read_corrected_discovery(&mut self, now: Instant, prefix: GuidPrefix) {
        let peer = self.peers.get_mut(prefix);
        if !peer.is_some_and(|peer| core::mem::take(&mut peer.was_corrected)) {
            return;
        }
        for role in [Role::Writer, Role::Reader] {
            self.read_discovery_again(now, prefix.with(teller_of(role)));
        }
    }

    /// Reads all again that a writer of discovery has.
    pub(super) fn read_discovery_again(&mut self, now: Instant, writer: Guid) {
        let readers: Vec<EntityId> = self.heard.get(&writer).cloned().unwrap_or_default();
        for reader in readers {
            if let Some(proxy) = self.writer_of(reader, writer) {
                proxy.read_again(now);
            }
            self.continue_read(now, reader, writer);
            self.wake_answer(reader, writer);
        }
    }

    /// A writer of discovery is read again, or has been.
    pub(super) fn continue_read(&mut self, now: Instant, reader: EntityId, writer: Guid) {
        let proxy = self.writer_of(reader, writer);
        let Some((begins, has_all)) = proxy.map(|proxy| (proxy.take_rereads(), proxy.has_all())) else {
            return;
        };
        if begins {
            self.begin_read(writer);
        }
        if has_all && let Some(read) = self.reads.under_way.remove(&writer) {
            self.end_read(writer, read);
        }
        if has_all
            && self.reads.changed.remove(&writer)
            && let Some(proxy) = self.writer_of(reader, writer)
        {
            proxy.read_again(now);
        }
    }

    /// From now on a writer of discovery tells of all that it has.
    pub(super) fn begin_read(&mut self, writer: Guid) {
        let of_writer = |endpoint: &&Endpoint| teller_of(endpoint.role()) == writer.entity;
        let peer = self.peers.get(writer.prefix);
        let endpoints = peer.into_iter().flat_map(|peer| peer.endpoints.values()).filter(of_writer);
        let unconfirmed = endpoints.map(|endpoint| endpoint.guid.entity).collect();
        self.reads.under_way.insert(writer, Read { unconfirmed, digest: Digest::EMPTY });
    }

    /// A writer of discovery has told of all that it has: its participant lives, and endpoints that it has not told of are gone.
    /// It is read again if it has not told the same before.
    fn end_read(&mut self, writer: Guid, read: Read) {
        if let Some(peer) = self.peers.get_mut(writer.prefix) {
            peer.ends_unless_confirmed = None;
        }
        for entity in read.unconfirmed {
            self.drop_endpoint(writer.prefix.with(entity));
        }
        let tells_of_endpoints = [Role::Writer, Role::Reader].map(teller_of).contains(&writer.entity);
        if tells_of_endpoints && !self.reads.settles(writer, read.digest) {
            self.distrust_discovery(writer.prefix);
        }
    }
}
