//! Publishers and subscriptions of this process, which meet without a connection.

use std::sync::Arc;

use super::Driver;
use super::nodes::NodeKey;
use super::ros1::{Engine, Slot};
use crate::data::{Publication, SubscriptionCore, TopicInput};

impl Driver {
    /// The publication of a topic by the node with this URI, if it is of this process.
    fn publication_at(&self, uri: &str, topic: &str) -> Option<Arc<Publication>> {
        let of_node = |slot: &&Slot| matches!(&slot.engine, Engine::Node(node) if node.uri() == uri);
        let key = self.ros1.iter().find(of_node)?.node?;
        self.nodes.get(key.0)?.outputs.get(topic).cloned()
    }

    /// The subscriptions of a node of this process to a topic, by the node's name.
    pub(crate) fn input_of(&self, node: &str, topic: &str) -> Option<Arc<TopicInput>> {
        self.node_named(node)?.inputs.get(topic).cloned()
    }

    /// The publication of a topic by a node of this process, by the node's name.
    pub(crate) fn output_of(&self, node: &str, topic: &str) -> Option<Arc<Publication>> {
        self.node_named(node)?.outputs.get(topic).cloned()
    }

    pub(super) fn join_local(&mut self, key: NodeKey, topic: &str, uri: &str) {
        let publication = self.publication_at(uri, topic);
        let Some(node) = self.node_slot(key) else { return };
        node.locals.entry(topic.to_owned()).or_default().insert(uri.to_owned());
        if let (Some(publication), Some(input)) = (publication, node.inputs.get(topic)) {
            input.for_each(|subscription| publication.join_local(Arc::clone(subscription)));
        }
    }

    pub(super) fn leave_local(&mut self, key: NodeKey, topic: &str, uri: &str) {
        let publication = self.publication_at(uri, topic);
        let Some(node) = self.node_slot(key) else { return };
        if let Some(uris) = node.locals.get_mut(topic) {
            uris.remove(uri);
        }
        if let (Some(publication), Some(input)) = (publication, node.inputs.get(topic)) {
            input.for_each(|subscription| publication.leave_local(subscription));
        }
    }

    /// Joins the publishers of this process again after a subscription or publication was added.
    pub(crate) fn rejoin_locals(&mut self, topic: &str) {
        for key in self.nodes.keys().into_iter().map(NodeKey) {
            let uris =
                self.node_slot(key).and_then(|node| node.locals.get(topic).cloned()).unwrap_or_default();
            uris.iter().for_each(|uri| self.join_local(key, topic, uri));
        }
    }

    /// Ends all that a node takes from publishers of this process.
    pub(super) fn leave_locals(&mut self, key: NodeKey) {
        let locals = self.node_slot(key).map(|node| std::mem::take(&mut node.locals)).unwrap_or_default();
        for (topic, uris) in locals {
            uris.iter().for_each(|uri| self.leave_local(key, &topic, uri));
        }
    }

    /// Ends what a subscription takes from publishers of this process.
    pub(crate) fn leave_publishers_of_this_process(&self, subscription: &Arc<SubscriptionCore>) {
        let publications = self.nodes.iter().flat_map(|node| node.outputs.values());
        publications.for_each(|publication| publication.forget_local(subscription));
    }

    /// Publishers of this process that a subscription takes messages from.
    pub(crate) fn count_publishers_of_this_process(&self, subscription: &Arc<SubscriptionCore>) -> usize {
        let publications = self.nodes.iter().flat_map(|node| node.outputs.values());
        publications.filter(|publication| publication.has_local(subscription)).count()
    }

    /// Tells every ROS 1 node which others are of this process.
    pub(super) fn share_locals(&mut self) {
        let uri = |slot: &Slot| match &slot.engine {
            Engine::Node(node) => Some(node.uri()),
            _ => None,
        };
        let uris: Vec<String> = self.ros1.iter().filter_map(uri).collect();
        for key in self.ros1.keys() {
            self.with_engine(key, |engine, _| {
                if let Engine::Node(node) = engine {
                    node.set_locals(uris.clone());
                }
            });
        }
    }
}
