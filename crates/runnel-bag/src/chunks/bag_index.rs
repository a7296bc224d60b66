//! Channels and chunks of a bag that is read.

use std::collections::{BTreeMap, BTreeSet};

use super::{ChunkInfo, Entry, LoadedChunk};
use crate::limits::ChannelBudget;
use crate::{Channel, ChannelId, Error};

#[derive(Default)]
pub(crate) struct BagIndex {
    pub(crate) channels: Vec<Channel>,
    /// Number of messages of each channel.
    pub(crate) counts: Vec<u64>,
    /// The chunks that have messages, in the order of the file.
    pub(crate) chunks: Vec<ChunkInfo>,
    /// The channels by their ids in the file.
    ids: BTreeMap<u32, ChannelId>,
    budget: ChannelBudget,
}

impl BagIndex {
    /// Whether a channel has this id in the file.
    pub(crate) fn has_channel(&self, id: u32) -> bool {
        self.ids.contains_key(&id)
    }

    /// Adds a channel unless its id is known: chunks and the index repeat channels. Channels beyond the limits are left
    /// out.
    pub(crate) fn add_channel(&mut self, id: u32, channel: Channel) {
        if !self.has_channel(id) && self.budget.admits(&channel) {
            self.ids.insert(id, ChannelId(self.channels.len() as u32));
            self.channels.push(channel);
            self.counts.push(0);
        }
    }

    /// The channel with this id in the file, which a record at `at` names.
    pub(crate) fn id(&self, at: u64, id: u32) -> Result<ChannelId, Error> {
        self.ids.get(&id).copied().ok_or(Error::UndefinedChannel { at, id })
    }

    /// Counts messages.
    pub(crate) fn count(&mut self, channel: ChannelId, messages: u64) {
        let count = &mut self.counts[channel.index()];
        *count = count.saturating_add(messages);
    }

    /// Adds a chunk whose messages were read, and counts them. Returns their earliest and latest log time; `None` without
    /// messages.
    pub(crate) fn add_loaded(
        &mut self,
        position: u64,
        chunk: &LoadedChunk,
        is_damaged: bool,
    ) -> Option<[u64; 2]> {
        let times = || chunk.entries.iter().map(|entry| entry.log_time);
        let [start, end] = [times().min()?, times().max()?];
        let mut channels = BTreeSet::new();
        for Entry { channel, .. } in &chunk.entries {
            self.count(*channel, 1);
            channels.insert(*channel);
        }
        let channels = Some(channels.into_iter().collect());
        self.chunks.push(ChunkInfo { position, start, end, channels, is_damaged });
        Some([start, end])
    }
}
