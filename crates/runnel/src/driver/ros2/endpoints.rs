//! What nodes publish and subscribe to, as endpoints of the process's participant.

use std::sync::Arc;

use runnel_core::qos::QoS;
use runnel_core::sorted::{SortedMap, SortedSet};
use runnel_rtps::announce::Role;
use runnel_rtps::wire::EntityId;

use super::parted::PartedWriters;
use super::{ReaderEnd, Ros2, WriterEnd};
use crate::announced::Topic;
use crate::data::{Offer, RtpsWriter, SubscriptionCore, TopicInput};
use crate::driver::effect::{Effect, Effects};
use crate::driver::nodes::NodeKey;
use crate::ros2_graph::Gid;
use crate::rtps::{endpoint_of, ros2_name};

/// A node, and by what it is known in both graphs to be the same, if it is in both.
pub(in crate::driver) type Owner = (NodeKey, Option<u64>);

impl Ros2 {
    /// What a node publishes a topic with is offered to others.
    pub(in crate::driver) fn add_writer(
        &mut self,
        (node, origin): Owner,
        topic: &Topic,
        offer: &Arc<Offer>,
        effects: &mut Effects,
    ) {
        let (Some(rtps), Some(ros2)) = (self.rtps.clone(), &topic.ros2) else { return };
        if !ros2.is_known() {
            return;
        }
        let writer =
            rtps.create_writer(endpoint_of(&topic.name, &ros2.dds_type, &ros2.rihs01, offer.qos, origin));
        let id = writer.id();
        let gid = Gid(rtps.prefix().with(id).to_bytes());
        offer.set_writer(RtpsWriter::new(rtps, writer));
        offer.set_gid(gid);
        let end = WriterEnd { node, topic: topic.name.clone(), offer: Arc::downgrade(offer) };
        self.writers.insert(id, end);
        effects.extend([Effect::NodesChanged, Effect::ParticipantWorked]);
        self.warn_of_types(&topic.name, &ros2.dds_type, node, Role::Reader, effects);
    }

    /// What a subscription asks for is asked of others. What it then gets its messages by.
    pub(in crate::driver) fn add_reader(
        &mut self,
        (node, origin): Owner,
        topic: &Topic,
        qos: QoS,
        core: &Arc<SubscriptionCore>,
        effects: &mut Effects,
    ) -> Option<Arc<TopicInput>> {
        let (rtps, ros2) = (self.rtps.clone()?, topic.ros2.as_ref()?);
        if ros2.is_any() {
            return Some(self.add_any((node, origin), topic, qos, core, effects));
        }
        if !ros2.is_known() {
            return None;
        }
        let input = Arc::new(TopicInput::default());
        input.add(Arc::clone(core), &[]);
        let id = rtps.create_reader(endpoint_of(&topic.name, &ros2.dds_type, &ros2.rihs01, qos, origin));
        let end = ReaderEnd {
            node,
            topic: topic.name.clone(),
            core: Arc::downgrade(core),
            input: Arc::clone(&input),
            type_name: ros2_name(&ros2.dds_type),
            md5: topic.told_type().1.to_owned(),
            type_hash: ros2.rihs01.clone(),
            any: false,
            links: SortedMap::new(),
            parted: PartedWriters::default(),
            lapsed: SortedSet::new(),
            room: None,
            receivers: Vec::new(),
        };
        self.readers.insert(id, end);
        effects.extend([Effect::ReaderMade { reader: id }, Effect::NodesChanged, Effect::ParticipantWorked]);
        self.warn_of_types(&topic.name, &ros2.dds_type, node, Role::Writer, effects);
        Some(input)
    }

    /// The readers of a subscription that ends.
    pub(in crate::driver) fn end_subscription(&mut self, core: &Arc<SubscriptionCore>) -> Vec<EntityId> {
        self.any.retain(|end| !end.is_of(core));
        let is_of = |end: &ReaderEnd| std::ptr::eq(end.core.as_ptr(), Arc::as_ptr(core));
        self.readers.iter().filter(|(_, end)| is_of(end)).map(|(id, _)| *id).collect()
    }

    /// An endpoint ends, which has parted from all that it had met.
    pub(in crate::driver) fn remove_endpoint(&mut self, id: EntityId, effects: &mut Effects) {
        self.writers.remove(&id);
        self.readers.remove(&id);
        if let Some(rtps) = &self.rtps {
            rtps.remove_endpoint(id);
        }
        effects.push_back(Effect::NodesChanged);
    }
}
