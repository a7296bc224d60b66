//! Pending calls of a client in ROS 2: which requests are due, and which call a reply answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_ros1::node::ServiceFailure;
use runnel_rtps::wire::{Guid, GuidPrefix, SampleIdentity};

use crate::data::{PendingCall, RequestKey, ServiceEvent, ServiceEvents};
use crate::rtps::{CallHeader, Framing, failure_in, number};

/// A server that has not acknowledged a request for this long is silent: another one that is ready gets the request.
pub(super) const SILENCE: Duration = Duration::from_millis(500);

/// Limit of the servers that get one request.
const MOST_SERVERS: usize = 16;

/// See the module's documentation.
pub(super) struct PendingCalls {
    /// The client's number in headers.
    id: u64,
    /// Calls without a response, by number.
    calls: BTreeMap<i64, Call>,
    last: i64,
    /// Replies that answer no call.
    unknown_replies: u64,
    events: Arc<ServiceEvents>,
}

struct Call {
    /// The payload of the request; `None` if a service of this process has it.
    request: Option<Vec<u8>>,
    pending: Arc<PendingCall>,
    until: Option<Instant>,
    /// The servers to which it was sent, each once.
    sent: Vec<Sent>,
}

/// A server to which a request was sent, and its number there.
#[derive(Clone, Copy)]
struct Sent {
    server: Guid,
    number: u64,
    /// What identifies it in events.
    key: RequestKey,
    at: Instant,
    is_acknowledged: bool,
    /// It was overdue at the last check.
    is_silent: bool,
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
        self.sent.iter().all(|sent| sent.is_lost) && self.request.is_some()
    }

    /// Whether a server is to get the request: no other one has it, or all that have it are silent. A server gets it again
    /// only after it was unmatched, since it may still have it.
    fn is_due_at(&self, to: ReadyServer) -> bool {
        if self.sent.iter().any(|sent| !sent.is_lost && !sent.is_silent) {
            return false;
        }
        match self.sent.iter().find(|sent| sent.server == to.server) {
            Some(sent) => sent.is_lost && (to.deduplicates || !sent.is_acknowledged),
            None => self.sent.len() < MOST_SERVERS || self.sent.iter().any(|sent| sent.is_lost),
        }
    }

    /// Records a server that has got the request. Beyond the limit, one that was unmatched is forgotten.
    fn note_sent(&mut self, to: Sent) {
        let is_replaced = |sent: &Sent| sent.server == to.server;
        let forgotten = self.sent.iter().position(is_replaced).or_else(|| {
            let is_full = self.sent.len() >= MOST_SERVERS;
            self.sent.iter().position(|sent| is_full && sent.is_lost)
        });
        if let Some(place) = forgotten {
            self.sent.remove(place);
        }
        self.sent.push(to);
    }

    /// A server that has the request is matched again. If it ignores what it knows, it gets the request again once no other
    /// server has it: the reply may be lost.
    fn note_returned(&mut self, to: ReadyServer) {
        let has_it = |sent: &&mut Sent| sent.server == to.server && sent.is_acknowledged && !to.deduplicates;
        self.sent.iter_mut().filter(has_it).for_each(|sent| sent.is_lost = false);
    }

    /// What was sent to the participant of a writer of replies.
    fn sent_to(&self, participant: GuidPrefix) -> Option<&Sent> {
        self.sent.iter().find(|sent| sent.server.prefix == participant)
    }
}

impl PendingCalls {
    pub(super) fn new(id: u64, events: Arc<ServiceEvents>) -> Self {
        Self { id, calls: BTreeMap::new(), last: 0, unknown_replies: 0, events }
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
        let number = self.next_number();
        self.calls.insert(number, Call { request, pending, until, sent: Vec::new() });
        number
    }

    /// The number of a further call.
    pub(super) fn next_number(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    pub(super) fn remove(&mut self, number: i64) {
        self.calls.remove(&number);
    }

    /// Sends to a server the requests that no server has, and those that no server has acknowledged in time: these servers
    /// may have ended. `send` returns the number of the message and the request's key. Returns whether it sent any.
    pub(super) fn send_due(
        &mut self,
        to: ReadyServer,
        now: Instant,
        send: impl Fn(&[u8], CallHeader) -> Option<(u64, RequestKey)>,
    ) -> bool {
        let mut any = false;
        for (number, call) in &mut self.calls {
            let Some(request) = &call.request else { continue };
            let header = CallHeader { client: self.id, number: *number };
            let server = to.server;
            if !call.is_due_at(to) {
                call.note_returned(to);
            } else if let Some((number, key)) = send(request, header) {
                any = true;
                self.events.note(ServiceEvent::RequestSent, key, request);
                call.note_sent(Sent {
                    server,
                    number,
                    key,
                    at: now,
                    is_acknowledged: false,
                    is_silent: false,
                    is_lost: false,
                });
            }
        }
        any
    }

    /// Records which requests have arrived: those that are not among the `unacknowledged` ones of their server. Returns the
    /// servers that have not acknowledged one in time, and when the next one is overdue.
    pub(super) fn check_arrival(
        &mut self,
        now: Instant,
        unacknowledged: impl Fn(Guid) -> BTreeSet<u64>,
    ) -> (BTreeSet<Guid>, Option<Instant>) {
        let mut of_servers: BTreeMap<Guid, BTreeSet<u64>> = BTreeMap::new();
        let (mut silent, mut next) = (BTreeSet::new(), None);
        let sent = self.sent();
        for sent in sent.filter(|sent| sent.is_unacknowledged()) {
            let missing = of_servers.entry(sent.server).or_insert_with(|| unacknowledged(sent.server));
            sent.is_acknowledged = !missing.contains(&sent.number);
            sent.is_silent = sent.is_overdue(now);
            if sent.is_silent {
                silent.insert(sent.server);
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
        let sent = self.sent();
        sent.map(|sent| sent.is_acknowledged = false).count() > 0
    }

    /// A server is no longer matched: another one, or the same one when it is matched again, gets its requests.
    pub(super) fn forget_server(&mut self, server: Guid) {
        let sent = self.sent();
        sent.filter(|sent| sent.server == server).for_each(|sent| sent.is_lost = true);
    }

    fn sent(&mut self) -> impl Iterator<Item = &mut Sent> {
        self.calls.values_mut().flat_map(|call| &mut call.sent)
    }

    /// Gives a service of this process the requests that no server has, by `give`.
    pub(super) fn give_unsent(&mut self, mut give: impl FnMut(i64, Vec<u8>, Arc<PendingCall>)) {
        for (number, call) in &mut self.calls {
            if call.is_unsent()
                && let Some(request) = call.request.take()
            {
                call.sent.clear();
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
            // Every client of a service receives the replies to all.
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
        // Only a server that got the request can answer it, also one that was unmatched or silent since.
        let is_expected =
            |number: &i64| self.calls.get(number).is_some_and(|call| call.sent_to(writer.prefix).is_some());
        match call.filter(is_expected).and_then(|number| self.calls.remove(&number)) {
            Some(call) => {
                if let (Some(sent), Ok(response)) = (call.sent_to(writer.prefix), &response) {
                    self.events.note(ServiceEvent::ResponseReceived, sent.key, response);
                }
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
        let is_it = |call: &Call| call.sent.iter().any(|sent| sent.number == number);
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
mod tests;
