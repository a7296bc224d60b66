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

/// A reader for one announced type and QoS.
struct TypedReader {
    id: EntityId,
    dds_type: String,
    qos: QoS,
}

/// The reader of a publisher.
enum AssignedReader {
    /// Unchanged, or an existing one whose match is still to come.
    Existing,
    /// Another existing one, which RTPS may have matched before.
    Moved(EntityId),
    Created(EntityId),
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
        let are_all_used = !self.has_free_reader();
        let weaker = || of_type().find(|typed| are_all_used && fits(typed));
        kept.or_else(equal).or_else(weaker).map(|typed| typed.id)
    }

    /// QoS to request of a publisher.
    fn requested_qos(&self, publisher: &DiscoveredPublisher) -> QoS {
        let requested = self.qos.settled_for_subscription(&[publisher.qos]);
        if self.accepts_less { limited_to_offer(requested, &publisher.qos) } else { requested }
    }

    /// Assigns a reader to a publisher. It is created if no existing one fits.
    fn assign_reader(
        &mut self,
        rtps: &Rtps,
        publisher: &DiscoveredPublisher,
    ) -> Result<AssignedReader, String> {
        let qos = self.requested_qos(publisher);
        let existing = self.existing_reader(publisher, qos);
        let former = self.publishers.insert(publisher.writer, existing);
        if let Some(reader) = existing {
            let has_moved = former.is_some_and(|former| former != existing);
            return Ok(if has_moved { AssignedReader::Moved(reader) } else { AssignedReader::Existing });
        }
        if !self.has_free_reader() {
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
        Ok(AssignedReader::Created(id))
    }

    /// Whether another reader may be created.
    fn has_free_reader(&self) -> bool {
        self.readers.len() < MAX_READERS
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

    /// Removes a reader that receives no publisher; false if it receives one, or belongs to another subscription.
    fn remove_unused(&mut self, reader: EntityId) -> bool {
        let is_used = self.publishers.values().any(|used| *used == Some(reader));
        let unused = self.readers.iter().position(|typed| typed.id == reader && !is_used);
        unused.map(|position| self.readers.remove(position)).is_some()
    }

    /// Publishers for which there was no free reader.
    fn refused_publishers(&self) -> Vec<Guid> {
        let refused = self.publishers.iter().filter(|(_, reader)| reader.is_none());
        refused.map(|(writer, _)| *writer).collect()
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
        // A new subscription has no readers that RTPS has matched before.
        known.into_iter().flatten().for_each(|publisher| _ = self.match_untyped(&publisher, effects));
        input
    }

    /// Handles a new or changed remote endpoint. Returns the pairs that RTPS has matched before, and whose reader receives
    /// the publisher from now on.
    pub(super) fn publisher_found(&mut self, endpoint: Guid, effects: &mut Effects) -> Vec<(EntityId, Guid)> {
        if self.untyped.is_empty() {
            return Vec::new();
        }
        let publisher = self.rtps.as_ref().and_then(|rtps| rtps.publisher(endpoint));
        publisher.map(|publisher| self.match_untyped(&publisher, effects)).unwrap_or_default()
    }

    /// As [`Ros2::publisher_found`], for a publisher.
    fn match_untyped(
        &mut self,
        publisher: &DiscoveredPublisher,
        effects: &mut Effects,
    ) -> Vec<(EntityId, Guid)> {
        let Self { rtps: Some(rtps), untyped, readers, .. } = self else { return Vec::new() };
        let (mut is_made, mut moved) = (false, Vec::new());
        for end in untyped.iter_mut().filter(|end| end.matches(publisher)) {
            match end.assign_reader(rtps, publisher) {
                Ok(AssignedReader::Existing) => {}
                Ok(AssignedReader::Moved(id)) => moved.push((id, publisher.writer)),
                Ok(AssignedReader::Created(id)) => {
                    is_made = true;
                    readers.insert(id, end.reader_of(publisher));
                    effects.push_back(Effect::ReaderCreated { reader: id });
                }
                Err(line) => effects.push_back(Effect::NodeWarning { node: end.node, line }),
            }
        }
        moved.retain(|(reader, writer)| rtps.is_matched(*reader, *writer));
        if is_made {
            effects.extend([Effect::NodesChanged, Effect::ParticipantUsed]);
        }
        moved
    }

    /// Handles the end of a remote endpoint. Returns the readers that have received it.
    pub(in crate::driver) fn publisher_lost(&mut self, endpoint: Guid) -> Vec<EntityId> {
        self.untyped.iter_mut().filter_map(|end| end.publishers.remove(&endpoint)?).collect()
    }

    /// Forgets a reader of an untyped subscription that receives no publisher any more; false if it is another one. What a
    /// publisher that has moved still sends to its former reader is received first.
    pub(in crate::driver) fn forget_unused_reader(&mut self, reader: EntityId) -> bool {
        self.readers.get(&reader).is_some_and(|end| end.is_untyped && end.links.is_empty())
            && self.untyped.iter_mut().any(|end| end.remove_unused(reader))
    }

    /// Assigns readers to publishers that were refused, as far as there are free ones. Returns pairs as
    /// [`Ros2::publisher_found`].
    pub(in crate::driver) fn match_refused_publishers(
        &mut self,
        effects: &mut Effects,
    ) -> Vec<(EntityId, Guid)> {
        let has_free = |end: &&UntypedSubscription| end.has_free_reader();
        let refused = self.untyped.iter().filter(has_free).flat_map(UntypedSubscription::refused_publishers);
        let refused: Vec<Guid> = refused.collect();
        refused.into_iter().flat_map(|writer| self.publisher_found(writer, effects)).collect()
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
