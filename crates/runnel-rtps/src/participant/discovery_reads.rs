//! Repeated reads of peers' discovery writers, since endpoint announcements may have been forged.
//!
//! A writer that announces fewer samples than arrived in its name is read again completely, and endpoints that it no
//! longer announces are dropped. Forged samples may replace true ones meanwhile. Such a writer is therefore read with
//! each announcement of its participant, until two consecutive reads agree.
//!
//! A writer need not repeat samples that were acknowledged. A read in which such samples do not arrive is incomplete: it
//! ends without them, and proves nothing about the endpoints that they announced, which are kept. Endpoints that were
//! announced by later samples would have been announced again: they are dropped.

use super::{Participant, discovery_writer};
use crate::announce::{Endpoint, Role};
use crate::wire::{EntityId, Guid, GuidPrefix};
use alloc::vec::Vec;
use runnel_core::sorted::{SortedMap, SortedSet};
use runnel_core::time::Instant;

/// State of repeated reads.
#[derive(Debug, Default)]
pub(super) struct DiscoveryReads {
    /// Reads in progress, by writer.
    in_progress: SortedMap<Guid, Read>,
    /// Digest of the last read of a writer whose last two reads differ.
    unsettled: SortedMap<Guid, Digest>,
    /// Writers that have changed an announcement, and are read again once all their samples have arrived.
    changed: SortedSet<Guid>,
}

/// Read in progress.
#[derive(Debug)]
struct Read {
    /// Endpoints that were known, and not announced since.
    unconfirmed: SortedSet<EntityId>,
    /// Digest of all samples since.
    digest: Digest,
}

/// Digest of the samples of a read, in order, including refused ones, which are repeated in each read.
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
    /// Forgets the reads of a participant that is lost or discovered again.
    pub fn forget(&mut self, prefix: GuidPrefix) {
        self.in_progress.drain(prefix.endpoints()).for_each(drop);
        self.unsettled.drain(prefix.endpoints()).for_each(drop);
        self.changed.retain(|writer| writer.prefix != prefix);
    }

    /// Adds a sample of a discovery writer to its read.
    pub fn note_sample(&mut self, writer: Guid, bytes: &[u8]) {
        if let Some(read) = self.in_progress.get_mut(&writer) {
            read.digest.add(bytes);
        }
    }

    /// Records an announced endpoint.
    pub fn note_announced_endpoint(&mut self, guid: Guid) {
        for (_, read) in self.in_progress.range_mut(guid.prefix.endpoints()) {
            read.unconfirmed.remove(&guid.entity);
        }
    }

    /// Records the digest of a complete read. Returns whether the previous one was equal.
    fn is_repeated_digest(&mut self, writer: Guid, digest: Digest) -> bool {
        let is_same = self.unsettled.remove(&writer) == Some(digest);
        if !is_same {
            self.unsettled.insert(writer, digest);
        }
        is_same
    }

    #[cfg(test)]
    pub fn in_progress(&self) -> usize {
        self.in_progress.len()
    }
}

impl Participant {
    /// Requires that the endpoints of a participant are read again with its next announcement, since some may have been
    /// forged.
    pub(super) fn distrust_discovery(&mut self, prefix: GuidPrefix) {
        if let Some(peer) = self.peers.get_mut(prefix) {
            peer.was_corrected = true;
        }
    }

    /// Checks a discovery writer that has changed an announcement: a HEARTBEAT is requested from it, which contradicts a
    /// sample that it has not written. While its position is in doubt, the HEARTBEAT may agree with a forged sample, so
    /// all samples are read again.
    pub(super) fn check_discovery(&mut self, now: Instant, writer: Guid) {
        let readers: Vec<EntityId> = self.readers_by_writer.get(&writer).cloned().unwrap_or_default();
        for reader in readers {
            let Some(proxy) = self.writer_of(reader, writer) else { continue };
            proxy.probe(now);
            if proxy.is_in_doubt() {
                self.reads.changed.insert(writer);
                self.distrust_discovery(writer.prefix);
            }
            self.wake_acknack(reader, writer);
        }
    }

    /// Reads the discovery of a participant again if it was corrected: forged samples may have hidden endpoints that
    /// are silent.
    pub(super) fn read_corrected_discovery(&mut self, now: Instant, prefix: GuidPrefix) {
        let peer = self.peers.get_mut(prefix);
        if !peer.is_some_and(|peer| core::mem::take(&mut peer.was_corrected)) {
            return;
        }
        for role in [Role::Writer, Role::Reader] {
            self.read_discovery_again(now, prefix.with(discovery_writer(role)));
        }
    }

    /// Reads all samples of a discovery writer again.
    pub(super) fn read_discovery_again(&mut self, now: Instant, writer: Guid) {
        let readers: Vec<EntityId> = self.readers_by_writer.get(&writer).cloned().unwrap_or_default();
        for reader in readers {
            if let Some(proxy) = self.writer_of(reader, writer) {
                proxy.read_again(now);
            }
            self.continue_read(now, reader, writer);
            self.wake_acknack(reader, writer);
        }
    }

    /// Begins or completes a repeated read of a discovery writer.
    pub(super) fn continue_read(&mut self, now: Instant, reader: EntityId, writer: Guid) {
        let proxy = self.writer_of(reader, writer);
        let Some(proxy) = proxy else { return };
        let (begins, has_all) = (proxy.take_rereads(), proxy.has_all());
        let skipped_before = if has_all { proxy.take_skipped_before() } else { None };
        if begins {
            self.begin_read(writer);
        }
        if has_all && let Some(mut read) = self.reads.in_progress.remove(&writer) {
            if let (Some(end), Some(peer)) = (skipped_before, self.peers.get(writer.prefix)) {
                read.unconfirmed.retain(|entity| peer.announced_at.get(entity).is_some_and(|at| *at >= end));
            }
            self.end_read(writer, read);
        }
        if has_all
            && self.reads.changed.remove(&writer)
            && let Some(proxy) = self.writer_of(reader, writer)
        {
            proxy.read_again(now);
        }
    }

    /// Begins a read: the writer will announce all its endpoints.
    pub(super) fn begin_read(&mut self, writer: Guid) {
        let of_writer = |endpoint: &&Endpoint| discovery_writer(endpoint.role()) == writer.entity;
        let peer = self.peers.get(writer.prefix);
        let endpoints = peer.into_iter().flat_map(|peer| peer.endpoints()).filter(of_writer);
        let unconfirmed = endpoints.map(|endpoint| endpoint.guid.entity).collect();
        self.reads.in_progress.insert(writer, Read { unconfirmed, digest: Digest::EMPTY });
    }

    /// Completes a read: the participant is alive, and endpoints that were not announced are gone. The writer is read
    /// again if the previous read differs.
    fn end_read(&mut self, writer: Guid, read: Read) {
        if let Some(peer) = self.peers.get_mut(writer.prefix) {
            peer.ends_unless_confirmed = None;
        }
        for entity in read.unconfirmed {
            self.drop_endpoint(writer.prefix.with(entity));
        }
        let is_endpoint_writer = [Role::Writer, Role::Reader].map(discovery_writer).contains(&writer.entity);
        if is_endpoint_writer && !self.reads.is_repeated_digest(writer, read.digest) {
            self.distrust_discovery(writer.prefix);
        }
    }
}
