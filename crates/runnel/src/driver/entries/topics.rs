//! The topics of nodes: what is added and removed when the user makes and drops publishers and subscriptions.

use std::sync::Arc;

use runnel_core::names::{Generation, validate_name};
use runnel_core::qos::QoS;
use runnel_ros1::node::{Role as Ros1Role, TopicError, TopicSpec};
use runnel_rtps::announce::Role;

use crate::announced::Topic;
use crate::data::{Offer, Publication, SubscriptionCore, TopicInput};
use crate::driver::Driver;
use crate::driver::nodes::{NodeKey, Nodes};
use crate::error::Error;

/// By what a subscription gets messages of other processes, from each graph.
#[derive(Clone)]
pub(crate) struct Inputs {
    pub(crate) ros1: Arc<TopicInput>,
    pub(crate) ros2: Option<Arc<TopicInput>>,
}

/// In which graphs a node has a topic.
struct Places {
    /// What its engine is told, if it has it in ROS 1.
    ros1: Option<TopicSpec>,
    ros2: bool,
}

impl Driver {
    /// Adds what a node publishes a topic with.
    pub(crate) fn add_publication(
        &mut self,
        key: NodeKey,
        topic: &Topic,
        offer: &Arc<Offer>,
        publication: &Arc<Publication>,
    ) -> Result<(), Error> {
        let slot = self.nodes.get_mut(key).ok_or(Error::ShuttingDown)?;
        let input = slot.inputs.get(&topic.name);
        if let Some(has) = input.and_then(|input| input.conflict(topic.told_type().1)) {
            return Err(type_conflict(topic, has));
        }
        slot.begin(Ros1Role::Publisher, &topic.name);
        self.advertise(key, topic, offer, publication)?;
        let slot = self.nodes.get_mut(key).ok_or(Error::ShuttingDown)?;
        slot.outputs.insert(topic.name.clone(), Arc::clone(publication));
        self.nodes.rejoin_locals(&topic.name);
        Ok(())
    }

    /// A publisher of a node's publishes a topic, the first or one more, which may offer more than those before it.
    pub(crate) fn advertise(
        &mut self,
        key: NodeKey,
        topic: &Topic,
        offer: &Arc<Offer>,
        publication: &Arc<Publication>,
    ) -> Result<(), Error> {
        let qos = offer.qos;
        let places = self.nodes.places(key, topic, qos)?;
        if let Some(spec) = places.ros1 {
            self.with_ros1(key, |node, now| node.advertise(now, spec)).ok_or(Error::ShuttingDown)??;
        } else if let Some(has) = publication.conflict(topic.told_type().1) {
            return Err(type_conflict(topic, has));
        }
        publication.widen(&topic.publication_options(qos));
        if !offer.announce() {
            return Ok(());
        }
        self.watches.add(offer, &mut self.effects);
        if places.ros2 {
            self.endpoints.offer(key, &topic.name, offer, publication, &mut self.effects);
            let owner = (key, self.nodes.origin(key));
            self.ros2.add_writer(owner, topic, offer, &mut self.effects);
        }
        Ok(())
    }

    /// Nobody publishes a topic any more with what was offered, but others do with something else.
    pub(crate) fn withdraw(&mut self, publication: &Arc<Publication>, offer: &Arc<Offer>) {
        if publication.withdraw(offer) {
            self.endpoints.offer_less(publication, &mut self.effects);
            self.remove_writers(std::slice::from_ref(offer));
        }
    }

    /// What a publisher of a topic offers, given what is asked for now.
    pub(crate) fn settled_for_publisher(&self, topic: &str, qos: QoS) -> QoS {
        if !qos.best_available.any() {
            return qos;
        }
        let mut requested = self.ros2.told_on(topic, Role::Reader);
        requested.extend(self.endpoints.requested(topic));
        qos.settled_for_publisher(&requested)
    }

    /// What a subscription to a topic asks for, given what is offered now.
    pub(crate) fn settled_for_subscription(&self, topic: &str, qos: QoS) -> QoS {
        if !qos.best_available.any() {
            return qos;
        }
        let mut offered = self.ros2.told_on(topic, Role::Writer);
        offered.extend(self.endpoints.offered(topic));
        qos.settled_for_subscription(&offered)
    }

    /// A node publishes a topic no longer.
    pub(crate) fn remove_publication(&mut self, key: NodeKey, topic: &str) {
        // The node may be closed already, and then there is nothing to unregister.
        self.with_ros1(key, |node, now| node.unadvertise(now, topic));
        if let Some(publication) = self.nodes.get_mut(key).and_then(|slot| slot.outputs.remove(topic)) {
            self.endpoints.forget_publication(&publication);
            self.remove_writers(&publication.offers());
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
        let places = self.nodes.places(key, topic, qos)?;
        let slot = self.nodes.get_mut(key).ok_or(Error::ShuttingDown)?;
        let output = slot.outputs.get(&topic.name).filter(|_| !core.takes_any());
        if let Some(has) = output.and_then(|output| output.conflict(core.md5())) {
            return Err(type_conflict(topic, has));
        }
        if let Some(spec) = places.ros1 {
            self.with_ros1(key, |node, now| node.subscribe(now, spec)).ok_or(Error::ShuttingDown)??;
        }
        let slot = self.nodes.get_mut(key).ok_or(Error::ShuttingDown)?;
        let input = Arc::clone(slot.inputs.entry(topic.name.clone()).or_default());
        // A subscription to any type agrees with all others, but these need not agree with each other.
        if let Some(has) = input.conflict(core.md5()) {
            return Err(type_conflict(topic, has));
        }
        input.add(Arc::clone(core), &self.origins_on_standby(&input));
        self.watches.add(core, &mut self.effects);
        // Of what the publishers of this process keep for those who come later it gets as much as it asks for in ROS 2,
        // and the last message if it asks for nothing there.
        let asks_first = places.ros2 && qos.is_latching();
        if asks_first {
            self.endpoints.request(key, topic, qos, core, &mut self.effects);
        }
        self.nodes.rejoin_locals(&topic.name);
        if places.ros2 && !asks_first {
            self.endpoints.request(key, topic, qos, core, &mut self.effects);
        }
        let owner = (key, self.nodes.origin(key));
        let ros2 =
            places.ros2.then(|| self.ros2.add_reader(owner, topic, qos, core, &mut self.effects)).flatten();
        self.subscription_added(&input, core);
        Ok(Inputs { ros1: input, ros2 })
    }

    /// A subscription is gone: with the last one to a topic, its links go.
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
    /// Where a node has a topic.
    ///
    /// # Errors
    /// When the topic is in none of the graphs that the node is in, or may not have its name there, or the node has left
    /// them.
    fn places(&mut self, key: NodeKey, topic: &Topic, qos: QoS) -> Result<Places, Error> {
        let slot = self.get_mut(key).ok_or(Error::ShuttingDown)?;
        let ros1 = topic.spec(qos).filter(|_| slot.ros1.is_some());
        let mut ros2 = slot.ros2 && topic.ros2.is_some();
        if ros2 && let Err(error) = validate_name(&topic.name, Generation::Ros2) {
            if ros1.is_none() {
                return Err(error.into());
            }
            slot.say(log::Level::Warn, format_args!("topic {} stays in ROS 1: {error}", topic.name));
            ros2 = false;
        }
        match ros1 {
            None if !ros2 => {
                let what = format!("topic {} of type {}", topic.name, topic.told_type().0);
                Err(Error::NotInGraph { what })
            }
            // In ROS 1 it is the engine that refuses, or the master that does not answer.
            None if slot.stopped.is_some() => Err(Error::ShuttingDown),
            ros1 => Ok(Places { ros1, ros2 }),
        }
    }
}

/// A node has the topic with another type already.
fn type_conflict(topic: &Topic, has: String) -> Error {
    let (topic, asked) = (topic.name.clone(), topic.told_type().0.to_owned());
    TopicError::TypeConflict { topic, has, asked }.into()
}
