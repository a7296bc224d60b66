//! ROS 2 subscribers in other processes of this host: they get messages in shared memory, with the numbers of RTPS. So
//! a handover from the network or back neither loses nor duplicates nor reorders messages.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use runnel_core::wire::Encoding;
use runnel_delivery::{PathKind, ReachedError};
use runnel_io::Token;
use runnel_rtps::wire::{EntityId, Guid};

use super::lifespan::Lifespan;
use super::memory_path::{Delivery, MemoryPath, NetworkState};
use super::{Publication, RtpsWriter, State};
use crate::data::SwitchOutcome;
use crate::data::stream_path::Channel;
use crate::frame::{Frame, Payload, QueueBound};
use crate::ipc::{SHORTEST, Sender};
use crate::settings::linger::Unarrived;
use crate::sync::lock;

/// Shared memory link of one reader.
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
    /// Switches a reader on this host to an IPC connection, on which `token` identifies the pair. With
    /// `waits_for_user`, messages are paced by the subscriber's callbacks. A reader that requests it again starts over.
    pub(crate) fn switch_to_memory(
        &self,
        (writer, reader): (EntityId, Guid),
        (key, waits_for_user): (Token, bool),
        sender: &Arc<Sender>,
        token: u128,
    ) -> SwitchOutcome {
        let state = &mut *lock(&self.state);
        let Some(rtps) = state.writer_of(writer) else { return SwitchOutcome::NotNeeded };
        if state.reserved.iter_mut().any(|reserved| !sender.announce(reserved.segments())) {
            return SwitchOutcome::Later;
        }
        // If the reader was lost meanwhile, a ROS 1 link delivers what it has not read.
        self.on_readers_lost(state, &rtps, (rtps.next_number(), rtps.take_lost()));
        state.end_memory_link((writer, reader));
        if rtps.is_held(reader) {
            // A ROS 1 link serves the reader. The driver is woken when that ends.
            state.add_memory_request(reader, sender);
            return SwitchOutcome::Later;
        }
        let Some(suspended) = rtps.suspend(reader) else { return SwitchOutcome::NotNeeded };
        let bound = state.options.bound;
        let network_state = NetworkState {
            network: PathKind::RtpsReliable,
            epoch: 0,
            reached: suspended.first_unacknowledged,
            unsent: suspended.next,
            waiting: Vec::new(),
            next: suspended.next,
        };
        let delivery = Delivery::switch_to_memory(token as u64, network_state, bound, waits_for_user);
        let opened = delivery.and_then(|(delivery, begin)| {
            let number = sender.open_samples(token, suspended.first_unacknowledged, &begin)?;
            Some((delivery, Channel { sender: Arc::clone(sender), number }))
        });
        let outcome = match opened {
            None => {
                rtps.resume(reader, suspended.next, Vec::new());
                SwitchOutcome::Later
            }
            Some((delivery, channel)) => {
                let mut path = MemoryPath::new((key, channel), (delivery, bound), Encoding::Xcdr1);
                path.lifespan = state.lifespan_of(writer).map(Lifespan::new);
                if rtps.may_be_linked(reader) {
                    path.share_with_link();
                }
                state.memory_links.push(MemoryLink { writer, reader, path });
                SwitchOutcome::Switched
            }
        };
        self.count_memory_links(state);
        outcome
    }

    /// The IPC connection has ended: a reader that used it gets its messages over the network again, beginning with
    /// those that it has not read.
    pub(crate) fn fall_back_to_rtps(&self, pair: (EntityId, Guid), sender: &Arc<Sender>) {
        let state = &mut *lock(&self.state);
        state.remove_memory_requests(pair.1, Some(sender));
        let link = state.memory_links.iter().find(|link| link.is_of(pair));
        if link.is_some_and(|link| link.path.is_of(sender)) {
            if let Some(writer) = state.writer_of(pair.0) {
                self.on_readers_lost(state, &writer, (writer.next_number(), writer.take_lost()));
            }
            state.end_memory_link(pair);
        }
        self.count_memory_links(state);
    }

    /// A reader gets nothing more from shared memory.
    pub(crate) fn leave_memory(&self, pair: (EntityId, Guid)) {
        let state = &mut *lock(&self.state);
        // A ROS 1 link that serves the reader from now on delivers what it has not read.
        if let Some(writer) = state.writer_of(pair.0) {
            self.on_readers_lost(state, &writer, (writer.next_number(), writer.take_lost()));
        }
        state.remove_memory_requests(pair.1, None);
        state.end_memory_link(pair);
        self.count_memory_links(state);
    }

    /// The channel of a reader is writable.
    pub(crate) fn memory_writable(&self, pair: (EntityId, Guid)) {
        let mut state = lock(&self.state);
        if let Some(link) = state.memory_links.iter_mut().find(|link| link.is_of(pair)) {
            link.path.flush();
        }
    }

    /// The subscriber reports its position.
    ///
    /// # Errors
    /// If the position is impossible.
    pub(crate) fn reached(&self, pair: (EntityId, Guid), epoch: u32, next: u64) -> Result<(), ReachedError> {
        let mut state = lock(&self.state);
        let link = state.memory_links.iter_mut().find(|link| link.is_of(pair));
        link.map_or(Ok(()), |link| link.path.reached(epoch, next))
    }

    pub(super) fn count_memory_links(&self, state: &State) {
        self.memory_channels.store(state.memory_links.len(), Ordering::Relaxed);
    }

    /// Gives a message, in the ROS 2 encoding, to the readers that use shared memory.
    pub(super) fn send_in_memory(&self, state: &mut State, writer: &RtpsWriter, frame: &Frame) {
        let (id, Some(number)) = (writer.id(), writer.last_number()) else { return };
        let lendable = self.lendable_copy(state, frame);
        let frame = lendable.as_ref().unwrap_or(frame);
        // A message of a closed writer has no number: the last number is that of the message before.
        let is_due = |link: &&mut MemoryLink| link.writer == id && link.path.is_next(number);
        let dropped = state
            .memory_links
            .iter_mut()
            .filter(is_due)
            .map(|link| link.path.send_or_queue(number, frame))
            .sum();
        self.count_dropped(dropped);
    }

    /// Gives a message to one reader, if it uses shared memory.
    pub(super) fn send_in_memory_of(
        &self,
        state: &mut State,
        pair: (EntityId, Guid),
        (number, frame): (u64, &Frame),
    ) {
        if !state.memory_links.iter().any(|link| link.is_of(pair)) {
            return;
        }
        let lendable = self.lendable_copy(state, frame);
        let frame = lendable.as_ref().unwrap_or(frame);
        let link = state.memory_links.iter_mut().find(|link| link.is_of(pair));
        let dropped = link.map_or(0, |link| link.path.send_or_queue(number, frame));
        self.count_dropped(dropped);
    }

    /// A copy of a long message in a slot, which the subscribers' processes can read.
    fn lendable_copy(&self, state: &State, frame: &Frame) -> Option<Frame> {
        let Payload::Own(bytes) = frame.payload() else { return None };
        if bytes.len() < SHORTEST {
            return None;
        }
        state.memory_links.iter().for_each(|link| link.path.ipc_connection().reclaim_slots());
        let mut slot = self.pool.take(bytes.len())?;
        slot.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(frame.copied_to(slot.freeze(bytes.len())))
    }
}

impl State {
    pub(super) fn writer_of(&self, id: EntityId) -> Option<RtpsWriter> {
        let mut writers = self.groups.iter().filter_map(|group| group.writer());
        writers.find(|own| own.id() == id).cloned()
    }

    /// The lifespan of a writer's messages, unless it is infinite.
    fn lifespan_of(&self, writer: EntityId) -> Option<Duration> {
        self.groups.iter().find(|group| group.writer_id() == Some(writer))?.qos.lifespan
    }

    /// True if a reader of this writer uses shared memory.
    pub(super) fn has_memory_link(&self, writer: EntityId) -> bool {
        self.memory_links.iter().any(|link| link.writer == writer)
    }

    /// Switches a reader from shared memory back to the network, if it uses memory.
    pub(super) fn end_memory_link(&mut self, pair: (EntityId, Guid)) {
        let index = self.memory_links.iter().position(|link| link.is_of(pair));
        let Some(mut link) = index.map(|index| self.memory_links.swap_remove(index)) else { return };
        let undrained = link.path.take_undrained();
        let ended = link.path.end();
        // The writer holds these messages until they are acknowledged, and sends them on request.
        let undrained = undrained.into_iter().filter(|(number, _)| *number < ended.from);
        let undrained = undrained.map(|(number, frame)| (number, None, frame));
        if let Some(writer) = self.writer_of(pair.0) {
            writer.resume(pair.1, ended.from, undrained.chain(ended.messages).collect());
        }
    }

    /// Removes the memory link of a reader, if there is one. Returns the messages that it is not known to have read,
    /// with their numbers.
    pub(super) fn take_memory_link(&mut self, pair: (EntityId, Guid)) -> Vec<(u64, Frame)> {
        let index = self.memory_links.iter().position(|link| link.is_of(pair));
        let Some(mut link) = index.map(|index| self.memory_links.swap_remove(index)) else {
            return Vec::new();
        };
        let mut returned = link.path.take_undrained();
        let messages = link.path.end_unread().messages;
        returned.extend(messages.into_iter().map(|(number, _, frame)| (number, frame)));
        returned
    }

    /// A reader in shared memory whose queue may be full for the next message of a writer, whose length is not known
    /// yet.
    pub(super) fn full_in_memory(&mut self, writer: EntityId) -> Option<String> {
        self.memory_links.iter_mut().for_each(|link| link.path.flush());
        let is_full = |link: &&MemoryLink| link.writer == writer && link.path.is_half_full();
        let full = self.memory_links.iter().filter(is_full);
        full.max_by_key(|link| link.path.waiting()).map(|link| link.reader.to_string())
    }

    /// Whether the queue of a reader in shared memory is full for a message of so many bytes.
    pub(super) fn is_full_in_memory(&mut self, pair: (EntityId, Guid), bytes: usize) -> bool {
        let link = self.memory_links.iter_mut().find(|link| link.is_of(pair));
        link.is_some_and(|link| {
            link.path.flush();
            link.path.is_full(bytes)
        })
    }

    /// True if the processes of all readers in shared memory have read all messages of a writer.
    pub(super) fn has_arrived_in_memory(&mut self, writer: EntityId) -> bool {
        let mut links = self.memory_links.iter_mut().filter(|link| link.writer == writer);
        links.all(|link| link.path.has_arrived())
    }

    /// The readers that have unread messages in shared memory. The content of a ring counts as one message.
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

    pub(super) fn shm_copies_in_memory(&self) -> u64 {
        self.memory_links.iter().map(|link| link.path.shm_copies()).sum()
    }

    pub(super) fn set_bound_in_memory(&mut self, bound: QueueBound) {
        self.memory_links.iter_mut().for_each(|link| link.path.set_bound(bound));
    }

    /// Whether all readers in shared memory have mapped the preallocated segments.
    pub(super) fn is_preallocation_mapped_in_memory(&mut self) -> bool {
        let Self { memory_links, reserved, .. } = self;
        let is_mapped = |reserved: &mut crate::ipc::Reservation| {
            memory_links.iter().all(|link| link.path.ipc_connection().announce(reserved.segments()))
        };
        reserved.iter_mut().all(is_mapped)
    }
}
