//! Estimate of the repair time: one requested sample is tracked at a time.

use crate::wire::SequenceNumber;
use core::time::Duration;
use runnel_core::time::Instant;

/// Assumed repair time: minimum, initial and maximum.
const SHORTEST: Duration = Duration::from_millis(2);
const UNKNOWN: Duration = Duration::from_millis(10);
pub(super) const LONGEST: Duration = Duration::from_millis(500);

/// Estimated repair time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    takes: Duration,
    followed: Option<Followed>,
}

/// Requested sample.
#[derive(Clone, Copy, Debug)]
struct Followed {
    number: SequenceNumber,
    asked: Instant,
    /// It was requested again, so its arrival may answer the first request or the last.
    again: bool,
    arrived: Option<Instant>,
}

impl Timing {
    pub fn new() -> Self {
        Self { takes: UNKNOWN, followed: None }
    }

    /// Returns the interval until a repair is requested again.
    pub fn pause(&self) -> Duration {
        self.takes
    }

    /// Returns the interval for fragments, which may be paced.
    pub fn pause_of_fragments(&self) -> Duration {
        self.takes.max(UNKNOWN)
    }

    /// Records a requested sample.
    pub fn note_asked(&mut self, now: Instant, number: SequenceNumber) {
        match &mut self.followed {
            Some(followed) if followed.number == number => followed.again |= followed.arrived.is_none(),
            // A second copy of a received one may be in flight.
            Some(Followed { arrived: Some(arrived), .. }) if *arrived + self.takes > now => {}
            Some(Followed { arrived: None, .. }) => {}
            _ => self.followed = Some(Followed { number, asked: now, again: false, arrived: None }),
        }
    }

    /// Records that samples before this one are no longer missing.
    pub fn note_done(&mut self, next: SequenceNumber) {
        let is_moot = |followed: &Followed| followed.arrived.is_none() && followed.number < next;
        if self.followed.as_ref().is_some_and(is_moot) {
            self.followed = None;
        }
    }

    /// Records the first arrival of a sample. A sample that was requested once shows the repair time.
    pub fn note_arrival(&mut self, now: Instant, number: SequenceNumber) {
        let Some(followed) = self.followed.as_mut().filter(|followed| followed.number == number) else {
            return;
        };
        if followed.again {
            followed.arrived = Some(now);
            return;
        }
        let took = now.since(followed.asked);
        self.takes = ((self.takes * 3 + took * 3 / 2) / 4).clamp(SHORTEST, LONGEST);
        self.followed = None;
    }

    /// Records a repeated arrival. If the sample was requested again, that was too early.
    pub fn note_repeated_arrival(&mut self, number: SequenceNumber) {
        if self.followed.is_some_and(|followed| followed.number == number && followed.arrived.is_some()) {
            self.takes = (self.takes * 3 / 2).min(LONGEST);
            self.followed = None;
        }
    }
}
