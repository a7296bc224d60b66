//! Samples that memory brings of a pair that RTPS has lost here already, and whose writer does not know that yet.
//!
//! The writer takes them for read. So they wait until the link of ROS 1 that serves the pair next brings what comes behind them.

use std::sync::Arc;

use runnel_delivery::{Credit, PairId};

use super::Sessions;
use crate::data::LinkInfo;
use crate::driver::late_samples::LateSample;
use crate::driver::memory_input::{Channel, MemoryInput};
use crate::driver::table::Key;
use crate::ipc::{ChannelData, SampleData};

/// Pairs that are remembered at most.
const MAX_ORPHANS: usize = 256;

/// A pair that RTPS has lost, by what its channel knew it by.
pub(in crate::driver) struct Orphan {
    key: Key,
    /// The link that serves it next.
    link: Key,
    pair: PairId,
    from: Arc<LinkInfo>,
    /// The sample that comes in pieces.
    channel: Channel,
    /// The network owed nothing of before memory when RTPS lost the pair.
    is_drained: bool,
}

impl Orphan {
    pub(in crate::driver) fn new(
        key: Key,
        link: Key,
        pair: PairId,
        from: Arc<LinkInfo>,
        memory: &mut MemoryInput,
    ) -> Self {
        let (channel, is_drained) = (memory.take_begun(), memory.is_drained());
        Self { key, link, pair, from, channel, is_drained }
    }

    /// Gives the sample that is whole with what the channel has brought.
    fn take(&mut self, carried: ChannelData) -> Option<LateSample> {
        let (number, piece) = match carried {
            ChannelData::Sample { number, piece } => (number, piece),
            ChannelData::SampleBegin { number, len, bytes } => {
                if len > Credit::DEFAULT.bytes as u64 {
                    return None;
                }
                self.channel.begin((number, len), Vec::new).ok()?;
                self.take_more(&bytes)?
            }
            ChannelData::Stream(bytes) => self.take_more(&bytes)?,
            ChannelData::Skip(_) => return None,
        };
        let (pair, from, is_drained) = (self.pair, Arc::clone(&self.from), self.is_drained);
        Some(LateSample { pair, number, bytes: piece.into_bytes(), from, is_drained })
    }

    fn take_more(&mut self, bytes: &[u8]) -> Option<(u64, SampleData)> {
        self.channel.take_more(bytes).unwrap_or_else(|_| {
            self.channel = Channel::default();
            None
        })
    }
}

impl Sessions {
    /// RTPS has lost a pair that a link serves next.
    pub(in crate::driver) fn orphaned(&mut self, orphan: Orphan) {
        self.orphans.retain(|other| (other.link, other.pair) != (orphan.link, orphan.pair));
        if self.orphans.len() >= MAX_ORPHANS {
            self.orphans.remove(0);
        }
        self.orphans.push(orphan);
    }

    /// A pair is served by its link from here on.
    pub(in crate::driver) fn end_orphan(&mut self, link: Key, pair: PairId) {
        self.orphans.retain(|orphan| (orphan.link, orphan.pair) != (link, pair));
    }

    /// Nothing more comes by the channel that was known by this key.
    pub(in crate::driver) fn end_orphan_of(&mut self, key: Key) {
        self.orphans.retain(|orphan| orphan.key != key);
    }

    /// The channel of a pair that is gone has brought something. Gives the sample that is whole with that, and the link that serves the
    /// pair next.
    pub(in crate::driver) fn carried_by_orphan(
        &mut self,
        key: Key,
        carried: ChannelData,
    ) -> Option<(Key, LateSample)> {
        let orphan = self.orphans.iter_mut().find(|orphan| orphan.key == key)?;
        orphan.take(carried).map(|late| (orphan.link, late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: PairId = PairId { writer: 0x403, reader: 0x104 };

    fn key(number: u64) -> Key {
        Key::from_bits(number)
    }

    fn orphan(memory: &mut MemoryInput) -> Orphan {
        Orphan::new(key(1), key(2), PAIR, Arc::default(), memory)
    }

    fn pieces(number: u64, len: u64, first: &[u8]) -> ChannelData {
        ChannelData::SampleBegin { number, len, bytes: first.to_vec() }
    }

    #[test]
    fn half_read_sample_is_completed() {
        let mut before = orphan(&mut MemoryInput::default());
        assert!(before.take(pieces(7, 6, b"abc")).is_none());
        let mut memory = MemoryInput::default();
        memory.open_channel();
        let mut orphan = Orphan { channel: before.channel, ..orphan(&mut memory) };
        let late = orphan.take(ChannelData::Stream(b"def".to_vec())).expect("a whole sample");
        assert_eq!((late.number, late.bytes.as_slice(), late.pair), (7, b"abcdef".as_slice(), PAIR));
    }
}
