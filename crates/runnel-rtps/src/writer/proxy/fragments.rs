//! Fragmentation of samples that exceed a datagram.

use super::ReaderProxy;
use crate::announce::PLAIN_PAYLOAD;
use crate::datagram::Datagram;
use crate::history::Change;
use crate::lend::Lend;
use crate::wire::{Data, DataFrag, EntityId, Gap, HEADER_LEN, Heartbeat, InfoDestination, InfoTimestamp};
use runnel_core::time::Instant;

/// Bytes of a datagram before the first sample: header and destination.
const DATAGRAM_OVERHEAD: usize = HEADER_LEN + InfoDestination::LEN;

/// Overhead of a sample: timestamp, dispose flags, padding, and a heartbeat.
const SAMPLE_OVERHEAD: usize = InfoTimestamp::LEN + 32 + 4 + Heartbeat::LEN;

impl ReaderProxy {
    /// Returns whether a sample fits into a datagram with `full` bytes.
    pub(super) fn has_space_for<B: Lend>(&self, change: &Change<B>, full: usize) -> bool {
        let len = if self.spec.plain.is_some() { PLAIN_PAYLOAD } else { change.payload.bytes().len() };
        full + len + Data::OVERHEAD + self.overhead(change) <= self.spec.datagram
    }

    /// Returns whether a sample may be appended to this datagram.
    pub(super) fn can_append<B: Lend>(&self, change: &Change<B>, out: &Datagram<B>) -> bool {
        let bytes = change.payload.bytes().len() + Data::OVERHEAD + self.overhead(change);
        self.has_space_for(change, out.len()) && out.has_space(bytes)
    }

    /// Returns the overhead of a sample for this reader.
    fn overhead<B>(&self, change: &Change<B>) -> usize {
        SAMPLE_OVERHEAD + self.spec.inline_qos.len() + change.inline_qos().len()
    }

    /// Returns whether a datagram has no content yet.
    pub(super) fn is_empty<B: Lend>(out: &Datagram<B>) -> bool {
        out.len() <= DATAGRAM_OVERHEAD
    }

    /// Returns whether a GAP and a heartbeat fit into a datagram.
    pub(super) fn has_space_for_gap<B: Lend>(&self, out: &Datagram<B>) -> bool {
        let fits = Self::is_empty(out) || out.len() + Gap::MAX_LEN + Heartbeat::LEN <= self.spec.datagram;
        fits && out.has_space(Gap::MAX_LEN)
    }

    /// Returns whether a datagram with a fragment is within the limit of unproved peers.
    pub(super) fn can_append_fragment<B: Lend>(&self, change: &Change<B>, out: &Datagram<B>) -> bool {
        let len = change.payload.bytes().len().min(self.fragment_len(change).into());
        out.has_space(len + DataFrag::OVERHEAD + self.overhead(change))
    }

    /// Returns whether a sample needs no fragmentation.
    pub(super) fn is_short<B: Lend>(&self, change: &Change<B>) -> bool {
        self.has_space_for(change, DATAGRAM_OVERHEAD)
    }

    /// Returns the fragment size for this reader. Readers of one writer have different sizes: those on this host get
    /// long datagrams, others those of their network.
    fn fragment_len<B>(&self, change: &Change<B>) -> u16 {
        let capacity = self
            .spec
            .datagram
            .saturating_sub(DATAGRAM_OVERHEAD + DataFrag::OVERHEAD + self.overhead(change))
            .max(1);
        u16::try_from(capacity & !3).unwrap_or(u16::MAX - 3).max(1)
    }

    /// Returns the number of fragments of a sample for this reader.
    pub(super) fn fragments<B: Lend>(&self, change: &Change<B>) -> u32 {
        (change.payload.bytes().len() as u32).div_ceil(u32::from(self.fragment_len(change)))
    }

    /// Appends a fragment; returns the number of fragments of the sample.
    pub(super) fn put_fragment<B: Lend>(
        &mut self,
        now: Instant,
        change: &Change<B>,
        fragment: u32,
        ends: (EntityId, EntityId),
        out: &mut Datagram<B>,
    ) -> u32 {
        out.stamp(change.stamp);
        out.fragment(
            ends,
            self.numbered(change.number),
            &self.spec.inline_qos_of(change),
            &change.payload,
            (fragment, self.fragment_len(change)),
        );
        self.pacer.note_sent(now, out.len());
        self.fragments_sent = self.fragments_sent.saturating_add(1);
        self.fragments(change)
    }
}
