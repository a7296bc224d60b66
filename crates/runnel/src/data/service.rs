//! Service servers: requests wait for the user's callback or to be taken, and the thread that answers sends the
//! response.

mod client_link;
mod replies;
mod requester;
mod service_end;
#[cfg(test)]
mod tests;
mod unanswered;

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use runnel_core::message::{Message, Service};
use runnel_core::wire::{Encoding, NoMemory, Wire};

use crate::callback_group::{CallbackScheduler, Entered, ExclusiveGroup, Runner};
use crate::data::PendingCall;
use crate::log_output::console;
use crate::ready::{Dispatch, Listeners, Task, Waitable};
use crate::rtps::{ServiceMessageType, ServiceTypeNames};
use crate::sync::{Class, Mutex, TryMutex, lock};
use client_link::Admission;
pub(crate) use client_link::ClientLink;
pub(crate) use replies::{Addressee, Replies, RequestIdentity, Ros2Request};
pub(crate) use requester::RequestKey;
use requester::Requester;
pub(crate) use service_end::{ServiceEnd, ServiceMemory};
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

/// The type of a service.
#[derive(Clone, Debug)]
pub(crate) struct ServiceTypes {
    pub(crate) name: Cow<'static, str>,
    pub(crate) md5: Cow<'static, str>,
    /// Types of request and response, for calls of this process.
    pub(crate) ids: [TypeId; 2],
    /// Length of every ROS 1 request, if that is fixed.
    pub(crate) request_len: Option<usize>,
    /// The DDS type and the type hash of request and response; empty if the service cannot be represented in ROS 2.
    pub(crate) ros2: [(Cow<'static, str>, Cow<'static, str>); 2],
}

impl ServiceTypes {
    pub(crate) fn of<S: Service>() -> Self {
        let ids = [TypeId::of::<S::Request>(), TypeId::of::<S::Response>()];
        let ros2 = [(S::Request::DDS_TYPE, S::Request::RIHS01), (S::Response::DDS_TYPE, S::Response::RIHS01)]
            .map(|(dds_type, rihs01)| (Cow::Borrowed(dds_type), Cow::Borrowed(rihs01)));
        let [name, md5] = [S::TYPE, S::MD5].map(Cow::Borrowed);
        Self { name, md5, ids, request_len: S::Request::FIXED_LEN, ros2 }
    }

    /// The message types in ROS 2; `None` if the service cannot be represented there.
    pub(crate) fn in_ros2(&self) -> Option<ServiceTypeNames> {
        let [request, response] = self.ros2.each_ref().map(|(dds_type, rihs01)| ServiceMessageType {
            dds_type: dds_type.clone().into_owned(),
            rihs01: rihs01.clone().into_owned(),
        });
        let is_known = !request.rihs01.is_empty() && !response.rihs01.is_empty();
        is_known.then_some(ServiceTypeNames { request, response })
    }
}

/// One service of the user.
pub(crate) struct ServiceCore {
    pub(crate) service: String,
    pub(crate) types: ServiceTypes,
    requests: Mutex<Requests>,
    unanswered: Unanswered,
    callback: TryMutex<ServiceCallback>,
    /// See [`ServiceCore::answers_at_once`].
    answers_at_once: bool,
    scheduler: CallbackScheduler,
}

#[derive(Default)]
struct Requests {
    waiting: VecDeque<Waiting>,
    /// It is in the ready queue, waits for its group, or its callback runs for one of these requests.
    scheduled: bool,
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

/// Answers one request. When dropped, it answers that there is no response.
pub(crate) struct Responder {
    requester: Requester,
    /// Length of the request in bytes.
    request_len: usize,
    result: Result<Vec<u8>, String>,
    counted: Option<Counted>,
}

impl Responder {
    fn new(requester: Requester, request_len: usize, counted: Counted) -> Self {
        let (counted, result) = (Some(counted), Err("the service has not responded".to_owned()));
        Self { requester, request_len, counted, result }
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
        self.result = result;
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        let result = std::mem::replace(&mut self.result, Ok(Vec::new()));
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
        let answers = matches!(callback, ServiceCallback::Answers(_));
        let answers_at_once = answers && !matches!(dispatch, Dispatch::Taken);
        Arc::new_cyclic(|myself| Self {
            service,
            types,
            requests: Mutex::new(Class::ServiceRequests, Requests::default()),
            unanswered: Unanswered::default(),
            callback: TryMutex::new(callback),
            answers_at_once,
            scheduler: CallbackScheduler::in_group(dispatch, group, myself),
        })
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
    pub(crate) fn push_local(&self, request: Vec<u8>, call: Arc<PendingCall>, key: RequestKey) {
        self.queue(request, Requester::Local { call, key });
    }

    fn queue(&self, request: Vec<u8>, requester: Requester) {
        let Some(counted) = self.unanswered.admit() else { return self.refuse(request.len(), &requester) };
        let mut requests = lock(&self.requests);
        requests.waiting.push_back(Waiting { request, requester, counted });
        let schedule = !std::mem::replace(&mut requests.scheduled, true);
        drop(requests);
        if schedule {
            self.scheduler.push();
        }
    }

    /// Answers a request that exceeds the limit of unanswered ones.
    fn refuse(&self, request_len: usize, requester: &Requester) {
        let why = format!("service {}: {MOST_UNANSWERED} requests have no response yet", self.service);
        if let Some(count) = self.unanswered.note_refused() {
            console::warning!("{why}; requests refused: {count}");
        }
        requester.answer(request_len, Err(why));
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

    fn unschedule_if_empty(&self, requests: &mut Requests) {
        if requests.waiting.is_empty() && self.scheduler.unqueue() {
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
        let responder = Responder::new(requester, bytes.len(), counted);
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
        responder.result = Err("the callback panicked".to_owned());
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
        requests.scheduled = !requests.waiting.is_empty();
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
