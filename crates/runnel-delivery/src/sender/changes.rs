//! Changes of path: a path comes up, goes down, or is selected.
//!
//! A requested change is made only in [`Active`](SenderState::Active): a Skip ends the old path, and the new one begins
//! at the first unsent message. The sender answers the death of a path immediately: the best living path begins at the
//! first message that the dead one may not have delivered. It carries the messages that the dead path returned; the
//! rest is skipped, and the receiver counts the missing ones as lost.

use alloc::vec::Vec;
use core::fmt;

use super::{Sender, SenderPath, SenderState};
use crate::limits::MAX_PATHS;
use crate::path::{Path, PathId};
use crate::send_queue::{Numbered, QueuePolicy};

/// Reason why a path was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathError {
    /// The pair already has [`MAX_PATHS`].
    TooMany,
    /// The pair already has a path with this id.
    Exists(PathId),
    /// The pair already has a path without numbers: the order of messages of two such paths is unknown.
    SecondWithoutNumbers,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "the pair has {MAX_PATHS} paths already"),
            Self::Exists(path) => write!(f, "the pair has a path {} already", path.0),
            Self::SecondWithoutNumbers => f.write_str("the pair has a path without numbers already"),
        }
    }
}

impl core::error::Error for PathError {}

/// Reason why the path was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SwitchError {
    /// The last change is not complete.
    Busy,
    /// The pair has no such path.
    Unknown(PathId),
    /// The path is already active.
    AlreadyActive,
}

impl fmt::Display for SwitchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("the last change of path is not complete"),
            Self::Unknown(path) => write!(f, "the pair has no path {}", path.0),
            Self::AlreadyActive => f.write_str("messages go by this path already"),
        }
    }
}

impl core::error::Error for SwitchError {}

impl<M> Sender<M> {
    /// Adds an established path. The first one carries messages immediately; a further one after
    /// [`switch_path`](Self::switch_path) or when the active one goes down.
    ///
    /// # Errors
    /// The pair has too many paths, or one with this id.
    pub fn path_up(&mut self, path: Path) -> Result<(), PathError> {
        if self.path(path.id).is_some() {
            return Err(PathError::Exists(path.id));
        }
        if self.paths.len() >= MAX_PATHS {
            return Err(PathError::TooMany);
        }
        if !path.is_numbered() && self.paths.iter().any(|known| !known.path.is_numbered()) {
            return Err(PathError::SecondWithoutNumbers);
        }
        self.paths.push(SenderPath::new(path));
        if let SenderState::Waiting { from } = self.state {
            self.begin_on(path.id, from);
        }
        Ok(())
    }

    /// Returns the path that ranks before the active one and all others, if any.
    pub fn preferred_path(&self) -> Option<PathId> {
        let best = self.best_path()?;
        (self.state.path() != Some(best)).then_some(best)
    }

    fn best_path(&self) -> Option<PathId> {
        let rank = |known: &&SenderPath| (known.path.kind, !known.path.is_numbered(), known.path.id);
        self.paths.iter().min_by_key(rank).map(|known| known.path.id)
    }

    /// Switches to another path from the first unsent message on. Where one of the two paths has no statements,
    /// messages wait until [`path_empty`](Self::path_empty).
    ///
    /// # Errors
    /// The last change is not complete, the path is not known, or it is already active.
    pub fn switch_path(&mut self, to: PathId) -> Result<(), SwitchError> {
        let SenderState::Active { path } = self.state else { return Err(SwitchError::Busy) };
        if path == to {
            return Err(SwitchError::AlreadyActive);
        }
        let (Some(old), Some(new)) = (self.path(path), self.path(to)) else {
            return Err(SwitchError::Unknown(to));
        };
        if old.path.has_statements && new.path.has_statements {
            self.leave(path);
            self.is_settled = false;
            self.begin_on(to, self.first_unsent());
        } else {
            self.state = SenderState::Emptying { path, to };
        }
        Ok(())
    }

    /// Records that all messages on the old path of [`Emptying`](SenderState::Emptying) have arrived, or that the wait
    /// for them is over (1 s). If that path or an earlier one is dead, the peer must have had time to notice.
    ///
    /// A path without numbers that begins too early may overtake messages that the subscriber still reads from a dead
    /// one.
    pub fn path_empty(&mut self, empty: PathId) {
        if let SenderState::Emptying { path, to } = self.state
            && path == empty
        {
            self.leave(path);
            let Some(old) = self.path_mut(path) else { return self.begin_settled(to) };
            old.open = old.highest;
            self.is_settled = !old.path.is_numbered();
            self.begin_on(to, self.first_unsent());
        }
    }

    /// Schedules the last Skip of the old path.
    fn leave(&mut self, path: PathId) {
        let first_unsent = self.first_unsent();
        if let Some(old) = self.path_mut(path)
            && old.stated < first_unsent
        {
            old.last_skip = Some(first_unsent);
            old.highest = old.highest.max(first_unsent);
            self.has_left_paths = true;
        }
    }

    /// Removes a path that is dead or closed. `returned` contains the messages that it accepted and that are known to be undelivered.
    /// Other messages that it accepted are lost, unless the subscriber has them.
    pub fn path_down(&mut self, path: PathId, returned: impl IntoIterator<Item = Numbered<M>>) {
        let Some(index) = self.paths.iter().position(|known| known.path.id == path) else { return };
        let dead = self.paths.swap_remove(index);
        let is_active = self.state.path() == Some(path);
        if let SenderState::Emptying { path: old, to } = self.state
            && to == path
        {
            return self.give_up_change(old);
        }
        let carried = dead.open.max(self.reached)..dead.highest;
        let is_plausible = |message: &Numbered<M>| carried.contains(&message.number);
        let returned: Vec<_> = returned.into_iter().filter(is_plausible).collect();
        if !is_active && !dead.is_open(self.reached) {
            return;
        }
        let next = if is_active { self.best_path() } else { self.state.path() };
        self.put_back(returned);
        let first_unsent = self.first_unsent();
        let is_numbered = dead.path.is_numbered();
        let from = if is_numbered { dead.open.max(self.reached).min(first_unsent) } else { first_unsent };
        let is_unconfirmed = self.is_settled && self.awaits_reached();
        self.is_settled = is_unconfirmed || !is_numbered;
        match next {
            Some(next) if self.can_begin_immediately(next) => self.begin_on(next, from),
            Some(to) => self.state = SenderState::Emptying { path, to },
            None => self.wait(from, self.is_settled),
        }
    }

    /// Returns whether the path can begin immediately: a path without numbers must not overtake messages that the
    /// subscriber may still read from the dead one.
    fn can_begin_immediately(&self, next: PathId) -> bool {
        self.path(next).is_some_and(|next| next.path.is_numbered())
    }

    /// Handles that the new path of [`SenderState::Emptying`] went down.
    fn give_up_change(&mut self, old: PathId) {
        if self.path(old).is_some() {
            self.state = SenderState::Active { path: old };
            return;
        }
        match self.best_path() {
            Some(next) if self.can_begin_immediately(next) => self.begin_settled(next),
            Some(to) => self.state = SenderState::Emptying { path: old, to },
            None => self.wait(self.first_unsent(), true),
        }
    }

    /// Begins a path after the wait for earlier messages has ended.
    fn begin_settled(&mut self, path: PathId) {
        self.is_settled = true;
        self.begin_on(path, self.first_unsent());
    }

    /// Queues the messages that a dead path returned first, unless the policy sends nothing twice.
    fn put_back(&mut self, returned: Vec<Numbered<M>>) {
        if matches!(self.queue.policy(), QueuePolicy::BestEffort { .. }) {
            self.queue.count_dropped(returned.len() as u64);
        } else {
            self.queue.put_back(returned);
        }
    }

    fn wait(&mut self, from: u64, is_settled: bool) {
        self.state = SenderState::Waiting { from };
        self.is_settled = is_settled;
        self.begin_due = false;
    }

    /// Begins a path at `from`. The epoch saturates after 4 billion changes of one pair.
    fn begin_on(&mut self, path: PathId, from: u64) {
        if self.path(path).is_some_and(|new| !new.path.is_numbered()) {
            // The receiver could not recognise a duplicate.
            self.queue.drop_before(self.next_unsent);
        }
        let (reached, first_unsent) = (self.reached, self.first_unsent());
        let Some(new) = self.path_mut(path) else { return };
        // The path was left before it stated its last Skip: that is stated after this Begin.
        let from = if new.last_skip.is_some() { from.min(new.stated) } else { from };
        new.begin(from, reached);
        if !new.path.has_statements {
            if !new.path.is_numbered() {
                new.sent_before(first_unsent);
            }
            self.state = SenderState::Active { path };
            self.close_left_paths(path);
            return;
        }
        self.epoch = self.epoch.saturating_add(1);
        self.begin_due = true;
        self.state = SenderState::Draining { path, from };
    }

    /// Completes a change: the subscriber has all messages of other paths.
    pub(super) fn is_drained(&mut self, path: PathId) {
        self.state = SenderState::Active { path };
        self.begin_due = false;
        if !self.is_paced {
            self.unreached = Default::default();
            self.unreached_bytes = 0;
        }
        self.close_left_paths(path);
    }

    fn close_left_paths(&mut self, active: PathId) {
        let reached = self.reached;
        for left in self.paths.iter_mut().filter(|left| left.path.id != active) {
            let was_used = left.first > 0;
            left.is_left = left.path.closes_when_left && was_used && !left.is_open(reached);
            self.has_left_paths |= left.is_left;
        }
    }
}
