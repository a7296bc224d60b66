//! Service clients.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::dynamic::{DynamicError, DynamicMessage};
use runnel_core::message::Service;
use runnel_core::schema::ServiceSchema;
use runnel_core::time::Instant;
use runnel_core::wire::{self, Wire};
use runnel_io::clock;
use runnel_ros1::node::ServiceClientSpec;

use crate::caller::{Caller, error};
use crate::data::{ServiceCall, ServiceCore};
use crate::driver::ServiceInfo;
use crate::error::{Error, ServiceError};
use crate::node::Node;

impl Node {
    /// Creates a client of a service. Each call looks the service up and connects to it.
    ///
    /// # Errors
    /// When the name is not valid; [`Error::Ros1Only`] if the context is only in ROS 2.
    pub fn create_client<S: Service>(&self, service: &str) -> Result<Client<S>, Error> {
        Ok(Client::new(self, self.service_name(service)?, false))
    }

    /// Creates a client of a service that keeps its connection between calls. That is much faster, but the client stays
    /// with the node that provides the service now. When that node ends, one call fails and the next looks the service
    /// up again.
    ///
    /// # Errors
    /// When the name is not valid; [`Error::Ros1Only`] if the context is only in ROS 2.
    pub fn create_persistent_client<S: Service>(&self, service: &str) -> Result<Client<S>, Error> {
        Ok(Client::new(self, self.service_name(service)?, true))
    }

    /// Creates a client of a service whose type is known only at run time.
    ///
    /// # Errors
    /// When the name is not valid; [`Error::Ros1Only`] if the context is only in ROS 2.
    pub fn create_dynamic_client(
        &self,
        service: &str,
        schema: &Arc<ServiceSchema>,
    ) -> Result<DynamicClient, Error> {
        Ok(DynamicClient::new(self, self.service_name(service)?, schema))
    }

    /// Waits at most `timeout` until a node provides the service. False if none does.
    ///
    /// # Errors
    /// When the name is not valid, or the operating system refuses to wait; [`Error::Ros1Only`] if the context is only
    /// in ROS 2.
    pub fn wait_for_service(&self, service: &str, timeout: Duration) -> Result<bool, Error> {
        self.untyped_caller(service)?.wait_until_ready(timeout)
    }

    /// Queries the service's type from the node that provides it, without calling the service.
    ///
    /// # Errors
    /// [`Error::Service`] when no node provides it, or its node does not answer within `timeout`.
    pub fn service_info(&self, service: &str, timeout: Duration) -> Result<ServiceInfo, Error> {
        self.untyped_caller(service)?.info(Some(clock::monotonic() + timeout))
    }

    fn untyped_caller(&self, service: &str) -> Result<Caller, Error> {
        let (type_name, md5) = ("*".to_owned(), "*".to_owned());
        let service = self.service_name(service)?;
        let wanted = ServiceClientSpec { service, type_name, md5, persistent: false, probe: true };
        Ok(Caller::new(Arc::clone(&self.inner), wanted, None))
    }
}

/// Calls a service, from any thread. Clones are handles of the same client.
pub struct Client<S> {
    caller: Arc<Caller>,
    service: PhantomData<fn(S)>,
}

impl<S> Clone for Client<S> {
    fn clone(&self) -> Self {
        Self { caller: Arc::clone(&self.caller), service: PhantomData }
    }
}

impl<S> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("service", &self.caller.service()).finish_non_exhaustive()
    }
}

impl<S: Service> Client<S> {
    fn new(node: &Node, service: String, persistent: bool) -> Self {
        let (type_name, md5) = (S::TYPE.to_owned(), S::MD5.to_owned());
        let wanted = ServiceClientSpec { service, type_name, md5, persistent, probe: false };
        Self {
            caller: Arc::new(Caller::new(Arc::clone(&node.inner), wanted, S::Response::FIXED_LEN)),
            service: PhantomData,
        }
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

    /// As [`Client::call`], but waits at most `timeout` for another process. The time does not limit the callback of a
    /// service of this process.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn call_timeout(&self, request: &S::Request, timeout: Duration) -> Result<S::Response, Error> {
        self.call_until(request, Some(clock::monotonic() + timeout))
    }

    fn call_until(&self, request: &S::Request, until: Option<Instant>) -> Result<S::Response, Error> {
        let types = [TypeId::of::<S::Request>(), TypeId::of::<S::Response>()];
        let local = self.caller.local()?;
        // A type that was generated twice is the same on the wire, but not by reference.
        let Some(core) = local.as_deref().filter(|core| core.types.ids == types) else {
            let bytes = self.caller.call(local.as_deref(), |out| request.write(out), until)?;
            return read_response::<S>(self.service(), &bytes);
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
    /// once the node has ended.
    ///
    /// # Errors
    /// When the request is too long or there is no memory for it, or the context ends.
    pub fn call_with(
        &self,
        request: &S::Request,
        timeout: Option<Duration>,
        callback: impl FnOnce(Result<S::Response, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let until = timeout.map(|timeout| clock::monotonic() + timeout);
        let service = self.service().to_owned();
        let callback = move |bytes: Result<Vec<u8>, Error>| {
            callback(bytes.and_then(|bytes| read_response::<S>(&service, &bytes)));
        };
        self.caller.call_with(|out| request.write(out), until, callback)
    }

    /// Waits at most `timeout` until a node provides the service. False if none does.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn wait_for_service(&self, timeout: Duration) -> Result<bool, Error> {
        self.caller.wait_until_ready(timeout)
    }

    /// Whether a node provides the service and answers.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn service_is_ready(&self) -> Result<bool, Error> {
        self.caller.is_ready()
    }
}

pub(crate) fn read_response<S: Service>(service: &str, bytes: &[u8]) -> Result<S::Response, Error> {
    wire::decode(bytes).map_err(|why| error(service, ServiceError::Malformed(why)))
}

/// Calls a service whose type is known only at run time.
pub struct DynamicClient {
    caller: Caller,
    schema: Arc<ServiceSchema>,
}

impl DynamicClient {
    fn new(node: &Node, service: String, schema: &Arc<ServiceSchema>) -> Self {
        let (type_name, md5) = (schema.name.to_string(), schema.md5.clone());
        let response_len = schema.response.ros1_fixed_len();
        let wanted = ServiceClientSpec { service, type_name, md5, persistent: false, probe: false };
        Self {
            caller: Caller::new(Arc::clone(&node.inner), wanted, response_len),
            schema: Arc::clone(schema),
        }
    }

    /// The service's absolute name.
    pub fn service(&self) -> &str {
        self.caller.service()
    }

    /// Calls the service with a request of its type. Without a `timeout` there is no time limit.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn call(&self, request: &DynamicMessage, timeout: Option<Duration>) -> Result<DynamicMessage, Error> {
        let until = timeout.map(|timeout| clock::monotonic() + timeout);
        let bytes = self.caller.call(self.caller.local()?.as_deref(), |out| request.encode(out), until)?;
        let malformed = |error: DynamicError| self.caller.error(ServiceError::Unreadable(error.to_string()));
        DynamicMessage::decode(&self.schema.response, &bytes).map_err(malformed)
    }
}

impl fmt::Debug for DynamicClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicClient").field("service", &self.caller.service()).finish_non_exhaustive()
    }
}
