//! Publisher ends: the topics that a node publishes.

use std::sync::{Arc, Weak};

use runnel_core::qos::QoS;
use runnel_core::sorted::SortedMap;
use runnel_io::clock;
#[cfg(feature = "tf")]
use runnel_msgs::tf2_msgs::msg::TFMessage;
use runnel_ros1::node::Role;

use super::{Node, NodeInner};
use crate::data::{Publication, QosEvents, WriterGroup};
use crate::error::Error;
use crate::node_log::ROSOUT;
use crate::runtime::shared::STOP_CHECK_INTERVAL;
use crate::settings::linger;
#[cfg(feature = "tf")]
use crate::sync::{Class, Mutex};
use crate::sync::{MutexGuard, lock};
use crate::types::announced::Topic;

/// Publisher ends by topic. An end that is being removed stays here until it is gone.
pub(super) type Publishers = SortedMap<String, Weak<PublisherEnd>>;

/// One topic published by a node, shared by all of the user's publishers of it.
pub(crate) struct PublisherEnd {
    pub(crate) node: Arc<NodeInner>,
    pub(crate) publication: Arc<Publication>,
    pub(crate) topic: String,
    /// True if the topic outlives the user's last publisher, because the node itself publishes it.
    stays: bool,
    /// The static transforms that the node's broadcasters have sent, if this is their topic.
    #[cfg(feature = "tf")]
    pub(crate) static_transforms: Mutex<TFMessage>,
}

/// One user publisher of an end, shared by its clones.
pub(crate) struct UserPublisher {
    pub(crate) end: Arc<PublisherEnd>,
    pub(crate) group: Arc<WriterGroup>,
    pub(crate) events: Arc<QosEvents>,
}

impl Node {
    /// Creates a publisher of a topic. The node's first publisher of it also creates the end.
    pub(crate) fn create_user_publisher(
        &self,
        topic: &Topic,
        qos: QoS,
        events: Arc<QosEvents>,
    ) -> Result<Arc<UserPublisher>, Error> {
        let (inner, name) = (&self.inner, &topic.name);
        let (mut publishers, end) = inner.publishers_and(name)?;
        if let Some(end) = end {
            let publisher = UserPublisher::new(end, qos, events);
            let publication = &publisher.end.publication;
            let advertised = inner.driver().advertise(inner.key, topic, &publisher.group, publication);
            // If this is the last handle of the end, dropping it needs the lock.
            drop(publishers);
            return advertised.map(|()| publisher);
        }
        let own = inner.log().rosout().filter(|_| name == ROSOUT);
        let new = || {
            let shared = &inner.context.shared;
            let (reactor, pool) = (Arc::clone(&shared.reactor), Arc::clone(&shared.pool));
            topic.publication(reactor, pool, &inner.full_name, qos)
        };
        let publication = own.map_or_else(new, |own| Arc::clone(&own.publication));
        let stays = own.is_some();
        let group = publication.writer_group(qos, &events);
        let added = if stays {
            inner.driver().advertise(inner.key, topic, &group, &publication)
        } else {
            inner.driver().add_publication(inner.key, topic, &group, &publication)
        };
        if added.is_err() {
            group.leave(&events);
        }
        added?;
        if !stays {
            inner.log().add_topic(name);
        }
        let end = Arc::new(PublisherEnd {
            node: Arc::clone(inner),
            publication,
            topic: name.clone(),
            stays,
            #[cfg(feature = "tf")]
            static_transforms: Mutex::new(Class::StaticTransforms, TFMessage::default()),
        });
        publishers.insert(name.clone(), Arc::downgrade(&end));
        drop(publishers);
        let publisher = Arc::new(UserPublisher { end, group, events });
        inner.wait_topic_registered(Role::Publisher, topic)?;
        Ok(publisher)
    }
}

impl NodeInner {
    /// Locks the publisher ends and returns the end of `topic`, if there is one. Waits for an end that is being
    /// removed, which keeps the topic until its messages are sent.
    fn publishers_and(
        &self,
        topic: &str,
    ) -> Result<(MutexGuard<'_, Publishers>, Option<Arc<PublisherEnd>>), Error> {
        loop {
            let publishers = lock(&self.publishers);
            match publishers.get(topic).map(Weak::upgrade) {
                None => return Ok((publishers, None)),
                Some(Some(end)) => return Ok((publishers, Some(end))),
                Some(None) => drop(publishers),
            }
            self.context.shared.event_loop.poll_or_park(clock::monotonic() + STOP_CHECK_INTERVAL)?;
        }
    }

    /// Waits until messages published just before the end have arrived.
    fn wait_for_arrival(&self, topic: &str, publication: &Publication, has_arrived: impl Fn() -> bool) {
        let shared = &self.context.shared;
        if shared.linger.is_closed() || has_arrived() {
            return;
        }
        let until = self.driver().nodes.waits_until(publication, shared.linger.time());
        if !shared.wait_for_arrival(until, |_| has_arrived()) {
            linger::report(topic, &publication.unarrived(), &shared.linger);
        }
    }
}

impl UserPublisher {
    fn new(end: Arc<PublisherEnd>, qos: QoS, events: Arc<QosEvents>) -> Arc<Self> {
        let group = end.publication.writer_group(qos, &events);
        Arc::new(Self { end, group, events })
    }
}

impl Drop for UserPublisher {
    /// Withdraws this publisher's offer unless another publisher has the same. The offer of the topic's last publisher
    /// ends with the publisher end.
    fn drop(&mut self) {
        self.group.leave(&self.events);
        self.events.forget();
        let PublisherEnd { node, publication, topic, .. } = &*self.end;
        if publication.is_only_group(&self.group) {
            return;
        }
        node.wait_for_arrival(topic, publication, || self.group.is_acknowledged());
        node.driver().withdraw(publication, &self.group);
    }
}

impl Drop for PublisherEnd {
    fn drop(&mut self) {
        self.node.wait_for_arrival(&self.topic, &self.publication, || self.publication.is_flushed());
        let mut publishers = lock(&self.node.publishers);
        if self.stays {
            publishers.remove(&self.topic);
            return;
        }
        self.node.log().remove_topic(&self.topic);
        let mut driver = self.node.driver();
        driver.remove_publication(self.node.key, &self.topic);
        publishers.remove(&self.topic);
    }
}

#[cfg(test)]
mod tests;
