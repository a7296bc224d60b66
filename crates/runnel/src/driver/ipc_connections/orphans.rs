//! Samples that shared memory delivers for a pair that RTPS has lost, while the writer does not know that.
//!
//! The writer counts them as read. So they wait until the ROS 1 link that serves the pair next delivers the following
//! ones.

use std::sync::Arc;

use runnel_delivery::{Credit, MAX_NUMBER, PairId};

use super::IpcConnections;
use crate::data::LinkInfo;
use crate::driver::late_samples::LateSample;
use crate::driver::memory_input::{Channel, MemoryInput};
use crate::driver::table::Key;
use crate::ipc::{ChannelData, IpcFault, SampleData};

/// Maximum number of remembered pairs.
const MAX_ORPHANS: usize = 256;

/// A pair that RTPS has lost, by its former key.
pub(in crate::driver) struct Orphan {
    key: Key,
    /// The link that serves the pair next.
    link: Key,
    pair: PairId,
    from: Arc<LinkInfo>,
    /// State of a sample in pieces.
    channel: Channel,
    /// Number after the last message of the channel.
    next: u64,
    /// The network had delivered all samples of before the channel when RTPS lost the pair.
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
        let next = memory.delivery.as_ref().map_or(0, |delivery| delivery.position);
        Self { key, link, pair, from, channel, next, is_drained }
    }

    /// Takes content of the channel. Returns a sample once it is complete.
    ///
    /// # Errors
    /// When the sample's number is not possible.
    fn take(&mut self, data: ChannelData) -> Result<Option<LateSample>, IpcFault> {
        let whole = match data {
            ChannelData::Sample { number, data } => {
                self.begin_sample(number)?;
                Some((number, data))
            }
            ChannelData::SampleBegin { number, len, bytes } => {
                self.begin_sample(number)?;
                // The pieces of a longer sample are dropped.
                if len <= Credit::DEFAULT.bytes as u64 && self.channel.begin((number, len), Vec::new).is_ok()
                {
                    self.take_more(&bytes)
                } else {
                    None
                }
            }
            ChannelData::Stream(bytes) => self.take_more(&bytes),
            ChannelData::Skip(_) => None,
        };
        let (pair, from, is_drained) = (self.pair, &self.from, self.is_drained);
        let late = |(number, data): (u64, SampleData)| LateSample {
            pair,
            number,
            bytes: data.into_bytes(),
            from: Arc::clone(from),
            is_drained,
        };
        Ok(whole.map(late))
    }

    /// Begins a sample and drops an incomplete one before it.
    fn begin_sample(&mut self, number: u64) -> Result<(), IpcFault> {
        self.channel = Channel::default();
        let next = self.next;
        if number < next || number > MAX_NUMBER {
            return Err(IpcFault::SampleOutOfOrder { number, next });
        }
        self.next = number + 1;
        Ok(())
    }

    fn take_more(&mut self, bytes: &[u8]) -> Option<(u64, SampleData)> {
        self.channel.take_more(bytes).unwrap_or_else(|_| {
            self.channel = Channel::default();
            None
        })
    }
}

impl IpcConnections {
    /// Remembers a pair that RTPS has lost and that a link serves next.
    pub(in crate::driver) fn orphaned(&mut self, orphan: Orphan) {
        self.orphans.retain(|other| (other.link, other.pair) != (orphan.link, orphan.pair));
        if self.orphans.len() >= MAX_ORPHANS {
            self.orphans.remove(0);
        }
        self.orphans.push(orphan);
    }

    /// Forgets a pair that its link serves from now on.
    pub(in crate::driver) fn end_orphan(&mut self, link: Key, pair: PairId) {
        self.orphans.retain(|orphan| (orphan.link, orphan.pair) != (link, pair));
    }

    /// Forgets the pair of a channel that has ended.
    pub(in crate::driver) fn end_orphan_of(&mut self, key: Key) {
        self.orphans.retain(|orphan| orphan.key != key);
    }

    /// Takes content of a lost pair's channel. Returns a completed sample, and the link that serves the pair next.
    ///
    /// # Errors
    /// When the content is not possible.
    pub(in crate::driver) fn on_orphan_data(
        &mut self,
        key: Key,
        data: ChannelData,
    ) -> Result<Option<(Key, LateSample)>, IpcFault> {
        let Some(orphan) = self.orphans.iter_mut().find(|orphan| orphan.key == key) else { return Ok(None) };
        let link = orphan.link;
        Ok(orphan.take(data)?.map(|late| (link, late)))
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

    fn whole(number: u64) -> ChannelData {
        ChannelData::Sample { number, data: SampleData::Own(b"abc".to_vec()) }
    }

    fn bytes(late: Result<Option<LateSample>, IpcFault>) -> Option<Vec<u8>> {
        late.unwrap().map(|late| late.bytes)
    }

    #[test]
    fn half_read_sample_is_completed() {
        let mut before = orphan(&mut MemoryInput::default());
        assert_eq!(bytes(before.take(pieces(7, 6, b"abc"))), None);
        let mut memory = MemoryInput::default();
        memory.open_channel();
        let mut orphan = Orphan { channel: before.channel, ..orphan(&mut memory) };
        let late = orphan.take(ChannelData::Stream(b"def".to_vec())).unwrap().expect("a whole sample");
        assert_eq!((late.number, late.bytes.as_slice(), late.pair), (7, b"abcdef".as_slice(), PAIR));
    }

    #[test]
    fn sample_with_impossible_number_is_refused() {
        let mut orphan = orphan(&mut MemoryInput::default());
        for number in [u64::MAX, MAX_NUMBER + 1] {
            assert!(orphan.take(whole(number)).is_err());
            assert!(orphan.take(pieces(number, 6, b"abc")).is_err());
        }
        assert!(bytes(orphan.take(whole(7))).is_some());
        assert!(orphan.take(whole(7)).is_err(), "it came before");
    }

    #[test]
    fn too_long_sample_ends_the_one_before() {
        let mut orphan = orphan(&mut MemoryInput::default());
        assert_eq!(bytes(orphan.take(pieces(7, 6, b"abc"))), None);
        assert_eq!(bytes(orphan.take(pieces(8, Credit::DEFAULT.bytes as u64 + 1, b"abc"))), None);
        assert_eq!(bytes(orphan.take(ChannelData::Stream(b"def".to_vec()))), None);
        assert_eq!(bytes(orphan.take(pieces(9, 6, b"abc"))), None);
        assert_eq!(bytes(orphan.take(ChannelData::Stream(b"def".to_vec()))), Some(b"abcdef".to_vec()));
    }
}
