//! Proof of an address: the sequence numbers of our discovery writers begin at a random number of each peer's own.
//!
//! A heartbeat tells a reader the first number that there is, and its acknowledgement names that number. Somebody who sends
//! from an address without receiving there does not know it. The number is made of a secret and the peer's prefix: a peer that
//! we lose, and that has not lost us, finds its numbers continued.
//!
//! Tried with Fast DDS 2.9, 2.14 and 3, Cyclone DDS 0.10 and 11, RustDDS 0.15, Dust DDS 0.16 and Runnel: each acknowledges from
//! the first number of the first heartbeat on. Fast DDS steps through all numbers before that one by one, and stands still for
//! minutes where they are millions. embeddedRTPS (mROS 2) ignores the first number, as its source shows, and asks for number 1
//! for ever. It and vendors that have not been tried are given the real numbers, which begin with 1: they prove no address by
//! acknowledging them, but show that discovery reaches them.

use super::Peer;
use crate::stored::Lend;
use crate::wire::{AckNack, GuidPrefix, SequenceNumber, VendorId};
use core::hash::Hasher;
#[expect(deprecated, reason = "the hasher that replaces it is in std")]
use core::hash::SipHasher;

/// Vendors whose readers begin with the first number that a heartbeat names, and how many bits that may have. Some count in 32
/// bits how many samples they have lost. Fast DDS steps through all numbers before the first, one by one.
const BEGIN_ANYWHERE: [(VendorId, u32); 5] = [
    (VendorId::RUNNEL, 31),
    (VendorId::CYCLONE_DDS, 31),
    (VendorId::RUST_DDS, 31),
    (VendorId::DUST_DDS, 31),
    (VendorId::FAST_DDS, FEW_BITS),
];
const FEW_BITS: u32 = 13;

/// By how much the numbers of discovery that a participant is told exceed the real ones.
#[expect(deprecated, reason = "the hasher that replaces it is in std")]
pub(super) fn number_offset(secret: [u64; 2], prefix: GuidPrefix, vendor: VendorId) -> i64 {
    let Some((_, bits)) = BEGIN_ANYWHERE.iter().find(|(of, _)| *of == vendor) else { return 0 };
    let mut hasher = SipHasher::new_with_keys(secret[0], secret[1]);
    hasher.write(&prefix.0);
    1 + (hasher.finish() >> (64 - bits)).cast_signed()
}

impl Peer {
    /// True if its numbers can be guessed by trying thousands: one datagram is worth one try.
    pub(in crate::participant) fn is_guessable(&self) -> bool {
        (1..=1 << FEW_BITS).contains(&self.number_offset)
    }

    /// True if an acknowledgement shows that the peer receives our discovery, whose last number is this one.
    fn is_proved_by(&self, ack: &AckNack, last: SequenceNumber) -> bool {
        let base = SequenceNumber(ack.missing.base.0.saturating_sub(self.number_offset));
        let nothing_had = self.number_offset == 0 && last > SequenceNumber::ZERO;
        let least = if nothing_had { SequenceNumber(2) } else { SequenceNumber::FIRST };
        (least..=last.next()).contains(&base)
    }
}

impl<P: Lend> super::Participant<P> {
    /// True if an acknowledgement of a participant that is not proved shows that it receives our discovery.
    pub(in crate::participant) fn shows_receipt(&self, prefix: GuidPrefix, ack: &AckNack) -> bool {
        let (Some(peer), Some(writer)) = (self.peers.get(prefix), self.writers.get(&ack.writer)) else {
            return false;
        };
        ack.writer.is_builtin() && peer.is_proved_by(ack, writer.history().last())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offset_depends_on_secret_and_prefix() {
        let offset = |secret, prefix| number_offset(secret, GuidPrefix([prefix; 12]), VendorId::CYCLONE_DDS);
        assert_eq!(offset([1, 2], 3), offset([1, 2], 3));
        assert_ne!(offset([1, 2], 3), offset([1, 3], 3));
        assert_ne!(offset([1, 2], 3), offset([1, 2], 4));
        assert!((1..=1 << 31).contains(&offset([1, 2], 3)));
    }

    #[test]
    fn untried_vendor_gets_real_numbers() {
        assert_eq!(number_offset([1, 2], GuidPrefix([3; 12]), VendorId([13, 37])), 0);
    }
}
