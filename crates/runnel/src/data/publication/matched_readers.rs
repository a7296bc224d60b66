//! The readers that a writer has matched, and who counts as a subscriber: a node in both graphs counts once for each topic,
//! whether RTPS has matched it, or ROS 1 has linked it, or both.

use std::sync::Arc;

use runnel_rtps::wire::Guid;

use super::{Offer, RtpsWriter, State};
use crate::sync::lock;

/// The readers that a writer has matched.
#[derive(Default)]
pub(super) struct MatchedReaders {
    /// With the origin of those whose nodes are in both graphs.
    matched: Vec<(Guid, Option<u64>)>,
}

impl MatchedReaders {
    /// Those that are not of nodes of these origins.
    fn of_others(&self, origins: &[u64]) -> impl Iterator<Item = &Guid> {
        let is_other = |origin: &Option<u64>| origin.is_none_or(|origin| !origins.contains(&origin));
        self.matched.iter().filter(move |(_, origin)| is_other(origin)).map(|(reader, _)| reader)
    }
}

impl Offer {
    /// A subscription has been matched by its writer, of a node of this origin if it is in both graphs.
    pub(crate) fn met(&self, reader: Guid, origin: Option<u64>) {
        self.recounting(|readers| readers.matched.push((reader, origin)));
        if let (Some(origin), Some(publication)) = (origin, self.publication()) {
            publication.reader_matched(self, reader, origin);
        }
    }

    /// A subscription that had been matched has left.
    pub(crate) fn left(&self, reader: Guid) {
        // Its link carries on before the writer is no longer written to.
        if let Some(publication) = self.publication() {
            publication.tell_of_left(self);
        }
        self.recounting(|readers| readers.matched.retain(|(other, _)| *other != reader));
    }

    fn recounting(&self, change: impl FnOnce(&mut MatchedReaders)) {
        let Some(publication) = self.publication() else { return };
        let state = lock(&publication.state);
        let before = state.subscriber_count(self);
        {
            let mut readers = lock(&self.readers);
            change(&mut readers);
            self.set_matched(readers.matched.len());
        }
        self.tell_count(before, state.subscriber_count(self));
    }

    fn tell_count(&self, before: usize, now: usize) {
        if now != before {
            self.tell(|events| events.matched(now as i64 - before as i64));
        }
    }

    /// Subscriptions that its writer has matched, but for those of nodes of these origins.
    pub(super) fn matched_of_others(&self, origins: &[u64]) -> usize {
        if origins.is_empty() {
            return self.matched();
        }
        lock(&self.readers).of_others(origins).count()
    }

    /// The same of those that are known to have met the writer in turn.
    pub(super) fn known_of_others(&self, origins: &[u64]) -> usize {
        let unknowing = self.writer().map_or_else(Vec::new, RtpsWriter::unconfirmed_matches);
        lock(&self.readers).of_others(origins).filter(|reader| !unknowing.contains(reader)).count()
    }
}

impl State {
    /// The origins of subscribers that have a link of ROS 1.
    pub(super) fn linked_origins(&self) -> Vec<u64> {
        let links = self.links.iter().map(|link| link.origin);
        links.chain(self.datagram_links.iter().map(|link| link.origin)).flatten().collect()
    }

    /// How many subscribers get what is published, by offer.
    pub(super) fn counts(&self) -> Vec<(Arc<Offer>, usize)> {
        self.offers.iter().map(|offer| (Arc::clone(offer), self.subscriber_count(offer))).collect()
    }

    /// Tells of subscribers that have come or left since.
    pub(super) fn tell_count(&self, before: &[(Arc<Offer>, usize)]) {
        before.iter().for_each(|(offer, before)| offer.tell_count(*before, self.subscriber_count(offer)));
    }
}
