//! Replies of a service to its clients in ROS 2. Any thread sends them.
//!
//! A reply whose reader is not matched yet is held until it is: DDS would lose it. So is one to a client that has not
//! acknowledged earlier ones. Held replies have limits of number, bytes and time.

use std::collections::BTreeSet;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_core::wire::Encoding;
use runnel_io::clock;
use runnel_rtps::wire::{Guid, SampleIdentity, SequenceNumber};

use super::client_requests::{Admitted, ClientRequests, MOST_PER_PARTICIPANT};
use super::held_replies::{Held, HeldReplies};
use super::occurrences::Occurrences;
use super::requester::RequestKey;
use super::service_end::ServiceEnd;
use crate::frame::Frame;
use crate::log_output::console;
use crate::rtps::{CallHeader, ServiceEnds, failure};
use crate::sync::{Class, Mutex, lock};

/// Limit of replies that one client has not acknowledged; further ones are held.
const MOST_UNACKNOWLEDGED: usize = 100;

/// See the module's documentation.
pub(crate) struct Replies {
    service: String,
    end: ServiceEnd,
    /// The response to refused requests of clients that do not understand errors.
    refusal: Option<Arc<[u8]>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: HeldReplies,
    requests: ClientRequests,
    /// Failed requests of clients that do not understand errors.
    failed: Occurrences,
}

/// A client, and its request.
#[derive(Clone, Debug)]
pub(crate) struct Addressee {
    /// The client's writer of requests.
    pub(crate) client: Guid,
    /// The client's reader of replies, if the request names it.
    pub(crate) reader: Option<Guid>,
    pub(crate) identity: RequestIdentity,
    /// It understands the reply that there is no response.
    pub(crate) reads_failures: bool,
}

/// How a request identifies itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestIdentity {
    /// By the GUID that the reply names, and the number of the request.
    InlineQos(SampleIdentity),
    Header(CallHeader),
}

/// A request of a client in ROS 2, counted until it is answered.
pub(crate) struct Ros2Request {
    replies: Arc<Replies>,
    to: Addressee,
    is_counted: bool,
}

impl Replies {
    pub(crate) fn new(service: String, end: ServiceEnd, refusal: Option<Arc<[u8]>>) -> Arc<Self> {
        let state = Mutex::new(Class::ServiceAnswers, State::default());
        Arc::new(Self { service, end, refusal, state })
    }

    pub(crate) fn ends(&self) -> &ServiceEnds {
        &self.end.ends
    }

    pub(crate) fn service(&self) -> &str {
        &self.service
    }

    /// Counts a request. `None` if its client has sent it again, which gets the reply again if there is one; and if its
    /// participant has too many without an answer. Then the client gets an error if it understands that, or else the
    /// service's response to refused requests.
    pub(crate) fn admit(self: &Arc<Self>, to: Addressee) -> Option<Ros2Request> {
        let key = to.reads_failures.then(|| to.key());
        let admitted = lock(&self.state).requests.admit(to.client, key);
        match admitted {
            Admitted::Yes => {
                return Some(Ros2Request { replies: Arc::clone(self), to, is_counted: true });
            }
            Admitted::Repeated => self.send_again(&to),
            Admitted::No => self.refuse(&to),
        }
        None
    }

    /// Sends the reply to a request that its client has sent again, unless it is not answered yet.
    fn send_again(&self, to: &Addressee) {
        let reply = lock(&self.state).requests.reply_to(to.key());
        if let Some(reply) = reply {
            self.send(to, reply);
        }
    }

    fn refuse(&self, to: &Addressee) {
        let (service, participant) = (&self.service, to.client.prefix);
        let why = format!(
            "service {service}: {MOST_PER_PARTICIPANT} requests of participant {participant} have no response yet"
        );
        let refused = lock(&self.state).requests.refused.note();
        if let Some(refused) = refused {
            console::warning!("{why}; further requests are refused; refused requests: {refused}");
        }
        match (&self.refusal, failure_frame(to, &why)) {
            (_, Some(frame)) => self.send(to, frame),
            (Some(response), None) => self.send(to, response_frame(to, response.to_vec())),
            (None, None) => {}
        }
    }

    /// A client is matched, by its writer of requests.
    pub(crate) fn client_matched(&self, client: Guid) {
        lock(&self.state).requests.client_matched(client);
    }

    /// A client is no longer matched.
    pub(crate) fn client_gone(&self, client: Guid, now: Instant) {
        lock(&self.state).requests.client_gone(client, now);
    }

    /// The clients that have been gone for too long, and when the next one will have been.
    pub(crate) fn take_absent(&self, now: Instant) -> (BTreeSet<Guid>, Option<Instant>) {
        lock(&self.state).requests.take_absent(now)
    }

    /// Sends held replies whose clients are ready, in order for each client. Drops those that have waited too long, unless
    /// their client takes replies, however slowly. Returns whether any are left.
    pub(crate) fn send_held(&self, now: Instant) -> bool {
        let mut held = lock(&self.state).held.take();
        let mut dropped = held.retry(now, |reply| self.try_send(&reply.to, &reply.frame));
        let mut state = lock(&self.state);
        dropped.extend(state.held.put_back(held));
        let any_left = !state.held.is_empty();
        drop(state);
        self.note_dropped(dropped);
        any_left
    }

    /// Whether the matched clients have acknowledged all replies, and none is held.
    pub(crate) fn are_acknowledged(&self) -> bool {
        lock(&self.state).held.is_empty() && self.end.is_acknowledged()
    }

    fn send(&self, to: &Addressee, frame: Frame) {
        for to in self.try_send(to, &frame) {
            self.hold(Held::new(to, frame.clone(), clock::monotonic()));
        }
    }

    /// Sends a reply, unless its reader is not matched yet or has too many unacknowledged ones. Without ids, all readers
    /// of the participant get it: each knows its own replies. Returns where it was not sent.
    fn try_send(&self, to: &Addressee, frame: &Frame) -> Vec<Addressee> {
        let writer = &self.end.ends.writer;
        let readers = match to.reader {
            Some(reader) if writer.has_reader(reader) => vec![reader],
            Some(_) => Vec::new(),
            None => self.end.rtps.reply_readers(writer, to.client),
        };
        if readers.iter().any(|reader| writer.unacknowledged_by(*reader) >= MOST_UNACKNOWLEDGED) {
            return vec![to.clone()];
        }
        let related = match to.identity {
            RequestIdentity::InlineQos(identity) => Some(identity),
            RequestIdentity::Header(_) => None,
        };
        let is_sent = |reader: &Guid| self.end.send(frame, (*reader, related)).is_ok();
        let failed = readers.iter().copied().filter(|reader| !is_sent(reader)).collect();
        to.left_to(readers.len(), failed)
    }

    fn hold(&self, reply: Held) {
        let (displaced, is_first) = lock(&self.state).held.hold_new(reply);
        self.note_dropped(displaced);
        // Otherwise, the driver tries again soon anyway.
        if is_first {
            self.end.rtps.note_held_replies_due();
        }
    }

    fn note_dropped(&self, dropped: Vec<Held>) {
        for reply in dropped {
            let client = reply.to.client;
            let dropped = lock(&self.state).requests.dropped.note();
            if let Some(dropped) = dropped {
                let service = &self.service;
                console::warning!(
                    "service {service}: replies to client {client} are dropped: its reply reader was not discovered, \
                     or does not acknowledge; dropped replies: {dropped}"
                );
            }
        }
    }

    /// Warns that a client waits in vain for a response, since ROS 2 has no reply for errors.
    fn note_failed(&self, to: &Addressee, why: &str) {
        if to.reads_failures {
            return;
        }
        let failed = lock(&self.state).failed.note();
        if let Some(failed) = failed {
            let (service, client) = (&self.service, to.client);
            console::warning!(
                "service {service}: client {client} gets no response, since ROS 2 has no reply for errors: {why}; \
                 requests that failed so: {failed}"
            );
        }
    }
}

/// The reply with a response.
fn response_frame(to: &Addressee, mut payload: Vec<u8>) -> Frame {
    if let RequestIdentity::Header(header) = to.identity {
        header.insert(&mut payload);
    }
    Frame::new(Encoding::Xcdr1, payload)
}

/// The reply that there is no response, if the client understands it.
fn failure_frame(to: &Addressee, why: &str) -> Option<Frame> {
    let RequestIdentity::Header(header) = to.identity else { return None };
    to.reads_failures.then(|| {
        let mut payload = failure(why);
        header.of_failure().insert(&mut payload);
        Frame::new(Encoding::Xcdr1, payload)
    })
}

impl Addressee {
    /// Where a reply is still to be sent, after it failed for some of so many readers. Without a reader that has it, later
    /// ones get it too.
    fn left_to(&self, readers: usize, failed: Vec<Guid>) -> Vec<Self> {
        if failed.len() == readers {
            return vec![self.clone()];
        }
        failed.into_iter().map(|reader| Self { reader: Some(reader), ..self.clone() }).collect()
    }

    /// Identifies the request.
    fn key(&self) -> RequestKey {
        match self.identity {
            RequestIdentity::InlineQos(SampleIdentity { guid, number: SequenceNumber(number) }) => {
                (guid.to_bytes(), number)
            }
            RequestIdentity::Header(CallHeader { number, .. }) => (self.client.to_bytes(), number),
        }
    }
}

impl Ros2Request {
    pub(super) fn key(&self) -> RequestKey {
        self.to.key()
    }

    /// The client's writer of requests.
    pub(super) fn client(&self) -> Guid {
        self.to.client
    }

    /// Gives the request up: its client is gone.
    pub(super) fn give_up(&self) {
        lock(&self.replies.state).requests.forget(self.key());
    }

    /// Counts the request as answered before it is.
    pub(super) fn release(&mut self) {
        if std::mem::take(&mut self.is_counted) {
            lock(&self.replies.state).requests.release(self.to.client);
        }
    }

    /// Sends the response, or the error text to a client that understands it. Others wait on.
    pub(super) fn answer(&self, result: Result<Vec<u8>, String>) {
        let Self { replies, to, .. } = self;
        let reply = match result {
            Ok(payload) => Some(response_frame(to, payload)),
            Err(why) => {
                replies.note_failed(to, &why);
                failure_frame(to, &why)
            }
        };
        if let Some(reply) = reply {
            lock(&replies.state).requests.note_answered(to.key(), &reply);
            replies.send(to, reply);
        }
    }

    pub(super) fn reads_failures(&self) -> bool {
        self.to.reads_failures
    }

    /// Whether the client's writer of requests is gone.
    pub(super) fn is_abandoned(&self) -> bool {
        !self.replies.end.rtps.has_endpoint(self.to.client)
    }

    /// Whether it has been gone for longer than [`ABSENCE`](super::ABSENCE).
    pub(super) fn is_absent(&self) -> bool {
        self.is_abandoned() && !lock(&self.replies.state).requests.may_return(self.to.client)
    }
}

impl Drop for Ros2Request {
    fn drop(&mut self) {
        self.release();
    }
}

impl RequestIdentity {
    /// The identity of a request with inline QoS: the reply names the GUID that the request names, or else its writer.
    pub(crate) fn of_inline_qos(
        related: Option<SampleIdentity>,
        writer: Guid,
        request: SequenceNumber,
    ) -> Self {
        let guid = related.map_or(writer, |related| related.guid);
        Self::InlineQos(SampleIdentity { guid, number: request })
    }
}

#[cfg(test)]
mod tests {
    use runnel_rtps::wire::{EntityId, GuidPrefix};

    use super::*;

    #[test]
    fn reply_is_held_for_the_readers_that_it_did_not_reach() {
        let guid = |id| GuidPrefix([1; 12]).with(id);
        let identity = RequestIdentity::Header(CallHeader { client: 1, number: 1 });
        let client = guid(EntityId::user_writer(1));
        let to = Addressee { client, reader: None, identity, reads_failures: false };
        let readers = [1, 2, 3].map(|number| guid(EntityId::user_reader(number)));
        let left = |count, failed: &[Guid]| {
            let left = to.left_to(count, failed.to_vec()).into_iter();
            left.map(|to| to.reader).collect::<Vec<_>>()
        };
        assert_eq!(left(3, &readers[1..]), [Some(readers[1]), Some(readers[2])]);
        assert_eq!(left(3, &[]), []);
        assert_eq!(left(3, &readers), [None], "all readers of the participant");
        assert_eq!(left(0, &[]), [None], "no reader is matched yet");
    }
}
