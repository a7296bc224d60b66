//! Segments: ranges of numbers and the path that owns each.
//!
//! Each Begin opens one. A number belongs to the segment of the greatest epoch that begins at or before it: the path of
//! that segment carries it or states that it does not.

use alloc::vec::Vec;

use crate::limits::MAX_SEGMENTS;
use crate::path::PathId;

/// Messages from `from` on belong to `path`, unless a later epoch begins before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Segment {
    pub(super) epoch: u32,
    pub(super) from: u64,
    pub(super) path: PathId,
}

/// Segments in order of epochs, and so of first numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Segments {
    all: Vec<Segment>,
}

impl Segments {
    pub(super) fn has_space(&self) -> bool {
        self.all.len() < MAX_SEGMENTS
    }

    /// Adds the segment of a Begin. Begins of several paths may arrive out of order.
    pub(super) fn add(&mut self, path: PathId, epoch: u32, from: u64) {
        let is_obsolete = self.all.iter().any(|other| other.epoch > epoch && other.from <= from);
        if is_obsolete {
            return;
        }
        self.all.retain(|other| other.epoch > epoch || other.from < from);
        let index = self.all.partition_point(|other| other.epoch < epoch);
        self.all.insert(index, Segment { epoch, from, path });
    }

    pub(super) fn owner(&self, number: u64) -> Option<Segment> {
        self.all.iter().rev().find(|segment| segment.from <= number).copied()
    }

    /// Returns the first number beyond `number` that a later epoch owns.
    pub(super) fn next_change(&self, number: u64, epoch: u32) -> Option<u64> {
        let newer = self.all.iter().filter(|segment| segment.epoch > epoch && segment.from > number);
        newer.map(|segment| segment.from).min()
    }

    /// Forgets segments that end before `next`. Returns true if one owns all numbers from there on.
    pub(super) fn release(&mut self, next: u64) -> bool {
        if let Some(owner) = self.owner(next) {
            self.all.retain(|segment| segment.epoch >= owner.epoch);
        }
        self.single(next).is_some()
    }

    /// Returns the path that owns all numbers from `next` on.
    pub(super) fn single(&self, next: u64) -> Option<PathId> {
        match self.all.as_slice() {
            [one] if one.from <= next => Some(one.path),
            _ => None,
        }
    }

    pub(super) fn has(&self, path: PathId) -> bool {
        self.all.iter().any(|segment| segment.path == path)
    }

    /// Returns whether this path owns the next number and another one owns the last segment.
    pub(super) fn is_superseded(&self, path: PathId, next: u64) -> bool {
        let is_owner = self.owner(next).is_some_and(|owner| owner.path == path);
        is_owner && self.all.last().is_some_and(|newest| newest.path != path)
    }
}
