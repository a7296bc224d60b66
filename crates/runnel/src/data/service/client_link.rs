//! Server's end of the ROS 1 connection of one service client: admits its requests, and sends their responses in order,
//! from any thread. The driver reads the requests (`driver::sockets::services`).

use std::sync::Arc;
use std::time::Duration;

use runnel_core::sorted::SortedMap;
use runnel_core::wire::NoMemory;
use runnel_io::{Interest, Reactor, Stream, Token};
use runnel_ros1::tcpros::response_prefix;

use super::no_memory_for_response;
use crate::data::SwitchOutcome;
use crate::data::stream_path::StreamPath;
use crate::data::unsent::Unsent;
use crate::ipc::Sender;
use crate::sync::{Class, Mutex, lock};

/// Limit of unanswered requests per client. roscpp and rospy wait for each response before the next request.
const MOST_WAITING: usize = 100;

/// Limit of the bytes of these requests, of which one may exceed it. Also of unsent and early responses.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is answered, with this number on its connection.
    Accepted { number: u64 },
    /// Its client is not persistent and has already sent a request. The connection ends after that response.
    Ignored,
    /// It exceeds the limit, or its client does not read responses. The driver ends the connection.
    Refused,
}

/// See the module's documentation.
pub(crate) struct ClientLink {
    reactor: Arc<Reactor>,
    token: Token,
    persistent: bool,
    /// How long the client may read nothing before its connection ends.
    linger: Duration,
    state: Mutex<Answers>,
}

/// Length of the request, and the response or error text.
type Answer = (usize, Result<Vec<u8>, String>);

struct Answers {
    /// `None` once the connection has ended: its socket does not wait for the responders that the user holds.
    connection: Option<Connection>,
    /// Requests without an answer, and their bytes.
    waiting: usize,
    bytes: usize,
    /// Answered requests, which is the number of the next request to answer.
    answered: u64,
    /// Answers given before those of earlier requests, by number. A connection sends answers in order.
    early: SortedMap<u64, Answer>,
    early_bytes: usize,
    /// No further request is expected.
    is_finished: bool,
}

struct Connection {
    stream: Arc<Stream>,
    path: StreamPath,
    unsent: Unsent,
    /// What the reactor reports of the socket.
    interest: Interest,
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
        let interest = if unsent.is_empty() { Interest::Read } else { Interest::Write };
        let path = StreamPath::new(Arc::clone(&stream), token, unsent.len());
        let answers = Answers {
            connection: Some(Connection { stream, path, unsent, interest }),
            waiting: 0,
            bytes: 0,
            answered: 0,
            early: SortedMap::new(),
            early_bytes: 0,
            is_finished: false,
        };
        let state = Mutex::new(Class::ServiceAnswers, answers);
        Self { reactor, token, persistent, linger, state }
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
        let unsent = state.connection.as_ref().map_or(0, |connection| connection.unsent.len());
        let has_too_many_answers = unsent + state.early_bytes > MOST_BYTES;
        let too_many = state.waiting >= MOST_WAITING || state.bytes + bytes > MOST_BYTES;
        if has_too_many_answers || !is_first && too_many {
            return Admission::Refused;
        }
        let number = state.answered + state.waiting as u64;
        state.waiting += 1;
        state.bytes += bytes;
        Admission::Accepted { number }
    }

    /// Ends the connection.
    pub(crate) fn end(&self) {
        lock(&self.state).end();
    }

    /// The connection has ended: drops its socket, and the responses that were given early.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        let left = (state.connection.take(), std::mem::take(&mut state.early));
        state.early_bytes = 0;
        drop(state);
        drop(left);
    }

    /// Whether the reactor reports requests.
    #[cfg(test)]
    pub(super) fn reads_requests(&self) -> bool {
        lock(&self.state).connection.as_ref().is_some_and(|connection| connection.interest == Interest::Read)
    }

    /// Sends the response to the request of this number, after those of earlier requests.
    pub(super) fn answer(&self, number: u64, answer: Answer) {
        let mut state = lock(&self.state);
        if state.connection.is_none() {
            return;
        }
        if number != state.answered {
            state.early_bytes += response_len(&answer);
            state.early.insert(number, answer);
            return self.watch(&mut state);
        }
        let mut next = Some(answer);
        while let Some(answer) = next {
            if state.queue_answer(answer, !self.persistent).is_err() {
                return state.end();
            }
            next = state.take_early();
        }
        self.flush(&mut state);
    }

    /// The client is on this host: answers switch to an IPC connection, on which `token` identifies the link.
    pub(crate) fn switch_to_memory(&self, sender: &Arc<Sender>, token: u128) -> SwitchOutcome {
        let mut state = lock(&self.state);
        let Some(Connection { stream, path, interest, .. }) = &mut state.connection else {
            return SwitchOutcome::NotNeeded;
        };
        let outcome = path.switch_to_memory(&self.reactor, sender, token);
        if outcome == SwitchOutcome::Later {
            return outcome;
        }
        if *interest != Interest::Read {
            *interest = Interest::Read;
            let _ = self.reactor.modify(&**stream, self.token, Interest::Read);
        }
        self.flush(&mut state);
        outcome
    }

    /// The IPC connection has ended: answers use the TCP connection again, beginning with those that the client has
    /// not read. Without memory for these, the connection ends.
    pub(crate) fn fall_back(&self, sender: &Arc<Sender>) {
        let mut state = lock(&self.state);
        let Some(Connection { path, unsent, .. }) = &mut state.connection else { return };
        if let Some(channel) = path.channel_of(sender) {
            path.fall_back();
            match sender.take_unread_stream(channel).and_then(|bytes| unsent.push_first(&bytes)) {
                Ok(()) => self.flush(&mut state),
                Err(_) => state.end(),
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
        let Some(Connection { unsent, path, .. }) = &mut state.connection else { return };
        let failed = unsent.flush(|bytes| path.send(bytes)).is_err();
        if failed || state.is_finished && unsent.is_empty() {
            state.end();
        } else {
            self.watch(state);
        }
    }

    /// Sets what the reactor reports. No further requests are read from a client that does not read its answers, and
    /// while too many bytes of answers wait for that of an earlier request.
    fn watch(&self, state: &mut Answers) {
        let Some(Connection { stream, path, unsent, interest }) = &mut state.connection else { return };
        let has_unsent = !unsent.is_empty();
        if path.is_channel() {
            let _ = path.watch(&self.reactor, has_unsent);
            return;
        }
        let wanted = match has_unsent {
            true => Interest::Write,
            false if state.early_bytes > MOST_BYTES => Interest::Nothing,
            false => Interest::Read,
        };
        if *interest != wanted {
            *interest = wanted;
            if has_unsent {
                let _ = stream.set_send_deadline(self.linger);
            }
            let _ = self.reactor.modify(&**stream, self.token, wanted);
        }
    }
}

impl Answers {
    fn end(&self) {
        if let Some(connection) = &self.connection {
            let _ = connection.stream.shutdown();
        }
    }

    /// Takes the next answer, if it was given early.
    fn take_early(&mut self) -> Option<Answer> {
        let answer = self.early.remove(&self.answered)?;
        self.early_bytes -= response_len(&answer);
        Some(answer)
    }

    /// Queues the next answer. If memory for it runs out, the client gets that error instead.
    ///
    /// # Errors
    /// If there is no memory for this error either.
    fn queue_answer(&mut self, (request_len, result): Answer, is_finished: bool) -> Result<(), NoMemory> {
        self.waiting -= 1;
        self.bytes -= request_len;
        self.answered += 1;
        self.is_finished = is_finished;
        let Some(Connection { unsent, .. }) = &mut self.connection else { return Ok(()) };
        let mut queue_answer = |result: Result<&[u8], &str>| {
            let body = result.unwrap_or_else(str::as_bytes);
            let queued = unsent.try_push([&response_prefix(result.is_ok(), body.len()), body]);
            queued.map_err(|_| NoMemory { bytes: body.len() })
        };
        let result = result.as_deref().map_err(String::as_str);
        queue_answer(result).or_else(|refused| queue_answer(Err(&no_memory_for_response(refused))))
    }
}

/// Bytes of a response or error text.
fn response_len((_, result): &Answer) -> usize {
    result.as_ref().map_or_else(String::len, Vec::len)
}
