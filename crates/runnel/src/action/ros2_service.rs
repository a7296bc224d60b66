//! Services of ROS 2 actions, with requests and responses as bytes.

use crate::error::Error;
use crate::node::Node;

use super::types::ServiceType;

/// The reply to a call.
pub(super) struct ServiceReply {
    /// The payload of the response, or why there is none.
    pub(super) result: Result<Vec<u8>, String>,
}

/// Calls a service.
pub(super) struct ServiceCaller {}

impl ServiceCaller {
    pub(super) fn new(node: &Node, service: String, types: ServiceType) -> Result<Self, Error> {
        let _ = (node, service, types.request, types.response);
        Ok(Self {})
    }

    /// Whether a server is ready.
    pub(super) fn is_ready(&self) -> bool {
        false
    }

    /// Sends a request. `on_reply` runs on any thread, with locks held, and must only queue the reply.
    pub(super) fn call(
        &self,
        request: Vec<u8>,
        on_reply: impl FnOnce(ServiceReply) + Send + 'static,
    ) -> Result<(), Error> {
        let _ = request;
        on_reply(ServiceReply { result: Err("not supported".to_owned()) });
        Ok(())
    }

    /// Ends a call whose reply is handled.
    pub(super) fn end(&self, reply: &ServiceReply) {
        let _ = reply;
    }
}
