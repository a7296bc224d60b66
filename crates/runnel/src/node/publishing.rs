//! The topics that a node publishes.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, Weak};
use std::time::Duration;

use runnel_core::qos::QoS;
use runnel_io::clock;
use runnel_ros1::node::Role;

use super::{Node, NodeInner};
use crate::announced::Topic;
use crate::context::GLANCE;
use crate::data::Publication;
use crate::error::Error;
use crate::logging::ROSOUT;
use crate::publisher::Handle;
use crate::sync::lock;

/// By topic. An end on its way out stands here until it is gone.
pub(super) type Publishers = HashMap<String, Weak<PublisherEnd>>;

/// One topic as a node publishes it, shared by all publishers of the user's to it.
pub(crate) struct PublisherEnd {
    pub(crate) node: Arc<NodeInner>,
    pub(crate) publication: Arc<Publication>,
    pub(crate) topic: String,
    /// It goes on when the last publisher of the user's is gone: the node itself publishes the topic.
    stays: bool,
}

impl Node {
    /// What a publisher of the user's publishes a topic with.
    pub(crate) fn publishing(&self, topic: &Topic, qos: QoS) -> Result<Handle, Error> {
        Ok(Handle::new(self.publisher_end(topic, qos)?, qos))
    }

    /// The end of a topic that the node publishes, made with the first publisher.
    fn publisher_end(&self, topic: &Topic, qos: QoS) -> Result<Arc<PublisherEnd>, Error> {
        let (inner, name) = (&self.inner, &topic.name);
        let (mut publishers, end) = inner.publishers_and(name)?;
        if let Some(end) = end {
            let advertised = inner.driver().advertise(inner.key, topic, qos, &end.publication);
            // Were this the last handle of the end by now, its end would want the lock.
            drop(publishers);
            return advertised.map(|()| end);
        }
        let own = inner.log().rosout().filter(|_| name == ROSOUT);
        let new = || topic.publication(&inner.context, &inner.full_name, qos);
        let publication = own.map_or_else(new, Arc::clone);
        let stays = own.is_some();
        if stays {
            inner.driver().advertise(inner.key, topic, qos, &publication)?;
        } else {
            inner.driver().add_publication(inner.key, topic, qos, &publication)?;
            inner.log().add_topic(name);
        }
        let end = Arc::new(PublisherEnd { node: Arc::clone(inner), publication, topic: name.clone(), stays });
        publishers.insert(name.clone(), Arc::downgrade(&end));
        drop(publishers);
        inner.wait_topic_registered(Role::Publisher, topic)?;
        Ok(end)
    }
}

impl NodeInner {
    /// The publishers' ends and that of `topic`, if there is one. One that is on its way out holds the topic until its
    /// messages are sent, and is waited for.
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
            self.context.shared.turning.turn_waiting(clock::monotonic() + GLANCE)?;
        }
    }
}

impl Drop for PublisherEnd {
    fn drop(&mut self) {
        // What was published just before the end is still to arrive.
        let shared = &self.node.context.shared;
        let _ = shared.wait_out(Duration::from_secs(1), |_| self.publication.is_flushed());
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
