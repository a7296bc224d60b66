//! What the library logs goes to standard error: `[WARN] text`.

use std::io::{self, Write};

use log::{LevelFilter, Log, Metadata, Record};

/// The variable that names the least level to show.
const VARIABLE: &str = "RUNNEL_LOG";

struct StandardError;

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
        // A log that cannot be written is no reason to end.
        let _ = writeln!(io::stderr().lock(), "[{}] {}", record.level(), record.args());
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_win_over_the_variable_and_warnings_are_shown_by_default() {
        assert_eq!(level(None, 0), LevelFilter::Warn);
        assert_eq!(level(Some("nonsense"), 0), LevelFilter::Warn);
        assert_eq!(level(Some("off"), 0), LevelFilter::Off);
        assert_eq!(level(Some("Error"), 2), LevelFilter::Debug);
    }
}
