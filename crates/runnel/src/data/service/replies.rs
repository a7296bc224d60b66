//! Replies of a service to its clients in ROS 2. Any thread sends them.
//!
//! A reply whose reader is not matched yet is held until it is: DDS would lose it. So is one to a client that has not
//! acknowledged earlier ones. Held replies have limits of number, bytes and time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_core::wire::Encoding;
use runnel_io::clock;
use runnel_rtps::wire::{Guid, SampleIdentity, SequenceNumber};

use super::requester::RequestKey;
use super::service_end::ServiceEnd;
use crate::frame::Frame;
use crate::log_output::console;
use crate::rtps::{CallHeader, ServiceEnds, failure};
use crate::sync::{Class, Mutex, lock};

/// How long a reply waits for its client's reader.
const HOLD: Duration = Duration::from_secs(10);

/// Limits of the held replies of a service. Replies are short if requests are many.
const MOST_HELD: usize = 10_000;
const MOST_HELD_BYTES: usize = 64 << 20;

/// Limit of replies that one client has not acknowledged; further ones are held.
const MOST_UNACKNOWLEDGED: usize = 100;

/// Limit of a client's unanswered requests.
pub(super) const MOST_PER_CLIENT: usize = 250;

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
    held: VecDeque<Held>,
    held_bytes: usize,
    /// Unanswered requests of each writer of requests.
    unanswered: BTreeMap<Guid, usize>,
    /// Replies that were dropped.
    dropped: u64,
    /// Requests that were refused.
    refused: u64,
    /// Failed requests of clients that do not understand errors.
    failed: u64,
}

struct Held {
    to: Addressee,
    frame: Frame,
    until: Instant,
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

    /// Counts a request. `None` if its client has too many without an answer; it gets an error if it understands that.
    pub(crate) fn admit(self: &Arc<Self>, to: Addressee) -> Option<Ros2Request> {
        let mut state = lock(&self.state);
        let count = state.unanswered.entry(to.client).or_default();
        if *count < MOST_PER_CLIENT {
            *count += 1;
            drop(state);
            return Some(Ros2Request { replies: Arc::clone(self), to, is_counted: true });
        }
        state.refused += 1;
        let refused = state.refused;
        drop(state);
        let (service, client) = (&self.service, to.client);
        let why =
            format!("service {service}: {MOST_PER_CLIENT} requests of client {client} have no response yet");
        if refused.is_power_of_two() {
            console::warning!("{why}; requests refused: {refused}");
        }
        match &self.refusal {
            Some(response) if !to.reads_failures => self.respond(&to, response.to_vec()),
            _ => self.fail(&to, &why),
        }
        None
    }

    /// Sends held replies whose clients are ready, in order for each client. Drops those that have waited too long, unless
    /// their client takes replies, however slowly. Returns whether any are left.
    pub(crate) fn send_held(&self, now: Instant) -> bool {
        let held = {
            let mut state = lock(&self.state);
            state.held_bytes = 0;
            std::mem::take(&mut state.held)
        };
        let (mut left, mut expired) = (VecDeque::new(), Vec::new());
        let (mut blocked, mut served) = (BTreeSet::new(), BTreeSet::new());
        for reply in held {
            let client = reply.to.client;
            if !blocked.contains(&client) && self.try_send(&reply.to, &reply.frame) {
                served.insert(client);
            } else {
                blocked.insert(client);
                left.push_back(reply);
            }
        }
        left.retain_mut(|reply: &mut Held| {
            if served.contains(&reply.to.client) {
                reply.until = now + HOLD;
            }
            let is_left = reply.until > now;
            expired.extend((!is_left).then(|| reply.to.clone()));
            is_left
        });
        expired.iter().for_each(|to| self.note_dropped(to));
        let mut state = lock(&self.state);
        // Replies that were held meanwhile are later ones.
        left.append(&mut state.held);
        state.held_bytes = left.iter().map(Held::len).sum();
        state.held = left;
        !state.held.is_empty()
    }

    /// Whether the matched clients have acknowledged all replies, and none is held.
    pub(crate) fn are_acknowledged(&self) -> bool {
        lock(&self.state).held.is_empty() && self.end.is_acknowledged()
    }

    /// Replies that there is no response. Clients of other implementations do not understand that, and wait on.
    fn fail(&self, to: &Addressee, why: &str) {
        if let (RequestIdentity::Header(header), true) = (to.identity, to.reads_failures) {
            let mut payload = failure(why);
            header.of_failure().insert(&mut payload);
            self.send(to, Frame::new(Encoding::Xcdr1, payload));
        }
    }

    /// Sends a response.
    fn respond(&self, to: &Addressee, mut payload: Vec<u8>) {
        if let RequestIdentity::Header(header) = to.identity {
            header.insert(&mut payload);
        }
        self.send(to, Frame::new(Encoding::Xcdr1, payload));
    }

    fn send(&self, to: &Addressee, frame: Frame) {
        if !self.try_send(to, &frame) {
            self.hold(Held { to: to.clone(), frame, until: clock::monotonic() + HOLD });
        }
    }

    /// Sends a reply, unless its reader is not matched yet or has too many unacknowledged ones.
    fn try_send(&self, to: &Addressee, frame: &Frame) -> bool {
        let writer = &self.end.ends.writer;
        let named = to.reader.filter(|reader| writer.has_reader(*reader));
        let find = || if to.reader.is_none() { self.end.rtps.reply_reader(writer, to.client) } else { None };
        let Some(reader) = named.or_else(find) else { return false };
        if writer.unacknowledged_by(reader) >= MOST_UNACKNOWLEDGED {
            return false;
        }
        let related = match to.identity {
            RequestIdentity::InlineQos(identity) => Some(identity),
            RequestIdentity::Header(_) => None,
        };
        self.end.send(frame, (reader, related)).is_ok()
    }

    fn hold(&self, reply: Held) {
        let mut displaced = Vec::new();
        let mut state = lock(&self.state);
        state.held_bytes += reply.len();
        state.held.push_back(reply);
        while state.held.len() > MOST_HELD || state.held.len() > 1 && state.held_bytes > MOST_HELD_BYTES {
            let Some(first) = state.held.pop_front() else { break };
            state.held_bytes -= first.len();
            displaced.push(first);
        }
        drop(state);
        displaced.iter().for_each(|reply| self.note_dropped(&reply.to));
        self.end.rtps.note_services_due();
    }

    fn note_dropped(&self, to: &Addressee) {
        let dropped = {
            let mut state = lock(&self.state);
            state.dropped += 1;
            state.dropped
        };
        if dropped.is_power_of_two() {
            let (service, client) = (&self.service, to.client);
            console::warning!(
                "service {service}: the reply to client {client} is dropped: its reader of replies was not found, or \
                 acknowledges nothing; replies dropped: {dropped}"
            );
        }
    }

    /// Warns that a client waits in vain for a response, since ROS 2 has no reply for errors.
    fn note_failed(&self, to: &Addressee, why: &str) {
        if to.reads_failures {
            return;
        }
        let failed = {
            let mut state = lock(&self.state);
            state.failed += 1;
            state.failed
        };
        if failed.is_power_of_two() {
            let (service, client) = (&self.service, to.client);
            console::warning!(
                "service {service}: client {client} gets no response, since ROS 2 has no reply for errors: {why}; \
                 requests that failed so: {failed}"
            );
        }
    }

    fn forget_request(&self, client: Guid) {
        let mut state = lock(&self.state);
        if let Some(count) = state.unanswered.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                state.unanswered.remove(&client);
            }
        }
    }
}

impl Held {
    fn len(&self) -> usize {
        self.frame.as_ref().len()
    }
}

impl Ros2Request {
    pub(super) fn key(&self) -> RequestKey {
        match self.to.identity {
            RequestIdentity::InlineQos(SampleIdentity { guid, number: SequenceNumber(number) }) => {
                (guid.to_bytes(), number)
            }
            RequestIdentity::Header(CallHeader { number, .. }) => (self.to.client.to_bytes(), number),
        }
    }

    /// Counts the request as answered before it is.
    pub(super) fn release(&mut self) {
        if std::mem::take(&mut self.is_counted) {
            self.replies.forget_request(self.to.client);
        }
    }

    /// Sends the response, or the error text to a client that understands it.
    pub(super) fn answer(&self, result: Result<Vec<u8>, String>) {
        let Self { replies, to, .. } = self;
        match result {
            Ok(payload) => replies.respond(to, payload),
            Err(why) => {
                replies.note_failed(to, &why);
                replies.fail(to, &why);
            }
        }
    }

    pub(super) fn reads_failures(&self) -> bool {
        self.to.reads_failures
    }

    /// Whether the client's writer of requests is gone.
    pub(super) fn is_abandoned(&self) -> bool {
        !self.replies.end.rtps.has_endpoint(self.to.client)
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
