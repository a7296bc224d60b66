//! Notes about options of the originals that mean less here, or nothing.

use super::Args;
use crate::cli_context::CliContext;

/// Largest buffer in MB that `-b` of rosbag plausibly means: a greater one is taken for the size of `ros2 bag`.
const LARGEST_BUFFER: u64 = 1000;

impl Args {
    /// The notes, one a line.
    pub fn notes(&self, cli: &CliContext) -> Vec<&'static str> {
        let mut notes: Vec<_> = self.output.shared_compression.notes().chain(self.accepted.notes()).collect();
        let cache = self.snapshot.max_cache_size.is_some() || self.snapshot.max_cache_duration.is_some();
        let is_buffered = cache && !self.snapshot.snapshot_mode;
        if cli.is_runnel() && self.buffsize.is_some_and(|megabytes| megabytes > LARGEST_BUFFER) {
            notes.push(
                "-b has no meaning here: it is the buffer of rosbag, in MB. To begin another bag at a size, try: \
                 --split --size MIB, or --max-bag-size BYTES",
            );
        } else if is_buffered || self.buffsize.or(self.chunksize).is_some() {
            notes.push(match cli.is_runnel() {
                true => "messages go to the disk without a cache; --queue limits how many may wait",
                false => "messages go to the disk without a cache",
            });
        }
        if self.output.shared_compression.compression_threads.is_some() && !self.output.is_compressed() {
            notes.push("--compression-threads has no meaning without compression");
        }
        notes
    }
}
