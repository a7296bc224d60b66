//! Arguments of snapshot mode.

use std::time::Duration;

use super::SNAPSHOTS;
use crate::bag::quantity;
use crate::bag::record::sink::MemoryLimits;
use crate::error::CliError;

/// Memory for messages if none is requested, in bytes: that of `ros2 bag`.
const DEFAULT_BYTES: usize = 100 << 20;

/// Snapshot mode.
#[derive(Debug, Default, clap::Args)]
pub struct SnapshotArgs {
    /// Keep messages in memory, and write them when the service ~/snapshot is called
    #[arg(long, help_heading = SNAPSHOTS)]
    pub snapshot_mode: bool,

    /// Keep only messages of this time, such as 30, 5m or 2h
    #[arg(long, value_name = "TIME", value_parser = quantity::positive_duration, requires = "snapshot_mode", help_heading = SNAPSHOTS)]
    pub snapshot_duration: Option<Duration>,

    /// Also write them at each message of this topic, of any type
    #[arg(long, value_name = "TOPIC", requires = "snapshot_mode", help_heading = SNAPSHOTS)]
    pub snapshot_topic: Option<String>,

    /// The same in seconds, as in ros2; 0 for no limit
    #[arg(long, value_name = "SECONDS", value_parser = quantity::duration, conflicts_with = "snapshot_duration", help_heading = SNAPSHOTS)]
    pub max_cache_duration: Option<Duration>,

    /// Memory for messages in bytes, 0 for no limit but that of time [default: 100 MiB]
    #[arg(long, value_name = "BYTES", help_heading = SNAPSHOTS)]
    pub max_cache_size: Option<usize>,
}

impl SnapshotArgs {
    /// Limits of the messages in memory; `None` if it is not snapshot mode.
    ///
    /// # Errors
    /// When there is no limit.
    pub fn memory(&self) -> Result<Option<MemoryLimits>, CliError> {
        if !self.snapshot_mode {
            return Ok(None);
        }
        let duration = self.snapshot_duration.or(self.max_cache_duration).filter(|time| !time.is_zero());
        let bytes = match (self.max_cache_size.unwrap_or(DEFAULT_BYTES), duration) {
            (0, None) => {
                let why = "messages in memory need a limit. Try: --max-cache-size BYTES, or --snapshot-duration TIME";
                return Err(CliError::Usage(why.into()));
            }
            (0, Some(_)) => usize::MAX,
            (bytes, _) => bytes,
        };
        Ok(Some(MemoryLimits { bytes, duration }))
    }
}
