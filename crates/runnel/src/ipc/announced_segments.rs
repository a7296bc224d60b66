//! Segments announced to one peer.

use runnel_core::sorted::SortedMap;
use std::sync::{Arc, Weak};

use runnel_io::segment::{self, Segment};

use super::record::SegmentAnnouncement;

/// Limit of segments announced to one peer.
const MOST: usize = 1024;

/// See the module's documentation. Each has a number, counted from 0.
#[derive(Default)]
pub(super) struct AnnouncedSegments {
    /// Number of segments announced since the beginning.
    count: u32,
    /// Numbers by address. No other segment has the address while it is stored here.
    segments: SortedMap<usize, (u32, Weak<Segment>)>,
    /// Segments that have ended, which the peer does not know yet.
    ended_numbers: Vec<u32>,
    /// Count of ended segments of this process at the last check.
    ended: u64,
}

impl AnnouncedSegments {
    /// The number of a segment.
    pub(super) fn number_of(&self, segment: &Arc<Segment>) -> Option<u32> {
        self.segments.get(&place(segment)).map(|(number, _)| *number)
    }

    /// True if no more segments are announced.
    pub(super) fn is_full(&self) -> bool {
        self.segments.len() + self.ended_numbers.len() >= MOST || self.count == u32::MAX
    }

    /// The announcement of one more segment; `None` if the limit is reached.
    pub(super) fn announcement(&self, segment: &Segment) -> Option<SegmentAnnouncement> {
        let (slot_bytes, slots) = (segment.slot_bytes() as u64, segment.slots() as u64);
        (!self.is_full()).then_some(SegmentAnnouncement { segment: self.count.into(), slot_bytes, slots })
    }

    /// Records an announced segment. Returns its number.
    pub(super) fn add(&mut self, segment: &Arc<Segment>) -> u32 {
        let number = self.count;
        self.segments.insert(place(segment), (number, Arc::downgrade(segment)));
        self.count += 1;
        number
    }

    /// True if segments of this process, possibly some of these, have ended since the last call.
    pub(super) fn has_ended_segments(&mut self) -> bool {
        let ended = segment::ended();
        if std::mem::replace(&mut self.ended, ended) == ended {
            return false;
        }
        let Self { segments, ended_numbers, .. } = self;
        segments.retain(|_, (number, segment)| {
            let ended = segment.strong_count() == 0;
            if ended {
                ended_numbers.push(*number);
            }
            !ended
        });
        true
    }

    /// Takes the segments that have ended. The caller notifies the peer, or puts one back with [`keep`](Self::keep).
    pub(super) fn take_ended(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.ended_numbers)
    }

    /// Puts an ended segment back, of which the peer is notified later.
    pub(super) fn keep(&mut self, ended_numbers: u32) {
        self.ended_numbers.push(ended_numbers);
    }
}

fn place(segment: &Arc<Segment>) -> usize {
    Arc::as_ptr(segment).addr()
}
