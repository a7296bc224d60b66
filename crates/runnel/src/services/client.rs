//! Service clients.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::message::Service;
use runnel_core::time::Instant;
use runnel_core::wire::{self, Encoding, GrowingSink, Wire, cdr};
use runnel_io::clock;
use runnel_ros1::node::ServiceClientSpec;

use crate::data::{ServiceCall, ServiceCore, ServiceTypes};
use crate::driver::ServiceInfo;
use crate::error::{Error, Ros1Feature, ServiceError};
use crate::node::Node;
use crate::services::caller::{Caller, Request, ResponseBytes, error};
use crate::types::TypeUse;

impl Node {
    /// Creates a client of a service. Each call goes to the service of this process if there is one, else to a server that
    /// has been discovered in ROS 2, else to the provider in ROS 1, which it looks up and connects to. In a context that is
    /// only in ROS 2, a call waits until there is a server.
    ///
    /// # Errors
    /// [`Error::Name`] if the name is not valid; [`Error::NotInGraph`] if the node is only in ROS 2 and the type cannot be
    /// represented there; [`Error::Io`] if the operating system has no random bytes.
    pub fn create_client<S: Service>(&self, service: &str) -> Result<Client<S>, Error> {
        Client::new(self, self.service_name(service)?, false)
    }

    /// Creates a client of a service that keeps its connection in ROS 1 between calls. That is much faster, but the client
    /// stays with the node that provides the service now. When that node disappears, one call fails and the next looks the
    /// service up again. In ROS 2 it is like any other client.
    ///
    /// # Errors
    /// As [`Node::create_client`].
    pub fn create_persistent_client<S: Service>(&self, service: &str) -> Result<Client<S>, Error> {
        Client::new(self, self.service_name(service)?, true)
    }

    /// Waits at most `timeout` until a node provides the service. False if none does.
    ///
    /// # Errors
    /// [`Error::Name`] if the name is not valid, and as [`Client::wait_for_service`].
    pub fn wait_for_service(&self, service: &str, timeout: Duration) -> Result<bool, Error> {
        self.untyped_caller(service)?.wait_until_ready(timeout)
    }

    /// Queries the service's type from the node that provides it, without calling the service.
    ///
    /// # Errors
    /// [`Error::Service`] when no node provides it, or its node does not answer within `timeout`; [`Error::Ros1Only`] if
    /// the context is only in ROS 2, where nodes announce the types of their services: see
    /// [`Context::ros2_graph`](crate::Context::ros2_graph).
    pub fn service_info(&self, service: &str, timeout: Duration) -> Result<ServiceInfo, Error> {
        let caller = self.untyped_caller(service)?;
        self.inner.needs_ros1(|| Ros1Feature::ServiceProvider(caller.service().to_owned()))?;
        caller.info(Some(clock::monotonic() + timeout))
    }

    fn untyped_caller(&self, service: &str) -> Result<Caller, Error> {
        let (type_name, md5) = ("*".to_owned(), "*".to_owned());
        let service = self.service_name(service)?;
        let wanted = ServiceClientSpec { service, type_name, md5, persistent: false, probe: true };
        Caller::new(Arc::clone(&self.inner), wanted, None, None)
    }
}

/// A client of one service. Calls it from any thread. Clones are handles of the same client.
pub struct Client<S> {
    caller: Arc<Caller>,
    _type_use: Option<Arc<TypeUse>>,
    service: PhantomData<fn(S)>,
}

impl<S> Clone for Client<S> {
    fn clone(&self) -> Self {
        let (caller, _type_use) = (Arc::clone(&self.caller), self._type_use.clone());
        Self { caller, _type_use, service: PhantomData }
    }
}

impl<S> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("service", &self.caller.service()).finish_non_exhaustive()
    }
}

impl<S: Service> Client<S> {
    fn new(node: &Node, service: String, persistent: bool) -> Result<Self, Error> {
        let types = node.inner.service_in_ros2(&service, ServiceTypes::of::<S>().in_ros2())?;
        let type_use = node.inner.use_service_type::<S>().map(Arc::new);
        let (type_name, md5) = (S::TYPE.to_owned(), S::MD5.to_owned());
        let wanted = ServiceClientSpec { service, type_name, md5, persistent, probe: false };
        let inner = Arc::clone(&node.inner);
        let caller = Caller::new(inner, wanted, S::Response::FIXED_LEN, types.as_ref())?;
        Ok(Self { caller: Arc::new(caller), _type_use: type_use, service: PhantomData })
    }

    pub(crate) fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    /// The service's absolute name.
    pub fn service(&self) -> &str {
        self.caller.service()
    }

    /// Calls the service and waits for the response without a time limit. Other callbacks do not run on this thread
    /// meanwhile. A service of this process is called on this thread, by reference: its callback runs here and not on a
    /// thread of its node's executor.
    ///
    /// # Errors
    /// [`Error::Service`] when there is no response, with the reason; [`Error::ShuttingDown`] when the context ends.
    pub fn call(&self, request: &S::Request) -> Result<S::Response, Error> {
        self.call_until(request, None)
    }

    /// As [`Client::call`], but waits at most `timeout` for another process, without a limit if it is `None`. The time
    /// does not limit the callback of a service of this process.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn call_timeout(
        &self,
        request: &S::Request,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<S::Response, Error> {
        self.call_until(request, deadline(timeout))
    }

    fn call_until(&self, request: &S::Request, until: Option<Instant>) -> Result<S::Response, Error> {
        let types = [TypeId::of::<S::Request>(), TypeId::of::<S::Response>()];
        let local = self.caller.local_core()?;
        // A type that was generated twice is the same on the wire, but not by reference. Events have encoded contents.
        let is_by_reference = |core: &&ServiceCore| {
            let is_same = core.answers_at_once() && core.types.ids == types;
            is_same && !self.caller.publishes_events_with(core)
        };
        let Some(core) = local.as_deref().filter(is_by_reference) else {
            let response = self.caller.call(local.as_deref(), &Typed(request), until)?;
            return read_response::<S>(self.service(), &response);
        };
        let mut response = None;
        let ask = |core: &ServiceCore| core.call(ServiceCall::Local { request, response: &mut response });
        self.caller.call_local(core, ask, until)?;
        let response = response.and_then(|response| response.downcast().ok());
        response.map(|response| *response).ok_or(Error::ShuttingDown)
    }

    /// Calls the service and returns at once, like [`Client::call_async`] with a callback in place of a future. A
    /// spinning thread calls it with the response, or with the reason why there is none; without a `timeout` there is
    /// no time limit. Every call uses its own connection, also from a persistent client. The callback is not called
    /// once the node has been unregistered.
    ///
    /// # Errors
    /// [`Error::Service`] when the request is too long ([`ServiceError::TooLong`]), cannot be represented in the graph
    /// of the service ([`ServiceError::NotEncodable`]), or there is no memory for it ([`ServiceError::NoMemory`]);
    /// [`Error::ShuttingDown`] when the context ends.
    pub fn call_with(
        &self,
        request: &S::Request,
        timeout: Option<Duration>,
        callback: impl FnOnce(Result<S::Response, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let until = deadline(timeout);
        let service = self.service().to_owned();
        let callback = move |response: Result<ResponseBytes, Error>| {
            callback(response.and_then(|response| read_response::<S>(&service, &response)));
        };
        self.caller.call_with(&Typed(request), until, callback)
    }

    /// Waits at most `timeout` until a node of any graph provides the service. False if none does. In ROS 2 the node is
    /// ready once it is known to receive requests, and its replies are known to be received.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends first; [`Error::Io`] if the operating system refuses to wait.
    pub fn wait_for_service(&self, timeout: Duration) -> Result<bool, Error> {
        self.caller.wait_until_ready(timeout)
    }

    /// Whether a node provides the service and answers. In ROS 2 this is known from discovery, without asking the
    /// network. In ROS 1 it asks the master for the service, then the node that provides it, and waits for each at most
    /// one second.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends; [`Error::Io`] if the operating system refuses to wait.
    pub fn service_is_ready(&self) -> Result<bool, Error> {
        self.caller.is_ready()
    }
}

/// When a call with this time limit ends.
pub(crate) fn deadline(timeout: impl Into<Option<Duration>>) -> Option<Instant> {
    timeout.into().map(|timeout| clock::monotonic() + timeout)
}

/// A request whose type is known when the program is compiled.
pub(crate) struct Typed<'a, R>(pub(crate) &'a R);

impl<R: Wire> Request for Typed<'_, R> {
    fn write(&self, encoding: Encoding, out: &mut GrowingSink) -> Result<(), String> {
        if encoding.is_ros1() {
            self.0.write(out);
            return Ok(());
        }
        cdr::encode_into(self.0, encoding, out).map_err(|error| error.to_string())
    }
}

pub(crate) fn read_response<S: Service>(
    service: &str,
    response: &ResponseBytes,
) -> Result<S::Response, Error> {
    let ResponseBytes { encoding, bytes } = response;
    let read = if encoding.is_ros1() { wire::decode(bytes) } else { cdr::decode(bytes) };
    read.map_err(|why| error(service, ServiceError::Malformed(why)))
}
