//! Index of the messages in one chunk.

use std::collections::BTreeMap;

use crate::ChannelId;

/// Log times of the messages of a chunk, and the positions of their records in the decompressed data, by channel.
#[derive(Default)]
pub(crate) struct ChunkIndex(BTreeMap<ChannelId, Vec<(u64, u64)>>);

impl ChunkIndex {
    pub(crate) fn add(&mut self, channel: ChannelId, log_time: u64, offset: u64) {
        self.0.entry(channel).or_default().push((log_time, offset));
    }

    /// The channels that have messages, with times and positions in the order of the chunk.
    pub(crate) fn channels(&self) -> impl Iterator<Item = (ChannelId, &[(u64, u64)])> {
        self.0.iter().map(|(channel, entries)| (*channel, &entries[..]))
    }

    /// Earliest and latest log time; zero without messages.
    pub(crate) fn time_range(&self) -> [u64; 2] {
        let times = || self.0.values().flatten().map(|(time, _)| *time);
        [times().min().unwrap_or(0), times().max().unwrap_or(0)]
    }
}
