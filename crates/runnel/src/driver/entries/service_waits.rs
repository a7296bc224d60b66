//! Waits for services of other nodes.

use std::sync::Arc;

use runnel_ros1::node::{ServiceClientSpec, ServiceLinkId};
use runnel_rtps::wire::EntityId;

use crate::data::{CallPath, PendingCall};
use crate::driver::Driver;
use crate::driver::nodes::NodeKey;
use crate::driver::ros1::{Call, CallRequest};

impl Driver {
    /// Begins to wait for a service; [`Driver::end_call`] ends it. `pending` completes once a node provides the
    /// service. `None` if the node is gone.
    pub(crate) fn await_service(
        &mut self,
        key: NodeKey,
        wanted: ServiceClientSpec,
        pending: &Arc<PendingCall>,
    ) -> Option<ServiceLinkId> {
        let link = self.with_ros1(key, |node, now| node.await_service(now, wanted))?;
        pending.begin(CallPath::Ros1(link));
        let nothing = CallRequest { request: None, response_len: None };
        self.nodes.get_mut(key)?.calls.insert(link, Call::new(nothing, Arc::clone(pending)));
        Some(link)
    }

    /// Begins to wait for a server in ROS 2, until `pending` is dropped. `pending` completes once one is ready. False if the
    /// client is gone.
    pub(crate) fn await_server(&mut self, client: EntityId, pending: &Arc<PendingCall>) -> bool {
        self.ros2.await_server(client, pending, &mut self.effects)
    }
}
