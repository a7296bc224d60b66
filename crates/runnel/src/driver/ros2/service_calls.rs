//! Pending calls of a client in ROS 2: which requests are due, and which call a reply answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_ros1::node::ServiceFailure;
use runnel_rtps::wire::{Guid, SampleIdentity};

use crate::data::PendingCall;
use crate::rtps::{CallHeader, Framing, failure_in, number};

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
}

impl Call {
    fn is_unsent(&self) -> bool {
        self.sent.is_none() && self.request.is_some()
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
    /// that went to another server which `is_silent`: it may have ended.
    pub(super) fn send_due(
        &mut self,
        server: Guid,
        is_silent: impl Fn(Guid) -> bool,
        send: impl Fn(&[u8], CallHeader) -> Option<u64>,
    ) {
        for (number, call) in &mut self.calls {
            let Some(request) = &call.request else { continue };
            let is_due = call.sent.is_none_or(|sent| sent.server != server && is_silent(sent.server));
            let header = CallHeader { client: self.id, number: *number };
            if let Some(number) = is_due.then(|| send(request, header)).flatten() {
                call.sent = Some(Sent { server, number });
            }
        }
    }

    /// A server has ended: its requests are due again.
    pub(super) fn forget_server(&mut self, server: Guid) {
        for call in self.calls.values_mut() {
            call.sent.take_if(|sent| sent.server == server);
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

    /// Calls that were sent to server 2: the first as its message 10, and so on.
    fn sent(count: usize) -> (PendingCalls, Vec<Arc<PendingCall>>) {
        let mut calls = PendingCalls::new(CLIENT);
        let pending: Vec<_> = (0..count).map(|_| PendingCall::new()).collect();
        pending.iter().for_each(|pending| _ = calls.add(Some(vec![0; 4]), None, Arc::clone(pending)));
        calls.send_due(server(2), |_| false, |_, header| Some(header.number as u64 + 9));
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
    fn requests_go_to_the_next_server_when_the_first_is_gone_or_silent() {
        let numbers = |calls: &mut PendingCalls, is_silent: bool| {
            let sent = std::cell::RefCell::new(Vec::new());
            let send = |_: &[u8], header: CallHeader| {
                sent.borrow_mut().push(header.number);
                Some(1)
            };
            calls.send_due(server(3), |_| is_silent, send);
            sent.into_inner()
        };
        let (mut calls, _pending) = sent(2);
        assert!(numbers(&mut calls, false).is_empty());
        calls.forget_server(server(2));
        assert!(calls.has_unsent());
        assert_eq!(numbers(&mut calls, false), [1, 2]);
        let (mut calls, _pending) = sent(2);
        assert_eq!(numbers(&mut calls, true), [1, 2]);
        assert_eq!(take_header(&mut calls, 2, &payload(CLIENT, 1, 5)), Some(1), "of the first server");
    }
}
