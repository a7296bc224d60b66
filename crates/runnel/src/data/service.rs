//! The side of services that answers: requests stand in line for the user's callback, or to be taken; the thread that answers
//! sends the response.

mod client_link;
#[cfg(test)]
mod tests;

use std::any::{Any, TypeId};
use std::collections::VecDeque;
use std::sync::Arc;

use runnel_core::message::Service;
use runnel_core::wire::{NoMemory, Wire};

use crate::callback_group::{Entered, ExclusiveGroup, Runner, Turn};
use crate::ready::{Listeners, Runnable, Waitable, When};
use crate::sync::{Class, Mutex, TryMutex, lock};
use client_link::Admission;
pub(crate) use client_link::ClientLink;

/// In the words of a check.
const CALLBACK: &str = "the callback of a service";

/// One call on its way to the user's callback.
pub(crate) enum Asked<'a> {
    /// From another process: the response is to be appended.
    Bytes { request: &'a [u8], response: &'a mut Vec<u8> },
    /// From this process, by reference.
    Local { request: &'a (dyn Any + Send + Sync), response: &'a mut Option<Box<dyn Any + Send>> },
}

type Answers = Box<dyn FnMut(Asked<'_>) -> Result<(), String> + Send>;

/// What the user does with requests.
pub(crate) enum ServiceCallback {
    /// Makes the response at once, or fails with what the client is told.
    Answers(Answers),
    /// Answers at any time. Calls of this process come by sockets, too.
    Defers(Box<dyn FnMut(ServiceRequest) + Send>),
}

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
    callback: TryMutex<ServiceCallback>,
    /// See [`ServiceCore::answers_at_once`].
    answers_at_once: bool,
    turn: Turn,
}

#[derive(Default)]
struct Requests {
    waiting: VecDeque<Waiting>,
    /// It stands in the ready queue, waits for its group, or its callback runs for a request of these.
    scheduled: bool,
}

struct Waiting {
    request: Vec<u8>,
    client: Arc<ClientLink>,
    /// Among those of its connection.
    number: u64,
}

/// A request of another process that was taken, with what answers it: at any time, on any thread.
pub(crate) struct ServiceRequest {
    pub(crate) bytes: Vec<u8>,
    pub(crate) responder: Responder,
}

/// Answers one request. One that is dropped says that there is no response.
pub(crate) struct Responder {
    client: Arc<ClientLink>,
    number: u64,
    /// Bytes of the request.
    asked: usize,
    result: Result<Vec<u8>, String>,
}

impl Responder {
    fn new(client: Arc<ClientLink>, number: u64, asked: usize) -> Self {
        Self { client, number, asked, result: Err("the service has not responded".to_owned()) }
    }

    /// Which request of which connection it answers.
    pub(crate) fn request(&self) -> (u64, u64) {
        (self.client.token().0, self.number)
    }

    /// Gives the response, or why there is none.
    pub(crate) fn respond(mut self, result: Result<Vec<u8>, String>) {
        self.result = result;
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        let result = std::mem::replace(&mut self.result, Ok(Vec::new()));
        self.client.answer(self.number, (self.asked, result));
    }
}

impl ServiceCore {
    /// A service whose requests get their answers of `callback`, unless it is one that is taken from.
    pub(crate) fn new(
        service: String,
        types: ServiceTypes,
        (when, group): (When, &Arc<ExclusiveGroup>),
        callback: ServiceCallback,
    ) -> Arc<Self> {
        let answers = matches!(callback, ServiceCallback::Answers(_));
        let answers_at_once = answers && !matches!(when, When::Taken);
        Arc::new_cyclic(|myself| Self {
            service,
            types,
            requests: Mutex::new(Class::ServiceRequests, Requests::default()),
            callback: TryMutex::new(callback),
            answers_at_once,
            turn: Turn::in_group(when, group, myself),
        })
    }

    /// True if the callback answers, also to calls of this process on the thread that calls.
    pub(crate) fn answers_at_once(&self) -> bool {
        self.answers_at_once
    }

    /// Has a request wait; false if its client sends more than is accepted.
    pub(crate) fn push(&self, request: Vec<u8>, client: &Arc<ClientLink>) -> bool {
        let number = match client.admit(request.len()) {
            Admission::Accepted { number } => number,
            Admission::Ignored => return true,
            Admission::Refused => return false,
        };
        let mut requests = lock(&self.requests);
        requests.waiting.push_back(Waiting { request, client: Arc::clone(client), number });
        let schedule = !std::mem::replace(&mut requests.scheduled, true);
        drop(requests);
        if schedule {
            self.turn.push();
        }
        true
    }

    /// Takes the request that has waited longest.
    pub(crate) fn take(&self) -> Option<ServiceRequest> {
        let mut requests = lock(&self.requests);
        let next = requests.waiting.pop_front();
        if requests.waiting.is_empty() && self.turn.take_back() {
            requests.scheduled = false;
        }
        let Waiting { request: bytes, client, number } = next?;
        let responder = Responder::new(client, number, bytes.len());
        Some(ServiceRequest { bytes, responder })
    }

    /// The user has dropped the service: what waits is not answered.
    pub(crate) fn end(&self) {
        let unanswered = std::mem::take(&mut lock(&self.requests).waiting);
        unanswered.iter().for_each(|waiting| waiting.client.end());
    }

    /// Answers a call of this process on the calling thread.
    ///
    /// # Errors
    /// Who runs the callback now.
    pub(crate) fn call(&self, asked: Asked<'_>) -> Result<Result<(), String>, Runner> {
        let _entered = self.turn.try_enter(CALLBACK)?;
        Ok(self.answer(asked))
    }

    /// Runs the callback, of which no other thread is in the group.
    fn answer(&self, asked: Asked<'_>) -> Result<(), String> {
        match self.callback.try_lock().as_deref_mut() {
            Some(ServiceCallback::Answers(callback)) => callback(asked),
            Some(ServiceCallback::Defers(_)) | None => Err("another call is under way".to_owned()),
        }
    }

    /// Has the user answer a request of another process, at once or at any time.
    fn serve(&self, request: ServiceRequest) {
        if let Some(ServiceCallback::Defers(callback)) = self.callback.try_lock().as_deref_mut() {
            return callback(request);
        }
        let ServiceRequest { bytes, mut responder } = request;
        responder.result = Err("the callback panicked".to_owned());
        let mut response = Vec::new();
        let done = self.answer(Asked::Bytes { request: &bytes, response: &mut response });
        responder.respond(done.map(|()| response));
    }
}

impl Waitable for ServiceCore {
    fn is_ready(&self) -> bool {
        !lock(&self.requests).waiting.is_empty()
    }

    fn listeners(&self) -> &Listeners {
        self.turn.listeners()
    }
}

impl Runnable for ServiceCore {
    fn run(&self) {
        let Some(entered) = self.turn.enter(CALLBACK) else { return };
        let _running = Running { core: self, entered: Some(entered) };
        if let Some(request) = self.take() {
            self.serve(request);
        }
    }

    fn when(&self) -> Option<&When> {
        Some(self.turn.when())
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

/// What the client is told of a response that there is no memory for.
pub(crate) fn no_memory_for_response(NoMemory { bytes }: NoMemory) -> String {
    format!("no memory for a response of {bytes} bytes")
}
