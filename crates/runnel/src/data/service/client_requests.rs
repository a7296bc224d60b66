//! Requests of a service's clients in ROS 2: how many of each participant are unanswered, which ones are known, and
//! which clients are gone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_rtps::wire::{Guid, GuidPrefix};

use super::requester::RequestKey;

/// Limit of the unanswered requests of a participant.
pub(super) const MOST_PER_PARTICIPANT: usize = 250;

/// Limits of answered requests that are known, and of clients that are known to be gone.
const MOST_ANSWERED: usize = 1000;
const MOST_GONE: usize = 1000;

/// How long a client may be unmatched before its requests are given up: it may have been lost for a moment only.
pub(crate) const ABSENCE: Duration = Duration::from_secs(10);

/// How long RTPS keeps the unacknowledged replies of a client that is unmatched. Later, they are lost.
const REPLIES_KEPT: Duration = Duration::from_secs(5);

/// See the module's documentation.
#[derive(Default)]
pub(super) struct ClientRequests {
    unanswered: BTreeMap<GuidPrefix, usize>,
    /// Requests of clients that may send one again, after the server was lost to them for a while.
    known: BTreeSet<RequestKey>,
    answered: VecDeque<RequestKey>,
    /// Clients that are no longer matched, each by its writer of requests, and since when.
    gone: BTreeMap<Guid, Instant>,
    /// Matched participants whose replies may be evicted before they arrive.
    evicting: BTreeSet<GuidPrefix>,
    /// Requests that were refused.
    pub(super) refused: Occurrences,
    /// Replies that were dropped.
    pub(super) dropped: Occurrences,
}

/// Number of events of one kind. The log gets powers of two only.
#[derive(Default)]
pub(super) struct Occurrences(u64);

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    Yes,
    /// The client has sent it again.
    Known,
    /// Its participant has too many unanswered ones.
    No,
}

impl ClientRequests {
    /// Counts a request. `key` identifies one that its client may send again.
    pub(super) fn admit(&mut self, client: Guid, key: Option<RequestKey>) -> Admitted {
        if key.is_some_and(|key| self.known.contains(&key)) {
            return Admitted::Known;
        }
        let count = self.unanswered.entry(client.prefix).or_default();
        if *count >= MOST_PER_PARTICIPANT {
            return Admitted::No;
        }
        *count += 1;
        self.known.extend(key);
        Admitted::Yes
    }

    /// A request counts as answered.
    pub(super) fn release(&mut self, client: Guid) {
        if let Some(count) = self.unanswered.get_mut(&client.prefix) {
            *count -= 1;
            if *count == 0 {
                self.unanswered.remove(&client.prefix);
            }
        }
    }

    /// A request has its reply. It stays known for a while.
    pub(super) fn note_answered(&mut self, key: RequestKey) {
        if self.evicting.iter().any(|participant| is_of(&key, participant)) {
            self.known.remove(&key);
        }
        if !self.known.contains(&key) {
            return;
        }
        self.answered.push_back(key);
        if self.answered.len() > MOST_ANSWERED
            && let Some(oldest) = self.answered.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// A request gets no reply: if the client sends it again, it is a new one.
    pub(super) fn forget(&mut self, key: RequestKey) {
        if self.known.remove(&key) {
            self.answered.retain(|answered| *answered != key);
        }
    }

    /// A client is no longer matched.
    pub(super) fn client_gone(&mut self, client: Guid, now: Instant) {
        self.evicting.remove(&client.prefix);
        self.gone.insert(client, now);
        if self.gone.len() > MOST_GONE
            && let Some(oldest) = self.gone.iter().min_by_key(|(_, since)| **since).map(|(client, _)| *client)
        {
            self.gone.remove(&oldest);
        }
    }

    /// A client is matched. If it was gone for long, it may lack replies, and sends their requests again.
    pub(super) fn client_matched(&mut self, client: Guid, now: Instant) {
        if self.gone.remove(&client).is_some_and(|since| since + REPLIES_KEPT <= now) {
            self.forget_answered(|key| key.0 == client.to_bytes());
        }
    }

    /// A reply to this participant was evicted before it arrived, and further ones may be without notice: if the client
    /// sends their requests again, these are new ones.
    pub(super) fn note_evicted(&mut self, participant: GuidPrefix) {
        self.evicting.insert(participant);
        self.forget_answered(|key| is_of(key, &participant));
    }

    fn forget_answered(&mut self, is_forgotten: impl Fn(&RequestKey) -> bool) {
        let Self { answered, known, .. } = self;
        answered.retain(|key| {
            let is_kept = !is_forgotten(key);
            if !is_kept {
                known.remove(key);
            }
            is_kept
        });
    }

    /// The clients that have been gone for too long, which are forgotten, and when the next one will have been.
    pub(super) fn take_absent(&mut self, now: Instant) -> (BTreeSet<Guid>, Option<Instant>) {
        let absent = self.gone.extract_if(.., |_, since| *since + ABSENCE <= now).map(|(client, _)| client);
        let absent: BTreeSet<Guid> = absent.collect();
        if !absent.is_empty() {
            let ids: BTreeSet<_> = absent.iter().map(|client| client.to_bytes()).collect();
            self.forget_answered(|key| ids.contains(&key.0));
        }
        (absent, self.gone.values().min().map(|since| *since + ABSENCE))
    }
}

impl Occurrences {
    /// Counts an event. Returns their number if it is to be logged.
    pub(super) fn note(&mut self) -> Option<u64> {
        self.0 += 1;
        self.0.is_power_of_two().then_some(self.0)
    }
}

/// Whether a request is of a client of this participant.
fn is_of(key: &RequestKey, participant: &GuidPrefix) -> bool {
    key.0.starts_with(&participant.0)
}

#[cfg(test)]
mod tests {
    use runnel_rtps::wire::EntityId;

    use super::*;

    fn client(participant: u8, number: u32) -> Guid {
        GuidPrefix([participant; 12]).with(EntityId::user_writer(number))
    }

    #[test]
    fn clients_of_one_participant_share_a_limit() {
        let mut requests = ClientRequests::default();
        for number in 0..MOST_PER_PARTICIPANT as u32 {
            assert_eq!(requests.admit(client(1, number % 7), None), Admitted::Yes);
        }
        assert_eq!(requests.admit(client(1, 100), None), Admitted::No);
        assert_eq!(requests.admit(client(2, 1), None), Admitted::Yes);
        requests.release(client(1, 3));
        assert_eq!(requests.admit(client(1, 100), None), Admitted::Yes);
    }

    #[test]
    fn request_that_is_sent_again_is_known() {
        let mut requests = ClientRequests::default();
        let key = |number| Some(([1; 16], number));
        assert_eq!(requests.admit(client(1, 1), key(5)), Admitted::Yes);
        assert_eq!(requests.admit(client(1, 1), key(5)), Admitted::Known);
        requests.note_answered(([1; 16], 5));
        assert_eq!(requests.admit(client(1, 1), key(5)), Admitted::Known);
        requests.forget(([1; 16], 5));
        assert_eq!(requests.admit(client(1, 1), key(5)), Admitted::Yes);
        requests.note_answered(([1; 16], 5));
        for number in 6..7 + MOST_ANSWERED as i64 {
            requests.known.insert(([1; 16], number));
            requests.note_answered(([1; 16], number));
        }
        assert_eq!(requests.known.len(), MOST_ANSWERED);
    }

    #[test]
    fn client_is_absent_after_a_while() {
        let mut requests = ClientRequests::default();
        requests.client_gone(client(1, 1), Instant(0));
        requests.client_gone(client(2, 1), Instant(5));
        requests.client_matched(client(2, 1), Instant(6));
        let due = Instant(0) + ABSENCE;
        assert_eq!(requests.take_absent(Instant(1)), (BTreeSet::new(), Some(due)));
        assert_eq!(requests.take_absent(due), (BTreeSet::from([client(1, 1)]), None));
    }

    /// Requests 1 of these clients, which are answered.
    fn answered(clients: &[Guid]) -> ClientRequests {
        let mut requests = ClientRequests::default();
        for client in clients {
            assert_eq!(admit_again(&mut requests, *client), Admitted::Yes);
            requests.note_answered((client.to_bytes(), 1));
        }
        requests
    }

    fn admit_again(requests: &mut ClientRequests, client: Guid) -> Admitted {
        requests.admit(client, Some((client.to_bytes(), 1)))
    }

    #[test]
    fn request_whose_reply_is_lost_is_new_after_absence() {
        let (first, second) = (client(1, 1), client(1, 2));
        let mut requests = answered(&[first, second]);
        requests.client_gone(first, Instant(0));
        requests.client_matched(first, Instant(1));
        assert_eq!(admit_again(&mut requests, first), Admitted::Known, "RTPS has kept the reply");
        requests.client_gone(first, Instant(0));
        requests.client_matched(first, Instant(0) + REPLIES_KEPT);
        assert_eq!(admit_again(&mut requests, first), Admitted::Yes, "the reply is lost");
        requests.client_gone(second, Instant(0));
        requests.take_absent(Instant(0) + ABSENCE);
        assert_eq!(admit_again(&mut requests, second), Admitted::Yes);
        assert!(requests.answered.is_empty());
    }

    #[test]
    fn request_whose_reply_is_evicted_is_new() {
        let clients = [client(1, 1), client(2, 1)];
        let mut requests = answered(&clients);
        requests.note_evicted(clients[0].prefix);
        assert_eq!(
            clients.map(|client| admit_again(&mut requests, client)),
            [Admitted::Yes, Admitted::Known]
        );
        requests.note_answered((clients[0].to_bytes(), 1));
        assert_eq!(
            admit_again(&mut requests, clients[0]),
            Admitted::Yes,
            "further evictions are not reported"
        );
        requests.client_gone(clients[0], Instant(0));
        requests.note_answered((clients[0].to_bytes(), 1));
        assert_eq!(admit_again(&mut requests, clients[0]), Admitted::Known);
    }

    #[test]
    fn refusals_and_dropped_replies_are_logged_apart() {
        let mut requests = ClientRequests::default();
        let refused: Vec<u64> = (0..9).filter_map(|_| requests.refused.note()).collect();
        assert_eq!(refused, [1, 2, 4, 8]);
        let dropped: Vec<u64> = (0..3).filter_map(|_| requests.dropped.note()).collect();
        assert_eq!(dropped, [1, 2]);
        assert_eq!((9..1000).filter_map(|_| requests.refused.note()).last(), Some(512));
    }
}
