//! Held replies of a service: bounded for each participant of clients, and altogether. The participant that holds the
//! most gives way, so that one cannot displace the replies to others.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_rtps::wire::GuidPrefix;

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

/// How long a reply waits for its client's reader.
const HOLD: Duration = Duration::from_secs(10);

/// How often a reply is tried after that time. Acknowledgements are received between two attempts: on a busy machine, those
/// that arrive in time may be read late.
const LAST_ATTEMPTS: u8 = 50;

/// A reply that waits for its reader.
pub(super) struct Held {
    pub(super) to: Addressee,
    pub(super) frame: Frame,
    until: Instant,
    /// Attempts that are left after `until`.
    attempts: u8,
}

/// See the module's documentation.
#[derive(Default)]
pub(super) struct HeldReplies {
    /// In the order in which they were given.
    replies: VecDeque<Held>,
    all: Usage,
    of_participants: BTreeMap<GuidPrefix, Usage>,
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
        Self { to, frame, until: now + HOLD, attempts: LAST_ATTEMPTS }
    }

    /// The same reply for another reader.
    pub(super) fn redirected(&self, to: Addressee) -> Self {
        Self { to, frame: self.frame.clone(), ..*self }
    }

    /// Whether the reply waits on after an attempt to send it. Its time begins anew if its client has taken another one.
    pub(super) fn waits_on(&mut self, now: Instant, is_client_served: bool) -> bool {
        if is_client_served {
            (self.until, self.attempts) = (now + HOLD, LAST_ATTEMPTS);
        } else if self.until <= now {
            self.attempts = self.attempts.saturating_sub(1);
        }
        self.attempts > 0
    }

    fn len(&self) -> usize {
        self.frame.as_ref().len()
    }

    fn participant(&self) -> GuidPrefix {
        self.to.client.prefix
    }
}

impl HeldReplies {
    pub(super) fn is_empty(&self) -> bool {
        self.replies.is_empty()
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
    pub(super) fn take(&mut self) -> VecDeque<Held> {
        std::mem::take(self).replies
    }

    /// Puts replies back that were taken. Those that were held meanwhile are later ones.
    pub(super) fn put_back(&mut self, earlier: VecDeque<Held>) -> Vec<Held> {
        let later = self.take();
        earlier.into_iter().chain(later).flat_map(|reply| self.hold(reply)).collect()
    }

    fn add(&mut self, reply: Held) {
        self.all.add(&reply);
        self.of_participants.entry(reply.participant()).or_default().add(&reply);
        self.replies.push_back(reply);
    }

    fn remove_oldest_of(&mut self, participant: GuidPrefix) -> Option<Held> {
        let place = self.replies.iter().position(|reply| reply.participant() == participant)?;
        let reply = self.replies.remove(place)?;
        self.all.remove(&reply);
        if let Some(usage) = self.of_participants.get_mut(&participant) {
            usage.remove(&reply);
            if usage.replies == 0 {
                self.of_participants.remove(&participant);
            }
        }
        Some(reply)
    }

    fn largest_holder(&self) -> Option<GuidPrefix> {
        let by_bytes = self.all.replies <= OF_SERVICE.replies;
        let size = |usage: &Usage| if by_bytes { usage.bytes } else { usage.replies };
        self.of_participants.iter().max_by_key(|(_, usage)| size(usage)).map(|(participant, _)| *participant)
    }
}

#[cfg(test)]
mod tests {
    use runnel_core::wire::Encoding;
    use runnel_rtps::wire::EntityId;

    use super::*;
    use crate::data::RequestIdentity;
    use crate::rtps::CallHeader;

    fn reply(participant: u8, number: i64, len: usize) -> Held {
        let client = GuidPrefix([participant; 12]).with(EntityId::user_writer(1));
        let identity = RequestIdentity::Header(CallHeader { client: 1, number });
        let to = Addressee { client, reader: None, identity, reads_failures: false };
        Held::new(to, Frame::new(Encoding::Xcdr1, vec![0; len]), Instant(0))
    }

    fn numbers(replies: impl IntoIterator<Item = Held>) -> Vec<(u8, i64)> {
        let number = |held: Held| match held.to.identity {
            RequestIdentity::Header(header) => (held.to.client.prefix.0[0], header.number),
            RequestIdentity::InlineQos(_) => panic!("it has a header"),
        };
        replies.into_iter().map(number).collect()
    }

    #[test]
    fn participant_displaces_its_own_oldest_reply() {
        let mut held = HeldReplies::default();
        assert!(held.hold(reply(1, 0, 8)).is_empty());
        for number in 0..OF_PARTICIPANT.replies as i64 {
            assert!(held.hold(reply(2, number, 8)).is_empty());
        }
        assert_eq!(numbers(held.hold(reply(2, OF_PARTICIPANT.replies as i64, 8))), [(2, 0)]);
        assert_eq!(numbers(held.take())[..2], [(1, 0), (2, 1)]);
        assert!(held.is_empty());
    }

    #[test]
    fn only_first_reply_calls_for_the_driver() {
        let mut held = HeldReplies::default();
        let mut is_first = |number| held.hold_new(reply(1, number, 8)).1;
        assert_eq!([1, 2, 3].map(&mut is_first), [true, false, false]);
        let taken = held.take();
        assert!(held.hold_new(reply(1, 4, 8)).1, "while the driver tries the others");
        held.put_back(taken);
        assert!(!held.hold_new(reply(1, 5, 8)).1);
    }

    #[test]
    fn reply_is_tried_again_after_its_time() {
        let mut held = reply(1, 0, 8);
        let late = Instant(0) + HOLD;
        assert!((0..1000).all(|_| held.waits_on(Instant(1), false)), "within its time");
        assert_eq!(
            (0..1000).take_while(|_| held.waits_on(late, false)).count(),
            usize::from(LAST_ATTEMPTS) - 1
        );
        let mut held = reply(1, 0, 8);
        (1..LAST_ATTEMPTS).for_each(|_| assert!(held.waits_on(late, false)));
        assert!(held.waits_on(late, true), "its client takes replies");
        assert!((0..1000).all(|_| held.waits_on(late, false)));
    }

    #[test]
    fn largest_holder_gives_way_to_others() {
        let mut held = HeldReplies::default();
        for participant in 1..=5 {
            let share = OF_SERVICE.replies as i64 / 5;
            let count = if participant == 3 { share + 4 } else { share - 1 };
            (0..count).for_each(|number| assert!(held.hold(reply(participant, number, 8)).is_empty()));
        }
        assert_eq!(numbers(held.hold(reply(6, 0, 8))), [(3, 0)]);
    }

    #[test]
    fn bytes_are_bounded_but_for_one_reply() {
        let mut held = HeldReplies::default();
        assert!(held.hold(reply(1, 0, OF_SERVICE.bytes + 1)).is_empty());
        assert_eq!(numbers(held.hold(reply(2, 1, 8))), [(1, 0)]);
        assert!(held.hold(reply(2, 2, OF_PARTICIPANT.bytes - 8)).is_empty());
        assert_eq!(numbers(held.hold(reply(2, 3, 8))), [(2, 1)]);
        let later = held.take();
        assert!(held.put_back(later).is_empty());
        assert_eq!(numbers(held.take()), [(2, 2), (2, 3)]);
    }
}
