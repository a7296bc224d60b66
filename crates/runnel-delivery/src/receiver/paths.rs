//! What a receiver knows of each of its paths.

use super::{ReceiveError, Receiver};
use crate::limits::MAX_NUMBER_LEAP;
use crate::path::{Order, Path, PathId};

/// Whether what has arrived by a path was read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Drain {
    /// Nobody needs to know.
    Idle,
    /// To be asked for.
    Due,
    /// Asked for.
    Asked,
    /// It was, or the path is down.
    Done,
}

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ReceiverPath {
    pub(super) path: Path,
    pub(super) is_up: bool,
    /// Of its last Begin; 0 before the first.
    pub(super) epoch: u32,
    /// Nothing before this number is still to come by it.
    pub(super) position: u64,
    /// The number after the greatest that came by it, if it is not RTPS that resends.
    pub(super) brought: u64,
    /// A range of numbers that do not come by it, of which the end lies beyond the window.
    far_gap: Option<(u64, u64)>,
    pub(super) drain: Drain,
}

impl ReceiverPath {
    pub(super) fn new(path: Path) -> Self {
        Self { path, is_up: true, epoch: 0, position: 0, brought: 0, far_gap: None, drain: Drain::Idle }
    }

    pub(super) fn begin(&mut self, epoch: u32, from: u64) {
        self.epoch = epoch;
        self.drain = Drain::Idle;
        // The Begin of RTPS is a datagram of its own. It may come before samples that were sent earlier, or after later ones.
        self.position = match self.path.traits().order {
            Order::Fifo => from,
            Order::Resent => self.position.min(from),
            Order::Lossy => self.brought.max(from),
        };
    }

    /// Whether it is read to its end before a Begin on another path: if it has no numbers, or if that Begin is settled, so
    /// that nothing earlier counts after it.
    pub(super) fn is_read_before(&self, other: PathId, is_settled: bool) -> bool {
        let is_earlier = !self.path.is_numbered() || is_settled && self.epoch > 0;
        self.is_up && self.path.id != other && is_earlier
    }

    /// Whether nothing comes by it any more of what it owned since this epoch, if another path owns what follows.
    pub(super) fn is_over(&self, epoch: u32) -> bool {
        match self.path.traits().order {
            Order::Resent => false,
            Order::Lossy => self.epoch > epoch || self.drain == Drain::Done,
            Order::Fifo => self.epoch > epoch,
        }
    }

    /// The number before which nothing comes by it, from `next` on.
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

    /// Remembers a GAP that ends beyond the window; false if another one is remembered that it does not continue.
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

    /// A path by which something comes. Nothing is accepted in order until the next poll has looked at it.
    pub(super) fn living(&mut self, id: PathId) -> Result<&mut ReceiverPath, ReceiveError> {
        self.steady_path = None;
        self.path_mut(id).filter(|known| known.is_up).ok_or(ReceiveError::UnknownPath(id))
    }

    /// Whether this path has stated a GAP that the next messages lead to.
    pub(super) fn has_far_gap(&self, id: PathId) -> bool {
        let known = self.paths.iter().find(|known| known.path.id == id);
        known.and_then(|known| known.far_gap).is_some_and(|(_, to)| to > self.next)
    }

    pub(super) fn newest_path(&self) -> Option<PathId> {
        let up = self.paths.iter().filter(|known| known.is_up && known.path.has_statements);
        up.max_by_key(|known| known.epoch).map(|known| known.path.id)
    }

    /// Paths that lose messages are read to their ends when a newer one carries on: nothing tells when they are past a number.
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
        due.drain = Drain::Asked;
        Some(due.path.id)
    }

    /// Forgets dead paths that own nothing any more.
    pub(super) fn forget_paths(&mut self) {
        let segments = &self.segments;
        self.paths.retain(|known| known.is_up || segments.has(known.path.id));
    }

    /// A path that the pair has left, to be closed.
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
