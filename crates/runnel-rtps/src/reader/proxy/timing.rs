//! How long it takes until what a writer was asked for comes: one sample is followed at a time.

use crate::wire::SequenceNumber;
use core::time::Duration;
use runnel_core::time::Instant;

/// How long a repair is thought to take: at least, until one was followed, and at most.
const SHORTEST: Duration = Duration::from_millis(2);
const UNKNOWN: Duration = Duration::from_millis(10);
pub(super) const LONGEST: Duration = Duration::from_millis(500);

/// How long repairs take, as far as is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    takes: Duration,
    followed: Option<Followed>,
}

/// A sample that was asked for.
#[derive(Clone, Copy, Debug)]
struct Followed {
    number: SequenceNumber,
    asked: Instant,
    /// It was asked for again: what comes may answer the first time or the last.
    again: bool,
    came: Option<Instant>,
}

impl Timing {
    pub fn new() -> Self {
        Self { takes: UNKNOWN, followed: None }
    }

    /// How long a repair may take until it is asked for again.
    pub fn pause(&self) -> Duration {
        self.takes
    }

    /// The same of fragments, which may be sent at a pace of their own.
    pub fn pause_of_fragments(&self) -> Duration {
        self.takes.max(UNKNOWN)
    }

    /// A sample is asked for.
    pub fn note_asked(&mut self, now: Instant, number: SequenceNumber) {
        match &mut self.followed {
            Some(followed) if followed.number == number => followed.again |= followed.came.is_none(),
            // A second copy of one that came may be under way.
            Some(Followed { came: Some(came), .. }) if *came + self.takes > now => {}
            Some(Followed { came: None, .. }) => {}
            _ => self.followed = Some(Followed { number, asked: now, again: false, came: None }),
        }
    }

    /// Samples before this one are not missing any more.
    pub fn note_done(&mut self, next: SequenceNumber) {
        let is_moot = |followed: &Followed| followed.came.is_none() && followed.number < next;
        if self.followed.as_ref().is_some_and(is_moot) {
            self.followed = None;
        }
    }

    /// A sample has come for the first time. One that was asked for once shows how long that takes.
    pub fn note_came(&mut self, now: Instant, number: SequenceNumber) {
        let Some(followed) = self.followed.as_mut().filter(|followed| followed.number == number) else {
            return;
        };
        if followed.again {
            followed.came = Some(now);
            return;
        }
        let took = now.since(followed.asked);
        self.takes = ((self.takes * 3 + took * 3 / 2) / 4).clamp(SHORTEST, LONGEST);
        self.followed = None;
    }

    /// A sample has come once more. If it was asked for again, that was too early.
    pub fn note_came_again(&mut self, number: SequenceNumber) {
        if self.followed.is_some_and(|followed| followed.number == number && followed.came.is_some()) {
            self.takes = (self.takes * 3 / 2).min(LONGEST);
            self.followed = None;
        }
    }
}
