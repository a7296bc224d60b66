//! The line that shows how far the playing is.

use std::io::{self, IsTerminal};
use std::time::Duration;

use runnel::core::time::Instant;

use super::schedule::Schedule;
use crate::output;

/// How often it is shown.
const PERIOD: Duration = Duration::from_millis(500);

/// See the module's documentation.
pub struct Progress {
    is_shown: bool,
    next: Instant,
}

impl Progress {
    /// The line is shown on a terminal, unless the player is quiet.
    pub fn new(is_quiet: bool) -> Self {
        Self { is_shown: !is_quiet && io::stderr().is_terminal(), next: Instant::default() }
    }

    /// Shows the line, if it is time to do so.
    pub fn show(&mut self, now: Instant, schedule: &Schedule, range: (u64, u64), messages: u64) {
        if self.is_shown && now >= self.next {
            self.next = now + PERIOD;
            output::print_status(&line(schedule, schedule.log_time(now), range, messages));
        }
    }

    /// Shows the line next time: something has changed.
    pub fn refresh(&mut self) {
        self.next = Instant::default();
    }

    /// Ends the line.
    pub fn end(&self) {
        if self.is_shown {
            output::end_status();
        }
    }
}

fn line(schedule: &Schedule, at: u64, (start, end): (u64, u64), messages: u64) -> String {
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let [passed, all] =
        [at.clamp(start, end.max(start)), end].map(|time| seconds(time.saturating_sub(start)));
    let state = if schedule.is_paused() { "paused" } else { "playing" };
    let rate = match schedule.rate() {
        1.0 => String::new(),
        rate => format!(" at rate {rate:.1}"),
    };
    format!("{state}{rate} {passed:.1} s of {all:.1} s, {messages} messages")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_shows_state_rate_and_times() {
        const SECOND: u64 = 1_000_000_000;
        let range = (100 * SECOND, 110 * SECOND);
        let mut schedule = Schedule::new(range.0, Instant(0), 1.0);
        assert_eq!(line(&schedule, 102 * SECOND, range, 7), "playing 2.0 s of 10.0 s, 7 messages");
        schedule.set_rate(0.5, Instant(0));
        schedule.toggle_pause(Instant(0));
        assert_eq!(
            line(&schedule, 120 * SECOND, range, 7),
            "paused at rate 0.5 10.0 s of 10.0 s, 7 messages"
        );
    }
}
