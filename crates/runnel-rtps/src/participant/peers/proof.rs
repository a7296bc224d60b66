//! Proof of an address: the sequence numbers of our discovery writers begin at a random number for each peer.
//!
//! A heartbeat contains the first number, and the reader's acknowledgement contains it, too. A sender that does not
//! receive at its source address does not know it. The number derives from a secret, the peer's prefix and its address:
//! a peer that we have lost, but that has not lost us, finds its numbers continued. A peer at another address has to
//! prove that one.
//!
//! Tested with Fast DDS 2.9, 2.14 and 3, Cyclone DDS 0.10 and 11, RustDDS 0.15, Dust DDS 0.16 and Runnel: each
//! acknowledges from the first number of the first heartbeat on. Fast DDS steps through all earlier numbers one by one,
//! and blocks for minutes if they are millions. embeddedRTPS (mROS 2) ignores the first number, as its source shows,
//! and requests number 1 for ever. It and untested vendors get the real numbers, which begin with 1: they count as
//! proved when they acknowledge a discovery sample, which a blind sender can forge.

use super::candidates::TRIAL;
use super::{DISCOVERY, Peer, Standing};
use crate::wire::{AckNack, EntityId, GuidPrefix, SequenceNumber, VendorId};
use crate::writer::Gate;
use alloc::vec::Vec;
use core::hash::Hasher;
#[expect(deprecated, reason = "the hasher that replaces it is in std")]
use core::hash::SipHasher;
use core::net::IpAddr;
use core::time::Duration;
use runnel_core::time::Instant;

/// Vendors whose readers begin with the first number of a heartbeat, and the maximum bits of that number. Some count
/// lost samples in 32 bits. Fast DDS steps through all numbers before the first one by one.
const BEGIN_ANYWHERE: [(VendorId, u32); 5] = [
    (VendorId::RUNNEL, 31),
    (VendorId::CYCLONE_DDS, 31),
    (VendorId::RUST_DDS, 31),
    (VendorId::DUST_DDS, 31),
    (VendorId::FAST_DDS, FEW_BITS),
];
const FEW_BITS: u32 = 13;

/// Number of different wrong numbers within a time after which none counts. A true peer may acknowledge some that it
/// received at another address.
const MAX_WRONG: usize = 8;
const GUESS_PERIOD: Duration = Duration::from_secs(3);

/// Initial credit of a participant that is to prove another address.
const CREDIT_FOR_NEW_ADDRESS: usize = 1024;

/// Returns the bits of a participant's random number, if it gets one.
fn bits(prefix: GuidPrefix, vendor: VendorId) -> Option<u32> {
    let (_, bits) = BEGIN_ANYWHERE.iter().find(|(of, _)| *of == vendor)?;
    // An attacker may have announced it first, with another vendor.
    Some(if prefix.is_of(VendorId::FAST_DDS) { FEW_BITS } else { *bits })
}

/// Returns the offset of a participant's discovery sequence numbers from the real ones.
#[expect(deprecated, reason = "the hasher that replaces it is in std")]
pub(super) fn number_offset(secret: [u64; 2], prefix: GuidPrefix, ip: IpAddr, vendor: VendorId) -> i64 {
    let Some(bits) = bits(prefix, vendor) else { return 0 };
    let mut hasher = SipHasher::new_with_keys(secret[0], secret[1]);
    hasher.write(&prefix.0);
    match ip {
        IpAddr::V4(ip) => hasher.write(&ip.octets()),
        IpAddr::V6(ip) => hasher.write(&ip.octets()),
    }
    1 + (hasher.finish() >> (64 - bits)).cast_signed()
}

/// Wrong numbers that a participant has acknowledged recently.
#[derive(Clone, Debug, Default)]
pub(super) struct Guesses {
    bases: Vec<SequenceNumber>,
    since: Instant,
}

impl Guesses {
    /// Counts a wrong number, unless it means that nothing has arrived, or is repeated. Returns whether the limit is
    /// reached.
    fn note(&mut self, now: Instant, base: SequenceNumber) -> bool {
        if self.since + GUESS_PERIOD <= now {
            self.bases.clear();
            self.since = now;
        }
        if base <= SequenceNumber::FIRST || self.bases.contains(&base) {
            return false;
        }
        self.bases.push(base);
        self.bases.len() == MAX_WRONG
    }

    fn are_too_many(&self, now: Instant) -> bool {
        self.bases.len() >= MAX_WRONG && now < self.since + GUESS_PERIOD
    }
}

impl Peer {
    /// Returns whether its number can be guessed by thousands of attempts: one datagram then counts as one attempt.
    pub(in crate::participant) fn is_guessable(&self) -> bool {
        bits(self.data.prefix, self.data.vendor) == Some(FEW_BITS)
    }

    /// Returns whether an acknowledgement proves that the peer receives our discovery; `last` is the last number.
    fn is_proved_by(&self, ack: &AckNack, last: SequenceNumber) -> bool {
        let base = SequenceNumber(ack.missing.base.0.saturating_sub(self.number_offset));
        let nothing_had = self.number_offset == 0 && last > SequenceNumber::ZERO;
        let least = if nothing_had { SequenceNumber(2) } else { SequenceNumber::FIRST };
        (least..=last.next()).contains(&base)
    }
}

impl super::Participant {
    /// Renumbers discovery for a participant whose vendor or address has changed. One that has named us continues after
    /// its former numbers: most readers never go back.
    pub(super) fn renumber(&mut self, prefix: GuidPrefix) {
        let Some(peer) = self.peers.get_mut(prefix).filter(|peer| !peer.is_proved()) else { return };
        let fresh = number_offset(self.config.secret, prefix, peer.metatraffic.ip(), peer.data.vendor);
        if !peer.standing.is_discovered() {
            peer.number_offset = fresh;
            return;
        }
        peer.number_offset = if fresh == 0 { 0 } else { peer.number_offset.saturating_add(fresh) };
        for (writer, reader) in DISCOVERY {
            let reader = prefix.with(reader);
            if let Some(of) = self.writers.get_mut(&writer) {
                of.unmatch_readers(reader..=reader);
            }
        }
        self.match_discovery(prefix);
    }

    /// Puts a proved participant on trial at another address. Its links remain, and wait.
    pub(super) fn repeat_trial(&mut self, now: Instant, prefix: GuidPrefix) {
        self.peers.alter(prefix, |peer| peer.standing = Standing::OnTrial);
        let Some(peer) = self.peers.get_mut(prefix) else { return };
        (peer.trial_ends, peer.credit) = (Some(now + TRIAL), CREDIT_FOR_NEW_ADDRESS);
        peer.outbox.queued = false;
        // It may also need our new address.
        peer.outbox.announcement = true;
        peer.outbox.begin_requests(now);
        self.set_gates(now, prefix, Gate::Waiting);
        self.renumber(prefix);
        self.arm_peer(prefix);
    }

    /// Returns whether an acknowledgement of an unproved participant proves that it receives our discovery. One that
    /// tries many numbers is demoted, and cannot prove anything for a while.
    pub(in crate::participant) fn proves_receipt(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        ack: &AckNack,
    ) -> bool {
        let last = self.writers.get(&ack.writer).map(|writer| writer.history().last());
        let (Some(peer), Some(last)) = (self.peers.get_mut(prefix), last) else { return false };
        // The numbers of liveliness messages grow with time, and so does the chance of a guess.
        if !ack.writer.is_builtin()
            || ack.writer == EntityId::MESSAGE_WRITER
            || peer.guesses.are_too_many(now)
        {
            return false;
        }
        let is_proved = peer.is_proved_by(ack, last);
        let has_guessed = !is_proved && peer.number_offset != 0 && peer.guesses.note(now, ack.missing.base);
        if has_guessed && peer.standing == Standing::OnTrial {
            self.demote(now, prefix);
        }
        is_proved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    const IP: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

    #[test]
    fn offset_depends_on_secret_prefix_and_address() {
        let ip = IP;
        let other_address =
            number_offset([1, 2], GuidPrefix([3; 12]), [10, 0, 0, 3].into(), VendorId::CYCLONE_DDS);
        let offset =
            |secret, prefix| number_offset(secret, GuidPrefix([prefix; 12]), ip, VendorId::CYCLONE_DDS);
        assert_eq!(offset([1, 2], 3), offset([1, 2], 3));
        assert_ne!(offset([1, 2], 3), offset([1, 3], 3));
        assert_ne!(offset([1, 2], 3), offset([1, 2], 4));
        assert_ne!(offset([1, 2], 3), other_address);
        assert!((1..=1 << 31).contains(&offset([1, 2], 3)));
    }

    #[test]
    fn fast_dds_offset_has_few_bits_for_any_vendor() {
        let mut prefix = GuidPrefix([3; 12]);
        prefix.0[..2].copy_from_slice(&VendorId::FAST_DDS.0);
        let of_vendor = |vendor| number_offset([1, 2], prefix, IP, vendor);
        assert!((1..=1 << FEW_BITS).contains(&of_vendor(VendorId::RUNNEL)));
        assert_eq!(of_vendor(VendorId::RUNNEL), of_vendor(VendorId::FAST_DDS));
    }

    #[test]
    fn untried_vendor_gets_real_numbers() {
        assert_eq!(number_offset([1, 2], GuidPrefix([3; 12]), IP, VendorId([13, 37])), 0);
    }
}
