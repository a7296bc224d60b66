//! Delivery between publishers and subscriptions of this process, without a connection.

use std::sync::Arc;

use super::{NodeKey, Nodes};
use crate::data::{Publication, SubscriptionCore, TopicInput};

impl Nodes {
    /// The publication of a topic by the node of this process with this URI.
    fn publication_at(&self, uri: &str, topic: &str) -> Option<Arc<Publication>> {
        self.iter().find(|node| node.uri.as_deref() == Some(uri))?.outputs.get(topic).cloned()
    }

    /// The subscriptions of a node of this process to a topic, by the node's name.
    pub(crate) fn input_of(&self, node: &str, topic: &str) -> Option<Arc<TopicInput>> {
        self.named(node)?.inputs.get(topic).cloned()
    }

    /// The publication of a topic by a node of this process, by the node's name.
    pub(crate) fn output_of(&self, node: &str, topic: &str) -> Option<Arc<Publication>> {
        self.named(node)?.outputs.get(topic).cloned()
    }

    pub(in crate::driver) fn join_local(&mut self, key: NodeKey, topic: &str, uri: &str) {
        let publication = self.publication_at(uri, topic);
        let Some(node) = self.get_mut(key) else { return };
        node.locals.entry(topic.to_owned()).or_default().insert(uri.to_owned());
        if let (Some(publication), Some(input)) = (publication, node.inputs.get(topic)) {
            input.for_each(|subscription| publication.join_local(Arc::clone(subscription)));
        }
    }

    pub(in crate::driver) fn leave_local(&mut self, key: NodeKey, topic: &str, uri: &str) {
        let publication = self.publication_at(uri, topic);
        let Some(node) = self.get_mut(key) else { return };
        if let Some(uris) = node.locals.get_mut(topic) {
            uris.remove(uri);
        }
        if let (Some(publication), Some(input)) = (publication, node.inputs.get(topic)) {
            input.for_each(|subscription| publication.leave_local(subscription));
        }
    }

    /// Joins this process's publishers again after a subscription or publication was added.
    pub(crate) fn rejoin_locals(&mut self, topic: &str) {
        for key in self.keys() {
            let uris = self.get_mut(key).and_then(|node| node.locals.get(topic).cloned()).unwrap_or_default();
            uris.iter().for_each(|uri| self.join_local(key, topic, uri));
        }
    }

    /// Ends all deliveries from this process's publishers to a node.
    pub(in crate::driver) fn leave_locals(&mut self, key: NodeKey) {
        let locals = self.get_mut(key).map(|node| std::mem::take(&mut node.locals)).unwrap_or_default();
        for (topic, uris) in locals {
            uris.iter().for_each(|uri| self.leave_local(key, &topic, uri));
        }
    }

    /// Ends all deliveries from this process's publishers to a subscription.
    pub(crate) fn leave_publishers_of_this_process(&self, subscription: &Arc<SubscriptionCore>) {
        let publications = self.outputs();
        publications.for_each(|(_, publication)| publication.forget_local(subscription));
    }

    /// Number of this process's publishers that deliver to a subscription.
    pub(crate) fn count_publishers_of_this_process(&self, subscription: &Arc<SubscriptionCore>) -> usize {
        let publications = self.outputs();
        publications.filter(|(_, publication)| publication.has_local(subscription)).count()
    }
}
