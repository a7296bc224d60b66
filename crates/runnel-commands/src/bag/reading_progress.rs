//! The line that shows how far a command has read its bags.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use crate::cli_context::CliContext;
use crate::output::{self, counted};

/// How often the line is shown.
const PERIOD: Duration = Duration::from_millis(500);

/// See the module's documentation. The line is removed at the end: a result follows it.
pub struct ReadingProgress {
    /// What the command does: `checking`.
    action: &'static str,
    is_shown: bool,
    /// Log times of the first and the last message.
    times: (u64, u64),
    messages: u64,
    /// When the line was shown.
    shown: Option<Instant>,
}

impl ReadingProgress {
    /// The line is shown on a terminal, unless the command is quiet or prints JSON.
    pub fn new(action: &'static str, cli: &CliContext, is_quiet: bool) -> Self {
        let is_shown = !is_quiet && !cli.output.json && io::stderr().is_terminal();
        Self { is_shown, ..Self::hidden(action) }
    }

    /// No line.
    pub fn hidden(action: &'static str) -> Self {
        Self { action, is_shown: false, times: (0, 0), messages: 0, shown: None }
    }

    /// Begins with bags that have these times.
    pub fn begin(&mut self, times: Option<(u64, u64)>) {
        self.end();
        self.times = times.unwrap_or_default();
        self.messages = 0;
    }

    /// Counts a message of this log time.
    pub fn count(&mut self, log_time: u64) {
        self.messages += 1;
        if self.is_shown && self.shown.is_none_or(|shown| shown.elapsed() >= PERIOD) {
            self.shown = Some(Instant::now());
            output::print_status(&self.line(log_time));
        }
    }

    /// Removes the line.
    pub fn end(&mut self) {
        if self.shown.take().is_some() {
            output::print_status("");
        }
    }

    fn line(&self, log_time: u64) -> String {
        let (start, end) = self.times;
        let [passed, all] =
            [log_time.clamp(start, end.max(start)), end].map(|time| time.saturating_sub(start) as f64 / 1e9);
        format!("{} {passed:.1} s of {all:.1} s, {}", self.action, counted(self.messages, "message"))
    }
}

/// Also after an error.
impl Drop for ReadingProgress {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_shows_times_and_messages() {
        const SECOND: u64 = 1_000_000_000;
        let mut progress = ReadingProgress::hidden("checking");
        progress.begin(Some((100 * SECOND, 110 * SECOND)));
        progress.count(102 * SECOND);
        assert_eq!(progress.line(102 * SECOND), "checking 2.0 s of 10.0 s, 1 message");
        progress.count(111 * SECOND);
        assert_eq!(progress.line(111 * SECOND), "checking 10.0 s of 10.0 s, 2 messages");
        progress.begin(None);
        assert_eq!(progress.line(7), "checking 0.0 s of 0.0 s, 0 messages");
    }
}
