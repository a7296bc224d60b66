//! Log lines of the library on standard error: `[WARN] text`.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use log::{Level, LevelFilter, Log, Metadata, Record};
use runnel::core::sanitize;

use crate::output::{self, counted};

/// The variable with the minimum level to print.
const VARIABLE: &str = "RUNNEL_LOG";

/// Most lines that are buffered: the newest.
const MAX_LINES: usize = 100;

/// How long a warning is shown on the demo's screen.
const FRESH: Duration = Duration::from_secs(5);

/// The buffer, while a [`LogBuffer`] exists.
static BUFFER: Mutex<Option<LogLines>> = Mutex::new(None);

#[derive(Default)]
struct LogLines {
    lines: VecDeque<String>,
    /// Lines that newer ones replaced.
    dropped: u64,
    /// The last warning or error, and its time.
    warning: Option<(String, Instant)>,
}

struct StandardError;

/// Buffers log lines instead of printing them, until it is dropped. One at a time.
pub struct LogBuffer(());

/// Starts buffering, while the terminal shows something else.
pub fn buffer_lines() -> LogBuffer {
    *buffered() = Some(LogLines::default());
    LogBuffer(())
}

impl LogBuffer {
    /// The last warning or error, if it is recent.
    pub fn warning(&self) -> Option<String> {
        let buffer_lines = buffered();
        let (line, at) = buffer_lines.as_ref()?.warning.as_ref()?;
        (at.elapsed() < FRESH).then(|| line.clone())
    }
}

impl Drop for LogBuffer {
    fn drop(&mut self) {
        let LogLines { lines, dropped, .. } = mem::take(&mut *buffered()).unwrap_or_default();
        if dropped > 0 {
            output::print_error(&format!("({} before these not shown)", counted(dropped, "line")));
        }
        lines.iter().for_each(|line| output::print_error(line));
    }
}

impl LogLines {
    fn add(&mut self, level: Level, line: String) {
        if level <= Level::Warn {
            self.warning = Some((line.clone(), Instant::now()));
        }
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
            self.dropped += 1;
        }
        self.lines.push_back(line);
    }
}

fn buffered() -> MutexGuard<'static, Option<LogLines>> {
    BUFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints warnings and errors, or the level of `RUNNEL_LOG`, or more for each `-v`.
pub fn install(verbose: u8) {
    let level = level(std::env::var(VARIABLE).ok().as_deref(), verbose);
    if log::set_logger(&StandardError).is_ok() {
        log::set_max_level(level);
    }
}

/// The level for the value of the variable and the number of `-v` flags. The flags override the variable.
fn level(variable: Option<&str>, verbose: u8) -> LevelFilter {
    match verbose {
        0 => variable.and_then(|text| text.parse().ok()).unwrap_or(LevelFilter::Warn),
        1 => LevelFilter::Info,
        2 => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    }
}

impl Log for StandardError {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let line = format!("[{}] {}", record.level(), record.args());
        match &mut *buffered() {
            None => output::print_log(&line, record.level().into()),
            Some(buffer_lines) => buffer_lines.add(record.level(), sanitize::log_text(&line).into_owned()),
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_lines_and_last_warning_are_buffered() {
        let said = |level: Level, text: &str| {
            StandardError.log(&Record::builder().args(format_args!("{text}")).level(level).build());
        };
        let buffer_lines = buffer_lines();
        (0..MAX_LINES + 5).for_each(|number| said(Level::Info, &number.to_string()));
        assert_eq!(buffer_lines.warning(), None);
        said(Level::Warn, "the wheels are off");
        said(Level::Info, "later");
        assert_eq!(buffer_lines.warning().as_deref(), Some("[WARN] the wheels are off"));
        let what = buffered().as_ref().map(|buffer_lines| {
            (buffer_lines.lines.len(), buffer_lines.lines[0].clone(), buffer_lines.dropped)
        });
        assert_eq!(what, Some((100, "[INFO] 7".into(), 7)));
        drop(buffer_lines);
        assert!(buffered().is_none());
    }

    #[test]
    fn verbose_flags_override_the_variable() {
        assert_eq!(level(None, 0), LevelFilter::Warn);
        assert_eq!(level(Some("nonsense"), 0), LevelFilter::Warn);
        assert_eq!(level(Some("off"), 0), LevelFilter::Off);
        assert_eq!(level(Some("Error"), 2), LevelFilter::Debug);
    }
}
