//! Requests of a service's clients in ROS 2: how many of each participant are unanswered, which ones were received
//! before, and which clients are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_rtps::wire::{Guid, GuidPrefix};

use super::answered_requests::AnsweredRequests;
use super::occurrences::Occurrences;
use super::requester::RequestKey;
use crate::frame::Frame;

/// Limit of the unanswered requests of a participant.
pub(super) const MOST_PER_PARTICIPANT: usize = 250;

/// Limit of clients that are known to be gone.
const MOST_GONE: usize = 1000;

/// How long a client may be unmatched before its requests are given up: it may have been lost for a moment only.
pub(crate) const ABSENCE: Duration = Duration::from_secs(10);

/// See the module's documentation.
#[derive(Default)]
pub(super) struct ClientRequests {
    unanswered: BTreeMap<GuidPrefix, usize>,
    /// Requests without a reply, of clients that may send one again after the server was lost to them for a while.
    waiting: BTreeSet<RequestKey>,
    answered: AnsweredRequests,
    /// Clients that are no longer matched, each by its writer of requests, and since when.
    gone: BTreeMap<Guid, Instant>,
    /// Requests that were refused.
    pub(super) refused: Occurrences,
    /// Replies that were dropped.
    pub(super) dropped: Occurrences,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    Yes,
    /// The client has sent it again.
    Repeated,
    /// Its participant has too many unanswered ones.
    No,
}

impl ClientRequests {
    /// Counts a request. `key` identifies one that its client may send again.
    pub(super) fn admit(&mut self, client: Guid, key: Option<RequestKey>) -> Admitted {
        if key.is_some_and(|key| self.waiting.contains(&key) || self.answered.reply_to(key).is_some()) {
            return Admitted::Repeated;
        }
        let count = self.unanswered.entry(client.prefix).or_default();
        if *count >= MOST_PER_PARTICIPANT {
            return Admitted::No;
        }
        *count += 1;
        self.waiting.extend(key);
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

    /// A request is answered. If its client may send it again, the reply is kept for a while.
    pub(super) fn note_answered(&mut self, key: RequestKey, reply: &Frame) {
        if self.waiting.remove(&key) {
            self.answered.keep(key, reply.clone());
        }
    }

    /// The reply to a request that was answered, if it is kept.
    pub(super) fn reply_to(&self, key: RequestKey) -> Option<Frame> {
        self.answered.reply_to(key).cloned()
    }

    /// A request gets no reply: if the client sends it again, it is a new one.
    pub(super) fn forget(&mut self, key: RequestKey) {
        self.waiting.remove(&key);
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
}

#[cfg(test)]
mod tests {
    use runnel_core::wire::Encoding;
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
    fn request_that_is_sent_again_gets_the_kept_reply() {
        let mut requests = ClientRequests::default();
        let key = ([1; 16], 5);
        let admit = |requests: &mut ClientRequests| requests.admit(client(1, 1), Some(key));
        let reply = |byte| Frame::new(Encoding::Xcdr1, vec![byte]);
        let kept = |requests: &ClientRequests| requests.reply_to(key).map(|reply| reply.as_ref().to_vec());
        assert_eq!(admit(&mut requests), Admitted::Yes);
        assert_eq!(
            (admit(&mut requests), kept(&requests)),
            (Admitted::Repeated, None),
            "it has no reply yet"
        );
        requests.note_answered(key, &reply(7));
        requests.note_answered(key, &reply(8));
        assert_eq!((admit(&mut requests), kept(&requests)), (Admitted::Repeated, Some(vec![7])));
    }

    #[test]
    fn request_without_reply_is_new_when_sent_again() {
        let mut requests = ClientRequests::default();
        let key = ([1; 16], 5);
        assert_eq!(requests.admit(client(1, 1), Some(key)), Admitted::Yes);
        requests.forget(key);
        assert_eq!(requests.admit(client(1, 1), Some(key)), Admitted::Yes);
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
    fn refusals_and_dropped_replies_are_logged_apart() {
        let mut requests = ClientRequests::default();
        let refused: Vec<u64> = (0..9).filter_map(|_| requests.refused.note()).collect();
        assert_eq!(refused, [1, 2, 4, 8]);
        let dropped: Vec<u64> = (0..3).filter_map(|_| requests.dropped.note()).collect();
        assert_eq!(dropped, [1, 2]);
        assert_eq!((9..1000).filter_map(|_| requests.refused.note()).last(), Some(512));
    }
}
