//! Vendor messages between two Runnel participants. A message may be lost, so the sender repeats an important one until
//! it is answered.

use super::{Participant, transmit::Work};
use crate::event::Event;
use crate::wire::{Data, EntityId, GuidPrefix, Payload, SequenceNumber, VendorId};
use alloc::vec::Vec;

/// Maximum length in bytes.
const LONGEST: usize = 256;

impl Participant {
    /// Sends a vendor message to one participant: in one datagram, which may be lost, and in place of an unsent one.
    /// Returns false if the participant is of another vendor or has not named us, or `bytes` are more than 256.
    pub fn send_vendor_message(&mut self, to: GuidPrefix, bytes: &[u8]) -> bool {
        let Some(peer) = self.peers.get_mut(to).filter(|peer| peer.standing.is_discovered()) else {
            return false;
        };
        if peer.data.vendor != VendorId::RUNNEL || bytes.len() > LONGEST {
            return false;
        }
        if peer.vendor_message.replace(Vec::from(bytes)).is_none() {
            self.work.push_back(Work::VendorMessage(to));
        }
        true
    }

    pub(super) fn compose_vendor_message(&mut self, to: GuidPrefix) -> bool {
        let Some(peer) = self.peers.get_mut(to) else { return false };
        let Some(bytes) = peer.vendor_message.take() else { return false };
        self.out.begin(self.config.prefix, to);
        self.out.to.push(peer.metatraffic);
        let ends = (EntityId::VENDOR_MESSAGE_READER, EntityId::VENDOR_MESSAGE_WRITER);
        Data::emit(self.out.out(), ends, SequenceNumber::FIRST, &[], Payload::Value(&bytes));
        let len = self.out.len();
        self.spend(to, len)
    }

    /// Handles a vendor message.
    pub(super) fn handle_vendor_message(&mut self, participant: GuidPrefix, bytes: &[u8]) {
        let ours = self.peers.get(participant).is_some_and(|peer| peer.data.vendor == VendorId::RUNNEL);
        if ours && bytes.len() <= LONGEST {
            self.push_event(Event::VendorMessage { participant, bytes: Vec::from(bytes) });
        }
    }
}
