//! Pending calls of a client in ROS 2: which requests are due, and which call a reply answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_ros1::node::ServiceFailure;
use runnel_rtps::wire::{Guid, SampleIdentity};

use crate::data::PendingCall;
use crate::rtps::{CallHeader, Framing, failure_in, number};

/// A server that has not acknowledged a request for this long is silent: another one that is ready gets the request.
pub(super) const SILENCE: Duration = Duration::from_millis(500);

/// See the module's documentation.
pub(super) struct PendingCalls {
    /// The client's number in headers.
    id: u64,
    /// Calls without a response, by number.
    calls: BTreeMap<i64, Call>,
    last: i64,
    /// Replies that answer no call.
    unknown_replies: u64,
}

struct Call {
    /// The payload of the request; `None` if a service of this process has it.
    request: Option<Vec<u8>>,
    pending: Arc<PendingCall>,
    until: Option<Instant>,
    sent: Option<Sent>,
}

/// The server to which a request was sent, and its number there.
#[derive(Clone, Copy)]
struct Sent {
    server: Guid,
    number: u64,
    at: Instant,
    is_acknowledged: bool,
    /// The server has been unmatched since.
    is_lost: bool,
}

/// A server that is ready for requests.
#[derive(Clone, Copy)]
pub(super) struct ReadyServer {
    pub(super) server: Guid,
    /// It ignores a request that it has already received.
    pub(super) deduplicates: bool,
}

impl Sent {
    fn is_unacknowledged(&self) -> bool {
        !self.is_acknowledged && !self.is_lost
    }

    fn is_overdue(&self, now: Instant) -> bool {
        self.is_unacknowledged() && self.at + SILENCE <= now
    }
}

impl Call {
    fn is_unsent(&self) -> bool {
        self.sent.is_none_or(|sent| sent.is_lost) && self.request.is_some()
    }

    /// Whether a server is to get the request. A server that was unmatched for a while may still have it.
    fn is_due_at(&self, to: ReadyServer, silent: Option<Guid>) -> bool {
        let Some(sent) = self.sent else { return true };
        if sent.server == to.server {
            return sent.is_lost && (to.deduplicates || !sent.is_acknowledged);
        }
        sent.is_lost || silent == Some(sent.server) && !sent.is_acknowledged
    }
}

impl PendingCalls {
    pub(super) fn new(id: u64) -> Self {
        Self { id, calls: BTreeMap::new(), last: 0, unknown_replies: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether a request waits for a server.
    pub(super) fn has_unsent(&self) -> bool {
        self.calls.values().any(Call::is_unsent)
    }

    /// Adds a call; returns its number.
    pub(super) fn add(
        &mut self,
        request: Option<Vec<u8>>,
        until: Option<Instant>,
        pending: Arc<PendingCall>,
    ) -> i64 {
        self.last += 1;
        self.calls.insert(self.last, Call { request, pending, until, sent: None });
        self.last
    }

    pub(super) fn remove(&mut self, number: i64) {
        self.calls.remove(&number);
    }

    /// Sends requests that no server has to this one, by `send`, which returns the number of the message. So are those
    /// that a `silent` server has not acknowledged: it may have ended.
    pub(super) fn send_due(
        &mut self,
        (to, silent): (ReadyServer, Option<Guid>),
        now: Instant,
        send: impl Fn(&[u8], CallHeader) -> Option<u64>,
    ) -> bool {
        let mut any = false;
        for (number, call) in &mut self.calls {
            let Some(request) = &call.request else { continue };
            let header = CallHeader { client: self.id, number: *number };
            let server = to.server;
            if !call.is_due_at(to, silent) {
                // It is there again, and has the request.
                call.sent
                    .iter_mut()
                    .filter(|sent| sent.server == server)
                    .for_each(|sent| sent.is_lost = false);
            } else if let Some(number) = send(request, header) {
                any = true;
                call.sent = Some(Sent { server, number, at: now, is_acknowledged: false, is_lost: false });
            }
        }
        any
    }

    /// Records which requests have arrived: those that are not among the `unacknowledged` ones of their server. Returns the
    /// server that has not acknowledged one in time, and when the next one is overdue.
    pub(super) fn check_arrival(
        &mut self,
        now: Instant,
        unacknowledged: impl Fn(Guid) -> BTreeSet<u64>,
    ) -> (Option<Guid>, Option<Instant>) {
        let mut of_servers: BTreeMap<Guid, BTreeSet<u64>> = BTreeMap::new();
        let (mut silent, mut next) = (None, None);
        let sent = self.calls.values_mut().filter_map(|call| call.sent.as_mut());
        for sent in sent.filter(|sent| sent.is_unacknowledged()) {
            let missing = of_servers.entry(sent.server).or_insert_with(|| unacknowledged(sent.server));
            sent.is_acknowledged = !missing.contains(&sent.number);
            if sent.is_overdue(now) {
                silent = Some(sent.server);
            }
            if !sent.is_acknowledged {
                let due = (sent.at + SILENCE).max(now + SILENCE / 5);
                next = Some(next.map_or(due, |next: Instant| next.min(due)));
            }
        }
        (silent, next)
    }

    /// Requests that shared memory carried may not have arrived. Returns whether there are any.
    pub(super) fn forget_arrival(&mut self) -> bool {
        let sent = self.calls.values_mut().filter_map(|call| call.sent.as_mut());
        sent.map(|sent| sent.is_acknowledged = false).count() > 0
    }

    /// A server is no longer matched: another one, or the same one when it is matched again, gets its requests.
    pub(super) fn forget_server(&mut self, server: Guid) {
        let sent = self.calls.values_mut().filter_map(|call| call.sent.as_mut());
        sent.filter(|sent| sent.server == server).for_each(|sent| sent.is_lost = true);
    }

    /// Gives a service of this process the requests that no server has, by `give`.
    pub(super) fn give_unsent(&mut self, mut give: impl FnMut(i64, Vec<u8>, Arc<PendingCall>)) {
        for (number, call) in &mut self.calls {
            if call.is_unsent()
                && let Some(request) = call.request.take()
            {
                call.sent = None;
                give(*number, request, Arc::clone(&call.pending));
            }
        }
    }

    /// Takes a reply of this writer to a client whose endpoints are `own`. If it answers no call, because that was given
    /// up or the reply is forged, returns the number of such replies.
    pub(super) fn on_reply(
        &mut self,
        own: [Guid; 2],
        framing: Framing,
        (writer, related): (Guid, Option<SampleIdentity>),
        payload: &[u8],
    ) -> Option<u64> {
        let (call, response) = match (framing, related) {
            // Every client of a service hears the replies to all.
            (Framing::InlineQos, Some(related)) if !own.contains(&related.guid) => return None,
            (Framing::InlineQos, Some(related)) => {
                (self.call_sent_as(number(related.number)), Ok(payload.to_vec()))
            }
            (Framing::InlineQos, None) => (None, Ok(Vec::new())),
            (Framing::Header, _) => match CallHeader::split(payload) {
                Some((header, _)) if header.client != self.id => return None,
                Some((header, failure)) if header.number < 0 => {
                    (header.number.checked_neg(), Err(failure_in(&failure)))
                }
                Some((header, response)) => (Some(header.number), Ok(response)),
                None => (None, Ok(Vec::new())),
            },
        };
        // Only the server that has the request can answer it.
        let is_from_server = |sent: Sent| sent.server.prefix == writer.prefix;
        let is_expected =
            |number: &i64| self.calls.get(number).is_some_and(|call| call.sent.is_some_and(is_from_server));
        match call.filter(is_expected).and_then(|number| self.calls.remove(&number)) {
            Some(call) => {
                call.pending.complete(Ok(response));
                None
            }
            None => {
                self.unknown_replies += 1;
                Some(self.unknown_replies)
            }
        }
    }

    fn call_sent_as(&self, number: u64) -> Option<i64> {
        let is_it = |call: &Call| call.sent.is_some_and(|sent| sent.number == number);
        self.calls.iter().find(|(_, call)| is_it(call)).map(|(number, _)| *number)
    }

    /// Ends the calls whose time is over. Returns when the next one ends.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Instant> {
        let is_over = |call: &mut Call| call.until.is_some_and(|until| until <= now);
        for (_, call) in self.calls.extract_if(.., |_, call| is_over(call)) {
            let waiting_for =
                if call.is_unsent() { "a node that provides it in ROS 2" } else { "its response" };
            call.pending.complete(Err(ServiceFailure::TimedOut { waiting_for }));
        }
        self.calls.values().filter_map(|call| call.until).min()
    }
}

#[cfg(test)]
mod tests {
    use runnel_rtps::wire::{EntityId, GuidPrefix, SequenceNumber};

    use super::*;

    const CLIENT: u64 = 7;

    fn guid(participant: u8, entity: EntityId) -> Guid {
        GuidPrefix([participant; 12]).with(entity)
    }

    fn own() -> [Guid; 2] {
        [guid(1, EntityId::user_reader(1)), guid(1, EntityId::user_writer(1))]
    }

    fn server(participant: u8) -> Guid {
        guid(participant, EntityId::user_reader(1))
    }

    fn ready(participant: u8) -> ReadyServer {
        ReadyServer { server: server(participant), deduplicates: false }
    }

    /// The numbers of the requests that a server gets.
    fn numbers(calls: &mut PendingCalls, to: ReadyServer, silent: Option<Guid>) -> Vec<i64> {
        let sent = std::cell::RefCell::new(Vec::new());
        calls.send_due((to, silent), Instant(0), |_, header| {
            sent.borrow_mut().push(header.number);
            Some(header.number as u64 + 100)
        });
        sent.into_inner()
    }

    /// Calls that were sent to server 2: the first as its message 10, and so on.
    fn sent(count: usize) -> (PendingCalls, Vec<Arc<PendingCall>>) {
        let mut calls = PendingCalls::new(CLIENT);
        let pending: Vec<_> = (0..count).map(|_| PendingCall::new()).collect();
        pending.iter().for_each(|pending| _ = calls.add(Some(vec![0; 4]), None, Arc::clone(pending)));
        calls.send_due((ready(2), None), Instant(0), |_, header| Some(header.number as u64 + 9));
        (calls, pending)
    }

    fn payload(client: u64, number: i64, byte: u8) -> Vec<u8> {
        let mut payload = vec![0, 1, 0, 0, byte];
        CallHeader { client, number }.insert(&mut payload);
        payload
    }

    fn take_header(calls: &mut PendingCalls, from: u8, payload: &[u8]) -> Option<u64> {
        calls.on_reply(own(), Framing::Header, (guid(from, EntityId::user_writer(1)), None), payload)
    }

    fn take_inline(calls: &mut PendingCalls, from: u8, related: (Guid, i64)) -> Option<u64> {
        let related = SampleIdentity { guid: related.0, number: SequenceNumber(related.1) };
        let writer = guid(from, EntityId::user_writer(1));
        calls.on_reply(own(), Framing::InlineQos, (writer, Some(related)), &[0, 1, 0, 0, 9])
    }

    #[test]
    fn reply_with_header_answers_its_call_only() {
        let (mut calls, pending) = sent(2);
        assert_eq!(take_header(&mut calls, 2, &payload(CLIENT, 2, 5)), None);
        assert_eq!(pending[1].take(), Some(Ok(Ok(vec![0, 1, 0, 0, 5]))));
        assert_eq!(pending[0].take(), None);
        assert_eq!(take_header(&mut calls, 2, &payload(CLIENT, 2, 6)), Some(1), "a second reply");
    }

    #[test]
    fn reply_with_inline_qos_may_name_either_endpoint() {
        let (mut calls, pending) = sent(2);
        let [reader, writer] = own();
        assert_eq!(take_inline(&mut calls, 2, (reader, 10)), None);
        assert_eq!(take_inline(&mut calls, 2, (writer, 11)), None);
        assert!(pending.iter().all(|pending| pending.take() == Some(Ok(Ok(vec![0, 1, 0, 0, 9])))));
    }

    #[test]
    fn replies_to_other_clients_are_passed_over() {
        let (mut calls, pending) = sent(1);
        assert_eq!(take_header(&mut calls, 2, &payload(CLIENT + 1, 1, 5)), None);
        assert_eq!(take_inline(&mut calls, 2, (server(3), 10)), None);
        assert_eq!(pending[0].take(), None);
    }

    #[test]
    fn forged_and_unknown_replies_are_counted_and_ignored() {
        let (mut calls, pending) = sent(1);
        // From a participant that does not have the request, with unknown numbers, and without an identity.
        assert_eq!(take_header(&mut calls, 3, &payload(CLIENT, 1, 5)), Some(1));
        assert_eq!(take_inline(&mut calls, 3, (own()[0], 10)), Some(2));
        for (count, number) in (3..).zip([0, 2, -2, i64::MIN, i64::MAX]) {
            assert_eq!(take_header(&mut calls, 2, &payload(CLIENT, number, 5)), Some(count), "{number}");
        }
        assert_eq!(take_inline(&mut calls, 2, (own()[0], -1)), Some(8));
        assert_eq!(take_header(&mut calls, 2, &[0, 1, 0]), Some(9));
        let writer = guid(2, EntityId::user_writer(1));
        assert_eq!(calls.on_reply(own(), Framing::InlineQos, (writer, None), &[]), Some(10));
        assert_eq!(pending[0].take(), None);
    }

    #[test]
    fn negative_number_is_failure() {
        let (mut calls, pending) = sent(1);
        let mut payload = crate::rtps::failure("no motor");
        CallHeader { client: CLIENT, number: 1 }.of_failure().insert(&mut payload);
        assert_eq!(take_header(&mut calls, 2, &payload), None);
        assert_eq!(pending[0].take(), Some(Ok(Err("no motor".to_owned()))));
    }

    #[test]
    fn requests_of_ended_server_go_to_the_next_one() {
        let (mut calls, _pending) = sent(2);
        assert!(numbers(&mut calls, ready(3), None).is_empty());
        calls.forget_server(server(2));
        assert!(calls.has_unsent());
        assert_eq!(numbers(&mut calls, ready(3), None), [1, 2]);
        assert!(!calls.has_unsent());
        assert_eq!(take_header(&mut calls, 2, &payload(CLIENT, 1, 5)), Some(1), "of the first server");
    }

    #[test]
    fn unacknowledged_requests_of_silent_server_go_to_another_one() {
        let (mut calls, _pending) = sent(2);
        let missing = |_| BTreeSet::from([11]);
        assert_eq!(calls.check_arrival(Instant(0), missing), (None, Some(Instant(0) + SILENCE)));
        let late = Instant(0) + SILENCE;
        let (silent, next) = calls.check_arrival(late, missing);
        assert_eq!((silent, next.is_some()), (Some(server(2)), true));
        assert_eq!(numbers(&mut calls, ready(3), silent), [2]);
        assert_eq!(calls.check_arrival(late, |_| BTreeSet::new()), (None, None));
    }

    #[test]
    fn server_that_returns_gets_no_acknowledged_request_again() {
        let (mut calls, pending) = sent(2);
        calls.check_arrival(Instant(0), |_| BTreeSet::from([11]));
        calls.forget_server(server(2));
        assert_eq!(numbers(&mut calls, ready(2), None), [2]);
        assert_eq!(take_header(&mut calls, 2, &payload(CLIENT, 1, 5)), None);
        assert_eq!(pending[0].take(), Some(Ok(Ok(vec![0, 1, 0, 0, 5]))));
        calls.forget_server(server(2));
        let deduplicates = ReadyServer { deduplicates: true, ..ready(2) };
        calls.check_arrival(Instant(0), |_| BTreeSet::new());
        assert_eq!(numbers(&mut calls, deduplicates, None), [2]);
    }

    #[test]
    fn service_of_process_gets_unsent_requests_only() {
        let (mut calls, _pending) = sent(1);
        calls.add(Some(vec![7]), None, PendingCall::new());
        let mut given = Vec::new();
        calls.give_unsent(|number, request, _| given.push((number, request)));
        assert_eq!(given, [(2, vec![7])]);
        assert!(!calls.has_unsent() && !calls.is_empty());
    }
}
