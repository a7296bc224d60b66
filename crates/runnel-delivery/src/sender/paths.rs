//! State of each path at the sender.

use super::{SendAction, Sender};
use crate::path::{Order, Path, PathId};
use crate::statement::{Statement, StreamId};

/// State of one path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SenderPath {
    pub(super) path: Path,
    /// It takes no messages for now.
    pub(super) is_blocked: bool,
    /// `from` of its last Begin; 0 before the first.
    pub(super) first: u64,
    /// Numbers from `first` up to here were sent or skipped since that Begin.
    pub(super) stated: u64,
    /// Messages of this path from here on are not known to have arrived. Not above `first`: a path may begin again
    /// before the subscriber has its earlier messages.
    pub(super) open: u64,
    /// The number after the highest that it ever carried or skipped.
    pub(super) highest: u64,
    /// End of its last Skip, which it had not next_unsent when the pair left it.
    pub(super) last_skip: Option<u64>,
    /// The pair has left it, and its Close is due.
    pub(super) is_left: bool,
}

impl SenderPath {
    pub(super) fn new(path: Path) -> Self {
        let (first, stated, open, highest) = (0, 0, 0, 0);
        Self { path, is_blocked: false, first, stated, open, highest, last_skip: None, is_left: false }
    }

    /// Begins at `from`; the subscriber has all messages before `reached`.
    pub(super) fn begin(&mut self, from: u64, reached: u64) {
        self.open = if self.is_open(reached) { self.open.min(from) } else { from };
        self.first = from;
        self.stated = from;
        self.highest = self.highest.max(from);
        self.last_skip = None;
        self.is_left = false;
    }

    /// Returns whether it carried messages that are not known to have arrived.
    pub(super) fn is_open(&self, reached: u64) -> bool {
        self.highest > self.open.max(reached)
    }

    /// Returns whether a Skip can be written. Each dropped message may cost a Skip, so a blocked connection gets them
    /// when it is writable. The window of RTPS may open only after a GAP, which takes no capacity of it.
    pub(super) fn can_take_skips(&self) -> bool {
        !self.is_blocked || self.path.traits().order == Order::Resent
    }

    #[inline]
    pub(super) fn sent_before(&mut self, next: u64) {
        self.stated = self.stated.max(next);
        self.highest = self.highest.max(next);
    }

    /// Returns the statement or GAP that skips `from..to`; `None` if the path has neither.
    pub(super) fn skip_action<M>(&self, id: StreamId, from: u64, to: u64) -> Option<SendAction<M>> {
        let path = self.path.id;
        let can_skip = self.path.has_statements || self.path.is_numbered();
        can_skip.then_some(SendAction::Skip { path, from, to, statement: Statement::Skip { id, to } })
    }
}

impl<M> Sender<M> {
    pub(super) fn path(&self, id: PathId) -> Option<&SenderPath> {
        self.paths.iter().find(|known| known.path.id == id)
    }

    #[inline]
    pub(super) fn path_mut(&mut self, id: PathId) -> Option<&mut SenderPath> {
        self.paths.iter_mut().find(|known| known.path.id == id)
    }

    /// Returns pending actions for paths that the pair has left.
    pub(super) fn poll_left_paths(&mut self) -> Option<SendAction<M>> {
        let id = self.id;
        let due = |known: &SenderPath| known.last_skip.is_some() && known.can_take_skips();
        while let Some(left) = self.paths.iter_mut().find(|known| due(known)) {
            let from = left.stated;
            let to = left.last_skip.take().unwrap_or(from);
            left.sent_before(to);
            if let Some(skip) = left.skip_action(id, from, to) {
                return Some(skip);
            }
        }
        if let Some(index) = self.paths.iter().position(|known| known.is_left) {
            let path = self.paths.swap_remove(index).path.id;
            return Some(SendAction::Close { path });
        }
        self.has_left_paths = self.paths.iter().any(|known| known.last_skip.is_some());
        None
    }
}
