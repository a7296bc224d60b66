//! Service clients of types known only at run time.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use runnel_core::dynamic::{DynamicError, DynamicMessage};
use runnel_core::schema::{Generation, ServiceSchema};
use runnel_core::time::Instant;
use runnel_core::wire::{Bytes, Encoding, GrowingSink};
use runnel_ros1::node::ServiceClientSpec;

use crate::data::ServiceEventType;
use crate::error::{Error, ServiceError};
use crate::node::Node;
use crate::rtps::{ServiceMessageType, ServiceTypeNames};
use crate::services::caller::{Caller, Request, ResponseBytes, error};
use crate::services::client::deadline;
use crate::services::pending_response::PendingBytes;
use crate::services::service_waiting::until_ready;
use crate::types::type_mapping::TypeMapping;

impl Node {
    /// Creates a client of a service whose type is known only at run time.
    ///
    /// # Errors
    /// As [`Node::create_client`].
    pub fn create_dynamic_client(
        &self,
        service: &str,
        schema: &Arc<ServiceSchema>,
    ) -> Result<DynamicClient, Error> {
        DynamicClient::new(self, self.service_name(service)?, schema)
    }
}

/// A client of one service, whose type is known only at run time. Calls it from any thread. Clones are handles of the same
/// client.
#[derive(Clone)]
pub struct DynamicClient {
    caller: Arc<Caller>,
    types: Arc<Types>,
}

/// The types of the service.
struct Types {
    /// The service's type in ROS 2.
    ros2_name: String,
    /// Request and response.
    messages: [TypeMapping; 2],
}

impl DynamicClient {
    fn new(node: &Node, service: String, schema: &Arc<ServiceSchema>) -> Result<Self, Error> {
        let (type_name, md5) = (schema.name.to_string(), schema.md5.clone());
        let response_len = schema.response.ros1_fixed_len();
        let messages = [&schema.request, &schema.response].map(TypeMapping::of);
        let names = node.inner.service_in_ros2(&service, names_in_ros2(&messages))?;
        let wanted = ServiceClientSpec { service, type_name, md5, persistent: false, probe: false };
        let caller = Caller::new(Arc::clone(&node.inner), wanted, response_len, names.as_ref())?;
        let types = Types { ros2_name: schema.ros2_name.clone(), messages };
        Ok(Self { caller: Arc::new(caller), types: Arc::new(types) })
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
        events_in_ros2(&self.types.ros2_name, &self.types.messages)
    }

    /// As [`Client::call`](crate::Client::call), with a request of the service's type.
    ///
    /// # Errors
    /// As [`Client::call`](crate::Client::call).
    pub fn call(&self, request: &DynamicMessage) -> Result<DynamicMessage, Error> {
        self.call_until(request, None)
    }

    /// As [`Client::call_timeout`](crate::Client::call_timeout), with a request of the service's type.
    ///
    /// # Errors
    /// As [`Client::call`](crate::Client::call).
    pub fn call_timeout(
        &self,
        request: &DynamicMessage,
        timeout: impl Into<Option<Duration>>,
    ) -> Result<DynamicMessage, Error> {
        self.call_until(request, deadline(timeout))
    }

    fn call_until(&self, request: &DynamicMessage, until: Option<Instant>) -> Result<DynamicMessage, Error> {
        let local = self.caller.local_core()?;
        let response = self.caller.call(local.as_deref(), &self.request(request), until)?;
        self.read(&response)
    }

    /// As [`Client::call_with`](crate::Client::call_with), with a request of the service's type.
    ///
    /// # Errors
    /// As [`Client::call_with`](crate::Client::call_with).
    pub fn call_with(
        &self,
        request: &DynamicMessage,
        timeout: Option<Duration>,
        callback: impl FnOnce(Result<DynamicMessage, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        // A pending call must not keep the client.
        let (service, types) = (self.service().to_owned(), Arc::clone(&self.types));
        let callback = move |response: Result<ResponseBytes, Error>| {
            callback(response.and_then(|response| types.read_response(&service, &response)));
        };
        self.caller.call_with(&self.request(request), deadline(timeout), callback)
    }

    /// As [`Client::call_async`](crate::Client::call_async), with a request of the service's type.
    ///
    /// # Errors
    /// Those of [`Client::call`](crate::Client::call), when the future is awaited.
    pub fn call_async(
        &self,
        request: &DynamicMessage,
    ) -> impl Future<Output = Result<DynamicMessage, Error>> + Send + Unpin + use<> {
        let mut sent = PendingBytes::send(&self.caller, &self.request(request), None).map_err(Some);
        let client = self.clone();
        poll_fn(move |task| match &mut sent {
            Ok(pending) => pending.poll(task).map(|response| client.read(&response?)),
            Err(error) => Poll::Ready(Err(error.take().unwrap_or(Error::ShuttingDown))),
        })
    }

    /// As [`Client::wait_for_service`](crate::Client::wait_for_service).
    ///
    /// # Errors
    /// As [`Client::wait_for_service`](crate::Client::wait_for_service).
    pub fn wait_for_service(&self, timeout: Duration) -> Result<bool, Error> {
        self.caller.wait_until_ready(timeout)
    }

    /// As [`Client::wait_for_service_async`](crate::Client::wait_for_service_async).
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends.
    pub fn wait_for_service_async(&self) -> impl Future<Output = Result<(), Error>> + Send + Unpin + use<> {
        until_ready(&self.caller)
    }

    /// As [`Client::service_is_ready`](crate::Client::service_is_ready).
    ///
    /// # Errors
    /// As [`Client::service_is_ready`](crate::Client::service_is_ready).
    pub fn service_is_ready(&self) -> Result<bool, Error> {
        self.caller.is_ready()
    }

    fn request<'a>(&'a self, request: &'a DynamicMessage) -> Dynamic<'a> {
        Dynamic { request, mapping: &self.types.messages[0] }
    }

    fn read(&self, response: &ResponseBytes) -> Result<DynamicMessage, Error> {
        self.types.read_response(self.service(), response)
    }
}

impl Types {
    fn read_response(&self, service: &str, response: &ResponseBytes) -> Result<DynamicMessage, Error> {
        let ResponseBytes { encoding, bytes } = response;
        let malformed = |why: DynamicError| error(service, ServiceError::Unreadable(why.to_string()));
        self.messages[1].decode(Bytes::from(&**bytes), *encoding).map_err(malformed)
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
