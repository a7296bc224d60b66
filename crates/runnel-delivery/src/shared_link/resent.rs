//! Messages of a link for one pair alone, which RTPS may not have delivered before it lost the pair.
//!
//! The publisher cannot know which of them the subscriber has had: acknowledgements are lost with everything else. So the
//! subscriber leaves out those before the number that is due. It tells them by their place on the link: some may be dropped there.

use super::PairId;

/// Messages in a row that are of one pair alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Run {
    pub(super) pair: PairId,
    /// The low bits of the number of the first on the link, and its own number.
    pub(super) at: u32,
    pub(super) number: u64,
}

impl Run {
    /// The number of the message that has this one on the link; `None` if it comes before.
    pub(super) fn number_of(&self, on_link: u64) -> Option<u64> {
        let distance = (on_link as u32).wrapping_sub(self.at);
        (distance.cast_signed() >= 0).then(|| self.number + u64::from(distance))
    }

    /// Whether it begins behind the place where another one began.
    pub(super) fn is_behind(&self, at: u32) -> bool {
        self.at.wrapping_sub(at).cast_signed() > 0
    }
}

/// A message that comes by the link since RTPS may not have delivered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resent<S> {
    /// The pair that it is of.
    pub pair: PairId,
    /// Its number in RTPS.
    pub number: u64,
    /// The subscription that is to get it, unless it has had it.
    pub subscription: Option<S>,
}

/// Messages that neither RTPS nor the link brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lost<S> {
    /// The subscription that does not get them.
    pub subscription: S,
    /// How many.
    pub count: u64,
}
