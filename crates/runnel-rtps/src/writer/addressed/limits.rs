//! Limits of the samples that are held for readers that do not acknowledge them.
//!
//! The samples of one participant fill at most half of the writer: further ones are refused, so that their sender
//! knows. If several participants fill it, the oldest sample of the one with most is evicted for a sample to another,
//! unless that sample is so recent that its reader may just be slow. No sample of a participant is evicted for another
//! sample to itself.

use super::NotSent;
use crate::history::Amount;
use crate::lend::Lend;
use crate::wire::{Guid, GuidPrefix};
use crate::writer::Writer;
use core::time::Duration;
use runnel_core::time::Instant;

/// Time after which a reader that has not acknowledged a sample is assumed not to: it has been asked about ten times.
const SILENCE: Duration = Duration::from_secs(2);

impl<B: Lend> Writer<B> {
    /// Frees capacity for a sample to a participant.
    ///
    /// # Errors
    /// The participant has as many unacknowledged samples as it may, or the writer.
    pub(super) fn make_capacity(&mut self, now: Instant, participant: GuidPrefix) -> Result<(), NotSent> {
        if self.has_share(participant) {
            self.release_acknowledged(participant);
            if self.has_share(participant) {
                return Err(NotSent::Full);
            }
        }
        while self.history.len() >= self.limit || self.history.bytes() >= self.limit_bytes {
            let largest = self.largest_participant().filter(|largest| *largest != participant);
            let largest = largest.ok_or(NotSent::Full)?;
            if !self.release_acknowledged(largest) {
                self.evict_oldest(now, largest).ok_or(NotSent::Full)?;
            }
        }
        Ok(())
    }

    /// Returns and clears the readers whose samples were evicted: one of each participant while it is matched.
    pub fn take_evicted(&mut self) -> Option<Guid> {
        self.addressing.as_mut()?.evicted.pop_front()
    }

    /// Returns whether a participant has as many samples as it may.
    fn has_share(&self, participant: GuidPrefix) -> bool {
        let amount = self.history.addressees().map(|addressees| addressees.amount_of(participant));
        let Amount { samples, bytes } = amount.unwrap_or_default();
        samples >= (self.limit / 2).max(1) || bytes >= (self.limit_bytes / 2).max(1)
    }

    /// Returns the participant that uses most of a limit.
    fn largest_participant(&self) -> Option<GuidPrefix> {
        let used = |amount: Amount| {
            let of = |used: usize, limit: usize| used as u128 * 1_000_000 / limit as u128;
            of(amount.samples, self.limit).max(of(amount.bytes, self.limit_bytes))
        };
        let participants = self.history.addressees()?.participants();
        Some(participants.max_by_key(|(_, amount)| used(*amount))?.0)
    }

    /// Removes samples that the readers of a participant have acknowledged only once. Returns whether there were any.
    fn release_acknowledged(&mut self, participant: GuidPrefix) -> bool {
        let Self { history, readers, .. } = self;
        let before = history.len();
        for reader in readers.of_participant(participant) {
            history.remove_up_to(&(reader.guid()..=reader.guid()), reader.done());
        }
        history.len() < before
    }

    /// Evicts the oldest sample of a participant, if its reader is silent.
    fn evict_oldest(&mut self, now: Instant, participant: GuidPrefix) -> Option<()> {
        let number = self.history.addressees()?.first(&participant.endpoints())?;
        let change = self.history.get(number).filter(|change| change.written + SILENCE <= now)?;
        let reader = change.addressed.as_ref()?.reader;
        self.history.remove(number);
        self.overwritten = self.overwritten.saturating_add(1);
        let addressing = self.addressing.as_mut()?;
        if self.readers.get(reader).is_some() && addressing.reported.insert(participant) {
            addressing.evicted.push_back(reader);
        }
        Some(())
    }
}
