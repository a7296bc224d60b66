//! Subscriptions and pairs of a shared link at the subscriber's end.

use super::PairId;

/// Subscription that shares the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Subscription<S> {
    pub(super) name: S,
    /// It has received no message by the link.
    pub(super) is_fresh: bool,
}

/// Pair of a writer and a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pair<S> {
    pub(super) id: PairId,
    pub(super) subscription: S,
    pub(super) is_matched: bool,
    pub(super) served_by: ServedBy,
    /// A Return was sent that no Begin has answered yet.
    pub(super) is_returning: bool,
    /// The writer's history was requested.
    pub(super) has_requested_history: bool,
    /// The subscription has received, or has lost, all messages before this number; 0 if unknown.
    pub(super) next: u64,
}

/// Path by which a pair receives its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ServedBy {
    /// The publisher has stated nothing: the link, unless RTPS matched the pair before the link existed.
    Unstated,
    /// The pair was matched while the link was on standby, and waits for RTPS.
    Nothing,
    Rtps,
    /// The link. Samples that RTPS still delivers are older.
    Link,
    /// RTPS has unmatched the pair, and the publisher has not yet stated that the link carries it again.
    Lost,
    /// The link, with messages that RTPS may not have delivered.
    Resent,
}

impl<S> Pair<S> {
    pub(super) fn is_on_link(&self) -> bool {
        matches!(self.served_by, ServedBy::Unstated | ServedBy::Link)
    }
}
