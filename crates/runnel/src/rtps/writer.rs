//! Writers of the participant's user, each with a lock and an outbox of its own: a thread that publishes needs neither the
//! participant nor another writer.
//!
//! What the participant finds out for a writer is given to it while the participant is locked, so that updates keep their order.

use std::collections::{BTreeMap, BTreeSet};

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

/// A reader of a node with a link of ROS 1 that has been lost or has ended.
pub(crate) struct LeftReader {
    pub(crate) reader: Guid,
    pub(crate) origin: u64,
    /// What it is not known to have, with the numbers.
    pub(crate) unacknowledged: Vec<(u64, Frame)>,
}

/// What is locked of a writer.
pub(super) struct State {
    pub(super) writer: UserWriter<CdrFrame>,
    /// The origins of its matched readers whose nodes are in both graphs.
    pub(super) origins: BTreeMap<Guid, u64>,
    /// The origins of nodes that have links of ROS 1, and how many: their readers are held when they are matched.
    linked: BTreeMap<u64, usize>,
    /// Readers that get nothing by RTPS, since a link of ROS 1 carries what is for them.
    held: BTreeSet<Guid>,
    /// Readers of such nodes that have been lost or have ended, of which the links are still to be told.
    pub(super) left: Vec<LeftReader>,
    /// When its timer goes off, if it has been set.
    pub(super) armed: Option<Instant>,
}

impl Writer {
    pub(super) fn new(writer: UserWriter<CdrFrame>) -> Self {
        let id = writer.id();
        let state = State {
            writer,
            origins: BTreeMap::new(),
            linked: BTreeMap::new(),
            held: BTreeSet::new(),
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

    /// There is a link of ROS 1 to the node of this origin: readers of it that are matched from now on are held. Gives those that
    /// RTPS carries already.
    pub(crate) fn link(&self, origin: u64) -> Vec<Guid> {
        let state = &mut *lock(&self.state);
        *state.linked.entry(origin).or_default() += 1;
        let of_node = state.origins.iter().filter(|(_, of)| **of == origin).map(|(reader, _)| *reader);
        of_node.filter(|reader| !state.held.contains(reader)).collect()
    }

    /// The reader of this id of a node, and whether it is held; `None` if it is not matched.
    pub(crate) fn reader_of(&self, origin: u64, reader: EntityId) -> Option<(Guid, bool)> {
        let state = &*lock(&self.state);
        let is_meant = |(guid, of): &(&Guid, &u64)| guid.entity == reader && **of == origin;
        let (guid, _) = state.origins.iter().find(is_meant)?;
        Some((*guid, state.held.contains(guid)))
    }

    /// Readers of nodes with links of ROS 1 that have been lost or have ended, since this was last asked.
    pub(crate) fn take_left(&self) -> Vec<LeftReader> {
        std::mem::take(&mut lock(&self.state).left)
    }

    /// Whether a reader is reliable and there is a link of ROS 1 to its node.
    pub(crate) fn is_linked(&self, reader: Guid) -> bool {
        let state = &*lock(&self.state);
        state.writer.is_reliable(reader)
            && state.origins.get(&reader).is_some_and(|origin| state.linked.contains_key(origin))
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

    fn hold(&mut self, reader: Guid) {
        self.writer.hold(reader);
        self.held.insert(reader);
    }

    /// A link of ROS 1 to the node of this origin has ended. Gives the readers that are held for no link any more.
    pub(super) fn unlink(&mut self, origin: u64) -> Vec<Guid> {
        let Some(links) = self.linked.get_mut(&origin) else { return Vec::new() };
        *links -= 1;
        if *links > 0 {
            return Vec::new();
        }
        self.linked.remove(&origin);
        let origins = &self.origins;
        self.held.extract_if(.., |reader| origins.get(reader) == Some(&origin)).collect()
    }

    /// A reader is held no longer.
    pub(super) fn release(&mut self, reader: Guid) {
        self.held.remove(&reader);
    }

    /// Takes in what the participant has found out.
    pub(super) fn update(&mut self, participant: &mut Participant, now: Instant, update: WriterUpdate) {
        let mut held = None;
        if let Some(reader) = update.matched() {
            let origin = participant.endpoint(reader).and_then(|endpoint| origin_in(&endpoint.user_data));
            let was_known = self.origins.remove(&reader).is_some();
            self.origins.extend(origin.map(|origin| (reader, origin)));
            if !was_known && origin.is_some_and(|origin| self.linked.contains_key(&origin)) {
                // What it missed here meanwhile has come by the link.
                self.writer.forget_left(reader);
                held = Some(reader);
            }
        }
        if let Some(reader) = update.unmatched() {
            let origin = self.origins.remove(&reader);
            let linked = origin.filter(|origin| self.linked.contains_key(origin));
            let left = linked.map(|origin| {
                let unacknowledged = self.unacknowledged_of(reader);
                LeftReader { reader, origin, unacknowledged }
            });
            self.left.extend(left);
            self.held.remove(&reader);
        }
        let acknowledged = update.acknowledged();
        let corrections = self.writer.handle_update(now, update);
        held.into_iter().for_each(|reader| self.hold(reader));
        if let Some(reader) = acknowledged {
            participant.reader_corrected(self.writer.id(), reader, corrections);
        }
    }
}
