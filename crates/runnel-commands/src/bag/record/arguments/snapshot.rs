//! Arguments of snapshot mode.

use std::time::Duration;

use super::SNAPSHOTS;
use crate::bag::quantity;
use crate::bag::record::sink::MemoryLimits;

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

    /// Memory for messages in bytes [default: 100 MiB]
    #[arg(long, value_name = "BYTES", help_heading = SNAPSHOTS)]
    pub max_cache_size: Option<usize>,
}

impl SnapshotArgs {
    /// Limits of the messages in memory; `None` if it is not snapshot mode.
    pub fn memory(&self) -> Option<MemoryLimits> {
        self.snapshot_mode.then(|| MemoryLimits {
            bytes: self.max_cache_size.unwrap_or(DEFAULT_BYTES),
            duration: self.snapshot_duration,
        })
    }
}
