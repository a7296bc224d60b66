//! Service servers.

use std::fmt;

use runnel_core::message::Service;

use super::responder::Responder;
use crate::abi::Event;
use crate::encoding::{decode, number};
use crate::entity::Entity;
use crate::error::Error;
use crate::host::services;
use crate::node::Node;
use crate::types::Type;

/// A service that a node provides, created by [`Node::create_service`] or [`Node::create_deferred_service`]. Dropping
/// it unregisters the service.
#[must_use = "a service is unregistered when it is dropped: bind it to a name, `let _power = ...`, not `let _ = ...`"]
pub struct ServiceServer {
    _entity: Entity,
    service: String,
    _node: Node,
}

impl Node {
    /// Creates a service. `callback` returns the response to a request; the client gets the text of an error, except a
    /// client of another implementation in ROS 2, which has no reply for errors.
    ///
    /// # Errors
    /// If the name is not valid, the node already provides a service of that name, or the manifest does not allow it.
    pub fn create_service<S: Service, E: fmt::Display>(
        &self,
        service: impl AsRef<str>,
        mut callback: impl FnMut(&S::Request) -> Result<S::Response, E> + Send + 'static,
    ) -> Result<ServiceServer, Error> {
        self.create_deferred_service::<S>(service, move |request, responder| match callback(&request) {
            Ok(response) => responder.respond(&response),
            Err(error) => responder.fail(error),
        })
    }

    /// Creates a service whose responses are sent later: by the callback's second parameter, at any time and in any order.
    ///
    /// # Errors
    /// As [`Node::create_service`].
    pub fn create_deferred_service<S: Service>(
        &self,
        service: impl AsRef<str>,
        mut callback: impl FnMut(S::Request, Responder<S>) + Send + 'static,
    ) -> Result<ServiceServer, Error> {
        let (encoding, service) = (self.encoding(), service.as_ref());
        let handle = Type::of_service::<S>(encoding).create(|type_name| {
            services::create_service(self.handle(), service, type_name, number(encoding))
        })?;
        let node = self.handle();
        let on_request = move |event: &Event, bytes: &[u8]| {
            let responder = Responder::<S>::new(event.id, node, encoding);
            match decode(encoding, bytes) {
                Ok(request) => callback(request, responder),
                Err(why) => responder.fail(format_args!("the request cannot be read: {why}")),
            }
        };
        let entity = Entity::with_callback(handle, Box::new(on_request));
        let service = self.resolve(service)?;
        Ok(ServiceServer { _entity: entity, service, _node: self.clone() })
    }
}

impl ServiceServer {
    /// The service's absolute name.
    pub fn service(&self) -> &str {
        &self.service
    }
}

impl fmt::Debug for ServiceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceServer").field("service", &self.service).finish_non_exhaustive()
    }
}
