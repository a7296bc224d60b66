//! The topics of nodes: what is added and removed when the user makes and drops publishers and subscriptions.

use std::sync::Arc;

use runnel_ros1::node::{TopicError, TopicSpec};

use super::Driver;
use super::nodes::NodeKey;
use crate::data::{SubscriptionCore, TopicInput};
use crate::error::Error;

impl Driver {
    /// Adds a subscription to a node.
    pub(crate) fn add_subscription(
        &mut self,
        key: NodeKey,
        core: &Arc<SubscriptionCore>,
        spec: TopicSpec,
    ) -> Result<Arc<TopicInput>, Error> {
        let (topic, asked) = (spec.topic.clone(), spec.type_name.clone());
        self.with_ros1(key, |node, now| node.subscribe(now, spec)).ok_or(Error::ShuttingDown)??;
        let slot = self.node_slot(key).ok_or(Error::ShuttingDown)?;
        let input = Arc::clone(slot.inputs.entry(topic.clone()).or_default());
        // A subscription to any type agrees with all others, but these need not agree with each other.
        if let Some(has) = input.conflict(core) {
            return Err(TopicError::TypeConflict { topic, has, asked }.into());
        }
        input.add(Arc::clone(core));
        self.rejoin_locals(&topic);
        Ok(input)
    }

    /// A subscription is gone: with the last one to a topic, its links go.
    pub(crate) fn remove_subscription(&mut self, key: NodeKey, topic: &str, core: &Arc<SubscriptionCore>) {
        self.leave_publishers_of_this_process(core);
        if self.node_slot(key).is_some_and(|slot| slot.remove_input(topic, core)) {
            self.with_ros1(key, |node, now| node.unsubscribe(now, topic));
        }
    }
}
