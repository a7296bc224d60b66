//! Recently unmatched readers: one whose end was forged continues at its position.

use super::{ReaderProxy, ReaderSpec};
use crate::wire::{Guid, SequenceNumber};
use alloc::vec::Vec;
use core::time::Duration;
use runnel_core::time::Instant;

/// Maximum number of remembered readers, and how long they are remembered.
const MAX: usize = 64;
const KEPT: Duration = Duration::from_secs(5);

/// Recently unmatched readers.
#[derive(Debug, Default)]
pub(super) struct UnmatchedReaders {
    /// Each with the time of the first write after it was unmatched.
    readers: Vec<(ReaderProxy, Option<Instant>)>,
}

impl UnmatchedReaders {
    pub fn is_empty(&self) -> bool {
        self.readers.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &ReaderProxy> {
        self.readers.iter().map(|(reader, _)| reader)
    }

    /// Remembers a reader, unless nothing is held for it.
    pub fn put(&mut self, reader: ReaderProxy) {
        if !reader.is_reliable() || reader.is_passed_over() {
            return;
        }
        if self.readers.len() >= MAX {
            self.readers.remove(0);
        }
        self.readers.push((reader, None));
    }

    /// Removes and returns the state of a reader that is matched again.
    pub fn take(&mut self, spec: &ReaderSpec) -> Option<ReaderProxy> {
        let is_it = |(reader, _): &(ReaderProxy, _)| reader.guid() == spec.guid;
        let place = self.readers.iter().position(is_it)?;
        let (mut reader, _) = self.readers.remove(place);
        reader.rematch(spec.clone());
        spec.reliable.then_some(reader)
    }

    /// Forgets a reader.
    pub fn forget(&mut self, guid: Guid) {
        self.readers.retain(|(reader, _)| reader.guid() != guid);
    }

    /// Forgets readers that have waited too long for samples up to this one. Returns whether there were any.
    pub fn expire(&mut self, now: Instant, last: SequenceNumber) -> bool {
        let before = self.readers.len();
        self.readers.retain_mut(|(reader, since)| {
            if reader.releasable() < last {
                since.get_or_insert(now);
            }
            since.is_none_or(|since| since + KEPT > now)
        });
        self.readers.len() < before
    }

    /// Returns when [`UnmatchedReaders::expire`] is due: immediately if a reader waits without a recorded time.
    pub fn timeout(&self, last: SequenceNumber) -> Option<Instant> {
        let waiting =
            self.readers.iter().filter(|(reader, since)| since.is_some() || reader.releasable() < last);
        waiting.map(|(_, since)| since.map_or(Instant(0), |since| since + KEPT)).min()
    }
}
