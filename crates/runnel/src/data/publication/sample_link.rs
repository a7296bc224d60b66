//! Subscribers in the ROS 2 graph whose processes are of this host: they get messages in shared memory, under the numbers
//! that these have in that graph. So nothing is lost, doubled or out of order when one goes over from the network or back.
//!
//! What a subscriber's channel does not take waits in a queue of the publisher's depth, as for a link of ROS 1. The writer of
//! the participant holds nothing for it meanwhile.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use runnel_io::{Token, clock};
use runnel_rtps::wire::{EntityId, Guid};

use super::life::Life;
use super::link::WAITING_SLOTS;
use super::{Offer, Publication, State};
use crate::data::way::Channel;
use crate::frame::{Frame, LENGTH, QueueBound};
use crate::ipc::{SHORTEST, Sender, Tally, Unread};
use crate::linger::Unarrived;
use crate::rtps::{Left, Rtps};
use crate::sync::lock;

/// How many bytes may be under way to a subscriber that keeps all and to its user: it holds no more than a few times that.
pub(crate) const MOST_UNDER_WAY: usize = 64 << 20;

/// A message and its number.
type Numbered = (u64, Frame);

/// One subscriber that gets its messages by a channel.
pub(super) struct SampleLink {
    writer: EntityId,
    reader: Guid,
    /// Of its node, if that is in both graphs.
    origin: Option<u64>,
    /// By which the driver is told when the channel takes more.
    token: Token,
    channel: Channel,
    tally: Tally,
    bound: QueueBound,
    /// What waits. Of the first, `sent` bytes are sent.
    queue: VecDeque<Numbered>,
    sent: usize,
    bytes: usize,
    /// The number of the first message that came by the channel, and of the next.
    first: u64,
    next: u64,
    /// Where its last message ends in the session, once that was asked for.
    end: Option<u64>,
    room: Room,
    /// If messages are not worth delivering after a while.
    life: Option<Life>,
}

/// How much a subscriber takes until it tells of more room.
#[derive(Default)]
struct Room {
    /// How many messages it has room for at a time; 0 for any number.
    window: u64,
    /// The first that has to wait.
    limit: u64,
    /// Bytes of those that it is not known to be done with, and the numbers and bytes of each.
    bytes: usize,
    under_way: VecDeque<(u64, usize)>,
}

impl Room {
    fn new(window: u64, next: u64) -> Self {
        Self { window, limit: next.saturating_add(window), ..Self::default() }
    }

    /// Whether the message of this number may be sent.
    fn has(&self, number: u64) -> bool {
        self.window == 0 || number < self.limit && self.bytes < MOST_UNDER_WAY
    }

    /// It was sent.
    fn take(&mut self, number: u64, bytes: usize) {
        if self.window > 0 {
            self.bytes += bytes;
            self.under_way.push_back((number, bytes));
        }
    }

    /// There is room for all before `end`: all that are a window before that are done with. The greatest number is no bound.
    fn extend(&mut self, end: u64) {
        if end == u64::MAX {
            return *self = Self::default();
        }
        self.limit = end.max(self.limit);
        let due = end.saturating_sub(self.window);
        while let Some((_, bytes)) = self.under_way.pop_front_if(|(number, _)| *number < due) {
            self.bytes -= bytes;
        }
    }
}

impl SampleLink {
    /// Sends a message at once if nothing waits, and otherwise lets it wait; how many were dropped for it.
    fn offer(&mut self, number: u64, frame: &Frame) -> u64 {
        self.flush();
        self.next = number.saturating_add(1);
        self.end = None;
        if let Some(life) = &mut self.life {
            life.begin(number, clock::monotonic(), self.queue.len());
        }
        let sent = if self.queue.is_empty() && self.room.has(number) {
            self.channel.sender.send_sample((self.channel.number, number), frame, 0, &mut self.tally)
        } else {
            0
        };
        if sent < frame.as_ref().len() {
            return self.wait_in_line(number, frame, sent);
        }
        self.room.take(number, sent);
        0
    }

    fn wait_in_line(&mut self, number: u64, frame: &Frame, sent: usize) -> u64 {
        // A subscriber that does not take its messages is not to take the slots of others with them.
        let copies = self.queue.len() >= WAITING_SLOTS && matches!(frame, Frame::Slot(_));
        self.tally.copied += u64::from(copies);
        let frame = if copies { frame.to_own() } else { frame.clone() };
        if self.queue.is_empty() {
            self.sent = sent;
        }
        let (length, mut dropped) = (frame.as_ref().len(), 0);
        while self.is_full(length) {
            let oldest = self.queue.remove(self.begun());
            self.bytes -= oldest.map_or(0, |(_, frame)| frame.as_ref().len());
            dropped += 1;
        }
        self.bytes += length;
        self.queue.push_back((number, frame));
        if self.room.has(number) {
            self.channel.sender.wait(self.token, &self.tally);
        }
        dropped
    }

    /// Messages at the front of which a part is sent: they are not dropped.
    fn begun(&self) -> usize {
        usize::from(self.sent > 0)
    }

    /// Whether one more message of so many bytes would push out another.
    fn is_full(&self, bytes: usize) -> bool {
        let waiting = self.queue.len().saturating_sub(self.begun());
        waiting > 0 && (waiting >= self.bound.messages || self.bytes + bytes > self.bound.bytes)
    }

    /// Drops what waits and is not worth delivering any more.
    fn expire(&mut self) {
        let begun = self.begun();
        let Some(life) = &mut self.life else { return };
        let first = life.pass(clock::monotonic());
        while self.queue.get(begun).is_some_and(|(number, _)| *number < first) {
            let out = self.queue.remove(begun);
            self.bytes -= out.map_or(0, |(_, frame)| frame.as_ref().len());
        }
    }

    /// Sends what waits, as far as it is taken.
    fn flush(&mut self) {
        self.expire();
        let Self { queue, channel: Channel { sender, number: channel }, tally, room, .. } = self;
        while let Some((number, frame)) = queue.front().filter(|(number, _)| room.has(*number)) {
            let length = frame.as_ref().len();
            self.sent += sender.send_sample((*channel, *number), frame, self.sent, tally);
            if self.sent < length {
                return sender.wait(self.token, tally);
            }
            room.take(*number, length);
            (self.sent, self.bytes) = (0, self.bytes - length);
            queue.pop_front();
        }
    }

    /// True if the subscriber's process has read all: what it leaves in the ring when it parts from a writer is lost.
    fn has_arrived(&mut self) -> bool {
        let sender = &self.channel.sender;
        self.queue.is_empty() && sender.is_read(*self.end.get_or_insert_with(|| sender.written()))
    }

    /// What did not get to the subscriber, of which its channel still had `unread`; and the number from which on it has
    /// nothing.
    fn left(mut self, unread: Vec<Numbered>) -> (u64, Vec<Left>) {
        let mut left: Vec<Numbered> = Vec::new();
        // Of what a falsified position gives, what makes no sense is left out.
        for (number, frame) in unread.into_iter().filter(|(_, frame)| is_whole(frame.as_ref())) {
            let after = left.last().map_or(self.first, |(last, _)| last + 1);
            if (after..self.next).contains(&number) {
                left.push((number, frame));
            }
        }
        let after = left.last().map_or(self.first, |(last, _)| last + 1);
        let waiting = self.queue.into_iter().filter(|(number, _)| *number >= after);
        left.extend(waiting.map(|(number, frame)| (number, frame.to_own())));
        let from = left.first().map_or(self.next, |(number, _)| *number);
        let first = self.life.as_mut().map_or(0, |life| life.pass(clock::monotonic()));
        let worth = left.into_iter().filter(|(number, _)| *number >= first);
        let written = |number| self.life.as_ref().and_then(|life| life.written(number));
        (from, worth.map(|(number, frame)| (number, written(number), frame)).collect())
    }
}

/// True if a frame has as many bytes as the length before it says.
fn is_whole(frame: &[u8]) -> bool {
    let told = frame.first_chunk::<LENGTH>().map(|length| u32::from_le_bytes(*length) as usize);
    told.is_some_and(|length| frame.len() - LENGTH == length)
}

impl Publication {
    /// A subscriber is of this host: what it gets goes over to a session, where the pair is known by `token`, as many as
    /// `window` until it has more room unless that is 0. False if that cannot be now. One that asks again has begun anew.
    pub(crate) fn go_over_samples(
        &self,
        (writer, reader): (EntityId, Guid),
        (key, window): (Token, u64),
        sender: &Arc<Sender>,
        token: u128,
    ) -> bool {
        let state = &mut *lock(&self.state);
        let Some(rtps) = state.rtps_of(writer) else { return true };
        if state.reserved.iter_mut().any(|reserved| !sender.give(reserved.segments())) {
            return false;
        }
        state.end_sample_link((writer, reader), Vec::new());
        let Some(next) = rtps.suspend(writer, reader) else { return true };
        let number = sender.open_samples(token, next);
        match number {
            None => rtps.resume((writer, reader), next, Vec::new()),
            Some(number) => state.sample_links.push(SampleLink {
                writer,
                reader,
                origin: state.origin_of(writer, reader),
                token: key,
                channel: Channel { sender: Arc::clone(sender), number },
                tally: Tally::default(),
                bound: state.options.bound,
                queue: VecDeque::new(),
                sent: 0,
                bytes: 0,
                first: next,
                next,
                end: None,
                room: Room::new(window, next),
                life: state.lifespan_of(writer).map(Life::new),
            }),
        }
        self.count_sample_channels(state);
        number.is_some()
    }

    /// The session is over: a subscriber that had gone over to it gets its messages by the network again. `unread` has what
    /// it did not read of its channel.
    pub(crate) fn fall_back_samples(
        &self,
        pair: (EntityId, Guid),
        sender: &Arc<Sender>,
        unread: &mut Unread,
    ) {
        let state = &mut *lock(&self.state);
        let is_of = |link: &&SampleLink| {
            (link.writer, link.reader) == pair && Arc::ptr_eq(&link.channel.sender, sender)
        };
        let Some(channel) = state.sample_links.iter().find(is_of).map(|link| link.channel.number) else {
            return;
        };
        state.end_sample_link(pair, unread.samples.remove(&channel).unwrap_or_default());
        self.count_sample_channels(state);
    }

    /// A subscriber gets nothing more by its session, if it did.
    pub(crate) fn leave_samples(&self, pair: (EntityId, Guid)) {
        let state = &mut *lock(&self.state);
        state.end_sample_link(pair, Vec::new());
        self.count_sample_channels(state);
    }

    /// The channel of a subscriber takes more.
    pub(crate) fn samples_writable(&self, pair: (EntityId, Guid)) {
        let mut state = lock(&self.state);
        let mut links = state.sample_links.iter_mut();
        if let Some(link) = links.find(|link| (link.writer, link.reader) == pair) {
            link.flush();
        }
    }

    /// A subscriber has room for all before this number.
    pub(crate) fn has_room_until(&self, pair: (EntityId, Guid), end: u64) {
        let mut state = lock(&self.state);
        let mut links = state.sample_links.iter_mut();
        if let Some(link) = links.find(|link| (link.writer, link.reader) == pair) {
            link.room.extend(end);
            link.flush();
        }
    }

    pub(super) fn count_sample_channels(&self, state: &State) {
        self.sample_channels.store(state.sample_links.len(), Ordering::Relaxed);
    }

    /// Hands a message, in its form of ROS 2, to the subscribers that get it by a session. Those that RTPS has lost may have one
    /// for a moment yet, while their link of ROS 1 carries on already.
    pub(super) fn send_beside(&self, state: &mut State, writer: EntityId, offer: &Offer, frame: &Frame) {
        let Some(rtps) = state.rtps_of(writer) else { return };
        let Some(number) = rtps.last_number(writer) else { return };
        debug_assert!(is_whole(frame.as_ref()), "the length of a frame stands before it");
        let lendable = self.lendable_copy(state, frame);
        let frame = lendable.as_ref().unwrap_or(frame);
        let State { sample_links, links, datagram_links, .. } = state;
        let of_ros1 =
            links.iter().map(|link| link.origin).chain(datagram_links.iter().map(|link| link.origin));
        let is_carried =
            |origin: Option<u64>| of_ros1.clone().any(|of| of == origin) && !offer.reaches(origin);
        // A message that the writer refused has no number, which is then that of the one before.
        let is_due = |link: &&mut SampleLink| {
            link.writer == writer
                && link.next <= number
                && !(link.origin.is_some() && is_carried(link.origin))
        };
        let dropped = sample_links.iter_mut().filter(is_due).map(|link| link.offer(number, frame)).sum();
        self.count_dropped(dropped);
    }

    /// A long message where the processes of subscribers can read it.
    fn lendable_copy(&self, state: &State, frame: &Frame) -> Option<Frame> {
        let Frame::Own(bytes) = frame else { return None };
        if bytes.len() < SHORTEST {
            return None;
        }
        state.sample_links.iter().for_each(|link| link.channel.sender.take_back_slots());
        let mut slot = self.pool.take(bytes.len())?;
        slot.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Frame::Slot(slot.freeze(bytes.len())))
    }
}

impl State {
    fn rtps_of(&self, writer: EntityId) -> Option<Arc<Rtps>> {
        let mut writers = self.offers.iter().filter_map(|offer| offer.writer());
        writers.find(|own| own.id == writer).map(|own| Arc::clone(&own.rtps))
    }

    /// How long messages of a writer are worth delivering, if not for ever.
    fn lifespan_of(&self, writer: EntityId) -> Option<Duration> {
        self.offers.iter().find(|offer| offer.writer_id() == Some(writer))?.qos.lifespan
    }

    /// True if somebody gets messages of this writer by a session.
    pub(super) fn has_beside(&self, writer: EntityId) -> bool {
        self.sample_links.iter().any(|link| link.writer == writer)
    }

    /// What a subscriber had by a session it gets by the network again, if it had.
    fn end_sample_link(&mut self, pair: (EntityId, Guid), unread: Vec<Numbered>) {
        let index = self.sample_links.iter().position(|link| (link.writer, link.reader) == pair);
        let Some(link) = index.map(|index| self.sample_links.swap_remove(index)) else { return };
        let (from, left) = link.left(unread);
        if let Some(rtps) = self.rtps_of(pair.0) {
            rtps.resume(pair, from, left);
        }
    }

    /// The subscriber by a session for which one more message of a writer may push out another: how long it is, nobody knows
    /// yet.
    pub(super) fn full_beside(&mut self, writer: EntityId) -> Option<String> {
        self.sample_links.iter_mut().for_each(SampleLink::flush);
        let is_full = |link: &&SampleLink| link.is_full(link.bound.bytes / 2);
        let full = self.sample_links.iter().filter(|link| link.writer == writer).filter(is_full);
        full.max_by_key(|link| link.queue.len()).map(|link| link.reader.to_string())
    }

    /// True if all that a writer wrote is with the processes of those that get it by sessions.
    pub(super) fn has_arrived_beside(&mut self, writer: EntityId) -> bool {
        let mut links = self.sample_links.iter_mut().filter(|link| link.writer == writer);
        links.all(SampleLink::has_arrived)
    }

    /// The subscribers that have yet to read messages from their sessions. What is in a ring counts as one.
    pub(super) fn unarrived_beside(&mut self) -> Vec<Unarrived> {
        let links = self.sample_links.iter_mut().filter_map(|link| (!link.has_arrived()).then_some(link));
        links
            .map(|link| Unarrived {
                subscriber: link.reader.to_string(),
                messages: link.queue.len().max(1) as u64,
            })
            .collect()
    }

    pub(super) fn copied_beside(&self) -> u64 {
        self.sample_links.iter().map(|link| link.tally.copied).sum()
    }

    pub(super) fn set_bound_beside(&mut self, bound: QueueBound) {
        self.sample_links.iter_mut().for_each(|link| link.bound = bound);
    }

    /// Whether all that get messages by sessions have mapped all that is reserved.
    pub(super) fn is_reserved_beside(&mut self) -> bool {
        let Self { sample_links, reserved, .. } = self;
        let gives = |reserved: &mut crate::ipc::Reservation| {
            sample_links.iter().all(|link| link.channel.sender.give(reserved.segments()))
        };
        reserved.iter_mut().all(gives)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscriber_that_keeps_all_is_sent_a_window_of_messages_until_it_tells_of_more_room() {
        let mut room = Room::new(10, 5);
        (5..15).for_each(|number| {
            assert!(room.has(number), "{number}");
            room.take(number, 100);
        });
        assert!(!room.has(15));
        room.extend(17);
        assert_eq!((room.has(16), room.has(17), room.bytes), (true, false, 800));
        room.extend(12);
        assert!(room.has(16), "what was told before still holds");
        room.extend(u64::MAX);
        room.take(17, 100);
        assert_eq!((room.has(u64::MAX), room.bytes, room.under_way.len()), (true, 0, 0));
    }

    #[test]
    fn a_subscriber_that_keeps_all_is_sent_no_more_bytes_than_it_holds_by_far() {
        let mut room = Room::new(1000, 1);
        (1..=4).for_each(|number| room.take(number, MOST_UNDER_WAY / 4));
        assert!(!room.has(5));
        room.extend(1003);
        assert!(room.has(5), "it is done with two");
        room.take(5, MOST_UNDER_WAY);
        assert!(!room.has(6));
        room.extend(1006);
        assert!(room.has(6) && room.bytes == 0);
    }

    #[test]
    fn a_subscriber_that_keeps_the_last_is_sent_all_there_are() {
        let mut room = Room::new(0, 1);
        room.take(1, 2 * MOST_UNDER_WAY);
        assert!(room.has(u64::MAX) && room.under_way.is_empty());
    }
}
