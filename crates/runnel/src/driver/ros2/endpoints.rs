//! What nodes publish and subscribe to, as endpoints of the process's participant.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use runnel_core::qos::QoS;
use runnel_rtps::announce::Role;
use runnel_rtps::wire::EntityId;

use super::super::Driver;
use super::super::nodes::NodeKey;
use super::{ReaderEnd, WriterEnd};
use crate::announced::Topic;
use crate::data::{Offer, RtpsWriter, SubscriptionCore, TopicInput};
use crate::rtps::{endpoint_of, ros2_name};

impl Driver {
    /// What a node publishes a topic with is offered to others.
    pub(in crate::driver) fn add_writer(&mut self, node: NodeKey, topic: &Topic, offer: &Arc<Offer>) {
        let (Some(rtps), Some(ros2)) = (self.ros2.rtps.clone(), &topic.ros2) else { return };
        if !ros2.is_known() {
            return;
        }
        let origin = self.node_slot(node).and_then(|slot| slot.origin);
        let writer =
            rtps.create_writer(endpoint_of(&topic.name, &ros2.dds_type, &ros2.rihs01, offer.qos, origin));
        let id = writer.id();
        offer.set_writer(RtpsWriter::new(rtps, writer));
        let end = WriterEnd { node, topic: topic.name.clone(), offer: Arc::downgrade(offer) };
        self.ros2.writers.insert(id, end);
        self.tell_of_nodes();
        self.take_ros2_events();
        self.warn_of_types(&topic.name, &ros2.dds_type, node, Role::Reader);
    }

    pub(in crate::driver) fn remove_writers(&mut self, offers: &[Arc<Offer>]) {
        for id in offers.iter().filter_map(|offer| offer.writer_id()) {
            self.pairs_of_endpoint_parted(id);
            self.ros2.writers.remove(&id);
            if let Some(rtps) = &self.ros2.rtps {
                rtps.remove_endpoint(id);
            }
        }
        self.tell_of_nodes();
    }

    /// What a subscription asks for is asked of others. What it then gets its messages by.
    pub(in crate::driver) fn add_reader(
        &mut self,
        node: NodeKey,
        topic: &Topic,
        qos: QoS,
        core: &Arc<SubscriptionCore>,
    ) -> Option<Arc<TopicInput>> {
        let (rtps, ros2) = (self.ros2.rtps.clone()?, topic.ros2.as_ref()?);
        if ros2.is_any() {
            return Some(self.add_any(node, topic, qos, core));
        }
        if !ros2.is_known() {
            return None;
        }
        let input = Arc::new(TopicInput::default());
        input.add(Arc::clone(core), &[]);
        let origin = self.node_slot(node).and_then(|slot| slot.origin);
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
            links: HashMap::new(),
            lapsed: HashSet::new(),
            room: None,
            deliveries: Vec::new(),
        };
        self.ros2.readers.insert(id, end);
        self.begin_room(id);
        self.tell_of_nodes();
        self.take_ros2_events();
        self.warn_of_types(&topic.name, &ros2.dds_type, node, Role::Writer);
        Some(input)
    }

    pub(in crate::driver) fn remove_reader(&mut self, core: &Arc<SubscriptionCore>) {
        self.ros2.any.retain(|end| !end.is_of(core));
        let is_of = |end: &ReaderEnd| std::ptr::eq(end.core.as_ptr(), Arc::as_ptr(core));
        let readers = self.ros2.readers.iter().filter(|(_, end)| is_of(end));
        let ids: Vec<EntityId> = readers.map(|(id, _)| *id).collect();
        self.end_readers(&ids);
    }

    pub(super) fn end_readers(&mut self, ids: &[EntityId]) {
        for id in ids {
            self.pairs_of_endpoint_parted(*id);
            self.ros2.readers.remove(id);
            if let Some(rtps) = &self.ros2.rtps {
                rtps.remove_endpoint(*id);
            }
        }
        if !ids.is_empty() {
            self.tell_of_nodes();
        }
    }
}
