//! Readers that may have something to be sent, and the times at which others will: a writer may have thousands, of which
//! a sample concerns one.

use crate::wire::Guid;
use alloc::collections::{BTreeMap, BTreeSet};
use core::ops::Bound;
use runnel_core::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// Readers that may have something to be sent now.
    pending: BTreeSet<Guid>,
    /// The reader that is served next, if it is pending; otherwise the one after it.
    turn: Option<Guid>,
    /// When to request acknowledgements, in order, and of each reader.
    due: BTreeSet<(Instant, Guid)>,
    due_of: BTreeMap<Guid, Instant>,
}

impl Schedule {
    /// Records that a reader may have something to be sent.
    pub fn wake(&mut self, reader: Guid) {
        self.pending.insert(reader);
    }

    /// Returns the number of readers that may have something to be sent.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Returns the reader that is served next.
    pub fn current(&self) -> Option<Guid> {
        let next = self.turn.and_then(|turn| self.pending.range(turn..).next());
        next.or_else(|| self.pending.first()).copied()
    }

    /// Continues with the reader after this one, which stays pending only if it waits.
    pub fn pass(&mut self, reader: Guid, waits: bool) {
        if !waits {
            self.pending.remove(&reader);
        }
        self.turn = self.pending.range((Bound::Excluded(reader), Bound::Unbounded)).next().copied();
    }

    /// Sets when an acknowledgement of a reader is to be requested.
    pub fn set_due(&mut self, reader: Guid, at: Option<Instant>) {
        let before = match at {
            Some(at) => self.due_of.insert(reader, at),
            None => self.due_of.remove(&reader),
        };
        if let Some(before) = before {
            self.due.remove(&(before, reader));
        }
        if let Some(at) = at {
            self.due.insert((at, reader));
        }
    }

    /// Returns when the first acknowledgement is to be requested.
    pub fn timeout(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Removes and returns a reader whose acknowledgement is to be requested now.
    pub fn pop_due(&mut self, now: Instant) -> Option<Guid> {
        let (_, reader) = self.due.first().copied().filter(|(at, _)| *at <= now)?;
        self.set_due(reader, None);
        Some(reader)
    }

    /// Forgets a reader.
    pub fn forget(&mut self, reader: Guid) {
        self.pending.remove(&reader);
        self.set_due(reader, None);
    }
}
