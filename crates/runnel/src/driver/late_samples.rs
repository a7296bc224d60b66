//! Samples that shared memory delivers after RTPS has lost their pair. They wait for the ROS 1 link that serves the
//! pair next.

use std::sync::Arc;

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
pub(super) struct LateSamples {
    samples: Vec<LateSample>,
    bytes: usize,
}

impl LateSamples {
    /// Drops the sample if more would wait than a writer may send without credit.
    pub(super) fn push(&mut self, late: LateSample) {
        let bytes = self.bytes + late.bytes.len();
        if self.samples.len() < Credit::DEFAULT.messages as usize && bytes <= Credit::DEFAULT.bytes {
            self.bytes = bytes;
            self.samples.push(late);
        }
    }

    pub(super) fn has(&self, pair: PairId) -> bool {
        self.samples.iter().any(|late| late.pair == pair)
    }

    pub(super) fn take(&mut self, pair: PairId) -> Vec<LateSample> {
        let taken: Vec<_> = self.samples.extract_if(.., |late| late.pair == pair).collect();
        self.bytes -= taken.iter().map(|late| late.bytes.len()).sum::<usize>();
        taken
    }
}
