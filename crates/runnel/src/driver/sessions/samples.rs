//! Pairs of the ROS 2 graph that come by sessions. They have no connection whose bytes could be counted: their samples have
//! numbers, by which the participant puts in order what comes by the network and what comes here, until all that went by the
//! network is there. From then on samples go to their subscription at once.

use std::sync::Arc;

use runnel_core::local_peer::LocalPeerId;
use runnel_ros1::tcpros::{FrameReader, MAX_MESSAGE};
use runnel_rtps::wire::{EntityId, Guid};

use super::Session;
use super::hearing::MOST_CHANNELS;
use crate::data::{LinkInfo, MOST_UNDER_WAY, Publication, TopicInput};
use crate::driver::Driver;
use crate::driver::socket::Socket;
use crate::driver::table::Key;
use crate::frame::LENGTH;
use crate::ipc::{Piece, SessionFault};
use crate::rtps::{Brought, Progress, Rtps};

/// What asks that are not understood yet are remembered: the other process may know of a pair before this one.
const MOST_EARLY: usize = 4096;

/// How many samples may be under way to a reader that keeps all and for its user, or to a reliable one that waits for
/// repairs by the network: so many are held for it, and no more.
const WINDOW: u64 = 1000;

/// The window of a reader that need not hold anything any more.
const UNBOUNDED: u64 = u64::MAX;

/// A writer of another process that a reader of ours has met.
pub(in crate::driver) struct SampleInput {
    pub(in crate::driver) topic: Arc<TopicInput>,
    pub(in crate::driver) from: Arc<LinkInfo>,
    pub(in crate::driver) rtps: Arc<Rtps>,
    pub(in crate::driver) reader: EntityId,
    pub(in crate::driver) writer: Guid,
    pub(in crate::driver) meeting: LocalPeerId,
    /// It keeps all: the writer waits for its user.
    keeps_all: bool,
    reliable: bool,
    channel: Option<Channel>,
}

/// What a pair comes by.
struct Channel {
    /// The number of the next sample.
    next: u64,
    /// All before it went to the subscription.
    level: bool,
    /// Somebody waits for signs of life, or for samples by a deadline.
    watched: bool,
    /// The first sample that the writer holds back until it hears of more room, and bytes that the user got since it did.
    end: u64,
    given: usize,
    /// A sample that comes in pieces, and its number.
    pieces: FrameReader,
    begun: u64,
}

/// A reader of another process that a writer of ours has met.
pub(in crate::driver) struct SampleOutput {
    pub(in crate::driver) publication: Arc<Publication>,
    pub(in crate::driver) writer: EntityId,
    pub(in crate::driver) reader: Guid,
    pub(in crate::driver) meeting: LocalPeerId,
    /// How many samples the reader has room for at first; 0 for any number.
    pub(in crate::driver) window: u64,
}

impl SampleInput {
    pub(in crate::driver) fn new(
        (topic, from): (Arc<TopicInput>, Arc<LinkInfo>),
        rtps: Arc<Rtps>,
        (reader, writer): (EntityId, Guid),
        meeting: LocalPeerId,
    ) -> Self {
        let Progress { keeps_all, reliable, .. } = rtps.progress((reader, writer));
        Self { topic, from, rtps, reader, writer, meeting, keeps_all, reliable, channel: None }
    }

    /// How many samples it has room for at first; 0 for any number.
    pub(super) fn window(&self) -> u64 {
        if self.reliable { WINDOW } else { 0 }
    }

    /// Whether its samples come by the session.
    pub(in crate::driver) fn has_channel(&self) -> bool {
        self.channel.is_some()
    }

    fn pair(&self) -> (EntityId, Guid) {
        (self.reader, self.writer)
    }

    /// Whether the sample of this number goes to the subscription at once.
    #[inline]
    pub(super) fn takes_at_once(&self, number: u64) -> bool {
        self.channel.as_ref().is_some_and(|channel| {
            channel.level && channel.next == number && channel.pieces.is_between_pieces()
        })
    }

    /// It went there.
    #[inline]
    pub(super) fn took(&mut self) {
        let Some(channel) = &mut self.channel else { return };
        channel.next += 1;
        if channel.watched {
            self.rtps.sample_passed(self.pair());
        }
    }
}

impl SampleOutput {
    pub(in crate::driver) fn pair(&self) -> (EntityId, Guid) {
        (self.writer, self.reader)
    }
}

impl Session {
    /// The other process asks for a pair that this one does not know yet, or knew.
    fn asked_early(&mut self, token: u128, window: u64) {
        if self.early.len() >= MOST_EARLY {
            self.early.pop_front();
        }
        self.early.push_back((token, window));
    }

    /// Whether it has asked for this, and with which window.
    fn take_early(&mut self, token: u128) -> Option<u64> {
        let index = self.early.iter().position(|(early, _)| *early == token)?;
        self.early.remove(index).map(|(_, window)| window)
    }
}

impl Driver {
    /// The other process asks to have a pair by the session.
    pub(super) fn asked_for_samples(&mut self, session: Key, token: u128, window: u64) {
        let key = self.sessions.links.get(&token).copied();
        let Some(Socket::SampleOutput(output)) = key.and_then(|key| self.sockets.get_mut(key)) else {
            let open = self.sessions.open.get_mut(session);
            return open.into_iter().for_each(|open| open.asked_early(token, window));
        };
        output.window = window;
        self.go_over(session, token);
    }

    /// It may have asked before this one knew of the pair.
    pub(super) fn go_over_if_asked(&mut self, session: Key, token: u128) {
        let asked = self.sessions.open.get_mut(session).and_then(|open| open.take_early(token));
        asked.into_iter().for_each(|window| self.asked_for_samples(session, token, window));
    }

    /// A reader of another process has room for all samples before this one.
    pub(super) fn has_room_until(&mut self, session: Key, token: u128, end: u64) {
        let process = self.sessions.open.get(session).map(|open| open.process);
        let key = self.sessions.links.get(&token).copied();
        if let Some(Socket::SampleOutput(output)) = key.and_then(|key| self.sockets.get(key))
            && process == Some(output.meeting.process)
        {
            output.publication.has_room_until(output.pair(), end);
        }
    }

    /// The user of a pair has got a sample of so many bytes, by whichever way.
    pub(in crate::driver) fn sample_given(&mut self, key: Key, bytes: usize) {
        if let Some(Socket::SampleInput(SampleInput { channel: Some(channel), .. })) =
            self.sockets.get_mut(key)
        {
            channel.given = channel.given.saturating_add(bytes);
            self.tell_room(key);
        }
    }

    /// Tells the writer of a pair how much room there is, if it may wait for that. Any number of samples has room, once all
    /// that went by the network has come to a reader that keeps the last.
    pub(in crate::driver) fn tell_room(&mut self, key: Key) {
        let Some(Socket::SampleInput(input)) = self.sockets.get(key) else { return };
        let is_bounded = |channel: &&Channel| input.reliable && channel.end < UNBOUNDED;
        let Some(channel) = input.channel.as_ref().filter(is_bounded) else { return };
        let due = input.rtps.progress(input.pair()).due;
        let is_done = !input.keeps_all && due >= channel.next;
        let end = if is_done { UNBOUNDED } else { due.saturating_add(WINDOW) };
        let much = end >= channel.end.saturating_add(WINDOW / 2) || channel.given >= MOST_UNDER_WAY / 4;
        if !much || end <= channel.end {
            return;
        }
        let LocalPeerId { process, token } = input.meeting;
        let session = self.sessions.session_with(process, &self.sockets);
        let Some(open) = session.and_then(|session| self.sessions.open.get_mut(session)) else { return };
        if !open.sender.tell_room(token, end) {
            return if !open.untold.contains(&key) {
                open.untold.push(key)
            };
        }
        if let Some(Socket::SampleInput(SampleInput { channel: Some(channel), .. })) =
            self.sockets.get_mut(key)
        {
            (channel.end, channel.given) = (end, 0);
        }
    }

    /// A pair comes by a channel from here on, where the sample of the number `next` is the first.
    pub(super) fn opened_samples(
        &mut self,
        session: Key,
        channel: u32,
        token: u128,
        next: u64,
    ) -> Result<(), SessionFault> {
        if channel as usize >= MOST_CHANNELS || next == 0 || next > i64::MAX as u64 {
            return Err(SessionFault::SampleChannel { channel, next });
        }
        self.closed(session, channel);
        let Some(process) = self.sessions.open.get(session).map(|open| open.process) else { return Ok(()) };
        let Some(key) = self.sessions.links.get(&token).copied() else { return Ok(()) };
        let Some(Socket::SampleInput(input)) = self.sockets.get(key) else { return Ok(()) };
        if input.meeting.process != process {
            return Ok(());
        }
        if input.channel.is_some() {
            self.forget_channel_of(session, key);
            self.stops_coming(key);
        }
        self.carries(session, channel, key);
        self.hear_network_first(key, next);
        if let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) {
            let progress = input.rtps.progress(input.pair());
            let level = progress.due == next && !input.keeps_all && !input.from.follows_ros1();
            let watched = progress.watched;
            let (pieces, end) = (FrameReader::new(MAX_MESSAGE), next.saturating_add(WINDOW));
            input.channel = Some(Channel { next, level, watched, end, given: 0, pieces, begun: 0 });
            input.from.stats.set_by_memory(true);
        }
        self.tell_room_once_repaired(key);
        Ok(())
    }

    /// Tells the writer of a pair of room now, or as soon as what went by the network has come.
    fn tell_room_once_repaired(&mut self, key: Key) {
        self.tell_room(key);
        if self.awaits_repairs(key) {
            self.sessions.unrepaired.push(key);
        }
    }

    fn awaits_repairs(&self, key: Key) -> bool {
        let Some(Socket::SampleInput(input)) = self.sockets.get(key) else { return false };
        let is_bounded = input.channel.as_ref().is_some_and(|channel| channel.end < UNBOUNDED);
        input.reliable && !input.keeps_all && is_bounded
    }

    /// The network has brought something: perhaps what samples in shared memory waited for.
    pub(in crate::driver) fn repaired(&mut self) {
        for key in std::mem::take(&mut self.sessions.unrepaired) {
            self.tell_room_once_repaired(key);
        }
    }

    /// What was sent before by the network of this host lies in our sockets.
    fn hear_network_first(&mut self, key: Key, next: u64) {
        let Some(Socket::SampleInput(input)) = self.sockets.get(key) else { return };
        if input.rtps.progress(input.pair()).due < next {
            self.hear_rtps();
        }
    }

    fn forget_channel_of(&mut self, session: Key, key: Key) {
        let channels = self.sessions.open.get_mut(session).into_iter().flat_map(|open| &mut open.channels);
        channels.filter(|link| **link == Some(key)).for_each(|link| *link = None);
    }

    /// A sample has come, or its beginning.
    pub(super) fn hear_sample(&mut self, key: Key, number: u64, piece: Piece) -> Result<(), SessionFault> {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else {
            self.misbehaved(key, "a sample of ROS 2 came by the channel of a link of ROS 1");
            return Ok(());
        };
        let Some(channel) = &mut input.channel else { return Ok(()) };
        if !channel.pieces.is_between_pieces() {
            return Err(SessionFault::SampleWithinSample);
        }
        if number < channel.next || number > i64::MAX as u64 {
            return Err(SessionFault::SampleOutOfOrder { number, next: channel.next });
        }
        match piece {
            Piece::Bytes(bytes) => {
                channel.begun = number;
                self.hear_more_of_sample(key, &bytes)?;
            }
            Piece::Message(message) => self.sample_is_whole(key, number, Piece::Message(message)),
            Piece::Lent(lent) => self.sample_is_whole(key, number, Piece::Lent(lent.skip(LENGTH))),
        }
        Ok(())
    }

    /// Whether a part of a sample of a pair was read.
    pub(super) fn is_within_sample(&self, key: Key) -> bool {
        let Some(Socket::SampleInput(input)) = self.sockets.get(key) else { return false };
        input.channel.as_ref().is_some_and(|channel| !channel.pieces.is_between_pieces())
    }

    /// More of a sample that comes in pieces.
    pub(super) fn hear_more_of_sample(&mut self, key: Key, mut bytes: &[u8]) -> Result<(), SessionFault> {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return Ok(()) };
        let Some(channel) = &mut input.channel else { return Ok(()) };
        let whole = channel.pieces.take(&mut bytes, || input.topic.spare());
        let (whole, number) = (whole.map_err(SessionFault::SampleLength)?, channel.begun);
        if !bytes.is_empty() {
            return Err(SessionFault::SampleTooLong);
        }
        whole.into_iter().for_each(|whole| self.sample_is_whole(key, number, Piece::Message(whole)));
        Ok(())
    }

    fn sample_is_whole(&mut self, key: Key, number: u64, message: Piece) {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return };
        let pair = input.pair();
        let Some(channel) = &mut input.channel else { return };
        let expected = std::mem::replace(&mut channel.next, number + 1);
        if !channel.level {
            let mut brought = Brought::default();
            let progress = input.rtps.take_in(pair, (expected, number), message.bytes(), &mut brought);
            channel.level = progress.due == number + 1 && !input.keeps_all;
            channel.watched = progress.watched;
            // Before the first one of a publisher in both graphs comes what that sent by ROS 1.
            self.give_brought(brought, &[]);
            return self.tell_room(key);
        }
        if number > expected {
            input.topic.lose(number - expected, &input.from);
        }
        match message {
            Piece::Lent(lent) => input.topic.push_lent(lent, &input.from),
            Piece::Message(bytes) | Piece::Bytes(bytes) => input.topic.push(bytes, &input.from),
        }
        if channel.watched {
            input.rtps.sample_passed(pair);
        }
    }

    /// Nothing more comes by a pair's channel: what is next comes by the network.
    pub(in crate::driver) fn stops_coming(&mut self, key: Key) {
        let Some(Socket::SampleInput(input)) = self.sockets.get_mut(key) else { return };
        let Some(channel) = input.channel.take() else { return };
        input.from.stats.set_by_memory(false);
        if channel.level {
            let mut brought = Brought::default();
            input.rtps.pass_over(input.pair(), channel.next, &mut brought);
            self.give_brought(brought, &[]);
        }
    }

    /// The same for all pairs that came by a session.
    pub(super) fn samples_stop_coming(&mut self, session: Key) {
        let channels = self.sessions.open.get(session).map(|open| open.channels.clone());
        channels.into_iter().flatten().flatten().for_each(|key| self.stops_coming(key));
    }
}
