//! Services of ROS 2 actions, with requests and responses as bytes.

use std::sync::Arc;

use runnel_ros1::node::ServiceFailure;
use runnel_rtps::wire::EntityId;

use super::ros2_request::Request;
use crate::callback_group::ExclusiveGroup;
use crate::data::{CallPath, LongWaits, PendingCall, ServiceCore};
use crate::error::Error;
use crate::node::Node;
use crate::ready::Dispatch;
use crate::rtps::ServiceTypeNames;
use crate::services::service::{ProvidedType, ServiceServer};

/// Provides a service. The callback belongs to `group` and answers at any time. `refusal` is the response to requests
/// beyond the limits of a service. `on_clients_gone` runs once clients have been gone for too long.
pub(super) fn serve(
    node: &Node,
    (service, of): (String, ProvidedType),
    (group, refusal): (&Arc<ExclusiveGroup>, Vec<u8>),
    mut callback: impl FnMut(Request) + Send + 'static,
    on_clients_gone: impl Fn() + Send + Sync + 'static,
) -> Result<ServiceServer, Error> {
    let long_waits = LongWaits { refusal: Arc::from(refusal), on_clients_gone: Box::new(on_clients_gone) };
    node.provide_in_ros2((service, of), group, long_waits, move |request| callback(Request::of(request)))
}

/// The requests to a service that wait for its callback.
pub(super) fn waiting(server: &ServiceServer) -> impl Iterator<Item = Request> {
    std::iter::from_fn(|| server.core().take().map(Request::of))
}

/// The reply to a call.
pub(super) struct ServiceReply {
    /// The payload of the response.
    pub(super) result: Result<Vec<u8>, CallFailure>,
    pub(super) path: CallPath,
}

/// Why there is no response.
pub(super) enum CallFailure {
    /// The server refuses the request, for this reason.
    Refused(String),
    NoAnswer(ServiceFailure),
}

/// Calls a service.
pub(super) struct ServiceCaller {
    node: Node,
    service: String,
    types: ServiceTypeNames,
    client: EntityId,
}

impl ServiceCaller {
    pub(super) fn new(node: &Node, service: String, types: ServiceTypeNames) -> Result<Self, Error> {
        let memory = node.inner.service_memory();
        let client = node.inner.driver().add_client(node.inner.key, &service, &types, memory)?;
        let client = client.ok_or(Error::ShuttingDown)?;
        Ok(Self { node: node.clone(), service, types, client })
    }

    /// Whether a server is ready.
    pub(super) fn is_ready(&self) -> bool {
        self.local_core().is_some() || self.node.inner.driver().is_server_ready(self.client)
    }

    /// Sends a request as soon as a server is ready. Returns what identifies the call. `on_reply` runs on any thread, with
    /// locks held, and must only queue the reply.
    pub(super) fn call(
        &self,
        request: Vec<u8>,
        on_reply: impl FnOnce(ServiceReply) + Send + 'static,
    ) -> Result<CallPath, Error> {
        let pending = PendingCall::with_callback(Dispatch::Inline, move |path, answer| {
            let result = match answer {
                Ok(response) => response.map_err(CallFailure::Refused),
                Err(failure) => Err(CallFailure::NoAnswer(failure)),
            };
            on_reply(ServiceReply { result, path });
        });
        let local = self.local_core();
        let request = (request, local.as_deref());
        let begun = self.node.inner.driver().begin_ros2_call(self.client, request, None, pending);
        let path = begun.ok_or(Error::ShuttingDown)?;
        self.node.context().shared.event_loop.ensure_background_thread();
        Ok(path)
    }

    /// Ends a call whose reply is handled, or whose reply nothing waits for.
    pub(super) fn end(&self, call: CallPath) {
        self.node.inner.driver().end_call_on(self.node.inner.key, call);
    }

    /// The service, if it is in this process and of the same type.
    fn local_core(&self) -> Option<Arc<ServiceCore>> {
        let core = self.node.inner.driver().nodes.service(&self.service)?;
        core.types.are_in_ros2(&self.types).then_some(core)
    }
}

impl Drop for ServiceCaller {
    fn drop(&mut self) {
        let removed = self.node.inner.driver().remove_client(self.client);
        drop(removed);
    }
}
