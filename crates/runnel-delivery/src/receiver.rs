//! Receiver: the subscriber's end of one pair. It puts messages of several paths into one order.
//!
//! There is one receiver for each stream and subscription. It delivers message `next` as soon as it is there, by whichever
//! path it came. A missing message is counted as lost only when the path that owns it has passed it:
//! [`segments`] say which path that is.

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

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Receiver<M> {
    /// What [`accept_in_order`](Self::accept_in_order) compares: the one path, if nothing is held, asked for or to be
    /// reported, and the next message.
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
    /// A loss that is still to be reported, before `next`.
    lost: Option<(u64, u64)>,
    lost_count: u64,
    reached_due: bool,
    /// A Reached was written that says that the newest path carries all.
    has_confirmed: bool,
    /// Write a Reached after so many messages, also while nothing changes; 0 for never.
    report_every: u64,
    reported: u64,
    /// Bytes delivered since then.
    unreported_bytes: usize,
    plain: Plain<M>,
}

impl<M> Receiver<M> {
    /// A receiver without a path.
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

    /// Number of the next message due; 0 before the first Begin. RTPS acknowledges no base beyond it.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The greatest epoch seen; 0 before the first Begin.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Messages counted as lost.
    pub fn lost(&self) -> u64 {
        self.lost_count
    }

    /// Messages held until what precedes them has come.
    pub fn held(&self) -> usize {
        self.window.held() + self.plain.held()
    }

    /// Their bytes.
    pub fn held_bytes(&self) -> usize {
        self.window.bytes() + self.plain.bytes()
    }

    /// Whether this message is held.
    pub fn holds(&self, number: u64) -> bool {
        self.window.holds(number.checked_sub(self.next))
    }

    /// A path is established, by which nothing comes until its Begin.
    ///
    /// # Errors
    /// There are too many, or one of this name.
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

    /// A path is dead or closed, and all that it brought was given to the receiver.
    pub fn path_down(&mut self, path: PathId) {
        let Some(known) = self.path_mut(path) else { return };
        known.is_up = false;
        known.drain = paths::Drain::Done;
        self.reached_due |= self.next > 0;
        self.advance();
        self.update_steady();
    }

    /// All that had arrived by this path when [`ReceiveAction::DrainPath`] asked was given to the receiver.
    pub fn path_drained(&mut self, path: PathId) {
        let Some(known) = self.path_mut(path).filter(|known| known.drain == paths::Drain::Asked) else {
            return;
        };
        known.drain = paths::Drain::Done;
        self.advance();
        self.update_steady();
    }

    /// The path's Begin has come. One that is repeated is answered and changes nothing.
    ///
    /// # Errors
    /// It is not plausible, or the path is not known.
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
        let known = self.living(path)?;
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
        let Ok(known) = self.living(path) else { return };
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

    /// By a path whose peer states nothing come messages from `from` on: the first that RTPS has for this reader. To be
    /// called before its first message, and when the pair comes back to it. All other paths must be empty or dead;
    /// those without numbers are read to their ends ([`ReceiveAction::DrainPath`]).
    ///
    /// # Errors
    /// The number is not plausible, or the path is not known.
    pub fn begin_plain(&mut self, path: PathId, from: u64) -> Result<(), ReceiveError> {
        let epoch = self.epoch.checked_add(1).ok_or(ReceiveError::EpochLeap(u32::MAX))?;
        self.begin(path, epoch, from, true)
    }

    /// The path's Skip has come, or RTPS's notice (HEARTBEAT) that the writer has nothing before `to`.
    ///
    /// # Errors
    /// The number is not plausible, or the path is not known.
    pub fn skip(&mut self, path: PathId, to: u64) -> Result<(), ReceiveError> {
        self.check_number(to)?;
        let next = self.next;
        let known = self.living(path)?;
        known.check_leap(next, to)?;
        if !self.plain.defer_skip(path, to)
            && let Some(known) = self.path_mut(path)
        {
            known.position = known.position.max(to);
            self.advance();
        }
        Ok(())
    }

    /// RTPS's GAP: none of `from..to` comes by this path. False if it cannot be remembered, since it lies too far ahead or the
    /// path's Begin has not come; it must not be acknowledged then, so that it comes again.
    ///
    /// # Errors
    /// The numbers are not plausible, or the path is not known.
    pub fn gap(&mut self, path: PathId, from: u64, to: u64) -> Result<bool, ReceiveError> {
        self.check_number(from)?;
        self.check_number(to)?;
        let (next, credit) = (self.next, u64::from(self.credit.messages));
        let is_numbered = self.plain.is_idle();
        let known = self.living(path)?;
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

    /// The next thing to do. To be called until it returns `None`, after each call that changes something.
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
        // A Begin that had waited may ask for more.
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
