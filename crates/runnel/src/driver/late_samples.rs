//! Samples that shared memory delivers after RTPS has lost their pair. They wait for the ROS 1 link that serves the
//! pair next.

use std::sync::Arc;

use runnel_core::sorted::SortedMap;
use runnel_delivery::{Credit, PairId};

use crate::data::LinkInfo;

/// A sample with its number.
pub(super) struct LateSample {
    pub(super) pair: PairId,
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) from: Arc<LinkInfo>,
    /// Every sample that is missing before this one is lost and will not be resent.
    pub(super) is_drained: bool,
}

/// Samples that wait for a link.
#[derive(Default)]
pub(super) struct LateSamples(SortedMap<PairId, LateOfPair>);

/// Those of one pair.
#[derive(Default)]
struct LateOfPair {
    samples: Vec<LateSample>,
    bytes: usize,
}

impl LateSamples {
    /// Drops the sample if more of its pair would wait than a writer may send without credit. The last one may exceed
    /// the bytes, as at a sender that is paced.
    pub(super) fn push(&mut self, late: LateSample) {
        let LateOfPair { samples, bytes } = self.0.entry(late.pair).or_default();
        if samples.len() < Credit::DEFAULT.messages as usize && *bytes < Credit::DEFAULT.bytes {
            *bytes += late.bytes.len();
            samples.push(late);
        }
    }

    pub(super) fn has(&self, pair: PairId) -> bool {
        self.0.contains_key(&pair)
    }

    pub(super) fn take(&mut self, pair: PairId) -> Vec<LateSample> {
        self.0.remove(&pair).unwrap_or_default().samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: [PairId; 2] = [PairId { writer: 1, reader: 2 }, PairId { writer: 1, reader: 3 }];

    fn late(pair: PairId, number: usize, len: usize) -> LateSample {
        LateSample {
            pair,
            number: number as u64,
            bytes: vec![0; len],
            from: Arc::default(),
            is_drained: true,
        }
    }

    #[test]
    fn each_pair_has_as_much_as_a_writer_may_send() {
        let (most, mut samples) = (Credit::DEFAULT.messages as usize, LateSamples::default());
        for number in 0..=most {
            PAIRS.into_iter().for_each(|pair| samples.push(late(pair, number, 1)));
        }
        assert_eq!(PAIRS.map(|pair| samples.take(pair).len()), [most; 2]);
        assert!(!PAIRS.into_iter().any(|pair| samples.has(pair)));
    }

    #[test]
    fn last_late_sample_may_exceed_bytes() {
        let (pair, most, mut samples) = (PAIRS[0], Credit::DEFAULT.bytes, LateSamples::default());
        for (number, len) in [most - 1, most, 1].into_iter().enumerate() {
            samples.push(late(pair, number, len));
        }
        assert!(samples.take(pair).iter().map(|late| late.number).eq([0, 1]));
    }
}
