//! Limit on log lines about peers and callbacks, so that they cannot fill a disk.

use std::fmt;
use std::time::Duration;

use runnel_core::time::Instant;

/// Maximum number of lines in each [`SPAN`].
const LINES: u64 = 20;

/// Length of a span.
const SPAN: Duration = Duration::from_secs(10);

/// Counter of lines.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    began: Option<Instant>,
    lines: u64,
}

/// Decision about a line.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Logged, after this many suppressed ones.
    Logged { suppressed: u64 },
    /// Logged as the last line of the span.
    Last,
    /// Suppressed.
    Suppressed,
}

impl Throttle {
    /// Logs a line with `say`, within the limit.
    pub(crate) fn warn(
        &mut self,
        now: Instant,
        line: fmt::Arguments<'_>,
        say: impl FnOnce(fmt::Arguments<'_>),
    ) {
        match self.line(now) {
            Verdict::Logged { suppressed: 0 } => say(line),
            Verdict::Logged { suppressed } => {
                say(format_args!("{line} ({suppressed} earlier lines were suppressed)"));
            }
            Verdict::Last => {
                say(format_args!("{line} (further lines are suppressed for {} s)", SPAN.as_secs()))
            }
            Verdict::Suppressed => {}
        }
    }

    fn line(&mut self, now: Instant) -> Verdict {
        let mut suppressed = 0;
        if self.began.is_none_or(|began| now.since(began) >= SPAN) {
            suppressed = self.lines.saturating_sub(LINES);
            *self = Self { began: Some(now), lines: 0 };
        }
        self.lines += 1;
        match self.lines {
            LINES => Verdict::Last,
            more if more > LINES => Verdict::Suppressed,
            _ => Verdict::Logged { suppressed },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excess_lines_of_a_span_are_counted() {
        let (mut throttle, start) = (Throttle::default(), Instant(5));
        let logged = |suppressed| Verdict::Logged { suppressed };
        (1..LINES).for_each(|_| assert_eq!(throttle.line(start), logged(0)));
        assert_eq!(throttle.line(start), Verdict::Last);
        (0..3).for_each(|_| assert_eq!(throttle.line(start), Verdict::Suppressed));
        assert_eq!(throttle.line(start + SPAN), logged(3));
        assert_eq!(throttle.line(start + 3 * SPAN), logged(0));
    }
}
