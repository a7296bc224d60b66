//! What comes by sessions: records are taken from their rings and given to the links that they are of.

use std::time::Duration;

use runnel_io::clock;
use runnel_ros1::tcpros::LENGTH;

use super::LOOKS;
use crate::driver::links::cut;
use crate::driver::socket::{Input, Socket};
use crate::driver::table::Key;
use crate::driver::{Driver, SCRATCH};
use crate::ipc::{Heard, RING, Record};

/// Records taken from one session before others get their turn.
const BATCH: usize = 256;

/// Words of records after which others get their turn, too: no more than one read of a connection.
const BATCH_WORDS: u64 = (SCRATCH / 8) as u64;

/// Links that may come by one session.
const MOST_CHANNELS: usize = 1 << 16;

/// How long a link may wait for what its connection still has: what was sent on one host has arrived.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

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
        self.sessions.behind = None;
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

    /// Takes records of a session; true if there were any.
    pub(super) fn hear(&mut self, session: Key) -> bool {
        let Some(open) = self.sessions.open.get_mut(session) else { return false };
        if open.ending.is_some()
            || open.receiver.peer_has_gone_on()
            || std::mem::replace(&mut open.hearing, true)
        {
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
        if let Some(open) = self.sessions.open.get_mut(session) {
            open.hearing = false;
            if heard && open.receiver.tell() {
                open.sender.ring();
            }
        }
        heard
    }

    /// Takes one record; false if there is none, or it has to wait.
    fn hear_one(&mut self, session: Key) -> Result<bool, String> {
        let Some(open) = self.sessions.open.get_mut(session) else { return Ok(false) };
        let Some(record) = open.receiver.peek()? else { return Ok(false) };
        let link = open.channels.get(record.channel as usize).copied().flatten();
        if let Some(Socket::Input(input)) = link.and_then(|key| self.sockets.get_mut(key))
            && record.is_of_stream()
        {
            if record.is_message() {
                input.begins_message()?;
                let copy = |into: &mut Vec<u8>| open.receiver.copy(&record, into);
                input.topic.push_filled(record.len as usize, &input.from, copy);
                open.receiver.pass(&record);
                return Ok(true);
            }
            let heard = open.receiver.hear(&record)?;
            open.receiver.pass(&record);
            return input.hear(heard).map(|()| true);
        }
        let heard = open.receiver.hear(&record)?;
        if let Heard::Open { token, before } = heard {
            return self.opened(session, &record, token, before);
        }
        open.receiver.pass(&record);
        match heard {
            Heard::Ask { token } => self.go_over(session, token),
            Heard::Close => {
                let place = open.channels.get_mut(record.channel as usize);
                place.into_iter().for_each(|place| *place = None);
            }
            Heard::Bytes(bytes) => self.hear_bytes(link, &bytes),
            _ => {}
        }
        Ok(true)
    }

    fn hear_bytes(&mut self, link: Option<Key>, bytes: &[u8]) {
        let Some(key) = link else { return };
        match self.sockets.get(key) {
            Some(Socket::Served(_)) => self.requests(key, bytes),
            Some(Socket::Called(_)) => self.responses(key, bytes),
            // The link is gone, which the peer is about to learn.
            _ => {}
        }
    }

    /// The other end wants what a link of ours carries by the session: now, or once that can be.
    pub(super) fn go_over(&mut self, session: Key, token: u128) {
        let Some(key) = self.sessions.links.get(&token).copied() else { return };
        let process = self.meeting_of(key).map(|meeting| meeting.process);
        let Some(open) = self.sessions.open.get_mut(session).filter(|open| process == Some(open.process))
        else {
            return;
        };
        let gone_over = match self.sockets.get_mut(key) {
            Some(Socket::Output(output)) => output.publication.go_over(output.conn, &open.sender, token),
            Some(Socket::Served(served)) => served.client.go_over(&open.sender, token),
            Some(Socket::Called(called)) => called.way.go_over(&self.reactor, &open.sender, token),
            _ => true,
        };
        if !gone_over && !open.unopened.contains(&token) {
            open.unopened.push(token);
        }
        if matches!(self.sockets.get(key), Some(Socket::Called(_))) {
            self.flush_request(key);
        }
    }

    /// A link comes by a channel from here on, once its connection has given what went before; false until then.
    fn opened(&mut self, session: Key, record: &Record, token: u128, before: u64) -> Result<bool, String> {
        let link = self.sessions.links.get(&token).copied();
        if !self.catches_up(session, link, before)? {
            return Ok(false);
        }
        let Some(open) = self.sessions.open.get_mut(session) else { return Ok(false) };
        open.receiver.pass(record);
        open.behind = None;
        let channel = record.channel as usize;
        if channel >= MOST_CHANNELS {
            return Err(format!("it opened channel {channel}"));
        }
        if open.channels.len() <= channel {
            open.channels.resize(channel + 1, None);
        }
        let process = open.process;
        // A link that is gone meanwhile is no error; one of another process is not for this one to take.
        let theirs = |key: &Key| self.meeting_of(*key).is_some_and(|meeting| meeting.process == process);
        let link = link.filter(theirs);
        if let Some(open) = self.sessions.open.get_mut(session) {
            open.channels[channel] = link;
        }
        if let Some(Socket::Input(input)) = link.and_then(|key| self.sockets.get(key)) {
            input.from.stats.set_by_memory(true);
        }
        if let Some(Socket::Called(_)) = link.and_then(|key| self.sockets.get(key)) {
            // The service has gone over, and so do we.
            self.go_over(session, token);
        }
        Ok(true)
    }

    /// Reads what the connection of a link still has before its stream goes on here; false if it is not there yet.
    fn catches_up(&mut self, session: Key, link: Option<Key>, before: u64) -> Result<bool, String> {
        let Some(key) = link else { return Ok(true) };
        while let Some(received) = self.received(key) {
            if received > before {
                return Err("it says that less went over the network than did".into());
            }
            if received == before {
                return Ok(true);
            }
            self.readable(key);
            if self.received(key) == Some(received) {
                let Some(open) = self.sessions.open.get_mut(session) else { return Ok(false) };
                let since = *open.behind.get_or_insert_with(clock::monotonic);
                self.sessions.behind = Some(self.sessions.behind.map_or(since, |other| other.min(since)));
                let late = clock::monotonic().since(since) >= PATIENCE;
                return if late {
                    Err("it says that more went over the network than did".into())
                } else {
                    Ok(false)
                };
            }
        }
        Ok(true)
    }

    /// Bytes of a link's stream that have come over its connection.
    fn received(&self, key: Key) -> Option<u64> {
        match self.sockets.get(key)? {
            Socket::Input(input) => Some(input.received),
            Socket::Served(served) => Some(served.received),
            Socket::Called(called) => Some(called.received),
            _ => None,
        }
    }

    /// Takes what a link's session still has for it: the link is about to end.
    pub(in crate::driver) fn hear_the_rest(&mut self, key: Key) {
        let Some(meeting) = self.meeting_of(key) else { return };
        if let Some(Socket::Session(session)) =
            self.sessions.peers.get(&meeting.process).and_then(|key| self.sockets.get(*key))
        {
            let session = *session;
            self.hear_all(session);
        }
    }

    /// Takes what a session has: no more than its ring holds, since the peer may go on.
    pub(super) fn hear_all(&mut self, session: Key) {
        for _ in 0..RING / BATCH {
            if !self.hear(session) {
                break;
            }
        }
    }
}

impl Input {
    /// A whole message comes, which cannot be within another.
    fn begins_message(&self) -> Result<(), String> {
        match self.reader.is_between_pieces() {
            true => Ok(()),
            false => Err("it put a message into the middle of another".into()),
        }
    }

    /// Takes what comes by a session.
    fn hear(&mut self, heard: Heard) -> Result<(), String> {
        match heard {
            Heard::Lent(lent) => {
                self.begins_message()?;
                self.topic.push_lent(lent.skip(LENGTH), &self.from);
                Ok(())
            }
            Heard::Copied(message) => {
                self.begins_message()?;
                self.topic.push(message, &self.from);
                Ok(())
            }
            Heard::Bytes(bytes) => cut(self, &bytes).map_err(|error| error.to_string()),
            _ => Ok(()),
        }
    }
}
