//! The side of services that answers: requests stand in line for the user's callback, and the thread that runs it sends
//! the response.

use std::any::{Any, TypeId};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::message::Service;
use runnel_core::wire::{NoMemory, Wire};
use runnel_io::{Interest, Reactor, Stream, Token};
use runnel_ros1::tcpros::response_head;

use super::unsent::Unsent;
use super::way::Way;
use crate::callback_group::{Entered, Runner, Turn};
use crate::ipc::{Sender, Unread};
use crate::ready::{Runnable, When};
use crate::sync::{Class, Mutex, TryMutex, lock};

/// Requests of one client that may wait: the originals send the next when they have the answer.
const MOST_WAITING: usize = 100;

/// Bytes of those, unless it is one, and of answers that a client does not take.
const MOST_BYTES: usize = 64 << 20;

/// One call on its way to the user's callback.
pub(crate) enum Asked<'a> {
    /// From another process: the response is to be appended.
    Bytes { request: &'a [u8], response: &'a mut Vec<u8> },
    /// From this process, by reference.
    Local { request: &'a (dyn Any + Send + Sync), response: &'a mut Option<Box<dyn Any + Send>> },
}

/// It fails with what the client is told.
type Callback = Box<dyn FnMut(Asked<'_>) -> Result<(), String> + Send>;

/// Of which type a service is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceTypes {
    pub(crate) name: &'static str,
    pub(crate) md5: &'static str,
    /// Request and response, for calls of this process.
    pub(crate) ids: [TypeId; 2],
    /// Bytes of every request in ROS 1, if that is fixed.
    pub(crate) request_len: Option<usize>,
}

impl ServiceTypes {
    pub(crate) fn of<S: Service>() -> Self {
        let ids = [TypeId::of::<S::Request>(), TypeId::of::<S::Response>()];
        Self { name: S::TYPE, md5: S::MD5, ids, request_len: S::Request::FIXED_LEN }
    }
}

/// One service of the user's.
pub(crate) struct ServiceCore {
    pub(crate) service: String,
    pub(crate) types: ServiceTypes,
    requests: Mutex<Requests>,
    callback: TryMutex<Callback>,
    turn: Turn,
}

#[derive(Default)]
struct Requests {
    waiting: VecDeque<(Vec<u8>, Arc<ClientLink>)>,
    /// It stands in the ready queue, waits for its group, or its callback runs for a request of these.
    scheduled: bool,
}

impl ServiceCore {
    pub(crate) fn new(service: String, types: ServiceTypes, when: When, callback: Callback) -> Arc<Self> {
        Arc::new_cyclic(|myself| Self {
            service,
            types,
            requests: Mutex::new(Class::ServiceRequests, Requests::default()),
            callback: TryMutex::new(callback),
            turn: Turn::new(when, myself),
        })
    }

    /// Takes a request; false if its client sends more than is accepted.
    pub(crate) fn push(&self, request: Vec<u8>, client: &Arc<ClientLink>) -> bool {
        match client.admit(request.len()) {
            Admission::Accepted => {}
            Admission::Ignored => return true,
            Admission::Refused => return false,
        }
        let mut requests = lock(&self.requests);
        requests.waiting.push_back((request, Arc::clone(client)));
        let schedule = !std::mem::replace(&mut requests.scheduled, true);
        drop(requests);
        if schedule {
            self.turn.push();
        }
        true
    }

    /// The user has dropped the service: what waits is not answered.
    pub(crate) fn end(&self) {
        let unanswered = std::mem::take(&mut lock(&self.requests).waiting);
        unanswered.iter().for_each(|(_, client)| client.end());
    }

    /// Answers a call of this process on the calling thread.
    ///
    /// # Errors
    /// Who runs the callback now.
    pub(crate) fn call(&self, asked: Asked<'_>) -> Result<Result<(), String>, Runner> {
        let _entered = self.turn.try_enter()?;
        Ok(self.answer(asked))
    }

    /// Runs the callback, of which no other thread is in the group.
    fn answer(&self, asked: Asked<'_>) -> Result<(), String> {
        self.turn.assert_unlocked("the callback of a service");
        match self.callback.try_lock() {
            Some(mut callback) => callback(asked),
            None => Err("another call is under way".to_owned()),
        }
    }
}

impl Runnable for ServiceCore {
    fn run(&self) {
        let Some(entered) = self.turn.enter() else { return };
        let _running = Running { core: self, entered: Some(entered) };
        let next = lock(&self.requests).waiting.pop_front();
        let Some((request, client)) = next else { return };
        let result = Err("the callback panicked".to_owned());
        let mut answered = Answered { client: &client, asked: request.len(), result };
        let mut body = Vec::new();
        let done = self.answer(Asked::Bytes { request: &request, response: &mut body });
        answered.result = done.map(|()| body);
    }
}

/// The callback under way for the first of the requests that wait. When it ends, also by a panic, the next has its turn.
struct Running<'a> {
    core: &'a ServiceCore,
    entered: Option<Entered<'a>>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // The group is free before the next request has its turn.
        self.entered = None;
        let mut requests = lock(&self.core.requests);
        requests.scheduled = !requests.waiting.is_empty();
        let left = requests.scheduled;
        drop(requests);
        if left {
            self.core.turn.push();
        }
    }
}

/// Sends the answer when a callback ends, also by a panic.
struct Answered<'a> {
    client: &'a ClientLink,
    /// Bytes of the request.
    asked: usize,
    result: Result<Vec<u8>, String>,
}

impl Drop for Answered<'_> {
    fn drop(&mut self) {
        let result = match &self.result {
            Ok(body) => Ok(body.as_slice()),
            Err(why) => Err(why.as_str()),
        };
        self.client.answer(self.asked, result);
    }
}

/// What the client is told of a response that there is no memory for.
pub(crate) fn no_memory_for_response(NoMemory { bytes }: NoMemory) -> String {
    format!("no memory for a response of {bytes} bytes")
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    /// It is answered.
    Accepted,
    /// Its client is not persistent and has sent one already, behind whose answer the connection ends.
    Ignored,
    /// It is one too many, or its client does not take what it is answered.
    Refused,
}

/// The connection of a client: whoever has run the callback answers on it.
pub(crate) struct ClientLink {
    reactor: Arc<Reactor>,
    token: Token,
    stream: Arc<Stream>,
    persistent: bool,
    /// How long the client may take none of what it is answered before its connection ends.
    linger: Duration,
    state: Mutex<Answers>,
}

struct Answers {
    way: Way,
    unsent: Unsent,
    /// Requests that have no answer yet, and their bytes.
    waiting: usize,
    bytes: usize,
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
        let answers = Answers { way, unsent, waiting: 0, bytes: 0, watched, over: false };
        let state = Mutex::new(Class::ServiceAnswers, answers);
        Self { reactor, token, stream, persistent, linger, state }
    }

    /// One more request has come.
    fn admit(&self, bytes: usize) -> Admission {
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
        state.waiting += 1;
        state.bytes += bytes;
        Admission::Accepted
    }

    /// Ends the connection: its socket may be held by requests that wait.
    pub(crate) fn end(&self) {
        let _ = self.stream.shutdown();
    }

    /// Sends the response to a request of so many bytes, or why there is none. If there is no memory for it, that is why; and
    /// if there is none for saying so, the connection ends.
    fn answer(&self, asked: usize, result: Result<&[u8], &str>) {
        let mut state = lock(&self.state);
        state.waiting -= 1;
        state.bytes -= asked;
        state.over = !self.persistent;
        let put = |unsent: &mut Unsent, result: Result<&[u8], &str>| {
            let body = result.unwrap_or_else(str::as_bytes);
            let put = unsent.try_push([&response_head(result.is_ok(), body.len()), body]);
            put.map_err(|_| NoMemory { bytes: body.len() })
        };
        let answered = put(&mut state.unsent, result)
            .or_else(|refused| put(&mut state.unsent, Err(&no_memory_for_response(refused))));
        if answered.is_err() {
            return self.end();
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

#[cfg(test)]
mod tests;
