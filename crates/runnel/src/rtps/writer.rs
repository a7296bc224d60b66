//! Writers of the participant's user, each with a lock and an outbox of its own: a thread that publishes needs neither the
//! participant nor another writer.
//!
//! What the participant finds out for a writer is given to it while the participant is locked, so that updates keep their order.

use std::net::IpAddr;

use runnel_core::sorted::{SortedMap, SortedSet};
use runnel_core::time::Instant;
use runnel_rtps::wire::{EntityId, Guid};
use runnel_rtps::{Participant, UserWriter, WriterUpdate};

use super::CdrFrame;
use super::alternate_path::{Suspended, number};
use super::origin::origin_in;
use super::outbox::Outbox;
use crate::frame::Frame;
use crate::sync::{Class, Mutex, lock};

/// See the module's documentation.
pub(crate) struct Writer {
    id: EntityId,
    pub(super) state: Mutex<State>,
    pub(super) outbox: Outbox<CdrFrame>,
}

/// What is locked of a writer.
pub(super) struct State {
    pub(super) writer: UserWriter<CdrFrame>,
    /// Its matched readers whose nodes are in both graphs.
    origins: SortedMap<Guid, Matched>,
    /// How many of them were matched.
    matchings: u64,
    /// Links of ROS 1 to nodes, by origin: the readers of such a node are held when they are matched.
    linked: SortedMap<u64, Linked>,
    /// Readers that get nothing by RTPS, since a link of ROS 1 carries what is for them.
    held: SortedSet<Guid>,
    /// Readers of such nodes that were unmatched, which has yet to be stated on the links.
    pub(super) left: Vec<LeftReader>,
    /// When its timer goes off, if it has been set.
    pub(super) armed: Option<Instant>,
}

/// A matched reader whose node is in both graphs.
#[derive(Clone, Copy)]
struct Matched {
    origin: u64,
    matching: u64,
}

/// Links of ROS 1 to a node.
struct Linked {
    /// Where each of them leads, as far as that is known.
    addresses: Vec<Option<IpAddr>>,
    /// The number of the next message when the first of them stood.
    since: u64,
}

/// A matched reader of a node, as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeReader {
    pub(crate) guid: Guid,
    pub(crate) is_held: bool,
    /// Greater with each match of a reader of a node.
    pub(crate) matching: u64,
}

/// A reader of a node that was unmatched.
pub(crate) struct LeftReader {
    pub(crate) guid: Guid,
    pub(crate) origin: u64,
    /// The match that is over: the reader may have been matched again meanwhile.
    pub(crate) matching: u64,
    /// What it is not known to have, with the numbers.
    pub(crate) unacknowledged: Vec<(u64, Frame)>,
}

impl Writer {
    pub(super) fn new(writer: UserWriter<CdrFrame>) -> Self {
        let id = writer.id();
        let state = State {
            writer,
            origins: SortedMap::new(),
            matchings: 0,
            linked: SortedMap::new(),
            held: SortedSet::new(),
            left: Vec::new(),
            armed: None,
        };
        Self { id, state: Mutex::new(Class::RtpsWriter, state), outbox: Outbox::new() }
    }

    /// Its name within the participant.
    pub(crate) fn id(&self) -> EntityId {
        self.id
    }

    /// Who stands in the way of another message, if it keeps all.
    pub(crate) fn full(&self) -> Option<String> {
        let full = lock(&self.state).writer.full()?;
        Some(full.reader.to_string())
    }

    /// How many messages some reader has yet to acknowledge.
    pub(crate) fn unacknowledged(&self) -> u32 {
        lock(&self.state).writer.unacknowledged()
    }

    /// The number of the message that was written last.
    pub(crate) fn last_number(&self) -> Option<u64> {
        lock(&self.state).writer.last_number().map(number)
    }

    /// What is written from now on reaches a reader by an alternate path. `None` if the two are not matched.
    pub(crate) fn suspend(&self, reader: Guid) -> Option<Suspended> {
        let suspended = lock(&self.state).writer.suspend(reader)?;
        let first_unacknowledged = number(suspended.first_unacknowledged);
        Some(Suspended { first_unacknowledged, next: number(suspended.next) })
    }

    /// There is a link of ROS 1 to the node of this origin: readers of it that are matched from now on are held, if their
    /// participants are where the link leads. Gives those that RTPS carries already.
    pub(crate) fn link(&self, origin: u64, address: Option<IpAddr>) -> Vec<Guid> {
        let state = &mut *lock(&self.state);
        let since = state.next_number();
        let linked = state.linked.entry(origin).or_insert(Linked { addresses: Vec::new(), since });
        linked.addresses.push(address);
        state.readers(origin).filter(|reader| !reader.is_held).map(|reader| reader.guid).collect()
    }

    /// The matched readers of a node.
    pub(crate) fn readers(&self, origin: u64) -> Vec<NodeReader> {
        lock(&self.state).readers(origin).collect()
    }

    /// Readers of nodes with links of ROS 1 that were unmatched since this was last asked.
    pub(crate) fn take_left(&self) -> Vec<LeftReader> {
        std::mem::take(&mut lock(&self.state).left)
    }

    /// Whether a reader is reliable and its node may have a link of ROS 1, now or later.
    pub(crate) fn may_be_linked(&self, reader: Guid) -> bool {
        let state = &*lock(&self.state);
        state.writer.is_reliable(reader) && state.origins.contains_key(&reader)
    }

    /// Whether a reader is held.
    pub(crate) fn is_held(&self, reader: Guid) -> bool {
        lock(&self.state).held.contains(&reader)
    }

    /// A reader gets nothing more by RTPS. Gives what it is not known to have, with the numbers.
    pub(crate) fn hold(&self, reader: Guid) -> Vec<(u64, Frame)> {
        let state = &mut *lock(&self.state);
        let unacknowledged = state.unacknowledged_of(reader);
        state.hold(reader);
        unacknowledged
    }
}

impl State {
    fn unacknowledged_of(&self, reader: Guid) -> Vec<(u64, Frame)> {
        let unacknowledged = self.writer.unacknowledged_of(reader);
        unacknowledged.map(|(at, frame)| (number(at), frame.0.clone())).collect()
    }

    fn next_number(&self) -> u64 {
        self.writer.last_number().map_or(0, number) + 1
    }

    fn readers(&self, origin: u64) -> impl Iterator<Item = NodeReader> {
        let of_node = self.origins.iter().filter(move |(_, matched)| matched.origin == origin);
        of_node.map(|(guid, Matched { matching, .. })| NodeReader {
            guid: *guid,
            is_held: self.held.contains(guid),
            matching: *matching,
        })
    }

    fn hold(&mut self, reader: Guid) {
        self.writer.hold(reader);
        self.held.insert(reader);
    }

    /// A link of ROS 1 to the node of this origin has ended. Gives the number from which on RTPS carries what is for its readers if
    /// no other link does, and where other links lead.
    pub(super) fn unlink(&mut self, origin: u64, address: Option<IpAddr>) -> (u64, Vec<Option<IpAddr>>) {
        let next = self.next_number();
        let Some(linked) = self.linked.get_mut(&origin) else { return (next, Vec::new()) };
        if let Some(place) = linked.addresses.iter().position(|of| *of == address) {
            linked.addresses.swap_remove(place);
        }
        // What the link has carried is not to come twice, and all else that is kept is due.
        let from = if next > linked.since { next } else { 1 };
        let others = linked.addresses.clone();
        if others.is_empty() {
            self.linked.remove(&origin);
        }
        (from, others)
    }

    /// Whether a link of ROS 1 to the node of this origin leads to a participant.
    fn is_linked(&self, participant: &Participant, origin: u64, reader: Guid) -> bool {
        let Some(linked) = self.linked.get(&origin) else { return false };
        linked.addresses.iter().flatten().any(|address| participant.is_at(reader.prefix, *address))
    }

    /// A reader is held no longer.
    pub(super) fn release(&mut self, reader: Guid) {
        self.held.remove(&reader);
    }

    /// Takes in what the participant has found out.
    pub(super) fn update(&mut self, participant: &mut Participant, now: Instant, update: WriterUpdate) {
        let (mut held, mut lost) = (None, None);
        if let Some(reader) = update.matched() {
            let origin = participant.endpoint(reader).and_then(|endpoint| origin_in(&endpoint.user_data));
            let known = self.origins.remove(&reader);
            if let Some(origin) = origin {
                self.matchings += u64::from(known.is_none());
                let matching = known.map_or(self.matchings, |known| known.matching);
                self.origins.insert(reader, Matched { origin, matching });
            }
            if known.is_none() && origin.is_some_and(|origin| self.is_linked(participant, origin, reader)) {
                // What it missed here meanwhile has come by the link.
                self.writer.forget_unmatched(reader);
                held = Some(reader);
            }
        }
        if let Some(reader) = update.unmatched() {
            let matched = self.origins.remove(&reader);
            let linked = matched.filter(|matched| self.linked.contains_key(&matched.origin));
            let left = linked.map(|Matched { origin, matching }| {
                let unacknowledged = self.unacknowledged_of(reader);
                LeftReader { guid: reader, origin, matching, unacknowledged }
            });
            lost = left.is_some().then_some(reader);
            self.left.extend(left);
            self.held.remove(&reader);
        }
        let acknowledged = update.acknowledged();
        let corrections = self.writer.handle_update(now, update);
        held.into_iter().for_each(|reader| self.hold(reader));
        // What it had not got goes by the link, which may have ended when it comes back.
        lost.into_iter().for_each(|reader| self.writer.forget_unmatched(reader));
        if let Some(reader) = acknowledged {
            participant.reader_corrected(self.writer.id(), reader, corrections);
        }
    }
}
