//! Requests of a service's clients in ROS 2: how many of each participant are unanswered, which ones are known, and
//! which clients are gone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_rtps::wire::{Guid, GuidPrefix};

use super::requester::RequestKey;

/// Limit of the unanswered requests of a participant.
pub(super) const MOST_PER_PARTICIPANT: usize = 250;

/// Limits of answered requests that are known, of clients that are known to be gone, and of participants that the log has
/// named.
const MOST_ANSWERED: usize = 1000;
const MOST_GONE: usize = 1000;
const MOST_NAMED: usize = 100;

/// How long a client may be unmatched before its requests are given up: it may have been lost for a moment only.
pub(crate) const ABSENCE: Duration = Duration::from_secs(10);

/// See the module's documentation.
#[derive(Default)]
pub(super) struct ClientRequests {
    unanswered: BTreeMap<GuidPrefix, usize>,
    /// Requests of clients that may send one again, after the server was lost to them for a while.
    known: BTreeSet<RequestKey>,
    answered: VecDeque<RequestKey>,
    /// Clients that are no longer matched, each by its writer of requests, and since when.
    gone: BTreeMap<Guid, Instant>,
    named: BTreeSet<GuidPrefix>,
}

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

    /// Whether a client that is no longer matched may be matched again.
    pub(super) fn may_return(&self, client: Guid) -> bool {
        self.gone.contains_key(&client)
    }

    /// A client is no longer matched.
    pub(super) fn client_gone(&mut self, client: Guid, now: Instant) {
        self.gone.insert(client, now);
        if self.gone.len() > MOST_GONE
            && let Some(oldest) = self.gone.iter().min_by_key(|(_, since)| **since).map(|(client, _)| *client)
        {
            self.gone.remove(&oldest);
        }
    }

    /// A client is matched.
    pub(super) fn client_matched(&mut self, client: Guid) {
        self.gone.remove(&client);
    }

    /// The clients that have been gone for too long, which are forgotten, and when the next one will have been.
    pub(super) fn take_absent(&mut self, now: Instant) -> (BTreeSet<Guid>, Option<Instant>) {
        let absent = self.gone.extract_if(.., |_, since| *since + ABSENCE <= now).map(|(client, _)| client);
        let absent = absent.collect();
        (absent, self.gone.values().min().map(|since| *since + ABSENCE))
    }

    /// Whether the log has not named a participant yet. It names only some.
    pub(super) fn is_to_be_named(&mut self, participant: GuidPrefix) -> bool {
        self.named.len() < MOST_NAMED && self.named.insert(participant)
    }
}

#[cfg(test)]
mod tests {
    use runnel_rtps::wire::EntityId;

    use super::*;

    fn client(participant: u8, number: u32) -> Guid {
        GuidPrefix([participant; 12]).with(EntityId::user_writer(number))
    }

    #[test]
    fn client_may_return_until_it_is_absent() {
        let mut requests = ClientRequests::default();
        requests.client_gone(client(1, 1), Instant(0));
        assert!(requests.may_return(client(1, 1)) && !requests.may_return(client(2, 1)));
        requests.take_absent(Instant(0) + ABSENCE);
        assert!(!requests.may_return(client(1, 1)));
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
        requests.client_matched(client(2, 1));
        let due = Instant(0) + ABSENCE;
        assert_eq!(requests.take_absent(Instant(1)), (BTreeSet::new(), Some(due)));
        assert_eq!(requests.take_absent(due), (BTreeSet::from([client(1, 1)]), None));
    }

    #[test]
    fn log_names_each_participant_once() {
        let mut requests = ClientRequests::default();
        assert!(requests.is_to_be_named(GuidPrefix([1; 12])));
        assert!(!requests.is_to_be_named(GuidPrefix([1; 12])));
        let others = (2..=255).filter(|byte| requests.is_to_be_named(GuidPrefix([*byte; 12])));
        assert_eq!(others.count(), MOST_NAMED - 1);
    }
}
