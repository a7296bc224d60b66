//! Limits of the memory that the bytes of a bag can take.

use crate::Channel;

/// Most messages of a chunk: their places take 200 MB.
pub(crate) const MOST_MESSAGES: usize = 4 << 20;

/// Most channels of a bag.
const MOST_CHANNELS: usize = 1 << 16;

/// Longest topics, definitions and metadata of all channels of a bag, in bytes.
const LONGEST_CHANNELS: usize = 256 << 20;

/// Length up to which data of any compression are decompressed, in bytes.
const ALWAYS_DECOMPRESSED: u64 = 256 << 20;

/// How many times their compressed length longer data may have. LZ4 reaches 255; only constant bytes compress better.
const LARGEST_RATIO: u64 = 1024;

/// Longest decompressed data of this many compressed bytes.
pub(crate) fn longest_decompressed(stored: u64) -> u64 {
    stored.saturating_mul(LARGEST_RATIO).max(ALWAYS_DECOMPRESSED)
}

/// What the channels of a bag may still take.
pub(crate) struct ChannelBudget {
    channels: usize,
    bytes: usize,
}

impl Default for ChannelBudget {
    fn default() -> Self {
        Self { channels: MOST_CHANNELS, bytes: LONGEST_CHANNELS }
    }
}

impl ChannelBudget {
    /// Whether the channel can be kept; takes what it needs.
    pub(crate) fn admits(&mut self, channel: &Channel) -> bool {
        let metadata = channel.metadata.iter().map(|(key, value)| key.len() + value.len());
        let len = channel.topic.len() + channel.schema.data.len() + metadata.sum::<usize>();
        let (Some(channels), Some(bytes)) = (self.channels.checked_sub(1), self.bytes.checked_sub(len))
        else {
            return false;
        };
        *self = Self { channels, bytes };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;

    #[test]
    fn definitions_beyond_the_limit_are_not_admitted() {
        let data = vec![0; 100 << 20];
        let channel = Channel { schema: Schema { data, ..Schema::default() }, ..Channel::default() };
        let mut budget = ChannelBudget::default();
        assert_eq!([(); 3].map(|()| budget.admits(&channel)), [true, true, false]);
        assert!(budget.admits(&Channel::default()), "a smaller one has space");
    }

    #[test]
    fn channels_beyond_the_limit_are_not_admitted() {
        let mut budget = ChannelBudget::default();
        let admitted = (0..70_000).filter(|_| budget.admits(&Channel::default())).count();
        assert_eq!(admitted, MOST_CHANNELS);
    }
}
