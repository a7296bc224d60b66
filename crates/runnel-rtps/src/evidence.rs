//! Evidence against the state that a peer's datagrams have set.
//!
//! One rule holds for all state that a datagram can change: a single datagram never resets or ends state that later
//! traffic contradicts; an uninterrupted run of three does. Copies by a second interface and overtaken datagrams also
//! contradict the state and must not count. They follow the newer datagram within [`QUIET`], so evidence counts only
//! when nothing has confirmed the state for that long, and each piece of evidence counts once.

use core::time::Duration;
use runnel_core::time::Instant;

/// Number of consecutive contradicting datagrams that are believed.
const RUN: usize = 3;

/// Longer than datagrams overtake each other, and than a copy by another interface takes.
pub(crate) const QUIET: Duration = Duration::from_millis(100);

/// Contradicting datagrams since the last confirmation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evidence {
    confirmed: Option<Instant>,
    /// Marks that distinguish the datagrams of the run, such as their counts.
    marks: [u64; RUN],
    run: usize,
}

/// Verdict on a datagram that contradicts the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may have been overtaken by the confirmation: it proves nothing.
    Overtaken,
    /// It was counted before.
    Copy,
    /// It counts. The peer's state must be requested.
    Contested,
    /// The run is complete: the state is replaced.
    Restart,
}

impl Evidence {
    /// Records a datagram that agrees with the state.
    pub fn confirm(&mut self, now: Instant) {
        *self = Self { confirmed: Some(now), ..Self::default() };
    }

    /// Ends the current run: later contradictions begin a new one.
    pub fn begin_run(&mut self) {
        *self = Self { confirmed: self.confirmed, ..Self::default() };
    }

    /// Returns whether nothing has confirmed the state for longer than any datagram is in flight.
    pub fn is_quiet(&self, now: Instant) -> bool {
        self.confirmed.is_none_or(|at| at + QUIET <= now)
    }

    /// Returns whether a datagram has agreed with the state.
    pub fn was_confirmed(&self) -> bool {
        self.confirmed.is_some()
    }

    /// Records a datagram that contradicts the state; `mark` distinguishes it from others.
    pub fn contradict(&mut self, now: Instant, mark: u64) -> Verdict {
        if !self.is_quiet(now) {
            return Verdict::Overtaken;
        }
        if self.marks.iter().take(self.run).any(|other| *other == mark) {
            return Verdict::Copy;
        }
        if let Some(place) = self.marks.get_mut(self.run) {
            *place = mark;
        }
        self.run += 1;
        if self.run < RUN {
            return Verdict::Contested;
        }
        self.confirm(now);
        Verdict::Restart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant(0) + Duration::from_millis(millis)
    }

    #[test]
    fn third_datagram_in_a_row_is_believed() {
        let mut evidence = Evidence::default();
        evidence.confirm(at(0));
        let verdicts = [(50, 1), (100, 1), (101, 1), (102, 2), (103, 2), (104, 3)]
            .map(|(millis, mark)| evidence.contradict(at(millis), mark));
        use Verdict::*;
        assert_eq!(verdicts, [Overtaken, Contested, Copy, Contested, Copy, Restart]);
    }

    #[test]
    fn confirmation_interrupts_the_run() {
        let mut evidence = Evidence::default();
        evidence.contradict(at(0), 1);
        evidence.contradict(at(1), 2);
        evidence.confirm(at(2));
        assert_eq!(evidence.contradict(at(3), 3), Verdict::Overtaken);
        assert_eq!(evidence.contradict(at(102), 4), Verdict::Contested);
    }
}
