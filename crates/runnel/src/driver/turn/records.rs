//! Records of sessions: the loop hands on what is for others than the sessions.

use runnel_delivery::Statement;
use runnel_io::Token;

use crate::driver::Driver;
use crate::driver::sessions::{Batch, MOST_CHANNELS, Taken};
use crate::driver::table::{Key, Owner};
use crate::ipc::{Carried, Heard, RING, SessionFault};

/// What becomes of a record that the network is to be read before, if the end of a pair is to be done before that.
#[derive(Clone, Copy)]
enum NetworkUnread {
    /// It stays in its ring, with what is behind it.
    Waits,
    /// It is taken. What comes by the channel that it opens waits for the network.
    GoesOn,
}

impl Driver {
    /// Looks at the rings of all sessions; true if there was anything.
    pub(in crate::driver) fn poll_sessions(&mut self) -> bool {
        let mut any = self.sessions.late_since.take().is_some() && self.read_late();
        for index in 0..self.sessions.standing.len() {
            let Some(session) = self.sessions.standing.get(index).copied() else { break };
            if self.sessions.has_record(session) {
                any |= self.take_records(session, NetworkUnread::Waits);
            }
        }
        any
    }

    /// The socket of a session has a packet, or its end.
    pub(in crate::driver) fn session_readable(&mut self, session: Key) {
        match self.sessions.take_packet(session) {
            Some(Ok(())) => self.bell_rang(session),
            Some(Err(why)) => self.end_session(session, why),
            None => {}
        }
    }

    /// The doorbell of a session has rung: there are records, or there is room.
    pub(in crate::driver) fn bell_rang(&mut self, session: Key) {
        if self.sessions.is_ending(session) {
            return self.sessions.end_if_read(session, &mut self.effects);
        }
        self.take_records(session, NetworkUnread::Waits);
        for Token(bits) in self.sessions.go_on_with_room(session, &mut self.effects) {
            self.writable(Key::from_bits(bits));
        }
    }

    /// Takes records of a session, and reads the network before those that it comes before; true if there were any.
    fn take_records(&mut self, session: Key, if_unread: NetworkUnread) -> bool {
        let mut batch = Batch::default();
        loop {
            let Self { sessions, sockets, .. } = self;
            let of_link = |link, receiver: &mut _, record: &_| sockets.take_in_order(link, receiver, record);
            let taken = match sessions.take_records(session, &mut batch, of_link) {
                Ok(Taken::All) => return batch.has_any(),
                Ok(Taken::Record { channel, heard }) => self.take_record(session, channel, heard),
                Ok(Taken::NetworkFirst) if !batch.begin_behind_network() => return batch.has_any(),
                Ok(Taken::NetworkFirst) => {
                    if !self.receive_rtps() {
                        match if_unread {
                            NetworkUnread::Waits => return batch.has_any(),
                            NetworkUnread::GoesOn => self.sessions.is_network_unread = true,
                        }
                    }
                    Ok(())
                }
                Err(why) => Err(why),
            };
            if let Err(why) = taken {
                self.end_session(session, Some(why));
                return true;
            }
        }
    }

    /// Does what a record says.
    fn take_record(&mut self, session: Key, channel: u32, heard: Heard) -> Result<(), SessionFault> {
        match heard {
            Heard::Carried(carried) => match (self.sessions.link_of(session, channel), carried) {
                (Some(link), carried) => return self.carried(link, carried),
                (None, Carried::Stream(bytes)) => {
                    self.sessions.let_wait(session, channel, bytes, &mut self.effects);
                }
                // The channel of a pair that is gone carries nothing.
                (None, _) => {}
            },
            Heard::Ask { token } => self.sessions.go_over(session, token, &mut self.effects),
            Heard::Open { token, before } => self.open_stream(session, channel, (token, before))?,
            Heard::AskSamples { token, waits_for_user } => {
                self.sessions.asked_for_samples(session, token, waits_for_user, &mut self.effects);
            }
            Heard::Reached { token, reached } => self.receiver_reached(session, token, &reached)?,
            Heard::OpenSamples { token, first_unacknowledged, begin } => {
                self.open_samples(session, (channel, token), (first_unacknowledged, &begin))?;
            }
            Heard::Close => self.close_channel(session, channel),
            Heard::Nothing => {}
        }
        Ok(())
    }

    /// A channel has brought something for what it carries.
    pub(super) fn carried(&mut self, link: Key, carried: Carried) -> Result<(), SessionFault> {
        let Self { sessions, sockets, ros2, effects, .. } = self;
        match link.owner() {
            Owner::Sockets => sockets.carried(link, carried, effects),
            Owner::Sessions if !sessions.is_pair(link) => {
                if let Some((next, late)) = sessions.carried_by_orphan(link, carried)? {
                    sockets.add_late(next, late);
                }
            }
            Owner::Sessions => {
                sessions.carried(link, carried, |reader| ros2.has_room(reader))?;
                self.deliver_pair(link);
            }
        }
        Ok(())
    }

    /// The end of a link or a pair that receives tells how far it is.
    fn receiver_reached(
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
            Owner::Sessions => return self.sessions.reader_reached(link, (epoch, next)),
            Owner::Sockets => self.sockets.subscriber_reached(link, (epoch, next), &mut self.effects),
        }
        Ok(())
    }

    /// A link of a service comes by a channel from here on, once its connection has given the bytes `before` that.
    fn open_stream(
        &mut self,
        session: Key,
        channel: u32,
        (token, before): (u128, u64),
    ) -> Result<(), SessionFault> {
        if channel as usize >= MOST_CHANNELS {
            return Err(SessionFault::ChannelBeyondLimit(channel));
        }
        self.close_channel(session, channel);
        // A link that is gone meanwhile is no error; one of another process is not for this one to take, and one to a
        // subscriber goes on, on which nothing comes.
        if let Some(link) = self.sessions.link_with(session, token)
            && self.sockets.received(link).is_some()
        {
            self.sessions.wait_for_connection(session, link, (channel, before), &mut self.effects);
            self.catch_up(session);
        }
        Ok(())
    }

    /// A link or a pair comes by a channel from here on, as a Begin says. RTPS has brought all before `first_unacknowledged`.
    fn open_samples(
        &mut self,
        session: Key,
        (channel, token): (u32, u128),
        (first_unacknowledged, begin): (u64, &Statement),
    ) -> Result<(), SessionFault> {
        let Statement::Begin { id, from, .. } = *begin else {
            return Err(SessionFault::UnexpectedStatement);
        };
        let is_possible = (1..=from).contains(&first_unacknowledged) && id.stream == token as u64;
        if channel as usize >= MOST_CHANNELS || !is_possible {
            return Err(SessionFault::SampleChannel { channel, first: from });
        }
        self.close_channel(session, channel);
        let Some(link) = self.sessions.link_with(session, token) else { return Ok(()) };
        let Some(memory) = self.memory_input(link) else { return Ok(()) };
        if memory.has_channel() {
            self.sessions.forget_channel_of(session, link);
            self.channel_closed(link);
        }
        self.sessions.set_channel(session, channel, link);
        match link.owner() {
            Owner::Sockets if self.sockets.begin_channel(link, begin, &mut self.effects) => {
                self.sessions.owe(link);
                self.read_owed();
            }
            Owner::Sockets => {}
            Owner::Sessions => {
                let begun = self.sessions.begin_channel(link, first_unacknowledged, begin);
                self.note_receiver(link);
                begun?;
                self.deliver_pair(link);
            }
        }
        Ok(())
    }

    /// A channel carries nothing more.
    fn close_channel(&mut self, session: Key, channel: u32) {
        if let Some(link) = self.sessions.close_channel(session, channel) {
            self.channel_closed(link);
        }
    }

    /// Nothing more comes by the channel of a link or a pair: the network carries on.
    pub(super) fn channel_closed(&mut self, link: Key) {
        match link.owner() {
            Owner::Sockets => self.sockets.channel_closed(link, &mut self.effects),
            Owner::Sessions if !self.sessions.is_pair(link) => self.sessions.end_orphan_of(link),
            Owner::Sessions => {
                if let Some(brought) = self.sessions.channel_closed(link) {
                    self.deliver_pair(link);
                    self.dispatch_rtps(brought, &[]);
                }
            }
        }
    }

    /// Takes what a link's session still has for it: the link is about to end, or others are to be heard after it.
    pub(in crate::driver) fn drain_session_of(&mut self, link: Key) {
        if let Some(session) = self.sessions.session_of(link) {
            self.drain_session(session);
        }
    }

    /// Takes what a session has: no more than its ring holds, since the peer may go on.
    pub(super) fn drain_session(&mut self, session: Key) {
        if let Some(begun) = self.sessions.position(session) {
            let is_within_ring = |at| at - begun < RING as u64;
            while self.sessions.position(session).is_some_and(is_within_ring)
                && self.take_records(session, NetworkUnread::GoesOn)
            {}
        }
        self.catch_up(session);
    }

    /// Tells the publisher of a link how far this end is, now or when there is room for that.
    pub(in crate::driver) fn tell_publisher(&mut self, link: Key) {
        if let Some(reached) = self.sockets.take_untold(link)
            && !self.sessions.tell_reached(link, &reached)
        {
            self.sockets.put_untold(link, reached);
        }
    }
}
