//! Peers cannot fill a disk with what is logged about them.

use std::fmt;
use std::time::Duration;

use runnel_core::time::Instant;

/// Lines that are logged in each span.
const LINES: u64 = 20;

/// See [`LINES`].
const SPAN: Duration = Duration::from_secs(10);

/// Counts lines.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    began: Option<Instant>,
    lines: u64,
}

/// What becomes of a line.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It is logged, after so many that were not.
    Logged { kept_back: u64 },
    /// It is the last that is logged for a while.
    Last,
    /// It is not.
    KeptBack,
}

impl Throttle {
    /// Has `say` log a line about a peer, if there were not too many.
    pub(super) fn warn(
        &mut self,
        now: Instant,
        line: fmt::Arguments<'_>,
        say: impl FnOnce(fmt::Arguments<'_>),
    ) {
        match self.line(now) {
            Verdict::Logged { kept_back: 0 } => say(line),
            Verdict::Logged { kept_back } => {
                say(format_args!("{line} ({kept_back} lines before were kept back)"));
            }
            Verdict::Last => say(format_args!("{line} (more is kept back for {} s)", SPAN.as_secs())),
            Verdict::KeptBack => {}
        }
    }

    fn line(&mut self, now: Instant) -> Verdict {
        let mut kept_back = 0;
        if self.began.is_none_or(|began| now.since(began) >= SPAN) {
            kept_back = self.lines.saturating_sub(LINES);
            *self = Self { began: Some(now), lines: 0 };
        }
        self.lines += 1;
        match self.lines {
            LINES => Verdict::Last,
            more if more > LINES => Verdict::KeptBack,
            _ => Verdict::Logged { kept_back },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_many_lines_the_rest_of_the_span_is_only_counted() {
        let (mut throttle, start) = (Throttle::default(), Instant(5));
        let logged = |kept_back| Verdict::Logged { kept_back };
        (1..LINES).for_each(|_| assert_eq!(throttle.line(start), logged(0)));
        assert_eq!(throttle.line(start), Verdict::Last);
        (0..3).for_each(|_| assert_eq!(throttle.line(start), Verdict::KeptBack));
        assert_eq!(throttle.line(start + SPAN), logged(3));
        assert_eq!(throttle.line(start + 3 * SPAN), logged(0));
    }
}
