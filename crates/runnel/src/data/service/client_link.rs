//! The connection of a client: whoever answers a request sends the response on it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::wire::NoMemory;
use runnel_io::{Interest, Reactor, Stream, Token};
use runnel_ros1::tcpros::response_prefix;

use super::no_memory_for_response;
use crate::data::unsent::Unsent;
use crate::data::way::Way;
use crate::ipc::{Sender, Unread};
use crate::sync::{Class, Mutex, lock};

/// Requests of one client that may wait: the originals send the next when they have the answer.
const MOST_WAITING: usize = 100;

/// Bytes of those, unless it is one, and of answers that a client does not take.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is answered, as the one of this number on its connection.
    Accepted { number: u64 },
    /// Its client is not persistent and has sent one already, behind whose answer the connection ends.
    Ignored,
    /// It is one too many, or its client does not take what it is answered.
    Refused,
}

/// See the module's documentation.
pub(crate) struct ClientLink {
    reactor: Arc<Reactor>,
    token: Token,
    stream: Arc<Stream>,
    persistent: bool,
    /// How long the client may take none of what it is answered before its connection ends.
    linger: Duration,
    state: Mutex<Answers>,
}

/// The response to a request of so many bytes, or why there is none.
type Answer = (usize, Result<Vec<u8>, String>);

struct Answers {
    way: Way,
    unsent: Unsent,
    /// Requests that have no answer yet, and their bytes.
    waiting: usize,
    bytes: usize,
    /// Requests that were answered, and so the number of the next one that is.
    answered: u64,
    /// Answers that were given before those of earlier requests, by number: a connection has them in order.
    early: BTreeMap<u64, Answer>,
    /// The reactor tells when the socket takes more.
    watched: bool,
    /// No request is expected any more.
    over: bool,
}

impl ClientLink {
    /// A link; `unsent` of our header goes before all answers.
    pub(crate) fn new(
        reactor: Arc<Reactor>,
        token: Token,
        stream: Arc<Stream>,
        persistent: bool,
        unsent: Unsent,
        linger: Duration,
    ) -> Self {
        let watched = !unsent.is_empty();
        let way = Way::new(Arc::clone(&stream), token, unsent.len());
        let (answered, early) = (0, BTreeMap::new());
        let answers = Answers { way, unsent, waiting: 0, bytes: 0, answered, early, watched, over: false };
        let state = Mutex::new(Class::ServiceAnswers, answers);
        Self { reactor, token, stream, persistent, linger, state }
    }

    /// Which connection it is.
    pub(super) fn token(&self) -> Token {
        self.token
    }

    /// One more request has come.
    pub(super) fn admit(&self, bytes: usize) -> Admission {
        let mut state = lock(&self.state);
        let is_first = state.waiting == 0 && !state.over;
        if !is_first && !self.persistent {
            return Admission::Ignored;
        }
        // On a connection it would not be asked for more; shared memory has no such means.
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

    /// Ends the connection: its socket may be held by requests that wait.
    pub(crate) fn end(&self) {
        let _ = self.stream.shutdown();
    }

    /// Sends the response to the request of this number, once those before it are answered.
    pub(super) fn answer(&self, number: u64, answer: Answer) {
        let mut state = lock(&self.state);
        if number != state.answered {
            state.early.insert(number, answer);
            return;
        }
        let mut next = Some(answer);
        while let Some(answer) = next {
            if state.put(answer, !self.persistent).is_err() {
                return self.end();
            }
            let number = state.answered;
            next = state.early.remove(&number);
        }
        self.flush(&mut state);
    }

    /// The client is of this host: answers go over to a session, where the client knows the link by `token`. False if that
    /// cannot be now.
    pub(crate) fn go_over(&self, sender: &Arc<Sender>, token: u128) -> bool {
        let mut state = lock(&self.state);
        if !state.way.go_over(&self.reactor, sender, token) {
            return false;
        }
        if std::mem::take(&mut state.watched) {
            let _ = self.reactor.modify(&*self.stream, self.token, Interest::Read);
        }
        self.flush(&mut state);
        true
    }

    /// The session is over: answers go by the connection again, with what the client has not read.
    /// Without memory for that, the connection ends.
    pub(crate) fn fall_back(&self, sender: &Arc<Sender>, unread: &mut Unread) {
        let mut state = lock(&self.state);
        if let Some(channel) = state.way.channel_of(sender) {
            state.way.fall_back();
            match unread.take_stream(channel).and_then(|bytes| state.unsent.push_first(&bytes)) {
                Ok(()) => self.flush(&mut state),
                Err(_) => self.end(),
            }
        }
    }

    /// The socket takes more.
    pub(crate) fn writable(&self) {
        self.flush(&mut lock(&self.state));
    }

    /// Sends what the socket takes. When a client that wanted one answer has it, the connection ends. An error shows
    /// as the connection's end, too.
    fn flush(&self, state: &mut Answers) {
        let Answers { unsent, way, .. } = &mut *state;
        let failed = unsent.flush(|bytes| way.send(bytes)).is_err();
        let rests = !state.unsent.is_empty();
        if failed || state.over && !rests {
            self.end();
        } else if state.way.is_channel() {
            let _ = state.way.watch(&self.reactor, rests);
        } else if state.watched != rests {
            state.watched = rests;
            if rests {
                let _ = self.stream.set_send_deadline(self.linger);
            }
            // Who does not read what it is answered is not asked for more.
            let interest = if rests { Interest::Write } else { Interest::Read };
            let _ = self.reactor.modify(&*self.stream, self.token, interest);
        }
    }
}

impl Answers {
    /// Puts the next answer into the line. If there is no memory for it, that is the answer; an error if there is none for
    /// saying so, either.
    fn put(&mut self, (asked, result): Answer, over: bool) -> Result<(), NoMemory> {
        self.waiting -= 1;
        self.bytes -= asked;
        self.answered += 1;
        self.over = over;
        let mut put = |result: Result<&[u8], &str>| {
            let body = result.unwrap_or_else(str::as_bytes);
            let put = self.unsent.try_push([&response_prefix(result.is_ok(), body.len()), body]);
            put.map_err(|_| NoMemory { bytes: body.len() })
        };
        let result = result.as_deref().map_err(String::as_str);
        put(result).or_else(|refused| put(Err(&no_memory_for_response(refused))))
    }
}
