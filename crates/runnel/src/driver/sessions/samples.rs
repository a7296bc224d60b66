//! Pairs that come by sessions: what the two ends ask of each other, and the records of a pair's channel.
//! [`delivery`](super::delivery) puts in order what RTPS and the channel bring, and [`link_delivery`](super::link_delivery) what a
//! connection of ROS 1 and the channel bring.

use std::sync::Arc;

use runnel_core::local_peer::LocalPeerId;
use runnel_delivery::Statement;
use runnel_ros1::tcpros::{FrameReader, MAX_MESSAGE};
use runnel_rtps::wire::{EntityId, Guid};

use super::Session;
use super::hearing::MOST_CHANNELS;
use super::pair_delivery::PairDelivery;
use crate::data::{LinkInfo, Publication, TopicInput};
use crate::driver::Driver;
use crate::driver::sockets::Socket;
use crate::driver::table::Key;
use crate::frame::LENGTH;
use crate::ipc::{Piece, SessionFault};
use crate::rtps::Rtps;

/// What asks that are not understood yet are remembered: the other process may know of a pair before this one.
const MOST_EARLY: usize = 4096;

/// A writer of another process that a reader of ours is matched with.
pub(in crate::driver) struct SampleInput {
    pub(in crate::driver) topic: Arc<TopicInput>,
    pub(in crate::driver) from: Arc<LinkInfo>,
    pub(in crate::driver) rtps: Arc<Rtps>,
    pub(in crate::driver) reader: EntityId,
    pub(in crate::driver) writer: Guid,
    pub(in crate::driver) meeting: LocalPeerId,
    /// It keeps all: the writer waits for its user.
    waits_for_user: bool,
    pub(in crate::driver) memory: MemoryInput,
    /// Somebody waits for signs of life, or for samples by a deadline.
    pub(super) is_watched: bool,
    /// A session stands that is to be asked once the pair has settled.
    pub(super) asks_later: bool,
}

/// What the subscriber of a pair has to do with memory that another process shares.
#[derive(Default)]
pub(in crate::driver) struct MemoryInput {
    channel: Option<Channel>,
    /// From the first sample of a channel until all that came by it is with the user.
    pub(super) delivery: Option<Box<PairDelivery>>,
    /// What the publisher is still to be told.
    pub(super) untold: Option<Statement>,
}

impl MemoryInput {
    /// Whether samples come by the session.
    pub(in crate::driver) fn has_channel(&self) -> bool {
        self.channel.is_some()
    }

    fn is_between_samples(&self) -> bool {
        self.channel.as_ref().is_some_and(|channel| channel.pieces.is_between_pieces())
    }

    /// Whether the sample of this number, which the channel has brought, goes to the subscription at once.
    #[inline]
    pub(super) fn accepts_in_order(&mut self, number: u64) -> bool {
        let is_between = self.is_between_samples();
        self.delivery.as_mut().is_some_and(|delivery| is_between && delivery.accept_in_order(number))
    }
}

/// What a pair comes by.
struct Channel {
    /// A sample that comes in pieces, and its number.
    pieces: FrameReader,
    begun: u64,
}

/// A reader of another process that a writer of ours is matched with.
pub(in crate::driver) struct SampleOutput {
    pub(in crate::driver) publication: Arc<Publication>,
    pub(in crate::driver) writer: EntityId,
    pub(in crate::driver) reader: Guid,
    pub(in crate::driver) meeting: LocalPeerId,
    /// The reader's user is waited for.
    pub(in crate::driver) waits_for_user: bool,
}

impl SampleInput {
    pub(in crate::driver) fn new(
        (topic, from): (Arc<TopicInput>, Arc<LinkInfo>),
        rtps: Arc<Rtps>,
        (reader, writer): (EntityId, Guid),
        meeting: LocalPeerId,
    ) -> Self {
        Self {
            topic,
            from,
            reader,
            writer,
            meeting,
            waits_for_user: rtps.keeps_all(reader),
            rtps,
            memory: MemoryInput::default(),
            is_watched: false,
            asks_later: false,
        }
    }

    /// Whether the writer is to wait for the reader's user.
    pub(super) fn waits_for_user(&self) -> bool {
        self.waits_for_user
    }

    pub(super) fn pair(&self) -> (EntityId, Guid) {
        (self.reader, self.writer)
    }

    /// Whether the sample of this number, which the channel has brought, goes to the subscription at once.
    #[inline]
    pub(super) fn accepts_in_order(&mut self, number: u64) -> bool {
        !self.from.is_served_by_link() && self.memory.accepts_in_order(number)
    }

    /// A sample of the channel went to the subscription.
    #[inline]
    pub(super) fn note_given(&self) {
        if self.is_watched {
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
    fn asked_early(&mut self, token: u128, waits_for_user: bool) {
        self.take_early(token);
        if self.early.len() >= MOST_EARLY {
            self.early.pop_front();
        }
        self.early.push_back((token, waits_for_user));
    }

    /// Whether it has asked for this, and whether the reader's user is to be waited for.
    fn take_early(&mut self, token: u128) -> Option<bool> {
        let index = self.early.iter().position(|(early, _)| *early == token)?;
        self.early.remove(index).map(|(_, waits_for_user)| waits_for_user)
    }
}

impl Driver {
    /// The other process asks to have a pair by the session.
    pub(super) fn asked_for_samples(&mut self, session: Key, token: u128, waits_for_user: bool) {
        let key = self.sessions.links.get(&token).copied();
        let Some(Socket::SampleOutput(output)) = key.and_then(|key| self.sockets.get_mut(key)) else {
            let open = self.sessions.open.get_mut(session);
            return open.into_iter().for_each(|open| open.asked_early(token, waits_for_user));
        };
        output.waits_for_user = waits_for_user;
        self.go_over(session, token);
    }

    /// It may have asked before this one knew of the pair.
    pub(super) fn go_over_if_asked(&mut self, session: Key, token: u128) {
        let asked = self.sessions.open.get_mut(session).and_then(|open| open.take_early(token));
        asked.into_iter().for_each(|waits_for_user| self.asked_for_samples(session, token, waits_for_user));
    }

    /// A reader of another process tells how far it is.
    pub(super) fn reader_reached(
        &mut self,
        session: Key,
        token: u128,
        reached: &Statement,
    ) -> Result<(), SessionFault> {
        let Statement::Reached { epoch, next, .. } = *reached else {
            return Err(SessionFault::UnexpectedStatement);
        };
        let process = self.sessions.open.get(session).map(|open| open.process);
        let key = self.sessions.links.get(&token).copied();
        match key.and_then(|key| self.sockets.get(key)) {
            Some(Socket::SampleOutput(output)) if process == Some(output.meeting.process) => {
                output.publication.reached(output.pair(), epoch, next).map_err(SessionFault::Reached)
            }
            Some(Socket::Output(output)) if process == output.meeting.map(|peer| peer.process) => {
                // Who holds its connection can have the two ends count differently: that is no fault of the session's.
                if let (Some(key), Err(why)) =
                    (key, output.publication.reached_by_link(output.conn, epoch, next))
                {
                    self.misbehaved(key, &why.to_string());
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What a link to a publisher, or a pair, has to do with memory.
    pub(super) fn memory_input(&mut self, key: Key) -> Option<&mut MemoryInput> {
        match self.sockets.get_mut(key)? {
            Socket::SampleInput(input) => Some(&mut input.memory),
            Socket::Input(input) => Some(&mut input.pair.as_mut()?.memory),
            _ => None,
        }
    }

    /// Judges what came of a record of a pair: a link that makes no sense ends, and no other with it, since who holds its
    /// connection can have it make none.
    pub(super) fn judge(&mut self, link: Key, heard: Result<(), SessionFault>) -> Result<(), SessionFault> {
        match heard {
            Err(why) if matches!(self.sockets.get(link), Some(Socket::Input(_))) => {
                self.misbehaved(link, &why.to_string());
                Ok(())
            }
            heard => heard,
        }
    }

    /// A pair comes by a channel from here on, as a Begin says. RTPS has brought all before `first_unacknowledged`.
    pub(super) fn opened_samples(
        &mut self,
        session: Key,
        channel: u32,
        token: u128,
        (first_unacknowledged, begin): (u64, &Statement),
    ) -> Result<(), SessionFault> {
        let Statement::Begin { id, from, .. } = *begin else {
            return Err(SessionFault::UnexpectedStatement);
        };
        let is_possible = (1..=from).contains(&first_unacknowledged) && id.stream == token as u64;
        if channel as usize >= MOST_CHANNELS || !is_possible {
            return Err(SessionFault::SampleChannel { channel, first: from });
        }
        self.closed(session, channel);
        let Some(process) = self.sessions.open.get(session).map(|open| open.process) else { return Ok(()) };
        let Some(key) = self.sessions.links.get(&token).copied() else { return Ok(()) };
        let is_of_peer = self.meeting_of(key).is_some_and(|peer| peer.process == process);
        let Some(memory) = self.memory_input(key).filter(|_| is_of_peer) else { return Ok(()) };
        if memory.has_channel() {
            self.forget_channel_of(session, key);
            self.stops_coming(key);
        }
        self.carries(session, channel, key);
        if matches!(self.sockets.get(key), Some(Socket::SampleInput(_))) {
            self.receive_from_network_first(key, from);
        }
        if let Some(memory) = self.memory_input(key) {
            memory.channel = Some(Channel { pieces: FrameReader::new(MAX_MESSAGE), begun: 0 });
        }
        match self.sockets.get(key) {
            Some(Socket::Input(_)) => {
                let begun = self.begin_link_delivery(key, begin);
                self.judge(key, begun)
            }
            _ => self.begin_delivery(key, first_unacknowledged, begin),
        }
    }

    /// What was sent before by the network of this host lies in our sockets.
    fn receive_from_network_first(&mut self, key: Key, from: u64) {
        let Some(Socket::SampleInput(input)) = self.sockets.get(key) else { return };
        if input.rtps.next_due(input.pair()).is_none_or(|due| due < from) {
            self.hear_rtps();
        }
    }

    fn forget_channel_of(&mut self, session: Key, key: Key) {
        let channels = self.sessions.open.get_mut(session).into_iter().flat_map(|open| &mut open.channels);
        channels.filter(|link| **link == Some(key)).for_each(|link| *link = None);
    }

    /// A sample has come, or its beginning.
    pub(super) fn hear_sample(&mut self, key: Key, number: u64, piece: Piece) -> Result<(), SessionFault> {
        let Some(memory) = self.memory_input(key) else {
            self.misbehaved(key, "a sample came by the channel of a link that has none");
            return Ok(());
        };
        let (Some(channel), Some(delivery)) = (&mut memory.channel, &memory.delivery) else { return Ok(()) };
        if !channel.pieces.is_between_pieces() {
            return Err(SessionFault::SampleWithinSample);
        }
        delivery.check_order(number)?;
        match piece {
            Piece::Bytes(bytes) => {
                channel.begun = number;
                self.hear_more_of_sample(key, &bytes)
            }
            Piece::Message(message) => self.sample_is_whole(key, number, Piece::Message(message)),
            Piece::Lent(lent) => self.sample_is_whole(key, number, Piece::Lent(lent.skip(LENGTH))),
        }
    }

    /// Whether a part of a sample of a pair was read.
    pub(super) fn is_within_sample(&mut self, key: Key) -> bool {
        let Some(memory) = self.memory_input(key) else { return false };
        memory.has_channel() && !memory.is_between_samples()
    }

    /// More of a sample that comes in pieces.
    pub(super) fn hear_more_of_sample(&mut self, key: Key, mut bytes: &[u8]) -> Result<(), SessionFault> {
        let (memory, topic) = match self.sockets.get_mut(key) {
            Some(Socket::SampleInput(input)) => (Some(&mut input.memory), &input.topic),
            Some(Socket::Input(input)) => (input.pair.as_mut().map(|pair| &mut pair.memory), &input.topic),
            _ => return Ok(()),
        };
        let Some(channel) = memory.and_then(|memory| memory.channel.as_mut()) else { return Ok(()) };
        let whole = channel.pieces.take(&mut bytes, || topic.spare());
        let (whole, number) = (whole.map_err(SessionFault::SampleLength)?, channel.begun);
        if !bytes.is_empty() {
            return Err(SessionFault::SampleTooLong);
        }
        whole.map_or(Ok(()), |whole| self.sample_is_whole(key, number, Piece::Message(whole)))
    }

    /// Nothing more comes by a pair's channel: what is next comes by the network.
    pub(in crate::driver) fn stops_coming(&mut self, key: Key) {
        let Some(memory) = self.memory_input(key) else { return };
        if memory.channel.take().is_none() {
            return;
        }
        memory.untold = None;
        match self.sockets.get(key) {
            Some(Socket::SampleInput(input)) => {
                input.from.stats.set_by_memory(false);
                self.return_to_network(key);
            }
            Some(Socket::Input(input)) => {
                input.from.stats.set_by_memory(false);
                self.return_to_connection(key);
            }
            _ => {}
        }
    }

    /// A pair leaves its session, and takes with it what that has brought.
    pub(in crate::driver) fn receive_to_the_end(&mut self, key: Key) {
        self.hear_the_rest(key);
        if let Some(session) = self.session_of(key) {
            self.catch_up_on_samples_of(session);
        }
        self.stops_coming(key);
    }

    /// Nothing more comes by the channels of a session.
    pub(super) fn samples_stop_coming(&mut self, session: Key) {
        let channels = self.sessions.open.get(session).map(|open| open.channels.clone());
        channels.into_iter().flatten().flatten().for_each(|key| self.stops_coming(key));
    }
}
