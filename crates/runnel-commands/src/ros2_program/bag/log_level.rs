//! The level of log lines.

use log::LevelFilter;
use runnel::logging::Level;

/// The option of `ros2 bag` for it.
#[derive(Debug, clap::Args)]
pub struct LogLevelArgs {
    /// Log lines of this level and above: debug, info, warn, error or fatal [default: warn]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<Level>,
}

impl LogLevelArgs {
    /// Sets the level of this process, if one is requested.
    pub fn apply(&self) {
        if let Some(level) = self.log_level {
            log::set_max_level(filter(level));
        }
    }
}

fn filter(level: Level) -> LevelFilter {
    match level {
        Level::Debug => LevelFilter::Debug,
        Level::Info => LevelFilter::Info,
        Level::Warn => LevelFilter::Warn,
        Level::Error => LevelFilter::Error,
        // No line of this program has that level.
        Level::Fatal => LevelFilter::Off,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fatal_is_above_all_lines() {
        let filters = Level::ALL.map(filter);
        assert!(filters.is_sorted_by(|verbose, terse| verbose > terse), "{filters:?}");
        assert_eq!(filters[4], LevelFilter::Off);
    }
}
