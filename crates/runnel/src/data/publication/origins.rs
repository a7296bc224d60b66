//! Subscribers that are in both graphs, and get each message by one of them: by RTPS where that has met them, since it knows
//! what they ask for, and otherwise by their link of ROS 1. A link stands by for as long as RTPS carries what goes to its
//! subscriber, and carries on from the next message when RTPS does so no longer.

use std::sync::Arc;

use runnel_rtps::wire::{EntityId, Guid};

use super::over::Ready;
use super::writer::RtpsWriter;
use super::{Offer, State};
use crate::sync::lock;

/// The subscriptions that a writer has met.
#[derive(Default)]
pub(super) struct Readers {
    /// With the origin of those whose nodes are in both graphs.
    met: Vec<(Guid, Option<u64>)>,
    /// How often they had changed when it was last looked at whose origins are among them, and these.
    changes: Option<u32>,
    reached: Vec<u64>,
    /// Nodes that can go over from ROS 1.
    pub(super) ready: Vec<Ready>,
}

impl Readers {
    /// Those that are not of these origins.
    fn beside(&self, origins: &[u64]) -> impl Iterator<Item = &Guid> {
        let is_beside = |origin: &Option<u64>| origin.is_none_or(|origin| !origins.contains(&origin));
        self.met.iter().filter(move |(_, origin)| is_beside(origin)).map(|(reader, _)| reader)
    }
}

impl Offer {
    /// A subscription has been met by its writer, of a node of this origin if it is in both graphs.
    pub(crate) fn met(&self, reader: Guid, origin: Option<u64>) {
        self.recounting(|readers| readers.met.push((reader, origin)));
    }

    /// The origin of a subscription that has been met, if its node is in both graphs.
    fn origin_of(&self, reader: Guid) -> Option<u64> {
        lock(&self.readers).met.iter().find(|(other, _)| *other == reader)?.1
    }

    /// A subscription that had been met has left.
    pub(crate) fn left(&self, reader: Guid) {
        self.recounting(|readers| {
            readers.met.retain(|(other, _)| *other != reader);
            if readers.met.is_empty() {
                (readers.changes, readers.reached) = (None, Vec::new());
            }
        });
    }

    fn recounting(&self, change: impl FnOnce(&mut Readers)) {
        let Some(publication) = self.publication() else { return };
        let state = lock(&publication.state);
        let before = state.subscriber_count(self);
        {
            let mut readers = lock(&self.readers);
            change(&mut readers);
            self.set_matched(readers.met.len());
        }
        publication.count_channels(&state);
        self.tell_count(before, state.subscriber_count(self));
    }

    fn tell_count(&self, before: usize, now: usize) {
        if now != before {
            self.tell(|events| events.matched(now as i64 - before as i64));
        }
    }

    /// Whether its writer carries what goes to the node of this origin.
    pub(super) fn reaches(&self, origin: Option<u64>) -> bool {
        // What nobody is known to hear is written only for those who come later, of whom some may have come by now.
        origin.is_some_and(|origin| self.is_heard() && lock(&self.readers).reached.contains(&origin))
    }

    /// How often its readers had changed when [`Offer::set_reached`] was last told of them.
    pub(super) fn readers_known(&self) -> Option<u32> {
        lock(&self.readers).changes
    }

    /// The nodes of these origins, which are in both graphs, are reached by its writer.
    pub(super) fn set_reached(&self, changes: u32, origins: Vec<u64>) {
        let readers = &mut *lock(&self.readers);
        (readers.changes, readers.reached) = (Some(changes), origins);
    }

    /// A link of ROS 1 to a node of this origin begins: whether the writer reaches that already.
    pub(super) fn way_begins(&self, origin: u64) -> bool {
        let reached = self.writer().is_some_and(|writer| writer.heard_elsewhere(origin));
        let readers = &mut *lock(&self.readers);
        if reached && !readers.reached.contains(&origin) {
            readers.reached.push(origin);
        }
        reached
    }

    /// Subscriptions that its writer has met, but for those of these origins.
    pub(super) fn met_beside(&self, origins: &[u64]) -> usize {
        if origins.is_empty() {
            return self.matched();
        }
        lock(&self.readers).beside(origins).count()
    }

    /// The same of those that are known to have met the writer in turn.
    pub(super) fn known_beside(&self, origins: &[u64]) -> usize {
        let unknowing = self.writer().map_or_else(Vec::new, RtpsWriter::not_yet_met);
        lock(&self.readers).beside(origins).filter(|reader| !unknowing.contains(reader)).count()
    }
}

impl State {
    /// The origin of a subscription that a writer has met, if its node is in both graphs.
    pub(super) fn origin_of(&self, writer: EntityId, reader: Guid) -> Option<u64> {
        self.offers.iter().find(|offer| offer.writer_id() == Some(writer))?.origin_of(reader)
    }

    /// A link of ROS 1 begins: whether it stands by.
    pub(super) fn way_begins(&self, origin: Option<u64>) -> bool {
        let Some(origin) = origin else { return false };
        self.offers.iter().fold(false, |reached, offer| offer.way_begins(origin) | reached)
    }

    /// A link of ROS 1 is gone.
    pub(super) fn way_ends(&self, origin: Option<u64>) {
        let writers = self.offers.iter().filter_map(|offer| offer.writer());
        origin
            .into_iter()
            .for_each(|origin| writers.clone().for_each(|writer| writer.not_heard_elsewhere(origin)));
    }

    /// The origins of subscribers that have a link of ROS 1.
    pub(super) fn linked_origins(&self) -> Vec<u64> {
        let links = self.links.iter().map(|link| link.origin);
        links.chain(self.datagram_links.iter().map(|link| link.origin)).flatten().collect()
    }

    /// Whether there is any link of ROS 1, be it one that stands by.
    pub(super) fn has_links(&self) -> bool {
        !(self.links.is_empty() && self.datagram_links.is_empty())
    }

    /// Whether any link carries what is published with an offer.
    pub(super) fn has_carrying_link(&self, offer: &Offer) -> bool {
        self.links.iter().any(|link| !offer.reaches(link.origin))
            || self.datagram_links.iter().any(|link| !offer.reaches(link.origin))
    }

    /// Whether a link to a node of this origin stands by.
    pub(super) fn stands_by(&self, origin: Option<u64>) -> bool {
        origin.is_some() && self.offers.iter().any(|offer| offer.reaches(origin))
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
