//! The records of a channel that brings messages, of a pair or of a link of ROS 1.
//! [`delivery`](super::delivery) puts in order what RTPS and the channel bring, and [`link_delivery`](super::link_delivery) what a
//! connection of ROS 1 and the channel bring.

use runnel_delivery::Statement;
use runnel_ros1::tcpros::{FrameReader, MAX_MESSAGE};

use super::Entry;
use super::hearing::MOST_CHANNELS;
use super::pairs::{Channel, MemoryInput};
use crate::driver::Driver;
use crate::driver::sockets::Socket;
use crate::driver::table::{Key, Owner};
use crate::ipc::{Piece, SessionFault};

impl Driver {
    /// The end of a link that receives tells how far it is.
    pub(super) fn receiver_reached(
        &mut self,
        session: Key,
        token: u128,
        reached: &Statement,
    ) -> Result<(), SessionFault> {
        let Statement::Reached { epoch, next, .. } = *reached else {
            return Err(SessionFault::UnexpectedStatement);
        };
        let Some(link) = self.sessions.link_with(session, token) else { return Ok(()) };
        match link.owner() {
            Owner::Sessions => self.sessions.reader_reached(link, (epoch, next)),
            Owner::Sockets => {
                self.sockets.subscriber_reached(link, (epoch, next), &mut self.effects);
                Ok(())
            }
        }
    }

    /// What a link to a publisher, or a pair, has to do with memory.
    pub(super) fn memory_input(&mut self, key: Key) -> Option<&mut MemoryInput> {
        if let Owner::Sockets = key.owner() {
            return self.sockets.memory_input(key);
        }
        match self.sessions.entries.get_mut(key)? {
            Entry::SampleInput(input) => Some(&mut input.memory),
            _ => None,
        }
    }

    /// Judges what came of a record of a pair: a link that makes no sense ends, and no other with it, since who holds its
    /// connection can have it make none.
    pub(super) fn judge(&mut self, link: Key, heard: Result<(), SessionFault>) -> Result<(), SessionFault> {
        match heard {
            Err(why) if link.owner() == Owner::Sockets => {
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
        let is_of_peer = self.sessions.peer_of(key).is_some_and(|peer| peer.process == process);
        let Some(memory) = self.memory_input(key).filter(|_| is_of_peer) else { return Ok(()) };
        if memory.has_channel() {
            self.forget_channel_of(session, key);
            self.stops_coming(key);
        }
        self.carries(session, channel, key);
        if let Some(memory) = self.memory_input(key) {
            memory.channel = Some(Channel { pieces: FrameReader::new(MAX_MESSAGE), begun: 0 });
        }
        match key.owner() {
            Owner::Sockets => {
                let begun = self.begin_link_delivery(key, begin);
                self.judge(key, begun)
            }
            Owner::Sessions => self.begin_delivery(key, first_unacknowledged, begin),
        }
    }

    fn forget_channel_of(&mut self, session: Key, key: Key) {
        let channels = self.sessions.open.get_mut(session).into_iter().flat_map(|open| &mut open.channels);
        channels.filter(|link| **link == Some(key)).for_each(|link| *link = None);
    }

    /// A sample has come.
    pub(super) fn hear_sample(&mut self, key: Key, number: u64, piece: Piece) -> Result<(), SessionFault> {
        if self.memory_input(key).is_none() && key.owner() == Owner::Sessions {
            self.orphan_sample(key, number, piece);
            return Ok(());
        }
        match self.channel_for_sample(key, number)? {
            Some(_) => self.sample_is_whole(key, number, piece),
            None => Ok(()),
        }
    }

    /// The first bytes of a sample of so many have come.
    pub(super) fn hear_sample_begin(
        &mut self,
        key: Key,
        (number, len): (u64, u64),
        bytes: &[u8],
    ) -> Result<(), SessionFault> {
        if self.memory_input(key).is_none() && key.owner() == Owner::Sessions {
            self.orphan_piece(key, Some((number, len)), bytes);
            return Ok(());
        }
        let spare = self.spare(key);
        let Some(channel) = self.channel_for_sample(key, number)? else { return Ok(()) };
        channel.begun = number;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        channel.pieces.begin_unframed(len, || spare).map_err(SessionFault::SampleLength)?;
        self.hear_more_of_sample(key, bytes)
    }

    /// A buffer for a message of a link to a publisher, or a pair.
    fn spare(&self, key: Key) -> Vec<u8> {
        match (self.sessions.entries.get(key), self.sockets.get(key)) {
            (Some(Entry::SampleInput(input)), _) => input.topic.spare(),
            (_, Some(Socket::Input(input))) => input.topic.spare(),
            _ => Vec::new(),
        }
    }

    /// What the sample of this number comes by, which may begin now.
    fn channel_for_sample(&mut self, key: Key, number: u64) -> Result<Option<&mut Channel>, SessionFault> {
        if self.memory_input(key).is_none() {
            self.misbehaved(key, "a sample came by the channel of a link that has none");
        }
        let Some(memory) = self.memory_input(key) else { return Ok(None) };
        let (Some(channel), Some(delivery)) = (&mut memory.channel, &memory.delivery) else {
            return Ok(None);
        };
        if !channel.pieces.is_between_pieces() {
            return Err(SessionFault::SampleWithinSample);
        }
        delivery.check_order(number)?;
        Ok(Some(channel))
    }

    /// Whether a part of a sample of a pair was read.
    pub(super) fn is_within_sample(&mut self, key: Key) -> bool {
        let Some(memory) = self.memory_input(key) else { return false };
        memory.has_channel() && !memory.is_between_samples()
    }

    /// More of a sample that comes in pieces.
    pub(super) fn hear_more_of_sample(&mut self, key: Key, mut bytes: &[u8]) -> Result<(), SessionFault> {
        let Some(memory) = self.memory_input(key) else { return Ok(()) };
        let Some(channel) = &mut memory.channel else { return Ok(()) };
        let (mut whole, number) = (None, channel.begun);
        if !channel.pieces.is_between_pieces() {
            whole = channel.pieces.take(&mut bytes, Vec::new).map_err(SessionFault::SampleLength)?;
        }
        if !bytes.is_empty() {
            return Err(SessionFault::SampleTooLong);
        }
        whole.map_or(Ok(()), |whole| self.sample_is_whole(key, number, Piece::Own(whole)))
    }

    /// Nothing more comes by a pair's channel: what is next comes by the network.
    pub(in crate::driver) fn stops_coming(&mut self, key: Key) {
        let Some(memory) = self.memory_input(key) else { return };
        if memory.channel.take().is_none() {
            return;
        }
        memory.untold = None;
        match (self.sessions.entries.get(key), self.sockets.get(key)) {
            (Some(Entry::SampleInput(input)), _) => {
                input.from.stats.set_by_memory(false);
                self.return_to_network(key);
            }
            (_, Some(Socket::Input(input))) => {
                input.from.stats.set_by_memory(false);
                self.return_to_connection(key);
            }
            _ => {}
        }
    }

    /// A pair leaves its session, and takes with it what that has brought.
    pub(in crate::driver) fn receive_to_the_end(&mut self, key: Key) {
        self.hear_the_rest(key);
        self.stops_coming(key);
    }

    /// Nothing more comes by the channels of a session.
    pub(super) fn samples_stop_coming(&mut self, session: Key) {
        let channels = self.sessions.open.get(session).map(|open| open.channels.clone());
        channels.into_iter().flatten().flatten().for_each(|key| self.stops_coming(key));
    }
}
