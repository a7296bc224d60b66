//! Services that nodes provide, and calls of services.

use std::io;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_ros1::node::{ServiceClientSpec, ServiceLinkId};
use runnel_rtps::wire::EntityId;

use crate::data::{CallPath, PendingCall, Replies, RequestKey, ServiceCore, ServiceEvents, ServiceMemory};
use crate::driver::Driver;
use crate::driver::nodes::NodeKey;
use crate::driver::ros1::{Call, CallRequest};
use crate::driver::ros2::ClientEnd;
use crate::rtps::ServiceTypeNames;

impl Driver {
    /// Ends the connections of a removed service.
    pub(crate) fn end_clients(&mut self, service: &Arc<ServiceCore>) {
        for key in self.sockets.clients_of(service) {
            self.link_ended(key, None);
        }
        service.end();
    }

    /// Adds the server of a service in ROS 2. False if the process has left that graph.
    pub(crate) fn add_server(
        &mut self,
        key: NodeKey,
        core: &Arc<ServiceCore>,
        types: &ServiceTypeNames,
        memory: ServiceMemory,
    ) -> io::Result<bool> {
        self.ros2.serve_in_process(core, types);
        self.ros2.add_server(key, core, types, memory, &mut self.effects)
    }

    /// The replies of a service in ROS 2, if it has a server there.
    pub(crate) fn replies_of(&self, core: &Arc<ServiceCore>) -> Option<Arc<Replies>> {
        self.ros2.replies_of(core)
    }

    /// Removes the server of a service in ROS 2.
    pub(crate) fn remove_server(&mut self, core: &Arc<ServiceCore>) {
        let Some(replies) = self.ros2.replies_of(core) else { return };
        self.end_pairs_of([replies.ends().reader, replies.ends().writer.id()]);
        self.ros2.remove_server(core, &mut self.effects);
    }

    /// Adds a client in ROS 2. `None` if the process has left that graph.
    pub(crate) fn add_client(
        &mut self,
        key: NodeKey,
        service: &str,
        types: &ServiceTypeNames,
        memory: ServiceMemory,
    ) -> io::Result<Option<EntityId>> {
        self.ros2.add_client(key, service, types, memory, &mut self.effects)
    }

    /// Removes a client in ROS 2, and returns what the caller drops without the driver's lock: pending calls own callbacks,
    /// which own data of the program.
    pub(crate) fn remove_client(&mut self, client: EntityId) -> impl Sized + use<> {
        self.take_client(client)
    }

    pub(in crate::driver) fn take_client(&mut self, client: EntityId) -> Option<ClientEnd> {
        let ends = self.ros2.ends_of_client(client)?;
        self.end_pairs_of(ends);
        self.ros2.remove_client(client, &mut self.effects)
    }

    /// The events of a client in ROS 2.
    pub(crate) fn events_of_client(&self, client: EntityId) -> Option<Arc<ServiceEvents>> {
        self.ros2.events_of_client(client)
    }

    /// Removes a client in ROS 2 that the user has dropped, once its last call has ended.
    pub(crate) fn release_client(&mut self, client: EntityId) {
        if self.ros2.release_client(client) {
            self.remove_unused_client(client);
        }
    }

    /// Removes a client without calls, which owns no data of the program.
    fn remove_unused_client(&mut self, client: EntityId) {
        let removed = self.remove_client(client);
        drop(removed);
    }

    /// Ends the pairs of endpoints that are about to be removed.
    fn end_pairs_of(&mut self, ids: [EntityId; 2]) {
        for id in ids {
            self.ros2.matched_with(id).into_iter().for_each(|remote| self.remove_matched_pair(id, remote));
        }
    }

    /// Whether a server in ROS 2 is ready for a client.
    pub(crate) fn is_server_ready(&self, client: EntityId) -> bool {
        self.ros2.is_server_ready(client)
    }

    /// Whether a process has announced a server of a service in ROS 2.
    pub(crate) fn is_service_announced(&self, service: &str) -> bool {
        self.ros2.is_service_announced(service)
    }

    /// Begins a call in ROS 2. A service of this process gets the request at once, if there is one. Returns the call's
    /// path; `None` if the client is gone.
    pub(crate) fn begin_ros2_call(
        &mut self,
        client: EntityId,
        request: (Vec<u8>, Option<&ServiceCore>),
        until: Option<Instant>,
        pending: Arc<PendingCall>,
    ) -> Option<CallPath> {
        self.ros2.begin_ros2_call(client, request, until, pending, &mut self.effects)
    }

    /// Identifies a further request of a client in ROS 2, which no server gets. `None` if the client is gone.
    pub(crate) fn next_request_key(&mut self, client: EntityId) -> Option<RequestKey> {
        self.ros2.next_request_key(client)
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
        pending.begin(CallPath::Ros1(link));
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
        pending.begin(CallPath::Ros1(link));
        self.with_ros1(key, |node, _| node.set_service_deadline(link, until));
        self.sockets.send_request(socket, request, &mut self.effects);
        true
    }

    /// Ends a call, on whichever path.
    pub(crate) fn end_call_on(&mut self, key: NodeKey, path: CallPath) {
        match path {
            CallPath::Ros1(link) => self.end_call(key, link),
            CallPath::Ros2(client, number) => {
                if self.ros2.end_ros2_call(client, number) {
                    self.remove_unused_client(client);
                }
            }
        }
    }

    /// Ends a ROS 1 call and its link.
    pub(crate) fn end_call(&mut self, key: NodeKey, link: ServiceLinkId) {
        if let Some(node) = self.nodes.get_mut(key) {
            node.calls.remove(&link);
        }
        self.with_ros1(key, |node, _| node.close_service(link));
    }
}
