//! Services: those that a node provides, and those that it calls.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use runnel_core::message::Service;
use runnel_core::time::Instant;
use runnel_core::wire::{self, DecodeError, Wire, decode_into};
use runnel_io::clock;
use runnel_ros1::node::{ServiceFailure, ServiceLinkId, WantedService};
use runnel_ros1::tcpros::{LENGTH, LengthBeyondLimit, MAX_MESSAGE, frame};

use crate::context::GLANCE;
use crate::data::{Asked, Runnable, ServiceCore};
use crate::driver::{CallAnswer, Tell};
use crate::error::Error;
use crate::node::{Node, NodeInner};
use crate::sync::lock;

/// How often a service that nobody provides yet is asked for.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// Why a call brought no response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceError {
    /// The service says that it failed.
    Failed(String),
    /// There is no service to call, or no answer of it.
    NoAnswer(ServiceFailure),
    /// The response cannot be read.
    Malformed(DecodeError),
    /// The request is longer than services accept.
    TooLong(LengthBeyondLimit),
    /// The service is of this process and calls itself, or is kept busy.
    Busy,
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) if why.is_empty() => f.write_str("it failed without saying why"),
            Self::Failed(why) => write!(f, "it failed: {why}"),
            Self::NoAnswer(why) => why.fmt(f),
            Self::Malformed(error) => write!(f, "its response cannot be read: {error}"),
            Self::TooLong(length) => write!(f, "the request: {length}"),
            Self::Busy => f.write_str("it is of this process, and its callback was under way all the time"),
        }
    }
}

impl std::error::Error for ServiceError {}

/// A service that a node provides. It ends when it is dropped.
#[must_use = "a service ends when it is dropped"]
pub struct ServiceServer {
    node: Arc<NodeInner>,
    core: Arc<ServiceCore>,
}

impl ServiceServer {
    pub(crate) fn new(node: Arc<NodeInner>, core: Arc<ServiceCore>) -> Self {
        Self { node, core }
    }

    /// The service's absolute name.
    pub fn service(&self) -> &str {
        &self.core.service
    }
}

impl Drop for ServiceServer {
    fn drop(&mut self) {
        self.node.remove_service(&self.core);
    }
}

impl fmt::Debug for ServiceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceServer").field("service", &self.core.service).finish_non_exhaustive()
    }
}

/// What becomes of a request: the user's callback between the bytes of its request and those of its response.
pub(crate) fn answering<S: Service, E: fmt::Display>(
    mut callback: impl FnMut(&S::Request) -> Result<S::Response, E> + Send + 'static,
) -> impl FnMut(Asked<'_>) -> Result<(), String> + Send + 'static {
    let mut owned = S::Request::default();
    move |asked| match asked {
        Asked::Bytes { request, response } => {
            decode_into(&mut owned, request)
                .map_err(|error| format!("the request cannot be read: {error}"))?;
            callback(&owned).map_err(|error| error.to_string())?.write(response);
            LengthBeyondLimit::check(response.len(), MAX_MESSAGE)
                .map_err(|error| format!("response: {error}"))
        }
        Asked::Local { request, response } => {
            let request = request.downcast_ref().ok_or("the request is of another type")?;
            *response = Some(Box::new(callback(request).map_err(|error| error.to_string())?));
            Ok(())
        }
    }
}

/// Calls a service, from any thread. Cloning gives another handle.
pub struct Client<S> {
    shared: Arc<Shared>,
    service: PhantomData<fn(S)>,
}

struct Shared {
    node: Arc<NodeInner>,
    wanted: WantedService,
    /// The link of a persistent client, while no call is under way on it.
    link: Mutex<Option<ServiceLinkId>>,
}

impl<S> Clone for Client<S> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), service: PhantomData }
    }
}

impl<S> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("service", &self.shared.wanted.service).finish_non_exhaustive()
    }
}

impl<S: Service> Client<S> {
    pub(crate) fn new(node: &Node, service: String, persistent: bool) -> Self {
        let wanted =
            WantedService { service, type_name: S::TYPE.to_owned(), md5: S::MD5.to_owned(), persistent };
        let shared = Shared { node: Arc::clone(&node.inner), wanted, link: Mutex::default() };
        Self { shared: Arc::new(shared), service: PhantomData }
    }

    /// The service's absolute name.
    pub fn service(&self) -> &str {
        &self.shared.wanted.service
    }

    /// Calls the service and waits for the response as long as it takes. Other callbacks do not run meanwhile on this
    /// thread. A service of this process is called on this thread, by reference.
    ///
    /// # Errors
    /// [`Error::Service`] when there is no response, with the reason; [`Error::ShuttingDown`] when the context ends.
    pub fn call(&self, request: &S::Request) -> Result<S::Response, Error> {
        self.call_until(request, None)
    }

    /// As [`Client::call`], and waits at most `timeout`.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn call_timeout(&self, request: &S::Request, timeout: Duration) -> Result<S::Response, Error> {
        self.call_until(request, Some(clock::monotonic() + timeout))
    }

    /// Calls the service and returns at once. `callback` gets the response, or the reason why there is none, from
    /// whoever spins.
    ///
    /// # Errors
    /// When the request is too long, or the context ends.
    pub fn call_async(
        &self,
        request: &S::Request,
        timeout: Option<Duration>,
        callback: impl FnOnce(Result<S::Response, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let until = timeout.map(|timeout| clock::monotonic() + timeout);
        let bytes = self.framed(request)?;
        let callback: Box<dyn FnOnce(CallAnswer) + Send> = {
            let client = self.clone();
            Box::new(move |answer| callback(client.response(answer)))
        };
        let node = &self.shared.node;
        let pending =
            Arc::new(Pending { node: Arc::downgrade(node), state: Mutex::new((None, Some(callback))) });
        let ready = Arc::clone(&node.context.shared.ready);
        let tell = Tell { ready, due: Arc::clone(&pending) as Arc<dyn Runnable> };
        let wanted = WantedService { persistent: false, ..self.shared.wanted.clone() };
        // Held until the link is known, so that an answer which comes before finds it.
        let mut state = lock(&pending.state);
        state.0 = node.driver().begin_call(node.key, wanted, bytes, until, Some(tell));
        let begun = state.0.is_some();
        drop(state);
        node.context.shared.turning.attend();
        if begun { Ok(()) } else { Err(Error::ShuttingDown) }
    }

    /// Waits at most `timeout` until some node provides the service; false if none does.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn wait_for_service(&self, timeout: Duration) -> Result<bool, Error> {
        let (context, until) = (&self.shared.node.context, clock::monotonic() + timeout);
        loop {
            if self.service_is_ready()? {
                return Ok(true);
            }
            let left = until.since(clock::monotonic());
            if left.is_zero() || !context.ok() {
                return Ok(false);
            }
            context.sleep(left.min(ASK_AGAIN))?;
        }
    }

    /// Whether the master knows of a node that provides the service. One that does not answer knows of none.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn service_is_ready(&self) -> Result<bool, Error> {
        let node = &self.shared.node;
        if node.driver().service_of_this_process(self.service()).is_some() {
            return Ok(true);
        }
        let context = &node.context;
        let params = [node.full_name().into(), self.service().into()];
        let answer = context.call(&context.shared.settings.master, "lookupService", &params, ASK_AGAIN * 20);
        let known = |answer: &runnel_ros1::xmlrpc::Value| answer.as_array()?.first()?.as_int();
        match answer {
            Ok(answer) => Ok(known(&answer) == Some(1)),
            Err(Error::Call(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn call_until(&self, request: &S::Request, until: Option<Instant>) -> Result<S::Response, Error> {
        let local = self.shared.node.driver().service_of_this_process(self.service());
        match local {
            Some(core) => self.call_local(&core, request, until),
            None => self.call_remote(request, until),
        }
    }

    /// Calls a service of this process, once its callback is not under way.
    fn call_local(
        &self,
        core: &ServiceCore,
        request: &S::Request,
        until: Option<Instant>,
    ) -> Result<S::Response, Error> {
        let context = &self.shared.node.context;
        if core.md5 != S::MD5 {
            let why = format!(
                "it has {} with md5sum {}, but we want {} with md5sum {}",
                core.type_name,
                core.md5,
                S::TYPE,
                S::MD5
            );
            let at = "this process".to_owned();
            return Err(self.error(ServiceError::NoAnswer(ServiceFailure::Refused { at, why })));
        }
        context.shared.turning.attend();
        loop {
            match core.call(request as &(dyn Any + Send + Sync)) {
                Some(Ok(response)) => {
                    let response = response.and_then(|response| response.downcast().ok());
                    return response.map(|response| *response).ok_or(Error::ShuttingDown);
                }
                Some(Err(why)) => return Err(self.error(ServiceError::Failed(why))),
                None if until.is_some_and(|until| clock::monotonic() >= until) => {
                    return Err(self.error(ServiceError::Busy));
                }
                None if !context.ok() => return Err(Error::ShuttingDown),
                None => context.shared.turning.turn_waiting(clock::monotonic() + GLANCE)?,
            }
        }
    }

    fn call_remote(&self, request: &S::Request, until: Option<Instant>) -> Result<S::Response, Error> {
        let bytes = self.framed(request)?;
        let Shared { node, wanted, link } = &*self.shared;
        let stands = lock(link).take();
        let mut driver = node.driver();
        let again = stands.filter(|link| driver.call_again(node.key, *link, &bytes, until));
        let begun = again.or_else(|| {
            stands.into_iter().for_each(|dead| driver.end_call(node.key, dead));
            driver.begin_call(node.key, wanted.clone(), bytes, until, None)
        });
        drop(driver);
        let begun = begun.ok_or(Error::ShuttingDown)?;
        let answer = self.wait(begun)?;
        if wanted.persistent && answer.is_ok() {
            self.keep(begun);
        } else {
            node.driver().end_call(node.key, begun);
        }
        self.response(answer)
    }

    /// Waits for what a call comes to.
    fn wait(&self, link: ServiceLinkId) -> Result<CallAnswer, Error> {
        let node = &self.shared.node;
        let mut answer = None;
        loop {
            let waited = node.context.shared.wait(Duration::from_secs(1), |driver| {
                answer = driver.take_answer(node.key, link);
                answer.is_some()
            });
            if let Some(answer) = answer.take() {
                return Ok(answer);
            }
            if waited.is_err() || !node.context.ok() {
                node.driver().end_call(node.key, link);
                waited?;
                return Err(Error::ShuttingDown);
            }
        }
    }

    /// Keeps a link for the next call, unless another thread has made one meanwhile.
    fn keep(&self, link: ServiceLinkId) {
        let before = lock(&self.shared.link).replace(link);
        if let Some(before) = before {
            self.shared.node.driver().end_call(self.shared.node.key, before);
        }
    }

    fn framed(&self, request: &S::Request) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        frame(&mut bytes, |out| request.write(out));
        LengthBeyondLimit::check(bytes.len() - LENGTH, MAX_MESSAGE)
            .map_err(|length| self.error(ServiceError::TooLong(length)))?;
        Ok(bytes)
    }

    fn response(&self, answer: CallAnswer) -> Result<S::Response, Error> {
        match answer {
            Ok(Ok(bytes)) => wire::decode(&bytes).map_err(|error| self.error(ServiceError::Malformed(error))),
            Ok(Err(why)) => Err(self.error(ServiceError::Failed(why))),
            Err(why) => Err(self.error(ServiceError::NoAnswer(why))),
        }
    }

    fn error(&self, why: ServiceError) -> Error {
        Error::Service { service: self.service().to_owned(), why }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(link) = lock(&self.link).take() {
            self.node.driver().end_call(self.node.key, link);
        }
    }
}

/// A call whose answer a callback waits for.
struct Pending {
    /// The node holds this, so that this does not hold the node.
    node: Weak<NodeInner>,
    state: Mutex<(Option<ServiceLinkId>, Option<Callback>)>,
}

type Callback = Box<dyn FnOnce(CallAnswer) + Send>;

impl Runnable for Pending {
    fn run(&self) {
        let (link, callback) = std::mem::take(&mut *lock(&self.state));
        let (Some(link), Some(callback)) = (link, callback) else { return };
        let Some(node) = self.node.upgrade() else { return };
        let mut driver = node.driver();
        let answer = driver.take_answer(node.key, link);
        driver.end_call(node.key, link);
        drop(driver);
        if let Some(answer) = answer {
            callback(answer);
        }
    }
}
