//! Receiver: the subscriber's end of one pair. It merges messages of several paths into one order.
//!
//! Each stream and subscription has one receiver. It delivers message `next` as soon as it arrives, by any path. It
//! counts a missing message as lost only when the path that owns it has passed it; [`segments`] record the owners.

mod action;
mod arrivals;
mod held;
mod order;
mod paths;
mod plain;
mod reports;
mod segments;
mod snapshot;

use alloc::vec::Vec;

use crate::limits::{Credit, MAX_EPOCH_LEAP, MAX_NUMBER, MAX_NUMBER_LEAP, MAX_PATHS};
use crate::path::{Path, PathId};
use crate::sender::PathError;
use crate::statement::StreamId;

pub use action::{Accepted, ReceiveAction, ReceiveError};
use held::Window;
use paths::ReceiverPath;
use plain::Plain;
use segments::Segments;
pub use snapshot::ReceiverSnapshot;

/// The subscriber's end of one pair.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Receiver<M> {
    /// Operands of [`accept_in_order`](Self::accept_in_order): the only path, if no message is held and no drain or
    /// report is due, and the next message.
    steady_path: Option<PathId>,
    steady_next: u64,
    /// The next message due; 0 before the first Begin.
    next: u64,
    id: StreamId,
    credit: Credit,
    /// The greatest epoch seen.
    epoch: u32,
    paths: Vec<ReceiverPath>,
    segments: Segments,
    window: Window<M>,
    /// A loss before `next` that is not yet reported.
    lost: Option<(u64, u64)>,
    lost_count: u64,
    reached_due: bool,
    /// A Reached was written which states that the newest path carries all messages.
    has_confirmed: bool,
    /// Interval of Reached in messages while nothing changes; 0 for never.
    report_every: u64,
    reported: u64,
    /// Bytes delivered since the last report.
    unreported_bytes: usize,
    plain: Plain<M>,
}

impl<M> Receiver<M> {
    /// Creates a receiver without a path.
    pub fn new(id: StreamId, credit: Credit) -> Self {
        Self {
            steady_path: None,
            steady_next: 0,
            next: 0,
            id,
            credit,
            epoch: 0,
            paths: Vec::new(),
            segments: Segments::default(),
            window: Window::default(),
            lost: None,
            lost_count: 0,
            reached_due: false,
            has_confirmed: false,
            report_every: 0,
            reported: 0,
            unreported_bytes: 0,
            plain: Plain::default(),
        }
    }

    /// Returns the number of the next message due; 0 before the first Begin. RTPS acknowledges no base beyond it.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns the greatest epoch seen; 0 before the first Begin.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Returns the number of messages counted as lost.
    pub fn lost(&self) -> u64 {
        self.lost_count
    }

    /// Returns the number of messages that wait for earlier ones.
    pub fn held(&self) -> usize {
        self.window.held() + self.plain.held()
    }

    /// Returns the bytes of the held messages.
    pub fn held_bytes(&self) -> usize {
        self.window.bytes() + self.plain.bytes()
    }

    /// Returns whether a message is held.
    pub fn holds(&self, number: u64) -> bool {
        self.window.holds(number.checked_sub(self.next))
    }

    /// Adds an established path. It carries no message until its Begin.
    ///
    /// # Errors
    /// The pair has too many paths, or one with this id.
    pub fn path_up(&mut self, path: Path) -> Result<(), PathError> {
        self.forget_paths();
        if self.paths.iter().any(|known| known.path.id == path.id) {
            return Err(PathError::Exists(path.id));
        }
        if self.paths.len() >= MAX_PATHS {
            return Err(PathError::TooMany);
        }
        if !path.is_numbered() && self.paths.iter().any(|known| known.is_up && !known.path.is_numbered()) {
            return Err(PathError::SecondWithoutNumbers);
        }
        self.paths.push(ReceiverPath::new(path));
        Ok(())
    }

    /// Records that a path is dead or closed, after the receiver got all messages that it carried.
    pub fn path_down(&mut self, path: PathId) {
        let Some(known) = self.path_mut(path) else { return };
        known.is_up = false;
        known.drain = paths::Drain::Done;
        self.reached_due |= self.next > 0;
        self.advance();
        self.update_steady();
    }

    /// Records that the receiver got all messages that had arrived when [`ReceiveAction::DrainPath`] requested them.
    pub fn path_drained(&mut self, path: PathId) {
        let Some(known) = self.path_mut(path).filter(|known| known.drain == paths::Drain::Requested) else {
            return;
        };
        known.drain = paths::Drain::Done;
        self.advance();
        self.update_steady();
    }

    /// Handles the Begin of a path. A repeated one is answered and changes nothing.
    ///
    /// # Errors
    /// Its numbers are not plausible, or the path is not known.
    pub fn begin(
        &mut self,
        path: PathId,
        epoch: u32,
        from: u64,
        is_settled: bool,
    ) -> Result<(), ReceiveError> {
        self.check_number(from)?;
        let leap = epoch.saturating_sub(self.epoch);
        if epoch == 0 || (self.epoch > 0 && leap > MAX_EPOCH_LEAP) {
            return Err(ReceiveError::EpochLeap(epoch));
        }
        if self.next > 0 && from > self.next.saturating_add(MAX_NUMBER_LEAP) {
            return Err(ReceiveError::NumberLeap(from));
        }
        let known = self.live_path(path)?;
        if epoch <= known.epoch {
            self.reached_due = true;
            return Ok(());
        }
        if !self.segments.has_space() {
            return Err(ReceiveError::TooManyChanges);
        }
        let is_settled = is_settled && epoch > self.epoch;
        if !self.defer_begin(path, epoch, from, is_settled)? {
            self.do_begin(path, epoch, from);
        }
        Ok(())
    }

    fn do_begin(&mut self, path: PathId, epoch: u32, from: u64) {
        let Ok(known) = self.live_path(path) else { return };
        known.begin(epoch, from);
        if epoch > self.epoch {
            self.epoch = epoch;
            self.has_confirmed = false;
        }
        if self.next == 0 {
            self.next = from;
        }
        self.segments.add(path, epoch, from);
        self.reached_due = true;
        self.advance();
        self.drain_superseded();
    }

    /// Begins a path whose peer makes no statements: it carries messages from `from` on, the first that RTPS has for
    /// this reader. Call it before the first message, and when the pair returns to the path. All other paths must be
    /// empty or dead; those without numbers are read to their ends ([`ReceiveAction::DrainPath`]).
    ///
    /// # Errors
    /// The number is not plausible, or the path is not known.
    pub fn begin_plain(&mut self, path: PathId, from: u64) -> Result<(), ReceiveError> {
        let epoch = self.epoch.checked_add(1).ok_or(ReceiveError::EpochLeap(u32::MAX))?;
        self.begin(path, epoch, from, true)
    }

    /// Handles the Skip of a path, or an RTPS HEARTBEAT whose first number is `to`.
    ///
    /// # Errors
    /// The number is not plausible, or the path is not known.
    pub fn skip(&mut self, path: PathId, to: u64) -> Result<(), ReceiveError> {
        self.check_number(to)?;
        let next = self.next;
        let known = self.live_path(path)?;
        known.check_leap(next, to)?;
        if !self.plain.defer_skip(path, to)
            && let Some(known) = self.path_mut(path)
        {
            known.position = known.position.max(to);
            self.advance();
        }
        Ok(())
    }

    /// Handles an RTPS GAP: this path carries none of `from..to`. Returns false if the GAP cannot be remembered,
    /// because it is too far ahead or the path's Begin has not arrived; it must not be acknowledged then, so that the
    /// writer repeats it.
    ///
    /// # Errors
    /// The numbers are not plausible, or the path is not known.
    pub fn gap(&mut self, path: PathId, from: u64, to: u64) -> Result<bool, ReceiveError> {
        self.check_number(from)?;
        self.check_number(to)?;
        let (next, credit) = (self.next, u64::from(self.credit.messages));
        let is_numbered = self.plain.is_idle();
        let known = self.live_path(path)?;
        known.check_leap(next, to)?;
        if to <= from.max(next) {
            return Ok(true);
        }
        if next == 0 || !is_numbered || from > next.saturating_add(credit) {
            return Ok(false);
        }
        let is_kept = known.add_far_gap(from, to, (next, next.saturating_add(credit)));
        self.window.mark_gap(path, from.saturating_sub(next), to - next, credit);
        self.advance();
        Ok(is_kept)
    }

    /// Returns the next action. Call it until it returns `None`, after each call that changes the receiver.
    pub fn poll_action(&mut self) -> Option<ReceiveAction<M>> {
        if let Some(path) = self.take_drain() {
            return Some(ReceiveAction::DrainPath { path });
        }
        if let Some(report) = self.poll_report() {
            return Some(report);
        }
        let action = self.poll_message().or_else(|| self.poll_plain());
        if action.is_some() {
            return action;
        }
        // A deferred Begin may request another drain.
        if let Some(path) = self.take_drain() {
            return Some(ReceiveAction::DrainPath { path });
        }
        self.release_segments();
        if self.reached_due && self.epoch > 0 {
            return Some(self.report());
        }
        let closed = self.take_closed();
        self.update_steady();
        closed.map(|path| ReceiveAction::Close { path })
    }

    fn check_number(&self, number: u64) -> Result<(), ReceiveError> {
        let is_valid = (1..=MAX_NUMBER).contains(&number);
        if is_valid { Ok(()) } else { Err(ReceiveError::NumberOutOfRange(number)) }
    }
}
