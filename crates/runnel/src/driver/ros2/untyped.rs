//! Untyped subscriptions, which accept every type of a topic. DDS has no such reader: a reader is created for each
//! type, and for each QoS, that publishers of other processes announce. RTPS also matches a publisher with readers that
//! request less than it offers. Only the reader that was created for its QoS receives it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use runnel_core::qos::QoS;
use runnel_ros1::peer_text::sanitize as as_logged;
use runnel_rtps::wire::{EntityId, Guid};

use super::endpoints::Owner;
use super::unmatched_writers::UnmatchedWriters;
use super::{ReaderEnd, Ros2};
use crate::data::{SubscriptionCore, TopicInput};
use crate::driver::effect::{Effect, Effects};
use crate::driver::nodes::NodeKey;
use crate::rtps::{DiscoveredPublisher, Rtps, endpoint_of, ros2_name};
use crate::types::announced::Topic;

/// Maximum number of readers of one subscription: publishers can announce any number of types.
const MAX_READERS: usize = 16;

/// Stands for the MD5 sum of a type, which ROS 2 does not announce.
const ANY_MD5: &str = "*";

/// An untyped subscription.
pub(super) struct UntypedSubscription {
    node: NodeKey,
    topic: String,
    dual_node_id: Option<u64>,
    /// QoS that the user requests.
    qos: QoS,
    /// It requests less of publishers that offer less.
    accepts_less: bool,
    core: Weak<SubscriptionCore>,
    input: Arc<TopicInput>,
    readers: Vec<TypedReader>,
    /// Publishers in other processes, and the reader that receives each. `None` if there are too many readers.
    publishers: BTreeMap<Guid, Option<EntityId>>,
}

/// A reader for one announced type.
struct TypedReader {
    id: EntityId,
    dds_type: String,
    qos: QoS,
}

impl UntypedSubscription {
    pub(super) fn is_of(&self, core: &Arc<SubscriptionCore>) -> bool {
        std::ptr::eq(self.core.as_ptr(), Arc::as_ptr(core))
    }

    fn matches(&self, publisher: &DiscoveredPublisher) -> bool {
        publisher.topic.strip_prefix("rt").is_some_and(|topic| topic == self.topic)
    }

    /// The reader for a publisher's messages, if there is one already.
    fn existing_reader(&self, publisher: &DiscoveredPublisher, requested: QoS) -> Option<EntityId> {
        let of_type = || self.readers.iter().filter(|typed| typed.dds_type == publisher.dds_type);
        let fits = |typed: &TypedReader| typed.qos.incompatible_with(&publisher.qos).is_empty();
        // Another reader would receive what this one has received already.
        let known = self.publishers.get(&publisher.writer).copied().flatten();
        let kept = of_type().find(|typed| Some(typed.id) == known && fits(typed));
        let equal = || of_type().find(|typed| typed.qos == requested);
        // A weaker reader is better than none.
        let are_all_used = self.readers.len() >= MAX_READERS;
        let weaker = || of_type().find(|typed| are_all_used && fits(typed));
        kept.or_else(equal).or_else(weaker).map(|typed| typed.id)
    }

    /// QoS to request of a publisher.
    fn requested_qos(&self, publisher: &DiscoveredPublisher) -> QoS {
        let requested = self.qos.settled_for_subscription(&[publisher.qos]);
        if self.accepts_less { limited_to_offer(requested, &publisher.qos) } else { requested }
    }

    /// The new reader for a publisher's messages; `None` if a reader for them exists.
    fn reader_for(
        &mut self,
        rtps: &Rtps,
        publisher: &DiscoveredPublisher,
    ) -> Result<Option<(EntityId, ReaderEnd)>, String> {
        let qos = self.requested_qos(publisher);
        let existing = self.existing_reader(publisher, qos);
        self.publishers.insert(publisher.writer, existing);
        if existing.is_some() {
            return Ok(None);
        }
        if self.readers.len() >= MAX_READERS {
            return Err(format!(
                "topic {}: publishers have more than {MAX_READERS} types and QoS: messages of type {} are not received",
                self.topic,
                as_logged(&ros2_name(&publisher.dds_type))
            ));
        }
        let id = rtps.create_reader(endpoint_of(
            &self.topic,
            &publisher.dds_type,
            &publisher.type_hash,
            qos,
            self.dual_node_id,
        ));
        self.readers.push(TypedReader { id, dds_type: publisher.dds_type.clone(), qos });
        self.publishers.insert(publisher.writer, Some(id));
        Ok(Some((id, self.reader_of(publisher))))
    }

    fn reader_of(&self, publisher: &DiscoveredPublisher) -> ReaderEnd {
        ReaderEnd {
            node: self.node,
            topic: self.topic.clone(),
            core: self.core.clone(),
            input: Arc::clone(&self.input),
            type_name: ros2_name(&publisher.dds_type),
            md5: ANY_MD5.to_owned(),
            type_hash: publisher.type_hash.clone(),
            is_untyped: true,
            links: BTreeMap::new(),
            unmatched_writers: UnmatchedWriters::default(),
            not_alive: BTreeSet::new(),
            capacity: None,
            receivers: Vec::new(),
        }
    }

    /// Whether a reader receives a publisher.
    fn is_reader_of(&self, reader: EntityId, writer: Guid) -> bool {
        self.publishers.get(&writer) == Some(&Some(reader))
    }

    /// Removes a publisher. Returns the readers that receive no publisher then.
    fn remove_publisher(&mut self, writer: Guid) -> Vec<EntityId> {
        let Self { publishers, readers, .. } = self;
        if publishers.remove(&writer).is_none() {
            return Vec::new();
        }
        let is_unused =
            |typed: &mut TypedReader| !publishers.values().any(|reader| *reader == Some(typed.id));
        readers.extract_if(.., is_unused).map(|typed| typed.id).collect()
    }
}

impl Ros2 {
    /// Whether this reader is meant to receive this publisher. If another reader does not match it, nothing is missing.
    pub(super) fn is_intended_for(&self, reader: EntityId, writer: Guid) -> bool {
        self.readers.get(&reader).is_some_and(|end| !end.is_untyped)
            || self.untyped.iter().any(|end| end.is_reader_of(reader, writer))
    }
}

impl Ros2 {
    /// Adds an untyped subscription. Returns its input.
    pub(super) fn add_untyped(
        &mut self,
        (node, dual_node_id): Owner,
        topic: &Topic,
        qos: QoS,
        core: &Arc<SubscriptionCore>,
        effects: &mut Effects,
    ) -> Arc<TopicInput> {
        let input = Arc::new(TopicInput::default());
        input.add(Arc::clone(core), &[]);
        self.untyped.push(UntypedSubscription {
            node,
            topic: topic.name.clone(),
            dual_node_id,
            qos: topic.strict_qos.unwrap_or(qos),
            accepts_less: topic.strict_qos.is_none(),
            core: Arc::downgrade(core),
            input: Arc::clone(&input),
            readers: Vec::new(),
            publishers: BTreeMap::new(),
        });
        let known = self.rtps.as_ref().map(|rtps| rtps.publishers(&format!("rt{}", topic.name)));
        known.into_iter().flatten().for_each(|publisher| self.match_untyped(&publisher, effects));
        input
    }

    /// Handles a new or changed remote endpoint.
    pub(super) fn publisher_found(&mut self, endpoint: Guid, effects: &mut Effects) {
        if self.untyped.is_empty() {
            return;
        }
        if let Some(publisher) = self.rtps.as_ref().and_then(|rtps| rtps.publisher(endpoint)) {
            self.match_untyped(&publisher, effects);
        }
    }

    fn match_untyped(&mut self, publisher: &DiscoveredPublisher, effects: &mut Effects) {
        let Self { rtps: Some(rtps), untyped, readers, .. } = self else { return };
        let mut is_made = false;
        for end in untyped.iter_mut().filter(|end| end.matches(publisher)) {
            match end.reader_for(rtps, publisher) {
                Ok(None) => {}
                Ok(Some((id, reader))) => {
                    is_made = true;
                    readers.insert(id, reader);
                    effects.push_back(Effect::ReaderCreated { reader: id });
                }
                Err(line) => effects.push_back(Effect::NodeWarning { node: end.node, line }),
            }
        }
        if is_made {
            effects.extend([Effect::NodesChanged, Effect::ParticipantUsed]);
        }
    }

    /// Handles the end of a remote endpoint. Returns the readers that end with it.
    pub(in crate::driver) fn publisher_lost(&mut self, endpoint: Guid) -> Vec<EntityId> {
        self.untyped.iter_mut().flat_map(|end| end.remove_publisher(endpoint)).collect()
    }
}

/// Share of a subscription's capacity for each of its readers. All may use theirs at once, and half of the queue is
/// free whenever one gets capacity.
pub(super) fn reader_share(capacity: usize) -> usize {
    capacity / (2 * MAX_READERS)
}

/// The requested QoS, limited to what is offered.
pub(in crate::driver) fn limited_to_offer(requested: QoS, offered: &QoS) -> QoS {
    let within = |requested: Option<Duration>, offered: Option<Duration>| Some(requested?.max(offered?));
    QoS {
        reliability: requested.reliability.min(offered.reliability),
        durability: requested.durability.min(offered.durability),
        deadline: within(requested.deadline, offered.deadline),
        liveliness: requested.liveliness.min(offered.liveliness),
        liveliness_lease: within(requested.liveliness_lease, offered.liveliness_lease),
        ..requested
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_core::qos::Liveliness;

    #[test]
    fn requested_qos_does_not_exceed_offer() {
        let second = Duration::from_secs(1);
        let requested = QoS::keep_last(5)
            .transient_local()
            .deadline(second)
            .liveliness(Liveliness::ManualByTopic, Some(second));
        for offered in [
            QoS::sensor_data(),
            QoS::keep_last(1),
            QoS::keep_last(1).deadline(second * 2).liveliness(Liveliness::Automatic, Some(second * 3)),
            requested,
        ] {
            let given = limited_to_offer(requested, &offered);
            assert!(given.incompatible_with(&offered).is_empty(), "{given:?} of {offered:?}");
            assert_eq!(given.depth, 5);
        }
        assert_eq!(limited_to_offer(requested, &requested), requested);
        assert_eq!(limited_to_offer(QoS::sensor_data(), &requested), QoS::sensor_data());
    }
}
