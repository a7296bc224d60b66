//! RTPS endpoints of the publishers and subscriptions of nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use runnel_core::qos::QoS;
use runnel_rtps::announce::Role;
use runnel_rtps::wire::EntityId;

use super::unmatched_writers::UnmatchedWriters;
use super::{ReaderEnd, Ros2, WriterEnd};
use crate::data::{RtpsWriter, SubscriptionCore, TopicInput, WriterGroup};
use crate::driver::effect::{Effect, Effects};
use crate::driver::nodes::NodeKey;
use crate::ros2_graph::Gid;
use crate::rtps::{endpoint_of, ros2_name};
use crate::types::announced::Topic;

/// Stands for any type.
const ANY: &str = "*";

/// A node, and its dual node id if it is in both graphs.
pub(in crate::driver) type Owner = (NodeKey, Option<u64>);

impl ReaderEnd {
    /// The reader of a server or a client of a service.
    pub(super) fn of_service(
        node: NodeKey,
        service: &str,
        core: &Arc<SubscriptionCore>,
        input: Arc<TopicInput>,
    ) -> Self {
        Self {
            node,
            topic: service.to_owned(),
            core: Arc::downgrade(core),
            input,
            type_name: ANY.to_owned(),
            md5: ANY.to_owned(),
            type_hash: String::new(),
            is_untyped: false,
            links: BTreeMap::new(),
            unmatched_writers: UnmatchedWriters::default(),
            not_alive: BTreeSet::new(),
            capacity: None,
            receivers: Vec::new(),
        }
    }
}

impl Ros2 {
    /// Creates the RTPS writer of an offer.
    pub(in crate::driver) fn add_writer(
        &mut self,
        (node, dual_node_id): Owner,
        topic: &Topic,
        group: &Arc<WriterGroup>,
        effects: &mut Effects,
    ) {
        let (Some(rtps), Some(ros2)) = (self.rtps.clone(), &topic.ros2) else { return };
        if !ros2.is_known() {
            return;
        }
        let writer = rtps.create_writer(endpoint_of(
            &topic.name,
            &ros2.dds_type,
            &ros2.rihs01,
            group.qos,
            dual_node_id,
        ));
        let id = writer.id();
        let gid = Gid(rtps.prefix().with(id).to_bytes());
        group.set_writer(RtpsWriter::new(rtps, writer));
        group.set_gid(gid);
        let end = WriterEnd { node, topic: topic.name.clone(), group: Arc::downgrade(group) };
        self.writers.insert(id, end);
        effects.extend([Effect::NodesChanged, Effect::ParticipantUsed]);
        self.warn_of_types(&topic.name, &ros2.dds_type, node, Role::Reader, effects);
    }

    /// Creates the RTPS reader of a subscription. Returns its input.
    pub(in crate::driver) fn add_reader(
        &mut self,
        (node, dual_node_id): Owner,
        topic: &Topic,
        qos: QoS,
        core: &Arc<SubscriptionCore>,
        effects: &mut Effects,
    ) -> Option<Arc<TopicInput>> {
        let (rtps, ros2) = (self.rtps.clone()?, topic.ros2.as_ref()?);
        if ros2.is_any() {
            return Some(self.add_untyped((node, dual_node_id), topic, qos, core, effects));
        }
        if !ros2.is_known() {
            return None;
        }
        let input = Arc::new(TopicInput::default());
        input.add(Arc::clone(core), &[]);
        let id =
            rtps.create_reader(endpoint_of(&topic.name, &ros2.dds_type, &ros2.rihs01, qos, dual_node_id));
        let end = ReaderEnd {
            node,
            topic: topic.name.clone(),
            core: Arc::downgrade(core),
            input: Arc::clone(&input),
            type_name: ros2_name(&ros2.dds_type),
            md5: topic.local_type().1.to_owned(),
            type_hash: ros2.rihs01.clone(),
            is_untyped: false,
            links: BTreeMap::new(),
            unmatched_writers: UnmatchedWriters::default(),
            not_alive: BTreeSet::new(),
            capacity: None,
            receivers: Vec::new(),
        };
        self.readers.insert(id, end);
        effects.extend([Effect::ReaderCreated { reader: id }, Effect::NodesChanged, Effect::ParticipantUsed]);
        self.warn_of_types(&topic.name, &ros2.dds_type, node, Role::Writer, effects);
        Some(input)
    }

    /// Forgets a subscription. Returns its readers.
    pub(in crate::driver) fn end_subscription(&mut self, core: &Arc<SubscriptionCore>) -> Vec<EntityId> {
        self.untyped.retain(|end| !end.is_of(core));
        let is_of = |end: &ReaderEnd| std::ptr::eq(end.core.as_ptr(), Arc::as_ptr(core));
        self.readers.iter().filter(|(_, end)| is_of(end)).map(|(id, _)| *id).collect()
    }

    /// Removes an endpoint after all its matches.
    pub(in crate::driver) fn remove_endpoint(&mut self, id: EntityId, effects: &mut Effects) {
        self.writers.remove(&id);
        self.readers.remove(&id);
        if let Some(rtps) = &self.rtps {
            rtps.remove_endpoint(id);
        }
        effects.push_back(Effect::NodesChanged);
    }
}
