//! What comes by sessions: records are taken from their rings and given to the links that they are of.

use runnel_io::Token;

use super::{Entry, LOOKS, Network, Sessions};
use crate::driver::effect::Deadline;
use crate::driver::sockets::{Called, Socket};
use crate::driver::table::Key;
use crate::driver::{Driver, SCRATCH};
use crate::ipc::{Heard, RING, SessionFault};
use crate::log_output::console;

/// Records taken from one session before others get their turn.
const BATCH: usize = 256;

/// Words of records after which others get their turn, too: no more than one read of a connection.
const BATCH_WORDS: u64 = (SCRATCH / 8) as u64;

/// Links that may come by one session.
pub(super) const MOST_CHANNELS: usize = 1 << 16;

impl Sessions {
    /// Whether a record of a session is taken now; if not, the network is to be read first.
    fn takes_before_network(&mut self, session: Key, heard: &Heard) -> bool {
        if !matches!(heard, Heard::OpenSamples { .. }) {
            return true;
        }
        let is_behind = self.is_behind_network(session, heard);
        let Some(open) = self.open.get_mut(session) else { return true };
        let is_taken = !is_behind || open.network == Network::Read;
        open.network = if is_taken { Network::NotBefore } else { Network::Unread };
        is_taken
    }
}

impl Driver {
    /// Looks at the rings again and again, until there is something, or `enough` says so, or the reactor is to be looked at
    /// as well.
    pub(crate) fn look_out(&self, enough: impl Fn() -> bool) {
        let has_record =
            |session: &Key| self.sessions.open.get(*session).is_some_and(|open| open.receiver.has_record());
        for _ in 0..LOOKS {
            if self.sessions.standing.is_empty() || self.sessions.standing.iter().any(has_record) || enough()
            {
                break;
            }
        }
    }

    /// Looks at the rings of all sessions; true if there was anything.
    pub(in crate::driver) fn look_at_sessions(&mut self) -> bool {
        let mut heard = false;
        if self.sessions.late_since.take().is_some() {
            heard |= self.read_owed();
            for session in self.sessions.standing.clone() {
                heard |= self.catch_up(session);
            }
            if self.sessions.late_since.is_none() {
                self.effects.cancel(Deadline::LateLinks);
            }
        }
        for index in 0..self.sessions.standing.len() {
            let Some(session) = self.sessions.standing.get(index).copied() else { break };
            let waits = |session: &super::Session| session.receiver.has_record();
            if self.sessions.open.get(session).is_some_and(waits) {
                heard |= self.hear(session);
            }
        }
        heard
    }

    /// The socket of a session has a packet, or its end.
    pub(in crate::driver) fn session_readable(&mut self, session: Key) {
        let Some(open) = self.sessions.open.get_mut(session) else { return };
        match open.receiver.packet() {
            Ok(mapped) => {
                if mapped {
                    open.sender.ring();
                }
                self.bell_rang(session);
            }
            Err(why) => self.end_session(session, why),
        }
    }

    /// The doorbell of a session has rung: there are records, or there is room.
    pub(in crate::driver) fn bell_rang(&mut self, session: Key) {
        if self.sessions.ending.contains(&session) {
            return self.sessions.end_if_read(session, &mut self.effects);
        }
        self.hear(session);
        for Token(bits) in self.sessions.go_on_with_room(session, &mut self.effects) {
            self.writable(Key::from_bits(bits));
        }
    }

    /// Takes records of a session, and reads the network before those that it comes before; true if there were any.
    pub(super) fn hear(&mut self, session: Key) -> bool {
        let mut heard = self.hear_batch(session);
        if let Some(open) = self.sessions.open.get(session)
            && open.network == Network::Unread
            && open.ending.is_none()
            // Its rest is not taken, and reading RTPS would end it, from where it may be heard here.
            && !open.receiver.peer_has_gone_on()
        {
            // If not all was read, what it comes before stays in its ring.
            if !self.hear_rtps() {
                return heard;
            }
            if let Some(open) = self.sessions.open.get_mut(session) {
                open.network = Network::Read;
            }
            heard |= self.hear_batch(session);
        }
        heard
    }

    fn hear_batch(&mut self, session: Key) -> bool {
        let Some(open) = self.sessions.open.get_mut(session) else { return false };
        if open.ending.is_some() || open.receiver.peer_has_gone_on() {
            return false;
        }
        let mut heard = false;
        let begun = open.receiver.position();
        let batch = if open.receiver.copies() { 1 } else { BATCH };
        for _ in 0..batch {
            match self.hear_one(session) {
                Ok(true) => heard = true,
                Ok(false) => break,
                Err(why) => {
                    self.end_session(session, Some(why));
                    return true;
                }
            }
            let words = self.sessions.open.get(session).map(|open| open.receiver.position() - begun);
            if words.is_none_or(|words| words >= BATCH_WORDS) {
                break;
            }
        }
        if heard
            && let Some(open) = self.sessions.open.get_mut(session)
            && open.receiver.tell()
        {
            open.sender.ring();
        }
        heard
    }

    /// Takes one record; false if there is none.
    fn hear_one(&mut self, session: Key) -> Result<bool, SessionFault> {
        let Some(open) = self.sessions.open.get_mut(session) else { return Ok(false) };
        let Some(record) = open.receiver.peek()? else { return Ok(false) };
        let link = open.link_of(record.channel);
        if record.is_sample()
            && let Some(key) = link
            && let Some(Socket::Input(input)) = self.sockets.get_mut(key)
            && let Some(pair) = &mut input.pair
            && pair.delivers_to_all()
            && pair.memory.accepts_in_order(open.receiver.number(&record)?)
        {
            let length = record.len as usize - size_of::<u64>();
            let copy = |into: &mut Vec<u8>| open.receiver.copy_sample(&record, into);
            input.topic.push_filled(length, &input.from, copy);
            open.receiver.pass(&record);
            return Ok(true);
        }
        if record.is_sample()
            && let Some(key) = link
            && let Some(Entry::SampleInput(input)) = self.sessions.entries.get_mut(key)
            && input.accepts_in_order(open.receiver.number(&record)?)
        {
            let length = record.len as usize - size_of::<u64>();
            let copy = |into: &mut Vec<u8>| open.receiver.copy_sample(&record, into);
            input.topic.push_filled(length, &input.from, copy);
            input.note_given();
            open.receiver.pass(&record);
            return Ok(true);
        }
        let heard = open.receiver.hear(&record)?;
        if !self.sessions.takes_before_network(session, &heard) {
            return Ok(false);
        }
        let Some(open) = self.sessions.open.get_mut(session) else { return Ok(false) };
        open.receiver.pass(&record);
        self.take_record(session, record.channel, heard)?;
        Ok(true)
    }

    /// Does what a record says.
    pub(super) fn take_record(
        &mut self,
        session: Key,
        channel: u32,
        heard: Heard,
    ) -> Result<(), SessionFault> {
        let link = self.sessions.open.get(session).and_then(|open| open.link_of(channel));
        match heard {
            Heard::Stream(bytes) => match link {
                Some(link) if self.memory_input(link).is_some() => {
                    let heard = self.hear_more_of_sample(link, &bytes);
                    self.judge(link, heard)?;
                }
                Some(link) => self.hear_piece(link, &bytes),
                None => self.sessions.let_wait(session, channel, bytes, &mut self.effects),
            },
            Heard::Ask { token } => self.sessions.go_over(session, token, &mut self.effects),
            Heard::Open { token, before } => self.opened(session, channel, token, before)?,
            Heard::AskSamples { token, waits_for_user } => {
                self.sessions.asked_for_samples(session, token, waits_for_user, &mut self.effects);
            }
            Heard::Reached { token, reached } => self.receiver_reached(session, token, &reached)?,
            Heard::OpenSamples { token, first_unacknowledged, begin } => {
                self.opened_samples(session, channel, token, (first_unacknowledged, &begin))?;
            }
            Heard::Skip(skip) => {
                if let Some(link) = link {
                    let heard = self.hear_skip(link, &skip);
                    self.judge(link, heard)?;
                }
            }
            // The channel of a pair that is gone carries nothing.
            Heard::Sample { number, piece } => {
                if let Some(link) = link {
                    let heard = self.hear_sample(link, number, piece);
                    self.judge(link, heard)?;
                }
            }
            Heard::SampleBegin { number, len, bytes } => {
                if let Some(link) = link {
                    let heard = self.hear_sample_begin(link, (number, len), &bytes);
                    self.judge(link, heard)?;
                }
            }
            Heard::Close => self.closed(session, channel),
            Heard::Nothing => {}
        }
        Ok(())
    }

    /// Takes a piece of the stream of a service's link.
    pub(super) fn hear_piece(&mut self, link: Key, bytes: &[u8]) {
        match self.sockets.get(link) {
            Some(Socket::Served(_)) => self.sockets.requests(link, bytes, &mut self.effects),
            Some(Socket::Called(_)) => self.sockets.responses(link, bytes, &mut self.effects),
            // It is gone, which the peer is about to learn.
            _ => self.orphan_piece(link, None, bytes),
        }
    }

    /// A link comes by a channel from here on, once its connection has given the bytes `before` that.
    fn opened(&mut self, session: Key, channel: u32, token: u128, before: u64) -> Result<(), SessionFault> {
        if channel as usize >= MOST_CHANNELS {
            return Err(SessionFault::ChannelBeyondLimit(channel));
        }
        self.closed(session, channel);
        let Some(open) = self.sessions.open.get(session) else { return Ok(()) };
        // A link that is gone meanwhile is no error; one of another process is not for this one to take, and one to a
        // subscriber goes on, on which nothing comes.
        let theirs =
            |key: &Key| self.sessions.peer_of(*key).is_some_and(|meeting| meeting.process == open.process);
        let comes = |key: &Key| theirs(key) && self.sockets.received(*key).is_some();
        if let Some(link) = self.sessions.links.get(&token).copied().filter(comes) {
            self.sessions.wait_for_connection(session, link, (channel, before), &mut self.effects);
            self.catch_up(session);
        }
        Ok(())
    }

    /// A channel carries its link from now on, which has given all that went before.
    pub(super) fn carries(&mut self, session: Key, channel: u32, link: Key) {
        let Some(open) = self.sessions.open.get_mut(session) else { return };
        let channel = channel as usize;
        if open.channels.len() <= channel {
            open.channels.resize(channel + 1, None);
        }
        open.channels[channel] = Some(link);
        let from = match (self.sessions.entries.get(link), self.sockets.get(link)) {
            (Some(Entry::SampleInput(input)), _) => &input.from,
            (_, Some(Socket::Input(input))) => &input.from,
            (_, Some(Socket::Called(Called { meeting: Some(meeting), .. }))) => {
                // The service has gone over, and so do we.
                return self.sessions.go_over(session, meeting.token, &mut self.effects);
            }
            _ => return,
        };
        from.stats.set_by_memory(true);
        console::debug!("publisher [{}]: its messages come by shared memory", from.publisher);
    }

    /// A channel carries nothing more.
    pub(super) fn closed(&mut self, session: Key, channel: u32) {
        let Some(open) = self.sessions.open.get_mut(session) else { return };
        let carried = open.channels.get_mut(channel as usize).and_then(Option::take);
        open.late.close(channel);
        carried.into_iter().for_each(|key| self.stops_coming(key));
    }

    /// Takes what a link's session still has for it: the link is about to end, or others are to be heard after it.
    pub(in crate::driver) fn hear_the_rest(&mut self, key: Key) {
        if let Some(session) = self.sessions.session_of(key) {
            self.hear_all(session);
            self.catch_up(session);
        }
    }

    /// Takes what a session has: no more than its ring holds, since the peer may go on.
    pub(super) fn hear_all(&mut self, session: Key) {
        let position = |driver: &Self| Some(driver.sessions.open.get(session)?.receiver.position());
        let Some(begun) = position(self) else { return };
        while position(self).is_some_and(|at| at - begun < RING as u64) && self.hear(session) {}
    }
}
