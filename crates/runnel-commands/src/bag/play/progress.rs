//! The line that shows how far the playing is.

use std::io::{self, IsTerminal};
use std::time::Duration;

use runnel::core::time::Instant;

use super::schedule::Schedule;
use crate::output;

/// How often the line is shown: 0 is at each change, and `None` never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressPeriod(Option<Duration>);

impl Default for ProgressPeriod {
    fn default() -> Self {
        Self(Some(Duration::from_millis(500)))
    }
}

impl ProgressPeriod {
    /// The period of a rate as `ros2 bag play` takes it: 0 is never, and a negative rate is at each message.
    ///
    /// # Errors
    /// When the text is no number.
    pub fn of_rate(text: &str) -> Result<Self, String> {
        let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite());
        match rate.ok_or("must be a number")? {
            0.0 => Ok(Self(None)),
            rate if rate < 0.0 => Ok(Self(Some(Duration::ZERO))),
            // A period that is too long is never over.
            rate => Ok(Self(Duration::try_from_secs_f64(1.0 / rate).ok())),
        }
    }
}

/// See the module's documentation.
pub struct ProgressLine {
    period: Option<Duration>,
    next: Instant,
    /// The playing waits for the rate control topic.
    is_delayed: bool,
}

impl ProgressLine {
    /// The line is shown on a terminal, unless the player is quiet.
    pub fn new(ProgressPeriod(period): ProgressPeriod, is_quiet: bool) -> Self {
        let is_shown = !is_quiet && io::stderr().is_terminal();
        Self { period: period.filter(|_| is_shown), next: Instant::default(), is_delayed: false }
    }

    /// Shows the line, if it is time to do so.
    pub fn show(&mut self, now: Instant, schedule: &Schedule, range: (u64, u64), messages: u64) {
        if let Some(period) = self.period
            && now >= self.next
        {
            self.next = now + period;
            let line = line(schedule, schedule.log_time(now), range, messages);
            let line = if self.is_delayed { line.replacen("playing", "waiting", 1) } else { line };
            output::print_status(&line);
        }
    }

    /// Whether the playing waits for the rate control topic.
    pub fn set_delayed(&mut self, is_delayed: bool) {
        self.is_delayed = is_delayed;
    }

    /// Shows the line next time: something has changed.
    pub fn refresh(&mut self) {
        self.next = Instant::default();
    }

    /// Ends the line.
    pub fn end(&self) {
        if self.period.is_some() {
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
    fn period_follows_the_rate() {
        let period = |text: &str| ProgressPeriod::of_rate(text).ok().map(|ProgressPeriod(period)| period);
        assert_eq!(period("4"), Some(Some(Duration::from_millis(250))));
        assert_eq!((period("0"), period("1e-300")), (Some(None), Some(None)));
        assert_eq!(period("-1"), Some(Some(Duration::ZERO)));
        for text in ["", "x", "nan", "inf"] {
            assert_eq!(period(text), None, "{text}");
        }
    }

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
