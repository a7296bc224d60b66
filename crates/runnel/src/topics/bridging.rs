//! What a bridge needs to know of both graphs, for Runnel's own programs. Not part of the API.

use crate::context::Context;
use crate::error::Error;
use crate::ros2_graph::Gid;
use crate::rtps::{BridgeMark, EndpointMark};
use crate::topics::subscription::Subscription;

/// A publisher that a subscription is connected to, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublisherDescription {
    /// The full name of its node.
    pub node: String,
    /// The message type.
    pub type_name: String,
    /// MD5 sum of the type; `*` if it is unknown.
    pub md5: String,
    /// Definition of the type with its dependencies; empty if it is unknown.
    pub definition: String,
    /// It gives its last message to late subscribers.
    pub is_latching: bool,
    /// It belongs to a bridge, or to a node that is in both graphs.
    pub is_relay: bool,
}

impl Context {
    /// Marks the ROS 2 endpoints that are created from now on as those of a bridge.
    ///
    /// # Errors
    /// If sockets cannot be opened.
    pub fn mark_as_bridge(&self, mark: BridgeMark) -> Result<(), Error> {
        let mut driver = self.shared.event_loop.driver();
        driver.join_ros2()?;
        driver.ros2.mark_as_bridge(mark);
        Ok(())
    }

    /// The endpoints of bridges and dual nodes in the ROS 2 graph, without those of this process.
    pub fn marked_endpoints(&self) -> Vec<(Gid, EndpointMark)> {
        let driver = self.shared.event_loop.driver();
        driver.ros2.marked_endpoints()
    }
}

impl Subscription {
    /// The connected ROS 1 publishers in other processes.
    pub fn ros1_publishers(&self) -> Vec<PublisherDescription> {
        let links = self.ros1_links();
        let describe = |from: &std::sync::Arc<crate::data::LinkInfo>| PublisherDescription {
            node: from.publisher.clone(),
            type_name: from.type_name.clone(),
            md5: from.md5.clone(),
            definition: from.definition.clone(),
            is_latching: from.latching,
            is_relay: from.is_relay(),
        };
        links.iter().map(describe).collect()
    }
}
