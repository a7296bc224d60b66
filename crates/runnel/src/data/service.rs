//! Service servers: requests wait for the user's callback or to be taken, and the thread that answers sends the
//! response.

mod answered_requests;
mod client_link;
mod client_requests;
mod events;
mod held_replies;
mod occurrences;
mod replies;
mod requester;
mod service_end;
#[cfg(test)]
mod tests;
mod types;
mod unanswered;

use std::any::Any;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use runnel_core::wire::{Encoding, NoMemory};
use runnel_rtps::wire::Guid;

use crate::callback_group::{CallbackScheduler, Entered, ExclusiveGroup, Runner};
use crate::log_output::console;
use crate::ready::{Dispatch, Listeners, Task, Waitable};
use crate::sync::{Class, Mutex, TryMutex, lock};
use client_link::Admission;
pub(crate) use client_link::ClientLink;
pub(crate) use client_requests::ABSENCE;
pub(crate) use events::{EventPublishing, ServiceEvent, ServiceEvents};
pub(crate) use replies::{Addressee, Replies, RequestIdentity, Ros2Request};
use requester::{Holder, Requester};
pub(crate) use requester::{LocalCall, LocalClient, RequestKey};
pub(crate) use service_end::{ServiceEnd, ServiceMemory};
pub(crate) use types::{ServiceEventType, ServiceTypes};
use unanswered::{Counted, MOST_UNANSWERED, Unanswered};

/// Names the callback in errors.
const CALLBACK: &str = "the callback of a service";

/// One call for the user's callback.
pub(crate) enum ServiceCall<'a> {
    /// From another process: the callback appends the response.
    Bytes { encoding: Encoding, request: &'a [u8], response: &'a mut Vec<u8> },
    /// From this process, by reference.
    Local { request: &'a (dyn Any + Send + Sync), response: &'a mut Option<Box<dyn Any + Send>> },
}

/// Fails with an error text for the client.
type Answers = Box<dyn FnMut(ServiceCall<'_>) -> Result<(), String> + Send>;

/// The callback of a service.
pub(crate) enum ServiceCallback {
    /// Makes the response at once, or fails with an error text for the client.
    Answers(Answers),
    /// Answers at any time. Calls of this process are queued, too.
    Defers(Box<dyn FnMut(ServiceRequest) + Send>),
}

/// What a service in ROS 2 needs whose requests may wait for long.
pub(crate) struct LongWaits {
    /// See [`ServiceCore::refusal`].
    pub(crate) refusal: Arc<[u8]>,
    /// Runs like the callback of the service once clients have been gone for too long: their requests can be given up.
    pub(crate) on_clients_gone: Box<dyn Fn() + Send + Sync>,
}

/// One service of the user.
pub(crate) struct ServiceCore {
    pub(crate) service: String,
    pub(crate) types: ServiceTypes,
    requests: Mutex<Requests>,
    unanswered: Unanswered,
    /// Its events in ROS 2.
    pub(crate) events: Arc<ServiceEvents>,
    callback: TryMutex<ServiceCallback>,
    /// See [`ServiceCore::answers_at_once`].
    answers_at_once: bool,
    long_waits: Option<LongWaits>,
    scheduler: CallbackScheduler,
}

#[derive(Default)]
struct Requests {
    waiting: VecDeque<Waiting>,
    /// It is in the ready queue, waits for its group, or its callback runs for one of these requests.
    scheduled: bool,
    /// Clients have been gone for too long, which the service has not processed yet.
    clients_gone: bool,
}

impl Requests {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && !self.clients_gone
    }
}

struct Waiting {
    request: Vec<u8>,
    requester: Requester,
    counted: Counted,
}

/// A taken request of another process, with its responder, which any thread can use at any time.
pub(crate) struct ServiceRequest {
    pub(crate) bytes: Vec<u8>,
    pub(crate) responder: Responder,
}

/// Answers one request. When dropped, it answers that there is no response, unless the client is gone.
pub(crate) struct Responder {
    requester: Requester,
    /// Length of the request in bytes.
    request_len: usize,
    /// `None` until the service has responded.
    result: Option<Result<Vec<u8>, String>>,
    counted: Option<Counted>,
    events: Arc<ServiceEvents>,
    /// Another server of the service answers.
    is_discarded: bool,
}

impl Responder {
    fn new(requester: Requester, request_len: usize, counted: Counted, events: Arc<ServiceEvents>) -> Self {
        Self { requester, request_len, counted: Some(counted), result: None, events, is_discarded: false }
    }

    /// The client, and the number of its request.
    pub(crate) fn request(&self) -> RequestKey {
        self.requester.key()
    }

    /// The encoding of the request and its response.
    pub(crate) fn encoding(&self) -> Encoding {
        self.requester.encoding()
    }

    /// Excludes the request from the limits of unanswered requests: the caller has a limit of its own.
    pub(crate) fn release(&mut self) {
        self.counted = None;
        self.requester.release();
    }

    /// Sends the response, or the error text.
    pub(crate) fn respond(mut self, result: Result<Vec<u8>, String>) {
        self.result = Some(result);
    }

    /// Sends the error text `why` to a client that understands it, and `response` to any other.
    pub(crate) fn refuse(self, response: Vec<u8>, why: String) {
        let result = if self.requester.reads_failures() { Err(why) } else { Ok(response) };
        self.respond(result);
    }

    /// Gives no answer: another server of the service does. Clients outside of ROS 2 have one server only, and get an error.
    pub(crate) fn discard(mut self) {
        self.is_discarded = true;
    }

    /// Whether the client is gone, so that nothing waits for the response.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.requester.is_abandoned()
    }

    /// Whether the client has been gone for so long that it will not return.
    pub(crate) fn is_absent(&self) -> bool {
        self.requester.is_absent()
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        let result = self.result.take();
        let is_discarded = self.is_discarded && !self.requester.encoding().is_ros1();
        if result.is_none() && (is_discarded || self.requester.is_abandoned()) {
            return self.requester.give_up();
        }
        let result = result.unwrap_or_else(|| Err("the service has not responded".to_owned()));
        if let Ok(response) = &result {
            self.requester.note(&self.events, ServiceEvent::ResponseSent, response);
        }
        self.requester.answer(self.request_len, result);
    }
}

impl ServiceCore {
    /// A service that `callback` answers, unless its requests are taken.
    pub(crate) fn new(
        service: String,
        types: ServiceTypes,
        (dispatch, group): (Dispatch, &Arc<ExclusiveGroup>),
        callback: ServiceCallback,
    ) -> Arc<Self> {
        Self::with_long_waits(service, types, (dispatch, group), callback, None)
    }

    /// As [`ServiceCore::new`], for requests that may wait for long.
    pub(crate) fn with_long_waits(
        service: String,
        types: ServiceTypes,
        (dispatch, group): (Dispatch, &Arc<ExclusiveGroup>),
        callback: ServiceCallback,
        long_waits: Option<LongWaits>,
    ) -> Arc<Self> {
        let answers = matches!(callback, ServiceCallback::Answers(_));
        let answers_at_once = answers && !matches!(dispatch, Dispatch::Taken);
        Arc::new_cyclic(|myself| Self {
            service,
            types,
            requests: Mutex::new(Class::ServiceRequests, Requests::default()),
            unanswered: Unanswered::default(),
            events: Arc::default(),
            callback: TryMutex::new(callback),
            answers_at_once,
            long_waits,
            scheduler: CallbackScheduler::in_group(dispatch, group, myself),
        })
    }

    /// The response in ROS 2 to requests that are refused, for clients that do not understand errors.
    pub(crate) fn refusal(&self) -> Option<&Arc<[u8]>> {
        self.long_waits.as_ref().map(|waits| &waits.refusal)
    }

    /// True if the callback answers at once, also calls of this process on the calling thread.
    pub(crate) fn answers_at_once(&self) -> bool {
        self.answers_at_once
    }

    /// Queues a request, or answers that there are too many of all clients. False if its client sends more than the
    /// limit.
    pub(crate) fn push(&self, request: Vec<u8>, client: &Arc<ClientLink>) -> bool {
        let number = match client.admit(request.len()) {
            Admission::Accepted { number } => number,
            Admission::Ignored => return true,
            Admission::Refused => return false,
        };
        self.queue(request, Requester::Ros1 { link: Arc::clone(client), number });
        true
    }

    /// Queues a request of a client in ROS 2, or refuses it if there are too many.
    pub(crate) fn push_ros2(&self, request: Vec<u8>, from: Ros2Request) {
        self.queue(request, Requester::Ros2(from));
    }

    /// Queues a request of a client of this process, encoded for ROS 2.
    pub(crate) fn push_local(&self, request: Vec<u8>, call: LocalCall) {
        call.events.note(ServiceEvent::RequestSent, call.key, &request);
        self.queue(request, Requester::Local(call));
    }

    fn queue(&self, request: Vec<u8>, requester: Requester) {
        let holder = requester.holder();
        let Some(counted) = self.unanswered.admit(holder).or_else(|| self.displace(holder)) else {
            return self.refuse(request.len(), &requester);
        };
        let mut requests = lock(&self.requests);
        requests.waiting.push_back(Waiting { request, requester, counted });
        let schedule = !std::mem::replace(&mut requests.scheduled, true);
        drop(requests);
        if schedule {
            self.scheduler.push();
        }
    }

    /// Refuses the oldest waiting request of the client that has the most unanswered ones, if the client of a further one
    /// has fewer. A client that has none waiting keeps its requests: the user has taken them.
    fn displace(&self, by: Holder) -> Option<Counted> {
        let mut requests = lock(&self.requests);
        let holders = requests.waiting.iter().map(|waiting| waiting.requester.holder()).collect();
        let largest = self.unanswered.displaced(holders, by)?;
        let place = requests.waiting.iter().position(|waiting| waiting.requester.holder() == largest)?;
        let Waiting { request, requester, counted } = requests.waiting.remove(place)?;
        drop(requests);
        self.refuse(request.len(), &requester);
        Some(counted.pass_to(by))
    }

    /// Answers a request that exceeds the limit of unanswered ones.
    fn refuse(&self, request_len: usize, requester: &Requester) {
        let why = format!("service {}: {MOST_UNANSWERED} requests have no response yet", self.service);
        if let Some(count) = self.unanswered.note_refused() {
            console::warning!("{why}; requests refused: {count}");
        }
        match self.refusal() {
            Some(response) if !requester.reads_failures() => requester.answer(0, Ok(response.to_vec())),
            _ => requester.answer(request_len, Err(why)),
        }
    }

    /// The connection of a client has ended: drops its socket and its waiting requests.
    pub(crate) fn forget_client(&self, client: &Arc<ClientLink>) {
        client.close();
        let mut requests = lock(&self.requests);
        let all = std::mem::take(&mut requests.waiting);
        let (left, waiting): (VecDeque<_>, _) =
            all.into_iter().partition(|waiting| waiting.requester.is_of(client));
        requests.waiting = waiting;
        self.unschedule_if_empty(&mut requests);
        drop(requests);
        drop(left);
    }

    /// Clients in ROS 2, each by its writer of requests, have been gone for too long: drops their waiting requests, and
    /// lets the service give up those that it has taken.
    pub(crate) fn forget_ros2_clients(&self, clients: &BTreeSet<Guid>) {
        let mut requests = lock(&self.requests);
        let all = std::mem::take(&mut requests.waiting);
        let is_of = |waiting: &Waiting| waiting.requester.gives_up(clients);
        let (left, waiting): (VecDeque<_>, _) = all.into_iter().partition(is_of);
        requests.waiting = waiting;
        requests.clients_gone |= self.long_waits.is_some();
        self.unschedule_if_empty(&mut requests);
        let schedule = !requests.is_empty() && !std::mem::replace(&mut requests.scheduled, true);
        drop(requests);
        drop(left);
        if schedule {
            self.scheduler.push();
        }
    }

    /// Lets the service give up the requests of clients that have been gone for too long.
    fn process_gone_clients(&self) {
        let are_gone = std::mem::take(&mut lock(&self.requests).clients_gone);
        if let Some(waits) = self.long_waits.as_ref().filter(|_| are_gone) {
            (waits.on_clients_gone)();
        }
    }

    fn unschedule_if_empty(&self, requests: &mut Requests) {
        if requests.is_empty() && self.scheduler.unqueue() {
            requests.scheduled = false;
        }
    }

    /// Takes the oldest request.
    pub(crate) fn take(&self) -> Option<ServiceRequest> {
        let mut requests = lock(&self.requests);
        let next = requests.waiting.pop_front();
        self.unschedule_if_empty(&mut requests);
        drop(requests);
        let Waiting { request: bytes, requester, counted } = next?;
        requester.note(&self.events, ServiceEvent::RequestReceived, &bytes);
        let responder = Responder::new(requester, bytes.len(), counted, Arc::clone(&self.events));
        Some(ServiceRequest { bytes, responder })
    }

    /// Ends the service when the user has dropped it. Waiting requests get no response.
    pub(crate) fn end(&self) {
        let unanswered = std::mem::take(&mut lock(&self.requests).waiting);
        unanswered.iter().for_each(|waiting| waiting.requester.end());
    }

    /// Answers a call of this process on the calling thread.
    ///
    /// # Errors
    /// If the callback runs already: which thread runs it.
    pub(crate) fn call(&self, call: ServiceCall<'_>) -> Result<Result<(), String>, Runner> {
        let _entered = self.scheduler.try_enter(CALLBACK)?;
        Ok(self.answer(call))
    }

    /// As [`ServiceCore::call`], for an encoded request. With a key, events about it are published.
    pub(crate) fn call_encoded(
        &self,
        (encoding, request): (Encoding, &[u8]),
        key: Option<RequestKey>,
        response: &mut Vec<u8>,
    ) -> Result<Result<(), String>, Runner> {
        let _entered = self.scheduler.try_enter(CALLBACK)?;
        let note =
            |event, payload: &[u8]| key.into_iter().for_each(|key| self.events.note(event, key, payload));
        note(ServiceEvent::RequestReceived, request);
        let answered = self.answer(ServiceCall::Bytes { encoding, request, response });
        if answered.is_ok() {
            note(ServiceEvent::ResponseSent, response);
        }
        Ok(answered)
    }

    /// Runs the callback. The caller is in its group.
    fn answer(&self, call: ServiceCall<'_>) -> Result<(), String> {
        match self.callback.try_lock().as_deref_mut() {
            Some(ServiceCallback::Answers(callback)) => callback(call),
            Some(ServiceCallback::Defers(_)) | None => Err("another call is under way".to_owned()),
        }
    }

    /// Passes a request of another process to the callback, which answers at once or later.
    fn serve(&self, request: ServiceRequest) {
        if let Some(ServiceCallback::Defers(callback)) = self.callback.try_lock().as_deref_mut() {
            return callback(request);
        }
        let ServiceRequest { bytes, mut responder } = request;
        responder.result = Some(Err("the callback panicked".to_owned()));
        let mut response = Vec::new();
        let encoding = responder.encoding();
        let done = self.answer(ServiceCall::Bytes { encoding, request: &bytes, response: &mut response });
        responder.respond(done.map(|()| response));
    }
}

impl Waitable for ServiceCore {
    fn is_ready(&self) -> bool {
        !lock(&self.requests).waiting.is_empty()
    }

    fn listeners(&self) -> &Listeners {
        self.scheduler.listeners()
    }
}

impl Task for ServiceCore {
    fn run(&self) {
        let Some(entered) = self.scheduler.enter(CALLBACK) else { return };
        let _running = Running { core: self, entered: Some(entered) };
        self.process_gone_clients();
        if let Some(request) = self.take() {
            self.serve(request);
        }
    }

    fn dispatch(&self) -> Option<&Dispatch> {
        Some(self.scheduler.dispatch())
    }
}

/// The callback for the oldest waiting request. When it ends, also by a panic, the service is scheduled for the next
/// one.
struct Running<'a> {
    core: &'a ServiceCore,
    entered: Option<Entered<'a>>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // The group is released before the next request is scheduled.
        self.entered = None;
        let mut requests = lock(&self.core.requests);
        requests.scheduled = !requests.is_empty();
        let left = requests.scheduled;
        drop(requests);
        if left {
            self.core.scheduler.push();
        }
    }
}

/// Error text for the client if there is no memory for a response.
pub(crate) fn no_memory_for_response(NoMemory { bytes }: NoMemory) -> String {
    format!("no memory for a response of {bytes} bytes")
}
