//! Service calls, independent of their types.
//!
//! A call goes to a service of this process if there is one, else to a server in ROS 2 that has been discovered, else to
//! the provider that the ROS 1 master knows. A node that is only in ROS 2 waits for a server instead.

mod readiness;

use std::sync::Arc;
use std::time::Duration;

use runnel_core::bounds::{LengthBeyondLimit, MAX_MESSAGE};
use runnel_core::time::Instant;
use runnel_core::wire::{Encoding, GrowingSink, NoMemory, try_write};
use runnel_io::clock;
use runnel_ros1::node::{
    HandshakeFault, ServiceClientSpec, ServiceFailure, ServiceLinkId, TypeMismatch, TypeSum,
};
use runnel_ros1::tcpros::{LENGTH, try_frame};
use runnel_rtps::wire::EntityId;

use crate::callback_group::Runner;
use crate::data::{CallAnswer, CallPath, PendingCall, ServiceCore, ServiceEvent, ServiceEvents};
use crate::driver::CallRequest;
use crate::error::{Error, ServiceError};
use crate::node::NodeInner;
use crate::rtps::ServiceTypeNames;
use crate::runtime::shared::Shared;
use crate::runtime::wait_set::WaitSet;
use crate::sync::{Class, Mutex, lock};
use crate::topics::publisher::PublisherBase;

/// How often a callback that runs on another thread is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// One service as one node calls it.
pub(crate) struct Caller {
    node: Arc<NodeInner>,
    wanted: ServiceClientSpec,
    /// Length of every response, if that is fixed.
    response_len: Option<usize>,
    /// The link of a persistent client, while it carries no call.
    link: Mutex<Option<ServiceLinkId>>,
    /// The client in ROS 2, by its reader.
    ros2: Option<EntityId>,
    /// Its events.
    events: Option<Arc<ServiceEvents>>,
    event_publisher: Mutex<Option<PublisherBase>>,
}

/// A request, which is encoded for the graph that carries it.
pub(crate) trait Request {
    /// Appends the request.
    ///
    /// # Errors
    /// Why it has no form in this encoding.
    fn write(&self, encoding: Encoding, out: &mut GrowingSink) -> Result<(), String>;
}

/// The response to a call.
pub(crate) struct ResponseBytes {
    pub(crate) encoding: Encoding,
    pub(crate) bytes: Vec<u8>,
}

impl Caller {
    /// A caller that also has a client in ROS 2, if there are `types` there.
    ///
    /// # Errors
    /// If the operating system has no random bytes.
    pub(crate) fn new(
        node: Arc<NodeInner>,
        wanted: ServiceClientSpec,
        response_len: Option<usize>,
        types: Option<&ServiceTypeNames>,
    ) -> Result<Self, Error> {
        let add = |types| {
            let memory = node.service_memory();
            node.driver().add_client(node.key, &wanted.service, types, memory)
        };
        let ros2 = types.map(add).transpose()?.flatten();
        let events = ros2.and_then(|client| node.driver().events_of_client(client));
        let event_publisher = Mutex::new(Class::EventPublisher, None);
        let link = Mutex::new(Class::PersistentLink, None);
        Ok(Self { node, wanted, response_len, link, ros2, events, event_publisher })
    }

    pub(crate) fn node(&self) -> &Arc<NodeInner> {
        &self.node
    }

    /// Its events in ROS 2, if it is there.
    pub(crate) fn events(&self) -> Option<&Arc<ServiceEvents>> {
        self.events.as_ref()
    }

    /// The publisher of its events.
    pub(crate) fn event_publisher(&self) -> &Mutex<Option<PublisherBase>> {
        &self.event_publisher
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.node.context.shared
    }

    pub(crate) fn service(&self) -> &str {
        &self.wanted.service
    }

    /// An error about this service.
    pub(crate) fn error(&self, why: ServiceError) -> Error {
        error(self.service(), why)
    }

    /// The service, if it is in this process.
    ///
    /// # Errors
    /// If it is of another type.
    pub(crate) fn local_core(&self) -> Result<Option<Arc<ServiceCore>>, Error> {
        let core = self.node.driver().nodes.service(self.service());
        let Some(core) = core else { return Ok(None) };
        let ServiceClientSpec { md5, type_name, .. } = &self.wanted;
        if core.types.md5 == *md5 {
            return Ok(Some(core));
        }
        let wanted = TypeSum::new(type_name, md5);
        let offered = TypeSum::new(&core.types.name, &core.types.md5);
        let why = HandshakeFault::OfferedType(Box::new(TypeMismatch { requested: wanted, offered }));
        let at = "this process".to_owned();
        Err(self.error(ServiceError::NoAnswer(ServiceFailure::Refused { at, why })))
    }

    /// The service, if it is in this process and queues the calls of this client, which is in ROS 2.
    fn queued_core(&self) -> Result<Option<Arc<ServiceCore>>, Error> {
        if self.ros2.is_some() { self.local_core() } else { Ok(None) }
    }

    /// Calls a service of this process on this thread, as soon as its callback does not run.
    pub(crate) fn call_local(
        &self,
        core: &ServiceCore,
        mut call: impl FnMut(&ServiceCore) -> Result<Result<(), String>, Runner>,
        until: Option<Instant>,
    ) -> Result<(), Error> {
        let context = &self.node.context;
        context.shared.event_loop.ensure_background_thread();
        loop {
            match call(core) {
                Ok(result) => return result.map_err(|why| self.error(ServiceError::Failed(why))),
                Err(Runner::ThisThread) => return Err(self.error(ServiceError::Busy)),
                Err(Runner::AnotherThread) if until.is_some_and(|until| clock::monotonic() >= until) => {
                    return Err(self.error(ServiceError::Busy));
                }
                Err(Runner::AnotherThread) if !context.ok() => return Err(Error::ShuttingDown),
                Err(Runner::AnotherThread) => {
                    let again = clock::monotonic() + CHECK_INTERVAL;
                    context.shared.event_loop.poll_or_park(until.map_or(again, |until| until.min(again)))?;
                }
            }
        }
    }

    /// Calls the service, which is `local` if it is in this process, directly if that answers at once. Returns the response's
    /// bytes.
    pub(crate) fn call(
        &self,
        local: Option<&ServiceCore>,
        request: &dyn Request,
        until: Option<Instant>,
    ) -> Result<ResponseBytes, Error> {
        if let Some(core) = local.filter(|core| core.answers_at_once()) {
            return self.call_encoded(core, request, until);
        }
        let pending = PendingCall::new();
        self.begin(local, request, until, (&pending, self.wanted.persistent))?;
        self.wait(&pending)?;
        self.take(&pending).unwrap_or(Err(Error::ShuttingDown))
    }

    /// As [`Self::call_local`], with encoded request and response.
    fn call_encoded(
        &self,
        core: &ServiceCore,
        request: &dyn Request,
        until: Option<Instant>,
    ) -> Result<ResponseBytes, Error> {
        let encoding = self.local_encoding();
        let (request, mut bytes) = (self.encoded(request, encoding)?, Vec::new());
        let client = self.ros2.filter(|_| self.publishes_events_with(core));
        let key = client.and_then(|client| self.node.driver().next_request_key(client));
        let note = |event, payload: &[u8]| {
            if let (Some(events), Some(key)) = (&self.events, key) {
                events.note(event, key, payload);
            }
        };
        note(ServiceEvent::RequestSent, &request);
        self.call_local(core, |core| core.call_encoded((encoding, &request), key, &mut bytes), until)?;
        note(ServiceEvent::ResponseReceived, &bytes);
        Ok(ResponseBytes { encoding, bytes })
    }

    /// Whether the client or a service of this process publishes events about calls.
    pub(crate) fn publishes_events_with(&self, core: &ServiceCore) -> bool {
        core.events.is_on() || self.events.as_ref().is_some_and(|events| events.is_on())
    }

    /// Sends a request, whose response is [taken](Self::take) later.
    pub(crate) fn send(
        &self,
        request: &dyn Request,
        until: Option<Instant>,
    ) -> Result<Arc<PendingCall>, Error> {
        let (local, pending) = (self.queued_core()?, PendingCall::new());
        self.begin(local.as_deref(), request, until, (&pending, self.wanted.persistent))?;
        self.node.context.shared.event_loop.ensure_background_poll();
        Ok(pending)
    }

    /// Takes the response's bytes, if it has arrived.
    pub(crate) fn take(&self, pending: &PendingCall) -> Option<Result<ResponseBytes, Error>> {
        let answer = pending.take()?;
        let path = pending.path()?;
        match path {
            CallPath::Ros1(link) if self.wanted.persistent && answer.is_ok() => self.keep(link),
            _ => self.end(pending),
        }
        Some(response(self.service(), path, answer))
    }

    /// Ends a call whose response was not taken, and its link.
    pub(crate) fn end(&self, pending: &PendingCall) {
        if let Some(path) = pending.path() {
            self.node.driver().end_call_on(self.node.key, path);
        }
    }

    /// Calls the service; `callback` gets the response's bytes on a spinning thread.
    pub(crate) fn call_with(
        &self,
        request: &dyn Request,
        until: Option<Instant>,
        callback: impl FnOnce(Result<ResponseBytes, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let (node, service) = (&self.node, self.service().to_owned());
        // The node owns the call, so the call must not own the node.
        let caller = Arc::downgrade(node);
        let pending = PendingCall::with_callback(node.executor_dispatch(), move |path, answer| {
            let Some(node) = caller.upgrade() else { return };
            node.driver().end_call_on(node.key, path);
            callback(response(&service, path, answer));
        });
        self.begin(self.queued_core()?.as_deref(), request, until, (&pending, false))?;
        node.context.shared.event_loop.ensure_background_thread();
        Ok(())
    }

    /// Begins a call, in the graph that has the service. `local` of this process answers when its executor runs.
    fn begin(
        &self,
        local: Option<&ServiceCore>,
        request: &dyn Request,
        until: Option<Instant>,
        (pending, persistent): (&Arc<PendingCall>, bool),
    ) -> Result<(), Error> {
        if let Some(client) = self.ros2
            && (local.is_some() || !self.node.is_in_ros1() || self.node.driver().is_server_ready(client))
        {
            let request = (self.encoded(request, Encoding::Xcdr1)?, local);
            let begun = self.node.driver().begin_ros2_call(client, request, until, Arc::clone(pending));
            return begun.map(drop).ok_or(Error::ShuttingDown);
        }
        // Only the end of the process in ROS 2 leaves a node of that graph alone without a client there.
        if !self.node.is_in_ros1() {
            return Err(Error::ShuttingDown);
        }
        self.begin_in_ros1(self.framed(request)?, until, pending, persistent)
    }

    /// Begins a call: on the link of a persistent client, if it is established, and otherwise on a new one.
    fn begin_in_ros1(
        &self,
        request: Vec<u8>,
        until: Option<Instant>,
        pending: &Arc<PendingCall>,
        persistent: bool,
    ) -> Result<(), Error> {
        let kept_link = if persistent { lock(&self.link).take() } else { None };
        let mut driver = self.node.driver();
        if let Some(link) = kept_link {
            if driver.call_again(self.node.key, link, &request, until, pending) {
                return Ok(());
            }
            driver.end_call(self.node.key, link);
        }
        let wanted = ServiceClientSpec { persistent, ..self.wanted.clone() };
        let (asks, sent) = (self.asks(Some(request)), Arc::clone(pending));
        let begun = driver.begin_call(self.node.key, wanted, asks, until, sent);
        begun.map(drop).ok_or(Error::ShuttingDown)
    }

    /// Waits for the result of a call. The link stays.
    fn wait(&self, pending: &Arc<PendingCall>) -> Result<(), Error> {
        let mut wait_set = WaitSet::of(&self.node.context.shared);
        wait_set.add(Arc::clone(pending));
        wait_set.wait(None).map(drop).inspect_err(|_| self.end(pending))
    }

    /// Keeps a link for the next call. One that another thread has established meanwhile is ended.
    fn keep(&self, link: ServiceLinkId) {
        let other = lock(&self.link).replace(link);
        if let Some(other) = other {
            self.node.driver().end_call(self.node.key, other);
        }
    }

    fn asks(&self, request: Option<Vec<u8>>) -> CallRequest {
        CallRequest { request, response_len: self.response_len }
    }

    /// The encoding of calls to a service of this process.
    fn local_encoding(&self) -> Encoding {
        if self.ros2.is_some() { Encoding::Xcdr1 } else { Encoding::Ros1 }
    }

    /// The request with the length that ROS 1 sends before it.
    fn framed(&self, request: &dyn Request) -> Result<Vec<u8>, Error> {
        let (mut bytes, mut encoded) = (Vec::new(), Ok(()));
        let framed = try_frame(&mut bytes, |out| encoded = request.write(Encoding::Ros1, out));
        self.checked(framed, encoded, bytes.len().saturating_sub(LENGTH)).map(|()| bytes)
    }

    fn encoded(&self, request: &dyn Request, encoding: Encoding) -> Result<Vec<u8>, Error> {
        let (mut bytes, mut encoded) = (Vec::new(), Ok(()));
        let written = try_write(&mut bytes, |out| encoded = request.write(encoding, out));
        self.checked(written, encoded, bytes.len()).map(|()| bytes)
    }

    fn checked(
        &self,
        written: Result<(), NoMemory>,
        encoded: Result<(), String>,
        len: usize,
    ) -> Result<(), Error> {
        written.map_err(|refused| self.error(ServiceError::NoMemory(refused)))?;
        encoded.map_err(|why| self.error(ServiceError::NotEncodable(why)))?;
        let check = LengthBeyondLimit::check(len, MAX_MESSAGE);
        check.map_err(|length| self.error(ServiceError::TooLong(length)))
    }
}

/// An error about a service.
pub(crate) fn error(service: &str, why: ServiceError) -> Error {
    Error::Service { service: service.to_owned(), why }
}

fn response(service: &str, path: CallPath, answer: CallAnswer) -> Result<ResponseBytes, Error> {
    let response = answer.map_err(|why| error(service, ServiceError::NoAnswer(why)))?;
    let bytes = response.map_err(|why| error(service, ServiceError::Failed(why)))?;
    Ok(ResponseBytes { encoding: path.encoding(), bytes })
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(link) = lock(&self.link).take() {
            self.node.driver().end_call(self.node.key, link);
        }
        // Pending calls may outlive the publisher.
        if let Some(events) = &self.events {
            events.configure(None);
        }
        if let Some(client) = self.ros2 {
            self.node.driver().release_client(client);
        }
    }
}
