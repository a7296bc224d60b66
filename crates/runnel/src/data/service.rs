//! The side of services that answers: requests stand in line for the user's callback, and the thread that runs it sends
//! the response.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, TryLockError, Weak};

use runnel_io::{Interest, Reactor, Stream, Token};
use runnel_ros1::tcpros::response;

use super::ready::{ReadyQueue, Runnable};
use super::unsent::Unsent;
use crate::sync::lock;

/// Requests of one client that may wait: the originals send the next when they have the answer.
pub(crate) const MOST_WAITING: usize = 100;

/// One call on its way to the user's callback.
pub(crate) enum Asked<'a> {
    /// From another process: the response is to be appended.
    Bytes { request: &'a [u8], response: &'a mut Vec<u8> },
    /// From this process, by reference.
    Local { request: &'a (dyn Any + Send + Sync), response: &'a mut Option<Box<dyn Any + Send>> },
}

/// It fails with what the client is told.
type Callback = Box<dyn FnMut(Asked<'_>) -> Result<(), String> + Send>;

/// One service of the user's.
pub(crate) struct ServiceCore {
    pub(crate) service: String,
    pub(crate) type_name: &'static str,
    pub(crate) md5: &'static str,
    requests: Mutex<Requests>,
    callback: Mutex<Callback>,
    ready: Arc<ReadyQueue>,
    myself: Weak<ServiceCore>,
}

#[derive(Default)]
struct Requests {
    waiting: VecDeque<(Vec<u8>, Arc<ClientLink>)>,
    /// It stands in the ready queue, or its callback runs.
    scheduled: bool,
}

impl ServiceCore {
    pub(crate) fn new(
        service: String,
        (type_name, md5): (&'static str, &'static str),
        ready: Arc<ReadyQueue>,
        callback: Callback,
    ) -> Arc<Self> {
        Arc::new_cyclic(|myself| Self {
            service,
            type_name,
            md5,
            requests: Mutex::default(),
            callback: Mutex::new(callback),
            ready,
            myself: myself.clone(),
        })
    }

    /// Takes a request; false if its client has too many waiting.
    pub(crate) fn push(&self, request: Vec<u8>, client: &Arc<ClientLink>) -> bool {
        if !client.one_more() {
            return false;
        }
        let mut requests = lock(&self.requests);
        requests.waiting.push_back((request, Arc::clone(client)));
        let schedule = !std::mem::replace(&mut requests.scheduled, true);
        drop(requests);
        if schedule {
            self.schedule();
        }
        true
    }

    /// The user has dropped the service: what waits is not answered.
    pub(crate) fn end(&self) {
        let unanswered = std::mem::take(&mut lock(&self.requests).waiting);
        unanswered.iter().for_each(|(_, client)| client.end());
    }

    /// Answers a call of this process on the calling thread. `None` if the callback is under way: on another thread, or
    /// further down on this thread's stack.
    pub(crate) fn call(&self, asked: Asked<'_>) -> Option<Result<(), String>> {
        let mut callback = match self.callback.try_lock() {
            Ok(callback) => callback,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let answered = callback(asked);
        drop(callback);
        self.schedule_if_left();
        Some(answered)
    }

    /// The callback is under way: whoever runs it schedules what waits, unless that has just ended.
    fn leave_to_caller(&self) {
        lock(&self.requests).scheduled = false;
        if !matches!(self.callback.try_lock(), Err(TryLockError::WouldBlock)) {
            self.schedule_if_left();
        }
    }

    fn schedule_if_left(&self) {
        let mut requests = lock(&self.requests);
        let left = !requests.waiting.is_empty() && !std::mem::replace(&mut requests.scheduled, true);
        drop(requests);
        if left {
            self.schedule();
        }
    }

    fn schedule(&self) {
        if let Some(myself) = self.myself.upgrade() {
            self.ready.push(myself);
        }
    }
}

impl Runnable for ServiceCore {
    fn run(&self) {
        let mut callback = match self.callback.try_lock() {
            Ok(callback) => callback,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // A call of this process is being answered: its end looks at the line.
            Err(TryLockError::WouldBlock) => return self.leave_to_caller(),
        };
        let next = lock(&self.requests).waiting.pop_front();
        let _again = Again(self);
        let Some((request, client)) = next else { return };
        let mut answered = Answered { client: &client, result: Err("the callback panicked".to_owned()) };
        let mut body = Vec::new();
        let done = callback(Asked::Bytes { request: &request, response: &mut body });
        answered.result = done.map(|()| body);
    }
}

/// Sends the answer when a callback ends, also by a panic.
struct Answered<'a> {
    client: &'a ClientLink,
    result: Result<Vec<u8>, String>,
}

impl Drop for Answered<'_> {
    fn drop(&mut self) {
        let mut bytes = Vec::new();
        match &self.result {
            Ok(body) => response(&mut bytes, true, |out| out.extend_from_slice(body)),
            Err(why) => response(&mut bytes, false, |out| out.extend_from_slice(why.as_bytes())),
        }
        self.client.answer(&bytes);
    }
}

/// Stands in line again if more waits.
struct Again<'a>(&'a ServiceCore);

impl Drop for Again<'_> {
    fn drop(&mut self) {
        let mut requests = lock(&self.0.requests);
        requests.scheduled = !requests.waiting.is_empty();
        let again = requests.scheduled;
        drop(requests);
        if again {
            self.0.schedule();
        }
    }
}

/// The connection of a client: whoever has run the callback answers on it.
pub(crate) struct ClientLink {
    reactor: Arc<Reactor>,
    token: Token,
    stream: Arc<Stream>,
    persistent: bool,
    state: Mutex<Answers>,
}

#[derive(Default)]
struct Answers {
    unsent: Unsent,
    /// Requests that have no answer yet.
    waiting: usize,
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
    ) -> Self {
        let watched = !unsent.is_empty();
        let state = Mutex::new(Answers { unsent, waiting: 0, watched, over: false });
        Self { reactor, token, stream, persistent, state }
    }

    /// One more request has come; false if too many wait.
    fn one_more(&self) -> bool {
        let mut state = lock(&self.state);
        state.waiting += 1;
        state.waiting <= MOST_WAITING
    }

    /// Ends the connection: its socket may be held by requests that wait.
    pub(crate) fn end(&self) {
        let _ = self.stream.shutdown();
    }

    fn answer(&self, bytes: &[u8]) {
        let mut state = lock(&self.state);
        state.waiting -= 1;
        state.over = !self.persistent;
        state.unsent.push(bytes);
        self.flush(&mut state);
    }

    /// The socket takes more.
    pub(crate) fn writable(&self) {
        self.flush(&mut lock(&self.state));
    }

    /// Sends what the socket takes. When a client that wanted one answer has it, the connection ends. An error shows
    /// as the connection's end, too.
    fn flush(&self, state: &mut Answers) {
        let failed = state.unsent.flush(&self.stream).is_err();
        let rests = !state.unsent.is_empty();
        if failed || state.over && !rests {
            self.end();
        } else if state.watched != rests {
            state.watched = rests;
            let interest = if rests { Interest::Both } else { Interest::Read };
            let _ = self.reactor.modify(&*self.stream, self.token, interest);
        }
    }
}
