//! Service clients.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::dynamic::{DynamicError, DynamicMessage};
use runnel_core::message::Service;
use runnel_core::schema::{Generation, ServiceSchema};
use runnel_core::time::Instant;
use runnel_core::wire::{self, Bytes, Encoding, GrowingSink, Wire, cdr};
use runnel_io::clock;
use runnel_ros1::node::ServiceClientSpec;

use crate::data::{ServiceCall, ServiceCore, ServiceEventType, ServiceTypes};
use crate::driver::ServiceInfo;
use crate::error::{Error, ServiceError};
use crate::node::Node;
use crate::rtps::{ServiceMessageType, ServiceTypeNames};
use crate::services::caller::{Caller, Request, ResponseBytes, error};
use crate::types::TypeUse;
use crate::types::type_mapping::TypeMapping;

impl Node {
    /// Creates a client of a service. Each call goes to the service of this process if there is one, else to a server that
    /// has been discovered in ROS 2, else to the provider in ROS 1, which it looks up and connects to. In a context that is
    /// only in ROS 2, a call waits until there is a server.
    ///
    /// # Errors
    /// When the name is not valid, or the operating system has no random bytes.
    pub fn create_client<S: Service>(&self, service: &str) -> Result<Client<S>, Error> {
        Client::new(self, self.resolve(service)?, false)
    }

    /// Creates a client of a service that keeps its connection in ROS 1 between calls. That is much faster, but the client
    /// stays with the node that provides the service now. When that node disappears, one call fails and the next looks the
    /// service up again. In ROS 2 it is like any other client.
    ///
    /// # Errors
    /// As [`Node::create_client`].
    pub fn create_persistent_client<S: Service>(&self, service: &str) -> Result<Client<S>, Error> {
        Client::new(self, self.resolve(service)?, true)
    }

    /// Creates a client of a service whose type is known only at run time.
    ///
    /// # Errors
    /// As [`Node::create_client`]; [`Error::NotInGraph`] if the type cannot be represented in a graph of the
    /// context.
    pub fn create_dynamic_client(
        &self,
        service: &str,
        schema: &Arc<ServiceSchema>,
    ) -> Result<DynamicClient, Error> {
        DynamicClient::new(self, self.resolve(service)?, schema)
    }

    /// Waits at most `timeout` until a node provides the service. False if none does.
    ///
    /// # Errors
    /// When the name is not valid, or the operating system refuses to wait.
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
        self.inner.needs_ros1(format_args!("the provider of service {}", caller.service()))?;
        caller.info(Some(clock::monotonic() + timeout))
    }

    fn untyped_caller(&self, service: &str) -> Result<Caller, Error> {
        let (type_name, md5) = ("*".to_owned(), "*".to_owned());
        let service = self.resolve(service)?;
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
        let local = self.caller.direct_core()?;
        // A type that was generated twice is the same on the wire, but not by reference. Events have encoded contents.
        let is_by_reference =
            |core: &&ServiceCore| core.types.ids == types && !self.caller.publishes_events_with(core);
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
        let until = timeout.map(|timeout| clock::monotonic() + timeout);
        let service = self.service().to_owned();
        let callback = move |response: Result<ResponseBytes, Error>| {
            callback(response.and_then(|response| read_response::<S>(&service, &response)));
        };
        self.caller.call_with(&Typed(request), until, callback)
    }

    /// Waits at most `timeout` until a node of any graph provides the service. False if none does. In ROS 2 the node is
    /// ready once it is known to hear requests and to be heard.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn wait_for_service(&self, timeout: Duration) -> Result<bool, Error> {
        self.caller.wait_until_ready(timeout)
    }

    /// Whether a node provides the service and answers. In ROS 2 this is known from discovery, without asking the
    /// network. In ROS 1 it asks the master for the service, then the node that provides it, and waits for each at most
    /// one second.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn service_is_ready(&self) -> Result<bool, Error> {
        self.caller.is_ready()
    }
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

/// A client of one service, whose type is known only at run time.
pub struct DynamicClient {
    caller: Caller,
    /// Its name in ROS 2.
    ros2_name: String,
    /// Request and response.
    types: [TypeMapping; 2],
}

impl DynamicClient {
    fn new(node: &Node, service: String, schema: &Arc<ServiceSchema>) -> Result<Self, Error> {
        let (type_name, md5) = (schema.name.to_string(), schema.md5.clone());
        let response_len = schema.response.ros1_fixed_len();
        let types = [&schema.request, &schema.response].map(TypeMapping::of);
        let names = node.inner.service_in_ros2(&service, names_in_ros2(&types))?;
        let wanted = ServiceClientSpec { service, type_name, md5, persistent: false, probe: false };
        let caller = Caller::new(Arc::clone(&node.inner), wanted, response_len, names.as_ref())?;
        Ok(Self { caller, ros2_name: schema.ros2_name.clone(), types })
    }

    /// The service's absolute name.
    pub fn service(&self) -> &str {
        self.caller.service()
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// `None` if the service cannot be represented in ROS 2.
    pub(crate) fn event_type(&self) -> Option<ServiceEventType> {
        events_in_ros2(&self.ros2_name, &self.types)
    }

    /// Calls the service with a request of its type. Without a `timeout` there is no time limit.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn call(&self, request: &DynamicMessage, timeout: Option<Duration>) -> Result<DynamicMessage, Error> {
        let until = timeout.map(|timeout| clock::monotonic() + timeout);
        let [request_type, response_type] = &self.types;
        let request = Dynamic { request, mapping: request_type };
        let ResponseBytes { encoding, bytes } =
            self.caller.call(self.caller.direct_core()?.as_deref(), &request, until)?;
        let malformed = |error: DynamicError| self.caller.error(ServiceError::Unreadable(error.to_string()));
        response_type.decode(Bytes::from(&*bytes), encoding).map_err(malformed)
    }
}

/// A request whose type is known only at run time.
struct Dynamic<'a> {
    request: &'a DynamicMessage,
    mapping: &'a TypeMapping,
}

impl Request for Dynamic<'_> {
    fn write(&self, encoding: Encoding, out: &mut GrowingSink) -> Result<(), String> {
        self.mapping.encode(self.request, encoding, out).map_err(|error| error.to_string())
    }
}

/// The message types of a service in ROS 2; `None` if one of them cannot be represented
/// there.
pub(crate) fn names_in_ros2([request, response]: &[TypeMapping; 2]) -> Option<ServiceTypeNames> {
    let name = |mapping: &TypeMapping| {
        let schema = mapping.in_generation(Generation::Ros2).ok()?;
        let (dds_type, rihs01) = (schema.def.dds_name(), schema.rihs01()?);
        Some(ServiceMessageType { dds_type, rihs01 })
    };
    Some(ServiceTypeNames { request: name(request)?, response: name(response)? })
}

/// The type of a service's events; `None` if the request or the response cannot be represented in ROS 2.
pub(crate) fn events_in_ros2(service: &str, types: &[TypeMapping; 2]) -> Option<ServiceEventType> {
    let [request, response] = types.each_ref().map(|mapping| mapping.in_generation(Generation::Ros2).ok());
    Some(ServiceEventType::of_schemas(service, [request?, response?]))
}

impl fmt::Debug for DynamicClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicClient").field("service", &self.caller.service()).finish_non_exhaustive()
    }
}
