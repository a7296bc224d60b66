//! Endpoints of this process, and discovered ones.

use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{EntityId, Guid};

use super::{Rtps, TOPIC};
use crate::sync::lock;

impl Rtps {
    /// The discovered endpoints of a ROS topic.
    pub(crate) fn endpoints_on(&self, topic: &str) -> Vec<Endpoint> {
        let core = lock(&self.core);
        let all = core.participant.peers().flat_map(|peer| peer.endpoints());
        let on_topic = |endpoint: &&Endpoint| endpoint.topic.strip_prefix(TOPIC) == Some(topic);
        all.filter(on_topic).cloned().collect()
    }

    /// An endpoint of this process or a discovered one.
    pub(crate) fn endpoint(&self, guid: Guid) -> Option<Endpoint> {
        lock(&self.core).participant.endpoint(guid).cloned()
    }

    /// Whether a reader of this process has matched a writer of another one.
    pub(crate) fn is_matched(&self, reader: EntityId, writer: Guid) -> bool {
        let core = lock(&self.core);
        core.participant.matched_writers_of(reader, writer.prefix).any(|matched| matched == writer)
    }

    /// The DDS topic of an endpoint of this process.
    pub(crate) fn topic_of(&self, endpoint: EntityId) -> Option<String> {
        let core = lock(&self.core);
        let guid = core.participant.prefix().with(endpoint);
        core.participant.endpoint(guid).map(|endpoint| endpoint.topic.clone())
    }

    /// How often wrong state of other endpoints was corrected that concerned an endpoint of this process.
    pub(crate) fn corrections_of(&self, endpoint: EntityId) -> u64 {
        lock(&self.core).participant.corrections(endpoint)
    }
}
