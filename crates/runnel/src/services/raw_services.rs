//! Services whose requests and responses are bytes, for Runnel's own programs. Not part of the API.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::bounds::{LengthBeyondLimit, MAX_MESSAGE};
use runnel_core::schema::ServiceSchema;
use runnel_core::wire::{Encoding, GrowingSink, Sink};
use runnel_io::clock;
use runnel_ros1::node::ServiceClientSpec;

use crate::data::{Responder, ServiceCallback, ServiceRequest, ServiceTypes};
use crate::error::Error;
use crate::node::Node;
use crate::node::options::ServerOptions;
use crate::services::caller::{Caller, Request, ResponseBytes};
use crate::services::dynamic_client::{events_in_ros2, names_in_ros2};
use crate::services::service::ServiceServer;
use crate::types::type_mapping::TypeMapping;

impl Node {
    /// Creates a service whose requests arrive as bytes, in the encoding of their client. The callback runs on a spinning
    /// thread, and responds at any time and from any thread.
    ///
    /// # Errors
    /// As [`Node::create_service`].
    pub fn create_raw_service(
        &self,
        service: &str,
        schema: &ServiceSchema,
        mut callback: impl FnMut(RawServiceRequest) + Send + 'static,
    ) -> Result<ServiceServer, Error> {
        let callback = move |request| callback(RawServiceRequest { request });
        let callback = ServiceCallback::Defers(Box::new(callback));
        let dispatch = self.inner.executor_dispatch();
        self.provide_of_types(ServerOptions::from(service), types_of(schema).into(), dispatch, callback)
    }

    /// Creates a client of a service that sends and receives bytes, in the encoding of its graph.
    ///
    /// # Errors
    /// As [`Node::create_dynamic_client`].
    pub fn create_raw_client(
        &self,
        service: &str,
        schema: &ServiceSchema,
    ) -> Result<RawServiceClient, Error> {
        let service = self.service_name(service)?;
        let names = self.inner.service_in_ros2(&service, types_of(schema).in_ros2())?;
        let (type_name, md5) = (schema.name.to_string(), schema.md5.clone());
        let wanted = ServiceClientSpec { service, type_name, md5, persistent: false, probe: false };
        let response_len = schema.response.ros1_fixed_len();
        let caller = Caller::new(Arc::clone(&self.inner), wanted, response_len, names.as_ref())?;
        Ok(RawServiceClient { caller })
    }
}

pub(crate) fn types_of(schema: &ServiceSchema) -> ServiceTypes {
    let types = [&schema.request, &schema.response].map(TypeMapping::of);
    let names = names_in_ros2(&types);
    let ros2 = names.map(|names| {
        [names.request, names.response].map(|message| (message.dds_type.into(), message.rihs01.into()))
    });
    ServiceTypes {
        name: schema.name.to_string().into(),
        md5: schema.md5.clone().into(),
        // No typed client calls the service by reference.
        ids: [TypeId::of::<RawServiceRequest>(); 2],
        request_len: schema.request.ros1_fixed_len(),
        ros2: ros2.unwrap_or_default(),
        events: events_in_ros2(&schema.ros2_name, &types),
    }
}

/// A request to a service. If it is dropped without a response, the client gets an error.
#[must_use = "a request that is dropped is refused: call `respond` or keep it"]
pub struct RawServiceRequest {
    request: ServiceRequest,
}

impl RawServiceRequest {
    /// The request.
    pub fn bytes(&self) -> &[u8] {
        &self.request.bytes
    }

    /// The encoding of the request, which the response must have, too.
    pub fn encoding(&self) -> Encoding {
        self.responder().encoding()
    }

    /// Sends the response.
    pub fn respond(self, response: Vec<u8>) {
        let checked = LengthBeyondLimit::check(response.len(), MAX_MESSAGE);
        let response = checked.map(|()| response).map_err(|error| format!("response: {error}"));
        self.request.responder.respond(response);
    }

    /// Sends the error `why` in place of a response. Clients of other implementations in ROS 2 get nothing.
    pub fn fail(self, why: impl fmt::Display) {
        self.request.responder.respond(Err(why.to_string()));
    }

    fn responder(&self) -> &Responder {
        &self.request.responder
    }
}

/// A client of one service.
pub struct RawServiceClient {
    caller: Caller,
}

impl RawServiceClient {
    /// Calls the service and returns at once. A spinning thread calls `callback` with the response, or with the reason why
    /// there is none.
    ///
    /// # Errors
    /// As [`Client::call_with`](crate::Client::call_with).
    pub fn call(
        &self,
        request: &[u8],
        timeout: Option<Duration>,
        callback: impl FnOnce(Result<Vec<u8>, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let until = timeout.map(|timeout| clock::monotonic() + timeout);
        let callback =
            |response: Result<ResponseBytes, Error>| callback(response.map(|response| response.bytes));
        self.caller.call_with(&RawBytes(request), until, callback)
    }
}

struct RawBytes<'a>(&'a [u8]);

impl Request for RawBytes<'_> {
    fn write(&self, _: Encoding, out: &mut GrowingSink) -> Result<(), String> {
        out.put(self.0);
        Ok(())
    }
}

impl fmt::Debug for RawServiceRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawServiceRequest").field("len", &self.bytes().len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for RawServiceClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawServiceClient").field("service", &self.caller.service()).finish_non_exhaustive()
    }
}
