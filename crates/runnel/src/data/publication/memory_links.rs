//! Subscribers in the ROS 2 graph whose processes are of this host: they get messages in shared memory, under the numbers
//! that these have in RTPS. So nothing is lost, doubled or out of order when one moves there from the network, or back.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use runnel_core::wire::Encoding;
use runnel_delivery::{PathKind, ReachedError};
use runnel_io::Token;
use runnel_rtps::wire::{EntityId, Guid};

use super::life::Life;
use super::memory_path::{Delivery, LeftOff, MemoryPath};
use super::{Publication, RtpsWriter, State};
use crate::data::way::Channel;
use crate::frame::{Frame, Payload, QueueBound};
use crate::ipc::{SHORTEST, Sender, Unread};
use crate::linger::Unarrived;
use crate::sync::lock;

/// Link of one of them.
pub(super) struct MemoryLink {
    writer: EntityId,
    reader: Guid,
    path: MemoryPath,
}

impl MemoryLink {
    fn is_of(&self, pair: (EntityId, Guid)) -> bool {
        (self.writer, self.reader) == pair
    }
}

impl Publication {
    /// A subscriber is of this host: what it gets goes by a session from now on, where the pair is known by `token`, no faster
    /// than its user takes it if that is asked for. False if that cannot be now. One that asks again has begun anew.
    pub(crate) fn switch_to_memory(
        &self,
        (writer, reader): (EntityId, Guid),
        (key, waits_for_user): (Token, bool),
        sender: &Arc<Sender>,
        token: u128,
    ) -> bool {
        let state = &mut *lock(&self.state);
        let Some(rtps) = state.writer_of(writer) else { return true };
        if state.reserved.iter_mut().any(|reserved| !sender.give(reserved.segments())) {
            return false;
        }
        // If the reader was lost meanwhile, a link of ROS 1 brings what it has not read.
        self.readers_left(state, &rtps, (rtps.next_number(), rtps.take_left()));
        state.end_memory_link((writer, reader), &mut Unread::default());
        if rtps.is_held(reader) {
            // A link of ROS 1 carries what is for it. The driver is woken when that is over.
            state.want_memory(reader, sender);
            return false;
        }
        let Some(suspended) = rtps.suspend(reader) else { return true };
        let bound = state.options.bound;
        let left_off = LeftOff {
            network: PathKind::RtpsReliable,
            epoch: 0,
            reached: suspended.first_unacknowledged,
            unsent: suspended.next,
            waiting: Vec::new(),
            next: suspended.next,
        };
        let delivery = Delivery::switch_to_memory(token as u64, left_off, bound, waits_for_user);
        let opened = delivery.and_then(|(delivery, begin)| {
            let number = sender.open_samples(token, suspended.first_unacknowledged, &begin)?;
            Some((delivery, Channel { sender: Arc::clone(sender), number }))
        });
        let is_open = opened.is_some();
        match opened {
            None => rtps.resume(reader, suspended.next, Vec::new()),
            Some((delivery, channel)) => {
                let mut path = MemoryPath::new((key, channel), (delivery, bound), Encoding::Xcdr1);
                path.life = state.lifespan_of(writer).map(Life::new);
                if rtps.may_be_linked(reader) {
                    path.share_with_link();
                }
                state.memory_links.push(MemoryLink { writer, reader, path });
            }
        }
        self.count_memory_links(state);
        is_open
    }

    /// The session is over: a subscriber that read from it gets its messages by the network again. `unread` has what it did not
    /// read of its channel.
    pub(crate) fn fall_back_to_rtps(
        &self,
        pair: (EntityId, Guid),
        sender: &Arc<Sender>,
        unread: &mut Unread,
    ) {
        let state = &mut *lock(&self.state);
        state.forget_wanted(pair.1, Some(sender));
        let link = state.memory_links.iter().find(|link| link.is_of(pair));
        if link.is_some_and(|link| link.path.is_of(sender)) {
            if let Some(writer) = state.writer_of(pair.0) {
                self.readers_left(state, &writer, (writer.next_number(), writer.take_left()));
            }
            state.end_memory_link(pair, unread);
        }
        self.count_memory_links(state);
    }

    /// A subscriber gets nothing more in memory, if it did.
    pub(crate) fn leave_memory(&self, pair: (EntityId, Guid)) {
        let state = &mut *lock(&self.state);
        // If a link of ROS 1 serves it from now on, that brings what it has not read.
        if let Some(writer) = state.writer_of(pair.0) {
            self.readers_left(state, &writer, (writer.next_number(), writer.take_left()));
        }
        state.forget_wanted(pair.1, None);
        state.end_memory_link(pair, &mut Unread::default());
        self.count_memory_links(state);
    }

    /// The channel of a subscriber takes more.
    pub(crate) fn memory_writable(&self, pair: (EntityId, Guid)) {
        let mut state = lock(&self.state);
        if let Some(link) = state.memory_links.iter_mut().find(|link| link.is_of(pair)) {
            link.path.flush();
        }
    }

    /// A subscriber tells how far it is.
    ///
    /// # Errors
    /// It cannot be there.
    pub(crate) fn reached(&self, pair: (EntityId, Guid), epoch: u32, next: u64) -> Result<(), ReachedError> {
        let mut state = lock(&self.state);
        let link = state.memory_links.iter_mut().find(|link| link.is_of(pair));
        link.map_or(Ok(()), |link| link.path.reached(epoch, next))
    }

    pub(super) fn count_memory_links(&self, state: &State) {
        self.memory_channels.store(state.memory_links.len(), Ordering::Relaxed);
    }

    /// Hands a message, in its form of ROS 2, to the subscribers that get it by a session.
    pub(super) fn send_in_memory(&self, state: &mut State, writer: &RtpsWriter, frame: &Frame) {
        let (id, Some(number)) = (writer.id(), writer.last_number()) else { return };
        let lendable = self.lendable_copy(state, frame);
        let frame = lendable.as_ref().unwrap_or(frame);
        // A message that the writer refused has no number, which is then that of the one before.
        let is_due = |link: &&mut MemoryLink| link.writer == id && link.path.is_next(number);
        let dropped =
            state.memory_links.iter_mut().filter(is_due).map(|link| link.path.offer(number, frame)).sum();
        self.count_dropped(dropped);
    }

    /// A long message where the processes of subscribers can read it.
    fn lendable_copy(&self, state: &State, frame: &Frame) -> Option<Frame> {
        let Payload::Own(bytes) = frame.payload() else { return None };
        if bytes.len() < SHORTEST {
            return None;
        }
        state.memory_links.iter().for_each(|link| link.path.session().take_back_slots());
        let mut slot = self.pool.take(bytes.len())?;
        slot.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(frame.copied_to(slot.freeze(bytes.len())))
    }
}

impl State {
    pub(super) fn writer_of(&self, id: EntityId) -> Option<RtpsWriter> {
        let mut writers = self.offers.iter().filter_map(|offer| offer.writer());
        writers.find(|own| own.id() == id).cloned()
    }

    /// How long messages of a writer are worth delivering, if not for ever.
    fn lifespan_of(&self, writer: EntityId) -> Option<Duration> {
        self.offers.iter().find(|offer| offer.writer_id() == Some(writer))?.qos.lifespan
    }

    /// True if somebody gets messages of this writer by a session.
    pub(super) fn has_memory_link(&self, writer: EntityId) -> bool {
        self.memory_links.iter().any(|link| link.writer == writer)
    }

    /// What a subscriber had by a session it gets by the network again, if it had.
    pub(super) fn end_memory_link(&mut self, pair: (EntityId, Guid), unread: &mut Unread) {
        let index = self.memory_links.iter().position(|link| link.is_of(pair));
        let Some(mut link) = index.map(|index| self.memory_links.swap_remove(index)) else { return };
        let undrained = link.path.take_undrained();
        let ended = link.path.end(unread);
        // The writer holds those until they are acknowledged, and sends them if that is asked for.
        let undrained = undrained.into_iter().filter(|(number, _)| *number < ended.from);
        let undrained = undrained.map(|(number, frame)| (number, None, frame));
        if let Some(writer) = self.writer_of(pair.0) {
            writer.resume(pair.1, ended.from, undrained.chain(ended.messages).collect());
        }
    }

    /// A subscriber gets nothing more by a session, if it did. Gives what it is not known to have read, with the numbers.
    pub(super) fn take_memory_link(&mut self, pair: (EntityId, Guid)) -> Vec<(u64, Frame)> {
        let index = self.memory_links.iter().position(|link| link.is_of(pair));
        let Some(mut link) = index.map(|index| self.memory_links.swap_remove(index)) else {
            return Vec::new();
        };
        let mut unread = link.path.session().peek_unread();
        let mut returned = link.path.take_undrained();
        let messages = link.path.end(&mut unread).messages;
        returned.extend(messages.into_iter().map(|(number, _, frame)| (number, frame)));
        returned
    }

    /// The subscriber by a session for which one more message of a writer may push out another: how long it is, nobody knows
    /// yet.
    pub(super) fn full_in_memory(&mut self, writer: EntityId) -> Option<String> {
        self.memory_links.iter_mut().for_each(|link| link.path.flush());
        let is_full = |link: &&MemoryLink| link.writer == writer && link.path.has_little_room();
        let full = self.memory_links.iter().filter(is_full);
        full.max_by_key(|link| link.path.waiting()).map(|link| link.reader.to_string())
    }

    /// True if all that a writer wrote is with the processes of those that get it by sessions.
    pub(super) fn has_arrived_in_memory(&mut self, writer: EntityId) -> bool {
        let mut links = self.memory_links.iter_mut().filter(|link| link.writer == writer);
        links.all(|link| link.path.has_arrived())
    }

    /// The subscribers that have yet to read messages from their sessions. What is in a ring counts as one.
    pub(super) fn unarrived_in_memory(&mut self) -> Vec<Unarrived> {
        let links =
            self.memory_links.iter_mut().filter_map(|link| (!link.path.has_arrived()).then_some(link));
        links
            .map(|link| Unarrived {
                subscriber: link.reader.to_string(),
                messages: link.path.waiting().max(1) as u64,
            })
            .collect()
    }

    pub(super) fn copied_in_memory(&self) -> u64 {
        self.memory_links.iter().map(|link| link.path.copied()).sum()
    }

    pub(super) fn set_bound_in_memory(&mut self, bound: QueueBound) {
        self.memory_links.iter_mut().for_each(|link| link.path.set_bound(bound));
    }

    /// Whether all that get messages by sessions have mapped all that is reserved.
    pub(super) fn is_reserved_in_memory(&mut self) -> bool {
        let Self { memory_links, reserved, .. } = self;
        let gives = |reserved: &mut crate::ipc::Reservation| {
            memory_links.iter().all(|link| link.path.session().give(reserved.segments()))
        };
        reserved.iter_mut().all(gives)
    }
}
