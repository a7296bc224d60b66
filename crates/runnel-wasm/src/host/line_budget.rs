//! How many lines a guest may log, since logs fill disks and memory.

use std::time::Duration;

use runnel::core::time::Instant;

/// Lines that may be written at once, and then in each second.
const MOST: u32 = 1000;

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct LineBudget {
    began: Option<Instant>,
    lines: u32,
    dropped: u64,
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is written.
    Write,
    /// It is written, after a note that so many were dropped before it.
    WriteAfter(u64),
    /// It is dropped.
    Drop,
}

impl LineBudget {
    /// Counts a line.
    pub fn count(&mut self, now: Instant) -> Verdict {
        if self.began.is_none_or(|began| now.since(began) >= Duration::from_secs(1)) {
            (self.began, self.lines) = (Some(now), 0);
        }
        if self.lines >= MOST {
            self.dropped += 1;
            return Verdict::Drop;
        }
        self.lines += 1;
        match std::mem::take(&mut self.dropped) {
            0 => Verdict::Write,
            dropped => Verdict::WriteAfter(dropped),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_dropped_and_counted() {
        let (start, mut budget) = (runnel_io::clock::monotonic(), LineBudget::default());
        let verdicts: Vec<Verdict> = (0..MOST + 5).map(|_| budget.count(start)).collect();
        let written = verdicts.iter().filter(|verdict| **verdict == Verdict::Write).count();
        assert_eq!((written, verdicts.last()), (MOST as usize, Some(&Verdict::Drop)));
        let later = start + Duration::from_secs(1);
        assert_eq!([budget.count(later), budget.count(later)], [Verdict::WriteAfter(5), Verdict::Write]);
    }
}
