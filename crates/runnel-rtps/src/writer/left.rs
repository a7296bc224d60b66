//! Readers that were left a moment ago: one whose end was forged goes on where it was.

use super::{ReaderProxy, ReaderSpec};
use crate::wire::{Guid, SequenceNumber};
use alloc::vec::Vec;
use core::time::Duration;
use runnel_core::time::Instant;

/// How many readers are remembered that were left, and for how long.
const MOST: usize = 64;
const KEPT: Duration = Duration::from_secs(5);

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct LeftReaders {
    /// With the time when a sample was written first that they did not get.
    readers: Vec<(ReaderProxy, Option<Instant>)>,
}

impl LeftReaders {
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
        if self.readers.len() >= MOST {
            self.readers.remove(0);
        }
        self.readers.push((reader, None));
    }

    /// The reader as it was that is joined again.
    pub fn take(&mut self, spec: &ReaderSpec) -> Option<ReaderProxy> {
        let is_it = |(reader, _): &(ReaderProxy, _)| reader.guid() == spec.guid;
        let place = self.readers.iter().position(is_it)?;
        let (mut reader, _) = self.readers.remove(place);
        reader.join_again(spec.clone());
        spec.reliable.then_some(reader)
    }

    /// Forgets a reader.
    pub fn forget(&mut self, guid: Guid) {
        self.readers.retain(|(reader, _)| reader.guid() != guid);
    }

    /// Forgets those that have waited for long for samples up to this one. True if there were any.
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

    /// When it is time for [`LeftReaders::expire`]: at once if nobody has noted yet that a reader waits.
    pub fn timeout(&self, last: SequenceNumber) -> Option<Instant> {
        let waiting =
            self.readers.iter().filter(|(reader, since)| since.is_some() || reader.releasable() < last);
        waiting.map(|(_, since)| since.map_or(Instant(0), |since| since + KEPT)).min()
    }
}
