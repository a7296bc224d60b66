//! What the library logs goes to standard error: `[WARN] text`.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use log::{LevelFilter, Log, Metadata, Record};

/// The variable that names the least level to show.
const VARIABLE: &str = "RUNNEL_LOG";

/// Lines that are held at most: the newest.
const MOST_HELD: usize = 100;

/// The lines that [`Held`] holds, while there is one.
static HELD: Mutex<Option<VecDeque<String>>> = Mutex::new(None);

struct StandardError;

/// Keeps what is logged off standard error until it is dropped. One at a time.
pub struct Held(());

/// Holds what is logged, as long as something else is drawn on the terminal.
pub fn hold() -> Held {
    *held() = Some(VecDeque::new());
    Held(())
}

impl Held {
    /// The newest line that is held.
    pub fn newest(&self) -> Option<String> {
        held().as_ref().and_then(|lines| lines.back().cloned())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        mem::take(&mut *held()).unwrap_or_default().iter().for_each(|line| write(line));
    }
}

fn held() -> MutexGuard<'static, Option<VecDeque<String>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(line: &str) {
    // A log that cannot be written is no reason to end.
    let _ = writeln!(io::stderr().lock(), "{line}");
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
            None => write(&line),
            Some(lines) => {
                if lines.len() == MOST_HELD {
                    lines.pop_front();
                }
                lines.push_back(line);
            }
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_are_held() {
        let said = |number: usize| {
            let text = format_args!("{number}");
            StandardError.log(&Record::builder().args(text).level(log::Level::Warn).build());
        };
        let hold = hold();
        assert_eq!(hold.newest(), None);
        (0..MOST_HELD + 5).for_each(said);
        assert_eq!(hold.newest().as_deref(), Some("[WARN] 104"));
        assert_eq!(
            held().as_ref().map(|lines| (lines.len(), lines[0].clone())),
            Some((100, "[WARN] 5".into()))
        );
        drop(hold);
        assert_eq!(*held(), None);
    }

    #[test]
    fn flags_win_over_the_variable_and_warnings_are_shown_by_default() {
        assert_eq!(level(None, 0), LevelFilter::Warn);
        assert_eq!(level(Some("nonsense"), 0), LevelFilter::Warn);
        assert_eq!(level(Some("off"), 0), LevelFilter::Off);
        assert_eq!(level(Some("Error"), 2), LevelFilter::Debug);
    }
}
