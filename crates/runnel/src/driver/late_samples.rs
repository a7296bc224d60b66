//! Samples that memory brings of a pair that RTPS has lost already: the link of ROS 1 that serves the pair next has them wait.

use std::sync::Arc;

use runnel_delivery::{Credit, PairId};

use crate::data::LinkInfo;

/// One of them, with its number.
pub(super) struct LateSample {
    pub(super) pair: PairId,
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) from: Arc<LinkInfo>,
    /// All that is missing before it is lost: it is not sent again.
    pub(super) is_drained: bool,
}

/// Samples that wait for a link.
#[derive(Default)]
pub(super) struct LateSamples {
    samples: Vec<LateSample>,
    bytes: usize,
}

impl LateSamples {
    /// Beyond what a writer may have sent unasked they are lost.
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
