//! What the subscriber's end knows of its subscriptions and of their pairs.

use super::PairId;

/// A subscription that shares the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Subscription<S> {
    pub(super) name: S,
    /// It has received no message by the link.
    pub(super) is_fresh: bool,
}

/// A pair of one of them, as long as it is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pair<S> {
    pub(super) id: PairId,
    pub(super) subscription: S,
    pub(super) is_matched: bool,
    pub(super) served_by: ServedBy,
    /// A Return was sent that no Begin has answered yet.
    pub(super) is_returning: bool,
    /// The writer's history was requested.
    pub(super) has_asked_for_kept: bool,
    /// The subscription has had, or has lost, all before this number; 0 if that is not known.
    pub(super) next: u64,
}

/// The path by which a pair receives its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ServedBy {
    /// The publisher has stated nothing: the link, unless RTPS matched the pair before there was the link.
    Unstated,
    /// The pair was matched while the link was on standby, and waits for RTPS.
    Nothing,
    Rtps,
    /// The link. Samples that RTPS still delivers are older.
    Link,
    /// RTPS has unmatched the pair, and the publisher has not yet stated that the link carries it again.
    Lost,
    /// The link brings what RTPS may not have delivered.
    Resent,
}

impl<S> Pair<S> {
    pub(super) fn is_on_link(&self) -> bool {
        matches!(self.served_by, ServedBy::Unstated | ServedBy::Link)
    }
}
