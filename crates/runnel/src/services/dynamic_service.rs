//! Services of types known only at run time.

use std::fmt;
use std::sync::Arc;

use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::{Generation, ServiceSchema};
use runnel_core::wire::{Bytes, try_write};

use crate::data::{Responder as RequestResponder, ServiceCallback, ServiceRequest};
use crate::error::Error;
use crate::node::Node;
use crate::node::options::ServerOptions;
use crate::services::raw_services::types_of;
use crate::services::responder::RequestId;
use crate::services::service::ServiceServer;
use crate::types::type_mapping::TypeMapping;

impl Node {
    /// As [`Node::create_deferred_service`], for a service whose type is known only at run time.
    ///
    /// # Errors
    /// As [`Node::create_service`].
    pub fn create_dynamic_service(
        &self,
        service: impl Into<ServerOptions>,
        schema: &Arc<ServiceSchema>,
        mut callback: impl FnMut(DynamicMessage, DynamicResponder) + Send + 'static,
    ) -> Result<ServiceServer, Error> {
        let request_type = TypeMapping::of(&schema.request);
        let response_type = Arc::new(TypeMapping::of(&schema.response));
        let on_request = move |ServiceRequest { bytes, responder }: ServiceRequest| match request_type
            .decode(Bytes::from(&*bytes), responder.encoding())
        {
            Ok(request) => {
                let mapping = Arc::clone(&response_type);
                callback(request, DynamicResponder { responder, mapping });
            }
            Err(why) => responder.respond(Err(format!("request: {why}"))),
        };
        let callback = ServiceCallback::Defers(Box::new(on_request));
        let dispatch = self.inner.executor_dispatch();
        self.provide_of_types(service.into(), types_of(schema).into(), dispatch, callback)
    }
}

/// As [`Responder`](crate::Responder), for a type known only at run time.
#[must_use = "a responder that is dropped refuses the request: call `respond` or move it to a thread that does"]
pub struct DynamicResponder {
    responder: RequestResponder,
    mapping: Arc<TypeMapping>,
}

impl DynamicResponder {
    /// Sends the response, which must be of the service's type. If it cannot be encoded, the client gets the reason as an
    /// error in its place.
    pub fn respond(self, response: &DynamicMessage) {
        let (mut bytes, mut written) = (Vec::new(), Ok(()));
        let encoding = self.responder.encoding();
        let has_memory = try_write(&mut bytes, |out| written = self.mapping.encode(response, encoding, out));
        let written = written.map_err(|error| error.to_string());
        let has_memory = has_memory.map_err(|error| error.to_string());
        let response = written.and(has_memory).map(|()| bytes).map_err(|error| format!("response: {error}"));
        self.responder.respond(response);
    }

    /// As [`Responder::fail`](crate::Responder::fail).
    pub fn fail(self, why: impl fmt::Display) {
        self.responder.respond(Err(why.to_string()));
    }

    /// Gives no answer: another server of the service has got the request, and answers. In ROS 1, where a client has one
    /// server, it gets an error.
    pub fn discard(self) {
        self.responder.discard();
    }

    /// The generation of the client.
    pub fn generation(&self) -> Generation {
        if self.responder.encoding().is_ros1() { Generation::Ros1 } else { Generation::Ros2 }
    }

    /// The request that this answers.
    pub fn request_id(&self) -> RequestId {
        RequestId::of(&self.responder)
    }
}

impl fmt::Debug for DynamicResponder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicResponder").field("request_id", &self.request_id()).finish_non_exhaustive()
    }
}
