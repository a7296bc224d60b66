//! What the library logs goes to standard error: `[WARN] text`.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use log::{Level, LevelFilter, Log, Metadata, Record};
use runnel::core::sanitize;

use crate::output::{self, counted};

/// The variable that names the least level to show.
const VARIABLE: &str = "RUNNEL_LOG";

/// Lines that are held at most: the newest.
const MOST_HELD: usize = 100;

/// How long a warning is worth being shown among other things.
const FRESH: Duration = Duration::from_secs(5);

/// What [`Held`] holds, while there is one.
static HOLD: Mutex<Option<Hold>> = Mutex::new(None);

#[derive(Default)]
struct Hold {
    lines: VecDeque<String>,
    /// Lines that gave way to newer ones.
    dropped: u64,
    /// The last warning or error, and when it was said.
    warning: Option<(String, Instant)>,
}

struct StandardError;

/// Keeps what is logged off standard error until it is dropped. One at a time.
pub struct Held(());

/// Holds what is logged, as long as something else is drawn on the terminal.
pub fn hold() -> Held {
    *held() = Some(Hold::default());
    Held(())
}

impl Held {
    /// The last warning or error, if it was a moment ago.
    pub fn warning(&self) -> Option<String> {
        let hold = held();
        let (line, at) = hold.as_ref()?.warning.as_ref()?;
        (at.elapsed() < FRESH).then(|| line.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Hold { lines, dropped, .. } = mem::take(&mut *held()).unwrap_or_default();
        if dropped > 0 {
            output::tell(&format!("({} before are not shown)", counted(dropped, "line")));
        }
        lines.iter().for_each(|line| output::tell(line));
    }
}

impl Hold {
    fn add(&mut self, level: Level, line: String) {
        if level <= Level::Warn {
            self.warning = Some((line.clone(), Instant::now()));
        }
        if self.lines.len() == MOST_HELD {
            self.lines.pop_front();
            self.dropped += 1;
        }
        self.lines.push_back(line);
    }
}

fn held() -> MutexGuard<'static, Option<Hold>> {
    HOLD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows warnings and errors, or what `RUNNEL_LOG` names, or more for each `-v`.
pub fn install(verbose: u8) {
    let level = level(std::env::var(VARIABLE).ok().as_deref(), verbose);
    if log::set_logger(&StandardError).is_ok() {
        log::set_max_level(level);
    }
}

/// The level for the value of the variable and the number of `-v`, which win over it.
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
        match &mut *held() {
            None => output::tell_log(&line, record.level().into()),
            Some(hold) => hold.add(record.level(), sanitize::log_text(&line).into_owned()),
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_are_held_and_the_last_warning_is_known() {
        let said = |level: Level, text: &str| {
            StandardError.log(&Record::builder().args(format_args!("{text}")).level(level).build());
        };
        let hold = hold();
        (0..MOST_HELD + 5).for_each(|number| said(Level::Info, &number.to_string()));
        assert_eq!(hold.warning(), None);
        said(Level::Warn, "the wheels are off");
        said(Level::Info, "later");
        assert_eq!(hold.warning().as_deref(), Some("[WARN] the wheels are off"));
        let what = held().as_ref().map(|hold| (hold.lines.len(), hold.lines[0].clone(), hold.dropped));
        assert_eq!(what, Some((100, "[INFO] 7".into(), 7)));
        drop(hold);
        assert!(held().is_none());
    }

    #[test]
    fn flags_win_over_the_variable_and_warnings_are_shown_by_default() {
        assert_eq!(level(None, 0), LevelFilter::Warn);
        assert_eq!(level(Some("nonsense"), 0), LevelFilter::Warn);
        assert_eq!(level(Some("off"), 0), LevelFilter::Off);
        assert_eq!(level(Some("Error"), 2), LevelFilter::Debug);
    }
}
