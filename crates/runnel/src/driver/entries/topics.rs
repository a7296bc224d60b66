//! Publications and subscriptions of nodes, added and removed as the user creates and drops publishers and
//! subscriptions.

use std::sync::Arc;

use runnel_core::names::{Generation, NameUse, validate_name};
use runnel_core::qos::QoS;
use runnel_ros1::node::{Role as Ros1Role, TopicError, TopicSpec};
use runnel_rtps::announce::Role;

use crate::data::{Publication, SubscriptionCore, TopicInput, WriterGroup};
use crate::driver::Driver;
use crate::driver::nodes::{NodeKey, Nodes};
use crate::error::Error;
use crate::types::announced::Topic;

/// Inputs of a subscription for messages from other processes, one per graph.
#[derive(Clone)]
pub(crate) struct Inputs {
    pub(crate) ros1: Arc<TopicInput>,
    pub(crate) ros2: Option<Arc<TopicInput>>,
}

/// The graphs in which a node has a topic.
struct TopicGraphs {
    /// Specification for its engine, if the topic is in ROS 1.
    ros1: Option<TopicSpec>,
    ros2: bool,
}

impl Driver {
    /// Adds the publication of a topic to a node.
    pub(crate) fn add_publication(
        &mut self,
        key: NodeKey,
        topic: &Topic,
        group: &Arc<WriterGroup>,
        publication: &Arc<Publication>,
    ) -> Result<(), Error> {
        let slot = self.nodes.get_mut(key).ok_or(Error::ShuttingDown)?;
        let input = slot.inputs.get(&topic.name);
        if let Some(has) = input.and_then(|input| input.conflict(topic.type_sums())) {
            return Err(type_conflict(topic, has));
        }
        slot.begin(Ros1Role::Publisher, &topic.name);
        self.advertise(key, topic, group, publication)?;
        let slot = self.nodes.get_mut(key).ok_or(Error::ShuttingDown)?;
        slot.outputs.insert(topic.name.clone(), Arc::clone(publication));
        self.nodes.rejoin_locals(&topic.name);
        Ok(())
    }

    /// Adds a publisher to a publication. It may offer more than the publishers before it.
    pub(crate) fn advertise(
        &mut self,
        key: NodeKey,
        topic: &Topic,
        group: &Arc<WriterGroup>,
        publication: &Arc<Publication>,
    ) -> Result<(), Error> {
        let qos = group.qos;
        let graphs = self.nodes.graphs(key, topic, qos)?;
        if let Some(spec) = graphs.ros1 {
            self.with_ros1(key, |node, now| node.advertise(now, spec)).ok_or(Error::ShuttingDown)??;
        } else if let Some(has) = publication.conflict(topic.type_sums()) {
            return Err(type_conflict(topic, has));
        }
        #[cfg(feature = "type_description")]
        if graphs.ros2
            && let Some(slot) = self.nodes.get_mut(key)
        {
            slot.describe_topic(Ros1Role::Publisher, topic);
        }
        publication.apply_options(&topic.publication_options(qos));
        if !group.announce() {
            return Ok(());
        }
        self.monitored_endpoints.add(group, &mut self.effects);
        if graphs.ros2 {
            self.endpoints.offer(key, &topic.name, group, publication, &mut self.effects);
            let owner = (key, self.nodes.dual_node_id(key));
            self.ros2.add_writer(owner, topic, group, &mut self.effects);
        }
        Ok(())
    }

    /// Removes an offer of a publication that has others.
    pub(crate) fn withdraw(&mut self, publication: &Arc<Publication>, group: &Arc<WriterGroup>) {
        if publication.withdraw(group) {
            self.endpoints.offer_less(publication, &mut self.effects);
            self.remove_writers(std::slice::from_ref(group));
        }
    }

    /// The QoS of a new publisher, where `best_available` depends on the requested QoS.
    pub(crate) fn settled_for_publisher(&self, topic: &str, qos: QoS) -> QoS {
        if !qos.best_available.any() {
            return qos;
        }
        let mut requested = self.ros2.endpoint_qos_on(topic, Role::Reader);
        requested.extend(self.endpoints.requested(topic));
        qos.settled_for_publisher(&requested)
    }

    /// The QoS of a new subscription, where `best_available` depends on the offered QoS.
    pub(crate) fn settled_for_subscription(&self, topic: &str, qos: QoS) -> QoS {
        if !qos.best_available.any() {
            return qos;
        }
        let mut offered = self.ros2.endpoint_qos_on(topic, Role::Writer);
        offered.extend(self.endpoints.offered(topic));
        qos.settled_for_subscription(&offered)
    }

    /// Removes the publication of a topic from a node.
    pub(crate) fn remove_publication(&mut self, key: NodeKey, topic: &str) {
        // If the node is closed, there is nothing to unregister.
        self.with_ros1(key, |node, now| node.unadvertise(now, topic));
        #[cfg(feature = "type_description")]
        if let Some(slot) = self.nodes.get_mut(key) {
            slot.forget_topic(Ros1Role::Publisher, topic);
        }
        if let Some(publication) = self.nodes.get_mut(key).and_then(|slot| slot.outputs.remove(topic)) {
            self.endpoints.forget_publication(&publication);
            self.remove_writers(&publication.groups());
            publication.end();
        }
    }

    /// Adds a subscription to a node.
    pub(crate) fn add_subscription(
        &mut self,
        key: NodeKey,
        topic: &Topic,
        qos: QoS,
        core: &Arc<SubscriptionCore>,
    ) -> Result<Inputs, Error> {
        let graphs = self.nodes.graphs(key, topic, qos)?;
        let slot = self.nodes.get_mut(key).ok_or(Error::ShuttingDown)?;
        let output = slot.outputs.get(&topic.name).filter(|_| !core.takes_any());
        if let Some(has) = output.and_then(|output| output.conflict(core.type_sums())) {
            return Err(type_conflict(topic, has));
        }
        if let Some(spec) = graphs.ros1 {
            self.with_ros1(key, |node, now| node.subscribe(now, spec)).ok_or(Error::ShuttingDown)??;
        }
        let slot = self.nodes.get_mut(key).ok_or(Error::ShuttingDown)?;
        let input = Arc::clone(slot.inputs.entry(topic.name.clone()).or_default());
        // An untyped subscription is compatible with every type, but other subscriptions of the topic may conflict.
        if let Some(has) = input.conflict(core.type_sums()) {
            return Err(type_conflict(topic, has));
        }
        #[cfg(feature = "type_description")]
        if graphs.ros2 {
            slot.describe_topic(Ros1Role::Subscriber, topic);
        }
        input.add(Arc::clone(core), &self.dual_nodes_on_standby(&input));
        self.monitored_endpoints.add(core, &mut self.effects);
        // From the kept messages of this process's publishers it gets as many as its QoS requests in ROS 2, or the last
        // one if it is not in ROS 2.
        let requests_first = graphs.ros2 && qos.is_latching();
        if requests_first {
            self.endpoints.request(key, topic, qos, core, &mut self.effects);
        }
        self.nodes.rejoin_locals(&topic.name);
        if graphs.ros2 && !requests_first {
            self.endpoints.request(key, topic, qos, core, &mut self.effects);
        }
        let owner = (key, self.nodes.dual_node_id(key));
        let ros2 =
            graphs.ros2.then(|| self.ros2.add_reader(owner, topic, qos, core, &mut self.effects)).flatten();
        self.subscription_added(&input, core);
        Ok(Inputs { ros1: input, ros2 })
    }

    /// Removes a subscription. The last one of a topic removes its links.
    pub(crate) fn remove_subscription(&mut self, key: NodeKey, topic: &str, core: &Arc<SubscriptionCore>) {
        self.endpoints.forget_subscription(core);
        self.subscription_removed(key, topic, core);
        self.remove_reader(core);
        self.nodes.leave_publishers_of_this_process(core);
        if self.nodes.get_mut(key).is_some_and(|slot| slot.remove_input(topic, core)) {
            self.with_ros1(key, |node, now| node.unsubscribe(now, topic));
        }
    }
}

impl Nodes {
    /// The graphs in which a node has a topic.
    ///
    /// # Errors
    /// When the topic is in none of the node's graphs, its name is not allowed there, or the node has left them.
    fn graphs(&mut self, key: NodeKey, topic: &Topic, qos: QoS) -> Result<TopicGraphs, Error> {
        let slot = self.get_mut(key).ok_or(Error::ShuttingDown)?;
        let ros1 = topic.spec(qos).filter(|_| slot.ros1.is_some());
        let mut ros2 = slot.ros2 && topic.ros2.is_some();
        if ros2 && let Err(error) = validate_name(&topic.name, Generation::Ros2) {
            if ros1.is_none() {
                return Err(error.used_for(NameUse::Topic).into());
            }
            slot.say(log::Level::Warn, format_args!("topic {} stays in ROS 1: {error}", topic.name));
            ros2 = false;
        }
        match ros1 {
            None if !ros2 => {
                let what = format!("topic {} of type {}", topic.name, topic.local_type().0);
                Err(Error::NotInGraph { what })
            }
            // In ROS 1 the engine refuses, or the master does not answer.
            None if slot.stopped.is_some() => Err(Error::ShuttingDown),
            ros1 => Ok(TopicGraphs { ros1, ros2 }),
        }
    }
}

/// Error for a topic that the node has with another type.
fn type_conflict(topic: &Topic, has: String) -> Error {
    let (topic, requested) = (topic.name.clone(), topic.local_type().0.to_owned());
    TopicError::TypeConflict { topic, has, requested }.into()
}
