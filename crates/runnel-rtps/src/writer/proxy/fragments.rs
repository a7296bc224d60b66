//! Samples that are too long for a datagram are cut.

use super::ReaderProxy;
use crate::announce::PLAIN_PAYLOAD;
use crate::datagram::Datagram;
use crate::history::Change;
use crate::lend::Lend;
use crate::wire::{Data, DataFrag, EntityId, Gap, HEADER_LEN, Heartbeat, InfoDestination, InfoTimestamp};
use runnel_core::time::Instant;

/// What takes up room in a datagram before the first sample: header and destination.
const FRAME: usize = HEADER_LEN + InfoDestination::LEN;

/// What takes up room with a sample: time, what tells that something is gone, padding, and a heartbeat.
const BESIDE: usize = InfoTimestamp::LEN + 32 + 4 + Heartbeat::LEN;

impl ReaderProxy {
    /// True if a sample has room in a datagram of which so much is full.
    pub(super) fn fits<B: Lend>(&self, change: &Change<B>, full: usize) -> bool {
        let len = if self.spec.plain.is_some() { PLAIN_PAYLOAD } else { change.payload.bytes().len() };
        full + len + Data::OVERHEAD + self.beside() <= self.spec.datagram
    }

    /// True if a sample may be appended to this datagram.
    pub(super) fn may_add<B: Lend>(&self, change: &Change<B>, out: &Datagram<B>) -> bool {
        let bytes = change.payload.bytes().len() + Data::OVERHEAD + self.beside();
        self.fits(change, out.len()) && out.allows(bytes)
    }

    /// What takes up room with a sample of its.
    fn beside(&self) -> usize {
        BESIDE + self.spec.inline_qos.len()
    }

    /// True if there is nothing in a datagram yet.
    pub(super) fn is_empty<B: Lend>(out: &Datagram<B>) -> bool {
        out.len() <= FRAME
    }

    /// True if a GAP has room in a datagram, and a heartbeat behind it.
    pub(super) fn fits_gap<B: Lend>(&self, out: &Datagram<B>) -> bool {
        let fits = Self::is_empty(out) || out.len() + Gap::MOST_LEN + Heartbeat::LEN <= self.spec.datagram;
        fits && out.allows(Gap::MOST_LEN)
    }

    /// True if a datagram with a fragment costs no more than it may.
    pub(super) fn may_add_fragment<B: Lend>(&self, change: &Change<B>, out: &Datagram<B>) -> bool {
        let len = change.payload.bytes().len().min(self.fragment_len().into());
        out.allows(len + DataFrag::OVERHEAD + self.beside())
    }

    /// True if a sample needs not be cut.
    pub(super) fn is_short<B: Lend>(&self, change: &Change<B>) -> bool {
        self.fits(change, FRAME)
    }

    /// How long the fragments are that it is sent. Each reader has its own: of those of one writer some may be on this host,
    /// where datagrams are long, and others on the far side of a network.
    fn fragment_len(&self) -> u16 {
        let room = self.spec.datagram.saturating_sub(FRAME + DataFrag::OVERHEAD + self.beside()).max(1);
        u16::try_from(room & !3).unwrap_or(u16::MAX - 3).max(1)
    }

    /// How many fragments of a sample there are for it.
    pub(super) fn fragments<B: Lend>(&self, change: &Change<B>) -> u32 {
        (change.payload.bytes().len() as u32).div_ceil(u32::from(self.fragment_len()))
    }

    /// Puts in a fragment; tells how many the sample has.
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
            &self.spec.inline_qos,
            &change.payload,
            (fragment, self.fragment_len()),
        );
        self.pacer.went(now, out.len());
        self.fragments_sent = self.fragments_sent.saturating_add(1);
        self.fragments(change)
    }
}
