//! Services that nodes provide, and calls of services.

use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_ros1::node::{ServiceClientSpec, ServiceLinkId};

use crate::data::{PendingCall, ServiceCore};
use crate::driver::Driver;
use crate::driver::nodes::NodeKey;
use crate::driver::ros1::{Call, CallRequest};

impl Driver {
    /// Ends the connections of a removed service.
    pub(crate) fn end_clients(&mut self, service: &Arc<ServiceCore>) {
        for key in self.sockets.clients_of(service) {
            self.link_ended(key, None);
        }
        service.end();
    }

    /// Begins a call on a new link; [`Driver::end_call`] ends it. `None` if the node is gone.
    pub(crate) fn begin_call(
        &mut self,
        key: NodeKey,
        wanted: ServiceClientSpec,
        request: CallRequest,
        until: Option<Instant>,
        pending: Arc<PendingCall>,
    ) -> Option<ServiceLinkId> {
        let node = self.nodes.get_mut(key)?;
        let open = |ros1: &mut runnel_ros1::node::Node| ros1.open_service(clock::monotonic(), wanted, until);
        let link = self.ros1.with(node.ros1?, |engine, _| engine.as_node().map(open))??;
        pending.begin(link);
        node.calls.insert(link, Call::new(request, pending));
        Some(link)
    }

    /// Begins another call on a persistent link; false if the link has ended.
    pub(crate) fn call_again(
        &mut self,
        key: NodeKey,
        link: ServiceLinkId,
        request: &[u8],
        until: Option<Instant>,
        pending: &Arc<PendingCall>,
    ) -> bool {
        let call = self.nodes.get_mut(key).and_then(|node| node.calls.get_mut(&link));
        let Some(socket) = call.and_then(|call| call.begin_again(pending)) else { return false };
        pending.begin(link);
        self.with_ros1(key, |node, _| node.set_service_deadline(link, until));
        self.sockets.send_request(socket, request, &mut self.effects);
        true
    }

    /// Ends a call and its link.
    pub(crate) fn end_call(&mut self, key: NodeKey, link: ServiceLinkId) {
        if let Some(node) = self.nodes.get_mut(key) {
            node.calls.remove(&link);
        }
        self.with_ros1(key, |node, _| node.close_service(link));
    }
}
