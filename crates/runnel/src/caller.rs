//! Service calls, independent of their types.

use std::sync::Arc;
use std::time::Duration;

use runnel_core::bounds::{LengthBeyondLimit, MAX_MESSAGE};
use runnel_core::time::Instant;
use runnel_core::wire::GrowingSink;
use runnel_io::clock;
use runnel_ros1::answer::Answer;
use runnel_ros1::node::{
    HandshakeFault, ServiceClientSpec, ServiceFailure, ServiceLinkId, TypeMismatch, TypeSum,
};
use runnel_ros1::tcpros::{LENGTH, try_frame};

use crate::callback_group::Runner;
use crate::data::{CallAnswer, PendingCall, ServiceCall, ServiceCore};
use crate::driver::{CallRequest, ServiceInfo};
use crate::error::{Error, ServiceError};
use crate::node::NodeInner;
use crate::shared::Shared;
use crate::sync::{Class, Mutex, lock};
use crate::wait_set::WaitSet;

/// How often a service that does not exist yet is looked up.
const LOOKUP_INTERVAL: Duration = Duration::from_millis(50);

/// How often a callback that runs on another thread is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// How long to wait for the master's lookup of a service, and for the service itself.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);

/// The minimum of that time, even if less of a wait is left: two round trips over a slow radio.
const MIN_LOOKUP_TIMEOUT: Duration = Duration::from_millis(250);

/// One service as one node calls it.
pub(crate) struct Caller {
    node: Arc<NodeInner>,
    wanted: ServiceClientSpec,
    /// Length of every response, if that is fixed.
    response_len: Option<usize>,
    /// The link of a persistent client, while it carries no call.
    link: Mutex<Option<ServiceLinkId>>,
}

impl Caller {
    pub(crate) fn new(node: Arc<NodeInner>, wanted: ServiceClientSpec, response_len: Option<usize>) -> Self {
        Self { node, wanted, response_len, link: Mutex::new(Class::PersistentLink, None) }
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

    /// The service, if it is in this process and can be called directly.
    ///
    /// # Errors
    /// If it is in this process, but of another type.
    pub(crate) fn local(&self) -> Result<Option<Arc<ServiceCore>>, Error> {
        let core = self.node.driver().nodes.service(self.service());
        let Some(core) = core.filter(|core| core.answers_at_once()) else { return Ok(None) };
        let ServiceClientSpec { md5, type_name, .. } = &self.wanted;
        if core.types.md5 == md5 {
            return Ok(Some(core));
        }
        let wanted = TypeSum::new(type_name, md5);
        let offered = TypeSum::new(core.types.name, core.types.md5);
        let why = HandshakeFault::OfferedType(Box::new(TypeMismatch { requested: wanted, offered }));
        let at = "this process".to_owned();
        Err(self.error(ServiceError::NoAnswer(ServiceFailure::Refused { at, why })))
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

    /// Calls the service with the request that `write` appends, directly if `local` is in this process. Returns the
    /// response's bytes.
    pub(crate) fn call(
        &self,
        local: Option<&ServiceCore>,
        write: impl FnOnce(&mut GrowingSink),
        until: Option<Instant>,
    ) -> Result<Vec<u8>, Error> {
        let request = self.framed(write)?;
        if let Some(core) = local {
            let (request, mut response) = (&request[LENGTH..], Vec::new());
            let local_call =
                |core: &ServiceCore| core.call(ServiceCall::Bytes { request, response: &mut response });
            return self.call_local(core, local_call, until).map(|()| response);
        }
        let pending = self.send_framed(request, until)?;
        self.wait(&pending)?;
        self.take(&pending).unwrap_or(Err(Error::ShuttingDown))
    }

    /// Sends a request, whose response is [taken](Self::take) later.
    pub(crate) fn send(
        &self,
        write: impl FnOnce(&mut GrowingSink),
        until: Option<Instant>,
    ) -> Result<Arc<PendingCall>, Error> {
        let pending = self.send_framed(self.framed(write)?, until)?;
        self.node.context.shared.event_loop.ensure_background_poll();
        Ok(pending)
    }

    /// Takes the response's bytes, if it has arrived.
    pub(crate) fn take(&self, pending: &PendingCall) -> Option<Result<Vec<u8>, Error>> {
        let answer = pending.take()?;
        match pending.link() {
            Some(link) if self.wanted.persistent && answer.is_ok() => self.keep(link),
            _ => self.end(pending),
        }
        Some(response(self.service(), answer))
    }

    /// Ends a call whose response was not taken, and its link.
    pub(crate) fn end(&self, pending: &PendingCall) {
        if let Some(link) = pending.link() {
            self.node.driver().end_call(self.node.key, link);
        }
    }

    /// Calls the service; `callback` gets the response's bytes on a spinning thread.
    pub(crate) fn call_with(
        &self,
        write: impl FnOnce(&mut GrowingSink),
        until: Option<Instant>,
        callback: impl FnOnce(Result<Vec<u8>, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let (request, node, service) = (self.framed(write)?, &self.node, self.service().to_owned());
        // The node owns the call, so the call must not own the node.
        let caller = Arc::downgrade(node);
        let pending = PendingCall::with_callback(node.executor_dispatch(), move |link, answer| {
            let Some(node) = caller.upgrade() else { return };
            node.driver().end_call(node.key, link);
            callback(response(&service, answer));
        });
        let wanted = ServiceClientSpec { persistent: false, ..self.wanted.clone() };
        let begun = node.driver().begin_call(node.key, wanted, self.asks(Some(request)), until, pending);
        node.context.shared.event_loop.ensure_background_thread();
        begun.map(drop).ok_or(Error::ShuttingDown)
    }

    /// Queries the provider of the service, and its type.
    pub(crate) fn info(&self, until: Option<Instant>) -> Result<ServiceInfo, Error> {
        let wanted =
            ServiceClientSpec { md5: "*".into(), persistent: false, probe: true, ..self.wanted.clone() };
        let pending = PendingCall::new();
        let (asks, call) = (self.asks(None), Arc::clone(&pending));
        let begun = self.node.driver().begin_call(self.node.key, wanted, asks, until, call);
        let link = begun.ok_or(Error::ShuttingDown)?;
        self.wait(&pending)?;
        let info = self.node.driver().nodes.service_info(self.node.key, link);
        self.end(&pending);
        response(self.service(), pending.take().ok_or(Error::ShuttingDown)?)?;
        info.ok_or(Error::ShuttingDown)
    }

    /// Whether the master has registered a node with the service, and that node answers.
    pub(crate) fn is_ready(&self) -> Result<bool, Error> {
        self.is_ready_by(clock::monotonic() + 2 * LOOKUP_TIMEOUT)
    }

    fn is_ready_by(&self, until: Instant) -> Result<bool, Error> {
        if self.node.driver().nodes.service(self.service()).is_some() {
            return Ok(true);
        }
        let context = &self.node.context;
        let timeout = || until.since(clock::monotonic()).clamp(MIN_LOOKUP_TIMEOUT, LOOKUP_TIMEOUT);
        let params = [self.node.full_name().into(), self.service().into()];
        match context.call_master("lookupService", &params, timeout()) {
            Ok(answer) if Answer::parse(&answer).is_ok_and(|answer| answer.into_result().is_ok()) => {}
            Ok(_) | Err(Error::Call(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
        // A killed node stays registered.
        match self.info(Some(clock::monotonic() + timeout())) {
            Ok(_) => Ok(true),
            Err(Error::Service { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits until the service is ready.
    pub(crate) fn wait_until_ready(&self, timeout: Duration) -> Result<bool, Error> {
        let (context, until) = (&self.node.context, clock::monotonic() + timeout);
        loop {
            if self.is_ready_by(until)? {
                return Ok(true);
            }
            let left = until.since(clock::monotonic());
            if left.is_zero() || !context.ok() {
                return Ok(false);
            }
            // Not by a simulated clock, which may stand still.
            context.sleep_wall(left.min(LOOKUP_INTERVAL))?;
        }
    }

    /// Begins a call: on the link of a persistent client, if it is established, and otherwise on a new one.
    fn send_framed(&self, request: Vec<u8>, until: Option<Instant>) -> Result<Arc<PendingCall>, Error> {
        let (kept_link, pending) = (lock(&self.link).take(), PendingCall::new());
        let mut driver = self.node.driver();
        if let Some(link) = kept_link {
            if driver.call_again(self.node.key, link, &request, until, &pending) {
                return Ok(pending);
            }
            driver.end_call(self.node.key, link);
        }
        let (asks, sent) = (self.asks(Some(request)), Arc::clone(&pending));
        let begun = driver.begin_call(self.node.key, self.wanted.clone(), asks, until, sent);
        begun.map(|_| pending).ok_or(Error::ShuttingDown)
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

    fn framed(&self, write: impl FnOnce(&mut GrowingSink)) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        try_frame(&mut bytes, write).map_err(|refused| self.error(ServiceError::NoMemory(refused)))?;
        match LengthBeyondLimit::check(bytes.len() - LENGTH, MAX_MESSAGE) {
            Ok(()) => Ok(bytes),
            Err(length) => Err(self.error(ServiceError::TooLong(length))),
        }
    }
}

/// An error about a service.
pub(crate) fn error(service: &str, why: ServiceError) -> Error {
    Error::Service { service: service.to_owned(), why }
}

fn response(service: &str, answer: CallAnswer) -> Result<Vec<u8>, Error> {
    let response = answer.map_err(|why| error(service, ServiceError::NoAnswer(why)))?;
    response.map_err(|why| error(service, ServiceError::Failed(why)))
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(link) = lock(&self.link).take() {
            self.node.driver().end_call(self.node.key, link);
        }
    }
}
