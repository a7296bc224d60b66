//! Samples that memory brings of a pair that RTPS has lost here already, and whose writer does not know that yet.
//!
//! The writer takes them for read. So they wait until the link of ROS 1 that serves the pair next brings what comes behind them.

use std::sync::Arc;

use runnel_delivery::{Credit, PairId};

use super::Sessions;
use crate::data::LinkInfo;
use crate::driver::late_samples::LateSample;
use crate::driver::table::Key;
use crate::ipc::Carried;

/// Pairs that are remembered at most.
const MOST_ORPHANS: usize = 256;

/// A pair that RTPS has lost, by what its channel knew it by.
pub(in crate::driver) struct Orphan {
    key: Key,
    /// The link that serves it next.
    link: Key,
    pair: PairId,
    from: Arc<LinkInfo>,
    /// A sample that comes in pieces: its number, its bytes in all, and those that have come.
    begun: Option<(u64, usize, Vec<u8>)>,
}

impl Orphan {
    pub(in crate::driver) fn new(key: Key, link: Key, pair: PairId, from: Arc<LinkInfo>) -> Self {
        Self { key, link, pair, from, begun: None }
    }

    /// More of the sample that comes in pieces. Gives it once it is whole.
    fn add(&mut self, bytes: &[u8]) -> Option<(u64, Vec<u8>)> {
        let (number, len, mut sample) = self.begun.take()?;
        sample.extend_from_slice(bytes);
        if sample.len() >= len {
            return (sample.len() == len).then_some((number, sample));
        }
        self.begun = Some((number, len, sample));
        None
    }
}

impl Sessions {
    /// RTPS has lost a pair that a link serves next.
    pub(in crate::driver) fn orphaned(&mut self, orphan: Orphan) {
        self.orphans.retain(|other| (other.link, other.pair) != (orphan.link, orphan.pair));
        if self.orphans.len() >= MOST_ORPHANS {
            self.orphans.remove(0);
        }
        self.orphans.push(orphan);
    }

    /// A pair is served by its link from here on.
    pub(in crate::driver) fn end_orphan(&mut self, link: Key, pair: PairId) {
        self.orphans.retain(|orphan| (orphan.link, orphan.pair) != (link, pair));
    }

    /// The channel of a pair that is gone has brought something. Gives the sample that is whole with that, and the link that serves the
    /// pair next.
    pub(in crate::driver) fn carried_by_orphan(
        &mut self,
        key: Key,
        carried: Carried,
    ) -> Option<(Key, LateSample)> {
        let orphan = self.orphans.iter_mut().find(|orphan| orphan.key == key)?;
        let (number, bytes) = match carried {
            Carried::Sample { number, piece } => (number, piece.into_bytes()),
            Carried::SampleBegin { number, len, bytes } => {
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                orphan.begun = (len <= Credit::DEFAULT.bytes).then(|| (number, len, Vec::new()));
                orphan.add(&bytes)?
            }
            Carried::Stream(bytes) => orphan.add(&bytes)?,
            Carried::Skip(_) => return None,
        };
        Some((orphan.link, LateSample { pair: orphan.pair, number, bytes, from: Arc::clone(&orphan.from) }))
    }
}
