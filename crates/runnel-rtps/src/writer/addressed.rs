//! Samples for one reader each: requests and replies of services.
//!
//! Other readers of the writer are sent nothing for such a sample. What they have not been sent is declared irrelevant
//! by a GAP, together with the next sample of their own, so that a reply to one of a thousand clients costs one
//! datagram.

use super::Writer;
use crate::history::Addressed;
use crate::lend::Lend;
use crate::wire::{Guid, SequenceNumber, Timestamp};
use alloc::vec::Vec;
use runnel_core::time::Instant;

/// Why a sample was not sent to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSent {
    /// The reader is not matched, or the writer has ended.
    Unmatched,
    /// The writer holds as many unacknowledged samples as it may.
    Full,
}

impl<B: Lend> Writer<B> {
    /// Adds a sample for one reader; returns its number. The inline QoS is empty or a complete parameter list.
    ///
    /// # Errors
    /// The reader is not matched, or the writer is full.
    pub fn write_to(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        payload: B,
        (reader, inline_qos): (Guid, Vec<u8>),
    ) -> Result<SequenceNumber, NotSent> {
        if self.unmatched.expire(now, self.history.last().next()) {
            self.trim();
        }
        let Some(proxy) = self.readers.get(reader) else { return Err(NotSent::Unmatched) };
        if proxy.is_suspended() {
            // An alternate path carries it.
            return Ok(self.history.skip_number());
        }
        let is_full = self.history.len() >= self.limit || self.history.bytes() >= self.limit_bytes;
        if is_full && self.history.find(|number| self.can_displace(number)).is_none() {
            return Err(NotSent::Full);
        }
        let number = self.history.push_for(payload, stamp, now, Addressed { reader, inline_qos });
        while self.history.len() > self.limit || self.history.bytes() > self.limit_bytes {
            if self.displace().is_none() {
                break;
            }
        }
        Ok(number)
    }

    /// Returns the number of samples for a reader that it has not acknowledged; all of them if it is not matched.
    pub fn unacknowledged_by(&self, reader: Guid) -> usize {
        let acked = self.readers.get(reader).map_or(SequenceNumber::ZERO, |proxy| proxy.acked());
        self.history.count_for(reader, acked)
    }

    /// Returns the number of samples that their readers, if they are matched, have not acknowledged.
    pub fn unacknowledged_by_addressees(&self) -> usize {
        let is_missing = |addressed: &Addressed, number| {
            self.readers.get(addressed.reader).is_some_and(|reader| reader.is_missing(number))
        };
        let all = self.history.iter().filter_map(|change| Some((change.addressed.as_ref()?, change.number)));
        all.filter(|(addressed, number)| is_missing(addressed, *number)).count()
    }

    /// Removes samples that their readers have acknowledged, and those of readers that are gone.
    pub(super) fn trim_addressed(&mut self) {
        let Self { history, readers, unmatched, .. } = self;
        history.retain(|change| {
            let Some(addressed) = &change.addressed else { return true };
            let left = || unmatched.iter().find(|left| left.guid() == addressed.reader);
            let reader = readers.get(addressed.reader).or_else(left);
            reader.is_some_and(|reader| reader.releasable() < change.number)
        });
    }
}
