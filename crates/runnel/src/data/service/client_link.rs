//! Connection of a service's client, on which any thread sends responses.

use std::sync::Arc;
use std::time::Duration;

use runnel_core::sorted::SortedMap;
use runnel_core::wire::NoMemory;
use runnel_io::{Interest, Reactor, Stream, Token};
use runnel_ros1::tcpros::response_prefix;

use super::no_memory_for_response;
use crate::data::stream_path::StreamPath;
use crate::data::unsent::Unsent;
use crate::ipc::{Sender, Unread};
use crate::sync::{Class, Mutex, lock};

/// Limit of waiting requests per client. The original clients send the next request after the response.
const MOST_WAITING: usize = 100;

/// Limit of their bytes, except for a single request, and of unsent responses.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is answered, with this number on its connection.
    Accepted { number: u64 },
    /// Its client is not persistent and has already sent a request. The connection ends after that response.
    Ignored,
    /// It exceeds the limit, or its client does not read responses.
    Refused,
}

/// See the module's documentation.
pub(crate) struct ClientLink {
    reactor: Arc<Reactor>,
    token: Token,
    stream: Arc<Stream>,
    persistent: bool,
    /// How long the client may read nothing before its connection ends.
    linger: Duration,
    state: Mutex<Answers>,
}

/// Length of the request, and the response or error text.
type Answer = (usize, Result<Vec<u8>, String>);

struct Answers {
    path: StreamPath,
    unsent: Unsent,
    /// Requests without an answer, and their bytes.
    waiting: usize,
    bytes: usize,
    /// Answered requests, which is the number of the next request to answer.
    answered: u64,
    /// Answers given before those of earlier requests, by number. A connection sends answers in order.
    early: SortedMap<u64, Answer>,
    /// The reactor reports when the socket is writable.
    watched: bool,
    /// No further request is expected.
    is_finished: bool,
}

impl ClientLink {
    /// A link; `unsent` is the rest of our header, which goes before all answers.
    pub(crate) fn new(
        reactor: Arc<Reactor>,
        token: Token,
        stream: Arc<Stream>,
        persistent: bool,
        unsent: Unsent,
        linger: Duration,
    ) -> Self {
        let watched = !unsent.is_empty();
        let path = StreamPath::new(Arc::clone(&stream), token, unsent.len());
        let (answered, early) = (0, SortedMap::new());
        let answers =
            Answers { path, unsent, waiting: 0, bytes: 0, answered, early, watched, is_finished: false };
        let state = Mutex::new(Class::ServiceAnswers, answers);
        Self { reactor, token, stream, persistent, linger, state }
    }

    /// Identifies the connection.
    pub(super) fn token(&self) -> Token {
        self.token
    }

    /// Decides on a further request.
    pub(super) fn admit(&self, bytes: usize) -> Admission {
        let mut state = lock(&self.state);
        let is_first = state.waiting == 0 && !state.is_finished;
        if !is_first && !self.persistent {
            return Admission::Ignored;
        }
        // A connection stops reading from such a client; shared memory cannot.
        let takes_no_answers = state.unsent.len() > MOST_BYTES;
        let too_many = state.waiting >= MOST_WAITING || state.bytes + bytes > MOST_BYTES;
        if takes_no_answers || !is_first && too_many {
            return Admission::Refused;
        }
        let number = state.answered + state.waiting as u64;
        state.waiting += 1;
        state.bytes += bytes;
        Admission::Accepted { number }
    }

    /// Ends the connection, whose socket waiting requests may keep open.
    pub(crate) fn end(&self) {
        let _ = self.stream.shutdown();
    }

    /// Sends the response to the request of this number, after those of earlier requests.
    pub(super) fn answer(&self, number: u64, answer: Answer) {
        let mut state = lock(&self.state);
        if number != state.answered {
            state.early.insert(number, answer);
            return;
        }
        let mut next = Some(answer);
        while let Some(answer) = next {
            if state.queue_answer(answer, !self.persistent).is_err() {
                return self.end();
            }
            let number = state.answered;
            next = state.early.remove(&number);
        }
        self.flush(&mut state);
    }

    /// The client is on this host: answers switch to an IPC connection, on which `token` identifies the link. Returns
    /// false if that is not possible yet.
    pub(crate) fn switch_to_memory(&self, sender: &Arc<Sender>, token: u128) -> bool {
        let mut state = lock(&self.state);
        if !state.path.switch_to_memory(&self.reactor, sender, token) {
            return false;
        }
        if std::mem::take(&mut state.watched) {
            let _ = self.reactor.modify(&*self.stream, self.token, Interest::Read);
        }
        self.flush(&mut state);
        true
    }

    /// The IPC connection has ended: answers use the TCP connection again, beginning with those that the client has
    /// not read. Without memory for these, the connection ends.
    pub(crate) fn fall_back(&self, sender: &Arc<Sender>, unread: &mut Unread) {
        let mut state = lock(&self.state);
        if let Some(channel) = state.path.channel_of(sender) {
            state.path.fall_back();
            match unread.take_stream(channel).and_then(|bytes| state.unsent.push_first(&bytes)) {
                Ok(()) => self.flush(&mut state),
                Err(_) => self.end(),
            }
        }
    }

    /// The socket is writable.
    pub(crate) fn writable(&self) {
        self.flush(&mut lock(&self.state));
    }

    /// Sends as much as the socket accepts. Ends the connection after the only answer of a client that is not
    /// persistent. An error also shows as the end of the connection.
    fn flush(&self, state: &mut Answers) {
        let Answers { unsent, path, .. } = &mut *state;
        let failed = unsent.flush(|bytes| path.send(bytes)).is_err();
        let has_unsent = !state.unsent.is_empty();
        if failed || state.is_finished && !has_unsent {
            self.end();
        } else if state.path.is_channel() {
            let _ = state.path.watch(&self.reactor, has_unsent);
        } else if state.watched != has_unsent {
            state.watched = has_unsent;
            if has_unsent {
                let _ = self.stream.set_send_deadline(self.linger);
            }
            // No further requests are read from a client that does not read its answers.
            let interest = if has_unsent { Interest::Write } else { Interest::Read };
            let _ = self.reactor.modify(&*self.stream, self.token, interest);
        }
    }
}

impl Answers {
    /// Queues the next answer. Without memory for it, that becomes the answer. An error if there is no memory for that
    /// either.
    fn queue_answer(&mut self, (request_len, result): Answer, is_finished: bool) -> Result<(), NoMemory> {
        self.waiting -= 1;
        self.bytes -= request_len;
        self.answered += 1;
        self.is_finished = is_finished;
        let mut queue_answer = |result: Result<&[u8], &str>| {
            let body = result.unwrap_or_else(str::as_bytes);
            let queue_answer = self.unsent.try_push([&response_prefix(result.is_ok(), body.len()), body]);
            queue_answer.map_err(|_| NoMemory { bytes: body.len() })
        };
        let result = result.as_deref().map_err(String::as_str);
        queue_answer(result).or_else(|refused| queue_answer(Err(&no_memory_for_response(refused))))
    }
}
