//! Held replies of a service: bounded for each participant of clients, and altogether. The participant that holds the
//! most gives way, so that one cannot displace the replies to others.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_rtps::wire::{Guid, GuidPrefix};

use super::replies::Addressee;
use crate::frame::Frame;

/// Limits of a number of replies and of their bytes. A single reply may be longer.
#[derive(Clone, Copy)]
struct Limits {
    replies: usize,
    bytes: usize,
}

/// Replies are short if they are many: those to 10 000 goals of an action, sent at once.
const OF_SERVICE: Limits = Limits { replies: 20_000, bytes: 64 << 20 };
const OF_PARTICIPANT: Limits = Limits { replies: 10_000, bytes: 16 << 20 };

/// How long a reply waits for its client to take it, or another one.
const HOLD: Duration = Duration::from_secs(10);

/// How often a reply is tried after that time. Acknowledgements are received between two attempts: on a busy machine, those
/// that arrive in time may be read late.
const LAST_ATTEMPTS: u8 = 50;

/// A reply that waits for its reader.
pub(super) struct Held {
    pub(super) to: Addressee,
    pub(super) frame: Frame,
    since: Instant,
}

/// See the module's documentation.
#[derive(Default)]
pub(super) struct HeldReplies {
    /// By the client's writer of requests. No queue is empty.
    clients: BTreeMap<Guid, ClientQueue>,
    all: Usage,
    of_participants: BTreeMap<GuidPrefix, Usage>,
}

/// The replies that wait for one client.
struct ClientQueue {
    /// In the order in which they were given.
    replies: VecDeque<Held>,
    /// When the client last took a reply.
    last_taken: Instant,
    /// Attempts that are left once the oldest reply has waited for its time.
    attempts: u8,
}

#[derive(Clone, Copy, Default)]
struct Usage {
    replies: usize,
    bytes: usize,
}

impl Usage {
    fn exceeds(self, limits: Limits) -> bool {
        self.replies > limits.replies || self.replies > 1 && self.bytes > limits.bytes
    }

    fn add(&mut self, reply: &Held) {
        self.replies += 1;
        self.bytes += reply.len();
    }

    fn remove(&mut self, reply: &Held) {
        self.replies -= 1;
        self.bytes -= reply.len();
    }
}

impl Held {
    pub(super) fn new(to: Addressee, frame: Frame, now: Instant) -> Self {
        Self { to, frame, since: now }
    }

    /// The same reply for another reader.
    fn redirected(&self, to: Addressee) -> Self {
        Self { to, frame: self.frame.clone(), since: self.since }
    }

    fn len(&self) -> usize {
        self.frame.as_ref().len()
    }

    fn participant(&self) -> GuidPrefix {
        self.to.client.prefix
    }
}

impl Default for ClientQueue {
    fn default() -> Self {
        Self { replies: VecDeque::new(), last_taken: Instant(0), attempts: LAST_ATTEMPTS }
    }
}

impl ClientQueue {
    fn note_taken(&mut self, now: Instant) {
        self.last_taken = now;
        self.attempts = LAST_ATTEMPTS;
    }

    fn is_expired(&self, reply: &Held, now: Instant) -> bool {
        reply.since.max(self.last_taken) + HOLD <= now
    }

    /// Takes the replies that have waited too long, after an attempt to send the first one.
    fn take_expired(&mut self, now: Instant) -> Vec<Held> {
        let expired = self.replies.iter().take_while(|reply| self.is_expired(reply, now)).count();
        if expired == 0 {
            return Vec::new();
        }
        self.attempts = self.attempts.saturating_sub(1);
        if self.attempts > 0 { Vec::new() } else { self.replies.drain(..expired).collect() }
    }
}

impl HeldReplies {
    pub(super) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Adds a new reply. Returns those that it displaces, and whether it is the only one.
    pub(super) fn hold_new(&mut self, reply: Held) -> (Vec<Held>, bool) {
        let is_first = self.is_empty();
        (self.hold(reply), is_first)
    }

    /// Adds a reply. Returns those that it displaces.
    fn hold(&mut self, reply: Held) -> Vec<Held> {
        let participant = reply.participant();
        self.add(reply);
        let mut displaced = Vec::new();
        while self.of_participants.get(&participant).is_some_and(|usage| usage.exceeds(OF_PARTICIPANT)) {
            displaced.extend(self.remove_oldest_of(participant));
        }
        while self.all.exceeds(OF_SERVICE)
            && let Some(largest) = self.largest_holder()
        {
            displaced.extend(self.remove_oldest_of(largest));
        }
        displaced
    }

    /// Takes all replies.
    pub(super) fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Puts replies back that were taken. Those that were held meanwhile are later ones. Returns those that are displaced.
    pub(super) fn put_back(&mut self, earlier: Self) -> Vec<Held> {
        let later = std::mem::replace(self, earlier);
        later.into_replies().flat_map(|reply| self.hold(reply)).collect()
    }

    fn into_replies(self) -> impl Iterator<Item = Held> {
        self.clients.into_values().flat_map(|client| client.replies)
    }

    /// Sends replies to each client until it takes no more. `try_send` returns where a reply was not sent. Returns the
    /// replies that have waited too long.
    pub(super) fn retry(
        &mut self,
        now: Instant,
        mut try_send: impl FnMut(&Held) -> Vec<Addressee>,
    ) -> Vec<Held> {
        let (mut clients, mut expired) = (std::mem::take(&mut self.clients), Vec::new());
        clients.retain(|_, client| {
            self.send_to(client, now, &mut try_send);
            let expired_now = client.take_expired(now);
            expired_now.iter().for_each(|reply| self.uncount(reply));
            expired.extend(expired_now);
            !client.replies.is_empty()
        });
        self.clients = clients;
        expired
    }

    fn send_to(
        &mut self,
        client: &mut ClientQueue,
        now: Instant,
        try_send: &mut impl FnMut(&Held) -> Vec<Addressee>,
    ) {
        while let Some(reply) = client.replies.pop_front() {
            let left = try_send(&reply);
            self.uncount(&reply);
            if left.is_empty() {
                client.note_taken(now);
                continue;
            }
            for to in left.into_iter().rev() {
                let reply = reply.redirected(to);
                self.count(&reply);
                client.replies.push_front(reply);
            }
            return;
        }
    }

    fn add(&mut self, reply: Held) {
        self.count(&reply);
        self.clients.entry(reply.to.client).or_default().replies.push_back(reply);
    }

    fn count(&mut self, reply: &Held) {
        self.all.add(reply);
        self.of_participants.entry(reply.participant()).or_default().add(reply);
    }

    fn uncount(&mut self, reply: &Held) {
        self.all.remove(reply);
        let participant = reply.participant();
        if let Some(usage) = self.of_participants.get_mut(&participant) {
            usage.remove(reply);
            if usage.replies == 0 {
                self.of_participants.remove(&participant);
            }
        }
    }

    fn remove_oldest_of(&mut self, participant: GuidPrefix) -> Option<Held> {
        let clients = self.clients.iter_mut().filter(|(client, _)| client.prefix == participant);
        let since = |queue: &ClientQueue| queue.replies.front().map(|reply| reply.since);
        let (client, queue) = clients.min_by_key(|(_, queue)| since(queue))?;
        let (client, reply) = (*client, queue.replies.pop_front()?);
        if queue.replies.is_empty() {
            self.clients.remove(&client);
        }
        self.uncount(&reply);
        Some(reply)
    }

    fn largest_holder(&self) -> Option<GuidPrefix> {
        let by_bytes = self.all.replies <= OF_SERVICE.replies;
        let size = |usage: &Usage| if by_bytes { usage.bytes } else { usage.replies };
        self.of_participants.iter().max_by_key(|(_, usage)| size(usage)).map(|(participant, _)| *participant)
    }
}

#[cfg(test)]
mod tests;
