//! State of each path at the receiver.

use super::{ReceiveError, Receiver};
use crate::limits::MAX_NUMBER_LEAP;
use crate::path::{Order, Path, PathId};

/// Progress of reading a path to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Drain {
    /// Not needed.
    Idle,
    /// To be requested.
    Due,
    /// Requested.
    Requested,
    /// Complete, or the path is down.
    Done,
}

/// State of one path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ReceiverPath {
    pub(super) path: Path,
    pub(super) is_up: bool,
    /// Epoch of its last Begin; 0 before the first.
    pub(super) epoch: u32,
    /// No message before this number follows on it.
    pub(super) position: u64,
    /// The number after the greatest received one, unless the path is RTPS with resending.
    pub(super) highest_received: u64,
    /// A range of irrelevant numbers whose end is beyond the window.
    far_gap: Option<(u64, u64)>,
    pub(super) drain: Drain,
}

impl ReceiverPath {
    pub(super) fn new(path: Path) -> Self {
        Self {
            path,
            is_up: true,
            epoch: 0,
            position: 0,
            highest_received: 0,
            far_gap: None,
            drain: Drain::Idle,
        }
    }

    pub(super) fn begin(&mut self, epoch: u32, from: u64) {
        self.epoch = epoch;
        self.drain = Drain::Idle;
        // An RTPS Begin is a datagram of its own. It may arrive before samples that were sent earlier, or after later
        // ones.
        self.position = match self.path.traits().order {
            Order::Fifo => from,
            Order::Resent => self.position.min(from),
            Order::Lossy => self.highest_received.max(from),
        };
    }

    /// Returns whether the path is read to its end before a Begin on another path: if it has no numbers, or if that
    /// Begin is settled, so that no earlier message counts after it.
    pub(super) fn is_read_before(&self, other: PathId, is_settled: bool) -> bool {
        let is_earlier = !self.path.is_numbered() || is_settled && self.epoch > 0;
        self.is_up && self.path.id != other && is_earlier
    }

    /// Returns whether the path carries nothing more of the segment of this epoch, if another path owns the next
    /// segment.
    pub(super) fn has_finished(&self, epoch: u32) -> bool {
        match self.path.traits().order {
            Order::Resent => false,
            Order::Lossy => self.epoch > epoch || self.drain == Drain::Done,
            Order::Fifo => self.epoch > epoch,
        }
    }

    /// Returns the number before which nothing follows on this path, from `next` on.
    pub(super) fn passed(&self, next: u64) -> u64 {
        match self.far_gap {
            Some((from, to)) if from <= next => self.position.max(to),
            _ => self.position,
        }
    }

    pub(super) fn check_leap(&self, next: u64, number: u64) -> Result<(), ReceiveError> {
        let known = next.max(self.position);
        let is_leap = known > 0 && number > known.saturating_add(MAX_NUMBER_LEAP);
        if is_leap { Err(ReceiveError::NumberLeap(number)) } else { Ok(()) }
    }

    /// Records a GAP that ends beyond the window; false if it does not continue the one that is recorded.
    pub(super) fn add_far_gap(&mut self, from: u64, to: u64, (next, window_end): (u64, u64)) -> bool {
        if to <= window_end {
            return true;
        }
        match &mut self.far_gap {
            Some((first, last)) if from <= *last && *first <= to => {
                *first = from.min(*first);
                *last = to.max(*last);
                true
            }
            Some((_, last)) if *last > next => false,
            far_gap => {
                *far_gap = Some((from, to));
                true
            }
        }
    }
}

impl<M> Receiver<M> {
    pub(super) fn path_mut(&mut self, id: PathId) -> Option<&mut ReceiverPath> {
        self.paths.iter_mut().find(|known| known.path.id == id)
    }

    /// Returns a path that is up. Disables in-order acceptance until the next poll.
    pub(super) fn live_path(&mut self, id: PathId) -> Result<&mut ReceiverPath, ReceiveError> {
        self.steady_path = None;
        self.path_mut(id).filter(|known| known.is_up).ok_or(ReceiveError::UnknownPath(id))
    }

    /// Returns whether this path has a recorded GAP that ends after `next`.
    pub(super) fn has_far_gap(&self, id: PathId) -> bool {
        let known = self.paths.iter().find(|known| known.path.id == id);
        known.and_then(|known| known.far_gap).is_some_and(|(_, to)| to > self.next)
    }

    pub(super) fn newest_path(&self) -> Option<PathId> {
        let up = self.paths.iter().filter(|known| known.is_up && known.path.has_statements);
        up.max_by_key(|known| known.epoch).map(|known| known.path.id)
    }

    /// Requests draining of lossy paths that a newer path supersedes: nothing else shows that they have passed a
    /// number.
    pub(super) fn drain_superseded(&mut self) {
        let (segments, next) = (&self.segments, self.next);
        for known in &mut self.paths {
            let is_superseded = segments.is_superseded(known.path.id, next);
            let is_lossy = known.path.traits().order == Order::Lossy;
            if is_lossy && is_superseded && known.drain == Drain::Idle {
                known.drain = Drain::Due;
            }
        }
    }

    pub(super) fn take_drain(&mut self) -> Option<PathId> {
        let due = self.paths.iter_mut().find(|known| known.drain == Drain::Due)?;
        due.drain = Drain::Requested;
        Some(due.path.id)
    }

    /// Forgets dead paths that own no segment.
    pub(super) fn forget_paths(&mut self) {
        let segments = &self.segments;
        self.paths.retain(|known| known.is_up || segments.has(known.path.id));
    }

    /// Removes a path that the pair has left and that is to be closed.
    pub(super) fn take_closed(&mut self) -> Option<PathId> {
        self.forget_paths();
        let (segments, plain) = (&self.segments, self.plain.current());
        let is_left = |known: &ReceiverPath| {
            let was_used = known.epoch > 0 || known.drain == Drain::Done;
            let id = known.path.id;
            known.path.closes_when_left && was_used && !segments.has(id) && plain != Some(id)
        };
        let index = self.paths.iter().position(is_left)?;
        Some(self.paths.swap_remove(index).path.id)
    }
}
