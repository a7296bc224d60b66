//! The topics of nodes: what is added and removed when the user makes and drops publishers and subscriptions.

use std::sync::Arc;

use runnel_core::qos::QoS;
use runnel_ros1::node::{Role, TopicError, TopicSpec};

use super::Driver;
use super::nodes::NodeKey;
use crate::announced::Topic;
use crate::data::{Publication, SubscriptionCore, TopicInput};
use crate::error::Error;

impl Driver {
    /// Adds what a node publishes a topic with.
    pub(crate) fn add_publication(
        &mut self,
        key: NodeKey,
        topic: &Topic,
        qos: QoS,
        publication: &Arc<Publication>,
    ) -> Result<(), Error> {
        let slot = self.node_slot(key).ok_or(Error::ShuttingDown)?;
        slot.begin(Role::Publisher, &topic.name);
        self.advertise(key, topic, qos)?;
        let slot = self.node_slot(key).ok_or(Error::ShuttingDown)?;
        slot.outputs.insert(topic.name.clone(), Arc::clone(publication));
        self.rejoin_locals(&topic.name);
        Ok(())
    }

    /// One more publisher of a node publishes a topic, which may ask for more than those before it.
    pub(crate) fn advertise(&mut self, key: NodeKey, topic: &Topic, qos: QoS) -> Result<(), Error> {
        if let Some(spec) = self.ros1_spec(key, topic, qos)? {
            self.with_ros1(key, |node, now| node.advertise(now, spec)).ok_or(Error::ShuttingDown)??;
        }
        Ok(())
    }

    /// A node publishes a topic no longer.
    pub(crate) fn remove_publication(&mut self, key: NodeKey, topic: &str) {
        // The node may be closed already, and then there is nothing to unregister.
        self.with_ros1(key, |node, now| node.unadvertise(now, topic));
        if let Some(slot) = self.node_slot(key) {
            slot.outputs.remove(topic);
        }
    }

    /// Adds a subscription to a node.
    pub(crate) fn add_subscription(
        &mut self,
        key: NodeKey,
        topic: &Topic,
        qos: QoS,
        core: &Arc<SubscriptionCore>,
    ) -> Result<Arc<TopicInput>, Error> {
        if let Some(spec) = self.ros1_spec(key, topic, qos)? {
            self.with_ros1(key, |node, now| node.subscribe(now, spec)).ok_or(Error::ShuttingDown)??;
        }
        let slot = self.node_slot(key).ok_or(Error::ShuttingDown)?;
        let input = Arc::clone(slot.inputs.entry(topic.name.clone()).or_default());
        // A subscription to any type agrees with all others, but these need not agree with each other.
        if let Some(has) = input.conflict(core) {
            let (topic, asked) = (topic.name.clone(), topic.told_type().0.to_owned());
            return Err(TopicError::TypeConflict { topic, has, asked }.into());
        }
        input.add(Arc::clone(core));
        self.rejoin_locals(&topic.name);
        Ok(input)
    }

    /// A subscription is gone: with the last one to a topic, its links go.
    pub(crate) fn remove_subscription(&mut self, key: NodeKey, topic: &str, core: &Arc<SubscriptionCore>) {
        self.leave_publishers_of_this_process(core);
        if self.node_slot(key).is_some_and(|slot| slot.remove_input(topic, core)) {
            self.with_ros1(key, |node, now| node.unsubscribe(now, topic));
        }
    }

    /// What the engine of a node is told of a topic, if both are in the ROS 1 graph.
    ///
    /// # Errors
    /// When the topic is in none of the graphs that the node is in.
    fn ros1_spec(&mut self, key: NodeKey, topic: &Topic, qos: QoS) -> Result<Option<TopicSpec>, Error> {
        let slot = self.node_slot(key).ok_or(Error::ShuttingDown)?;
        let spec = topic.spec(qos).filter(|_| slot.ros1.is_some());
        if spec.is_none() && !(slot.ros2 && topic.ros2.is_some()) {
            let what = format!("topic {} of type {}", topic.name, topic.told_type().0);
            return Err(Error::NotInGraph { what });
        }
        Ok(spec)
    }
}
