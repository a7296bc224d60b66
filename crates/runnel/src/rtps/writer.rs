//! User writers of the participant, each with its own lock and outbox: a publishing thread needs neither the
//! participant nor another writer.
//!
//! The participant passes updates to a writer while it is locked itself, so that updates stay in order.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::RangeInclusive;

use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
use runnel_rtps::wire::{EntityId, Guid};
use runnel_rtps::{Participant, UserWriter, WriterUpdate};

use super::CdrFrame;
use super::alternate_path::{Suspended, number};
use super::dual_node_id::dual_node_id_in;
use super::outbox::Outbox;
use crate::frame::Frame;
use crate::sync::{Class, Mutex, lock};

/// See the module's documentation.
pub(crate) struct Writer {
    id: EntityId,
    pub(super) state: Mutex<State>,
    pub(super) outbox: Outbox<CdrFrame>,
}

/// The locked part of a writer.
pub(super) struct State {
    pub(super) writer: UserWriter<CdrFrame>,
    /// Its matched readers that belong to dual nodes.
    dual_node_ids: BTreeMap<Guid, Matched>,
    /// Counts their matches.
    matchings: u64,
    /// ROS 1 links to dual nodes, by id. A reader of such a node is held when it is matched.
    linked: SortedMap<u64, Linked>,
    /// Held readers: a ROS 1 link carries their messages instead of RTPS.
    held: BTreeSet<Guid>,
    /// Readers of such nodes that were unmatched, which the links have yet to state.
    pub(super) left: Vec<LostReader>,
    /// When its timer expires, if it is set.
    pub(super) armed: Option<Instant>,
}

/// A matched reader of a dual node.
#[derive(Clone, Copy)]
struct Matched {
    dual_node_id: u64,
    matching: u64,
}

/// ROS 1 links to one node.
struct Linked {
    /// The address of each link's remote end, if known.
    addresses: Vec<Option<IpAddr>>,
    /// The number of the next message when the first link was established.
    since: u64,
}

/// The current state of a matched reader of a dual node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeReader {
    pub(crate) guid: Guid,
    pub(crate) is_held: bool,
    /// Grows with each match of a reader of a dual node.
    pub(crate) matching: u64,
}

/// A reader of a dual node that was unmatched.
pub(crate) struct LostReader {
    pub(crate) guid: Guid,
    pub(crate) dual_node_id: u64,
    /// The match that has ended: the reader may have been matched again since.
    pub(crate) matching: u64,
    /// The messages that it may lack, with their numbers.
    pub(crate) unacknowledged: Vec<(u64, Frame)>,
}

impl Writer {
    pub(super) fn new(writer: UserWriter<CdrFrame>) -> Self {
        let id = writer.id();
        let state = State {
            writer,
            dual_node_ids: BTreeMap::new(),
            matchings: 0,
            linked: SortedMap::new(),
            held: BTreeSet::new(),
            left: Vec::new(),
            armed: None,
        };
        Self { id, state: Mutex::new(Class::RtpsWriter, state), outbox: Outbox::new() }
    }

    /// Its entity id.
    pub(crate) fn id(&self) -> EntityId {
        self.id
    }

    /// A reader whose queue is full, if the writer keeps all.
    pub(crate) fn full(&self) -> Option<String> {
        let full = lock(&self.state).writer.full()?;
        Some(full.reader.to_string())
    }

    /// The largest number of messages that a reader has not acknowledged.
    pub(crate) fn unacknowledged(&self) -> u32 {
        lock(&self.state).writer.unacknowledged()
    }

    /// The number of the last message.
    pub(crate) fn last_number(&self) -> Option<u64> {
        lock(&self.state).writer.last_number().map(number)
    }

    /// Suspends a reader: an alternate path carries all messages from now on. `None` if the reader is not matched.
    pub(crate) fn suspend(&self, reader: Guid) -> Option<Suspended> {
        let suspended = lock(&self.state).writer.suspend(reader)?;
        let first_unacknowledged = number(suspended.first_unacknowledged);
        Some(Suspended { first_unacknowledged, next: number(suspended.next) })
    }

    /// Registers a ROS 1 link to the dual node `dual_node_id`: readers of that node that are matched from now on are held,
    /// if their participants are at `address`. Returns the readers that RTPS already serves.
    pub(crate) fn link(&self, dual_node_id: u64, address: Option<IpAddr>) -> Vec<Guid> {
        let state = &mut *lock(&self.state);
        let since = state.next_number();
        let linked = state.linked.entry(dual_node_id).or_insert(Linked { addresses: Vec::new(), since });
        linked.addresses.push(address);
        state.readers(dual_node_id).filter(|reader| !reader.is_held).map(|reader| reader.guid).collect()
    }

    /// The matched readers of a dual node.
    pub(crate) fn readers(&self, dual_node_id: u64) -> Vec<NodeReader> {
        lock(&self.state).readers(dual_node_id).collect()
    }

    /// Takes the readers of nodes with ROS 1 links that were unmatched.
    pub(crate) fn take_lost(&self) -> Vec<LostReader> {
        std::mem::take(&mut lock(&self.state).left)
    }

    /// Whether a reader is reliable and its node may have a ROS 1 link, now or later.
    pub(crate) fn may_be_linked(&self, reader: Guid) -> bool {
        let state = &*lock(&self.state);
        state.writer.is_reliable(reader) && state.dual_node_ids.contains_key(&reader)
    }

    /// Whether a reader is held.
    pub(crate) fn is_held(&self, reader: Guid) -> bool {
        lock(&self.state).held.contains(&reader)
    }

    /// Holds a reader, which gets nothing more by RTPS. Returns the messages that it may lack, with their numbers.
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

    fn readers(&self, dual_node_id: u64) -> impl Iterator<Item = NodeReader> {
        let of_node =
            self.dual_node_ids.iter().filter(move |(_, matched)| matched.dual_node_id == dual_node_id);
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

    /// Unregisters a ROS 1 link to a dual node. Returns the number from which RTPS serves its readers if no other link
    /// does, and the addresses of the other links.
    pub(super) fn unlink(
        &mut self,
        dual_node_id: u64,
        address: Option<IpAddr>,
    ) -> (u64, Vec<Option<IpAddr>>) {
        let next = self.next_number();
        let Some(linked) = self.linked.get_mut(&dual_node_id) else { return (next, Vec::new()) };
        if let Some(place) = linked.addresses.iter().position(|of| *of == address) {
            linked.addresses.swap_remove(place);
        }
        // Messages that the link has carried must not be delivered again; all other kept messages are due.
        let from = if next > linked.since { next } else { 1 };
        let others = linked.addresses.clone();
        if others.is_empty() {
            self.linked.remove(&dual_node_id);
        }
        (from, others)
    }

    /// Whether a ROS 1 link to the dual node leads to the participant of the reader.
    fn is_linked(&self, participant: &Participant, dual_node_id: u64, reader: Guid) -> bool {
        let Some(linked) = self.linked.get(&dual_node_id) else { return false };
        linked.addresses.iter().flatten().any(|address| participant.is_at(reader.prefix, *address))
    }

    /// Releases a held reader.
    pub(super) fn release(&mut self, reader: Guid) {
        self.held.remove(&reader);
    }

    /// Applies an update from the participant.
    pub(super) fn update(&mut self, participant: &mut Participant, now: Instant, update: WriterUpdate) {
        let mut held = None;
        if let Some(reader) = update.matched() {
            let dual_node_id =
                participant.endpoint(reader).and_then(|endpoint| dual_node_id_in(&endpoint.user_data));
            let known = self.dual_node_ids.remove(&reader);
            if let Some(dual_node_id) = dual_node_id {
                self.matchings += u64::from(known.is_none());
                let matching = known.map_or(self.matchings, |known| known.matching);
                self.dual_node_ids.insert(reader, Matched { dual_node_id, matching });
            }
            if known.is_none()
                && dual_node_id.is_some_and(|dual_node_id| self.is_linked(participant, dual_node_id, reader))
            {
                // The link has delivered what the reader missed here.
                self.writer.forget_unmatched(reader);
                held = Some(reader);
            }
        }
        let lost = update.unmatched().map_or_else(Vec::new, |readers| self.forget_readers(readers));
        let acknowledged = update.acknowledged();
        let corrections = self.writer.handle_update(now, update);
        held.into_iter().for_each(|reader| self.hold(reader));
        // The link delivers what the reader lacks, and may have ended when the reader comes back.
        lost.into_iter().for_each(|reader| self.writer.forget_unmatched(reader));
        if let Some(reader) = acknowledged {
            participant.reader_corrected(self.writer.id(), reader, corrections);
        }
    }

    /// Forgets the unmatched readers in a range. Returns those of dual nodes with ROS 1 links.
    fn forget_readers(&mut self, readers: RangeInclusive<Guid>) -> Vec<Guid> {
        let unmatched: Vec<_> = self.dual_node_ids.extract_if(readers.clone(), |_, _| true).collect();
        self.held.extract_if(readers, |_| true).for_each(drop);
        let mut lost = Vec::new();
        for (guid, Matched { dual_node_id, matching }) in unmatched {
            if self.linked.contains_key(&dual_node_id) {
                let unacknowledged = self.unacknowledged_of(guid);
                self.left.push(LostReader { guid, dual_node_id, matching, unacknowledged });
                lost.push(guid);
            }
        }
        lost
    }
}
