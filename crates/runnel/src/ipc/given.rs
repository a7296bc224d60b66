//! The segments that one peer was given.

use std::sync::{Arc, Weak};

use runnel_io::segment::{self, Segment};

use super::record::Gift;
use runnel_core::sorted::SortedMap;

/// Segments that one peer is given at most.
const MOST: usize = 1024;

/// See the module's documentation. Each has a number, counted from 0.
#[derive(Default)]
pub(super) struct Given {
    /// How many there ever were.
    count: u32,
    /// By where they lie, which no other does as long as this is remembered: the number of each.
    segments: SortedMap<usize, (u32, Weak<Segment>)>,
    /// Those that are no more, of which the peer was not told.
    gone: Vec<u32>,
    /// How many of this process had ended when these were looked at last.
    ended: u64,
}

impl Given {
    /// Which this one is.
    pub(super) fn number_of(&self, segment: &Arc<Segment>) -> Option<u32> {
        self.segments.get(&place(segment)).map(|(number, _)| *number)
    }

    /// True if no more are given.
    pub(super) fn is_full(&self) -> bool {
        self.segments.len() + self.gone.len() >= MOST || self.count == u32::MAX
    }

    /// What gives the peer one more; `None` if no more are given.
    pub(super) fn gift(&self, segment: &Segment) -> Option<Gift> {
        let (slot_bytes, slots) = (segment.slot_bytes() as u64, segment.slots() as u64);
        (!self.is_full()).then_some(Gift { segment: self.count.into(), slot_bytes, slots })
    }

    /// One more was given; its number.
    pub(super) fn add(&mut self, segment: &Arc<Segment>) -> u32 {
        let number = self.count;
        self.segments.insert(place(segment), (number, Arc::downgrade(segment)));
        self.count += 1;
        number
    }

    /// True if segments of this process, maybe some of these, have ended since this was asked last.
    pub(super) fn some_ended(&mut self) -> bool {
        let ended = segment::ended();
        if std::mem::replace(&mut self.ended, ended) == ended {
            return false;
        }
        let Self { segments, gone, .. } = self;
        segments.retain(|_, (number, segment)| {
            let ended = segment.strong_count() == 0;
            if ended {
                gone.push(*number);
            }
            !ended
        });
        true
    }

    /// Those that are no more: whoever takes one tells the peer, or keeps it.
    pub(super) fn take_gone(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.gone)
    }

    /// The peer is to be told of one later.
    pub(super) fn keep(&mut self, gone: u32) {
        self.gone.push(gone);
    }
}

fn place(segment: &Arc<Segment>) -> usize {
    Arc::as_ptr(segment).addr()
}
