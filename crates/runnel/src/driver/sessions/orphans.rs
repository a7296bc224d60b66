//! Samples that memory brings of a pair that RTPS has lost here already, and whose writer does not know that yet.
//!
//! The writer takes them for read. So they wait until the link of ROS 1 that serves the pair next brings what comes behind them.

use std::sync::Arc;

use runnel_delivery::{Credit, PairId};

use crate::data::LinkInfo;
use crate::driver::Driver;
use crate::driver::sockets::Socket;
use crate::driver::table::Key;
use crate::ipc::Piece;

/// Pairs that are remembered at most.
const MOST_ORPHANS: usize = 256;

/// A pair that RTPS has lost, by what its channel knew it by.
pub(in crate::driver) struct Orphan {
    pub(in crate::driver) key: Key,
    /// The link that serves it next.
    pub(in crate::driver) link: Key,
    pub(in crate::driver) pair: PairId,
    pub(in crate::driver) from: Arc<LinkInfo>,
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

/// A sample of one, with its number.
pub(super) struct LateSample {
    pub(super) pair: PairId,
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) from: Arc<LinkInfo>,
}

/// Samples that wait for a link.
#[derive(Default)]
pub(super) struct LateSamples {
    samples: Vec<LateSample>,
    bytes: usize,
}

impl LateSamples {
    /// Beyond what a writer may have sent unasked they are lost.
    fn push(&mut self, late: LateSample) {
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

impl Driver {
    /// RTPS has lost a pair that a link serves next.
    pub(in crate::driver) fn orphaned(&mut self, orphan: Orphan) {
        let orphans = &mut self.sessions.orphans;
        orphans.retain(|other| (other.link, other.pair) != (orphan.link, orphan.pair));
        if orphans.len() >= MOST_ORPHANS {
            orphans.remove(0);
        }
        orphans.push(orphan);
    }

    /// A sample has come by the channel of a pair that is gone.
    pub(super) fn orphan_sample(&mut self, key: Key, number: u64, piece: Piece) {
        let Some(orphan) = self.sessions.orphans.iter().find(|orphan| orphan.key == key) else { return };
        let (pair, from) = (orphan.pair, Arc::clone(&orphan.from));
        if let Some(Socket::Input(input)) = self.sockets.get_mut(orphan.link)
            && let Some(share) = input.share()
        {
            share.returns.late.push(LateSample { pair, number, bytes: piece.into_bytes(), from });
        }
    }

    /// The first bytes of such a sample, or more of it, have come.
    pub(super) fn orphan_piece(&mut self, key: Key, begin: Option<(u64, u64)>, bytes: &[u8]) {
        let mut orphans = self.sessions.orphans.iter_mut();
        let Some(orphan) = orphans.find(|orphan| orphan.key == key) else { return };
        if let Some((number, len)) = begin {
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            orphan.begun = (len <= Credit::DEFAULT.bytes).then(|| (number, len, Vec::new()));
        }
        if let Some((number, sample)) = orphan.add(bytes) {
            self.orphan_sample(key, number, Piece::Own(sample));
        }
    }

    /// A pair is served by its link from here on.
    pub(in crate::driver) fn end_orphan(&mut self, link: Key, pair: PairId) {
        self.sessions.orphans.retain(|orphan| (orphan.link, orphan.pair) != (link, pair));
    }
}
