//! Subscriptions to a topic of any type. DDS has no reader of all types: one is made for each type, and for each quality of
//! service, that publishers of other processes tell.

use std::sync::{Arc, Weak};
use std::time::Duration;

use runnel_core::qos::QoS;
use runnel_core::sorted::{SortedMap, SortedSet};
use runnel_ros1::peer_text::sanitize as as_logged;
use runnel_rtps::wire::{EntityId, Guid};

use super::endpoints::Owner;
use super::parted::PartedWriters;
use super::{ReaderEnd, Ros2};
use crate::announced::Topic;
use crate::data::{SubscriptionCore, TopicInput};
use crate::driver::effect::{Effect, Effects};
use crate::driver::nodes::NodeKey;
use crate::rtps::{Rtps, Told, endpoint_of, ros2_name};

/// The most readers that one subscription has: publishers can tell any number of types.
const MOST_READERS: usize = 16;

/// What stands for the MD5 sum of a type, which ROS 2 does not tell.
const ANY_SUM: &str = "*";

/// A subscription to a topic of any type.
pub(super) struct AnyEnd {
    node: NodeKey,
    topic: String,
    origin: Option<u64>,
    /// What the user asks for.
    qos: QoS,
    /// Less of it is asked of publishers that do not offer so much.
    takes_less: bool,
    core: Weak<SubscriptionCore>,
    input: Arc<TopicInput>,
    readers: Vec<Made>,
    /// The publishers in other processes, with their types.
    publishers: SortedMap<Guid, String>,
}

/// A reader that was made since a publisher told its type.
struct Made {
    id: EntityId,
    dds_type: String,
    qos: QoS,
}

impl AnyEnd {
    pub(super) fn is_of(&self, core: &Arc<SubscriptionCore>) -> bool {
        std::ptr::eq(self.core.as_ptr(), Arc::as_ptr(core))
    }

    fn is_met_by(&self, told: &Told) -> bool {
        told.topic.strip_prefix("rt").is_some_and(|topic| topic == self.topic)
    }

    fn has_reader_for(&self, told: &Told, asked: QoS) -> bool {
        let fits = |made: &Made| made.qos == asked || made.qos.incompatible_with(&told.qos).is_empty();
        self.readers.iter().any(|made| made.dds_type == told.dds_type && fits(made))
    }

    /// What is asked of a publisher.
    fn asked_of(&self, told: &Told) -> QoS {
        let asked = self.qos.settled_for_subscription(&[told.qos]);
        if self.takes_less { as_offered(asked, &told.qos) } else { asked }
    }

    /// What its reader of a publisher's messages is to have; `None` if it has such a reader.
    fn meet(&mut self, rtps: &Rtps, told: &Told) -> Result<Option<(EntityId, ReaderEnd)>, String> {
        self.publishers.insert(told.writer, told.dds_type.clone());
        let qos = self.asked_of(told);
        if self.has_reader_for(told, qos) {
            return Ok(None);
        }
        if self.readers.len() >= MOST_READERS {
            return Err(format!(
                "topic {}: publishers have more than {MOST_READERS} types, those of {} are not heard",
                self.topic,
                as_logged(&ros2_name(&told.dds_type))
            ));
        }
        let id =
            rtps.create_reader(endpoint_of(&self.topic, &told.dds_type, &told.type_hash, qos, self.origin));
        self.readers.push(Made { id, dds_type: told.dds_type.clone(), qos });
        Ok(Some((id, self.reader_of(told))))
    }

    fn reader_of(&self, told: &Told) -> ReaderEnd {
        ReaderEnd {
            node: self.node,
            topic: self.topic.clone(),
            core: self.core.clone(),
            input: Arc::clone(&self.input),
            type_name: ros2_name(&told.dds_type),
            md5: ANY_SUM.to_owned(),
            type_hash: told.type_hash.clone(),
            any: true,
            links: SortedMap::new(),
            parted: PartedWriters::default(),
            lapsed: SortedSet::new(),
            room: None,
            receivers: Vec::new(),
        }
    }

    /// A publisher is gone: the readers that go with the last of its type.
    fn lose(&mut self, writer: Guid) -> Vec<EntityId> {
        let Some(gone) = self.publishers.remove(&writer) else { return Vec::new() };
        if self.publishers.values().any(|dds_type| *dds_type == gone) {
            return Vec::new();
        }
        self.readers.extract_if(.., |made| made.dds_type == gone).map(|made| made.id).collect()
    }
}

impl Ros2 {
    /// True if this reader is the one that is to hear this publisher: another, which was made for somebody else, may not meet
    /// it without anybody missing something.
    pub(super) fn is_made_for(&self, reader: EntityId, writer: Guid) -> bool {
        if self.readers.get(&reader).is_some_and(|end| !end.any) {
            return true;
        }
        let Some(told) = self.rtps.as_ref().and_then(|rtps| rtps.publisher(writer)) else { return false };
        let is_of = |end: &AnyEnd, made: &Made| made.id == reader && made.qos == end.asked_of(&told);
        self.any.iter().any(|end| end.readers.iter().any(|made| is_of(end, made)))
    }

    /// True if another reader of the same subscription hears this publisher: it offers as much as that asks for, and so as
    /// much as this one does.
    pub(super) fn is_heard_otherwise(&self, reader: EntityId, writer: Guid) -> bool {
        let Some(of) = self.readers.get(&reader).filter(|end| end.any) else { return false };
        let same = |end: &&ReaderEnd| end.any && end.core.ptr_eq(&of.core);
        self.readers.values().filter(same).any(|end| end.links.contains_key(&writer))
    }
}

impl Ros2 {
    /// A subscription is to hear all types. What it gets its messages by.
    pub(super) fn add_any(
        &mut self,
        (node, origin): Owner,
        topic: &Topic,
        qos: QoS,
        core: &Arc<SubscriptionCore>,
        effects: &mut Effects,
    ) -> Arc<TopicInput> {
        let input = Arc::new(TopicInput::default());
        input.add(Arc::clone(core), &[]);
        self.any.push(AnyEnd {
            node,
            topic: topic.name.clone(),
            origin,
            qos: topic.exactly.unwrap_or(qos),
            takes_less: topic.exactly.is_none(),
            core: Arc::downgrade(core),
            input: Arc::clone(&input),
            readers: Vec::new(),
            publishers: SortedMap::new(),
        });
        let known = self.rtps.as_ref().map(|rtps| rtps.publishers(&format!("rt{}", topic.name)));
        known.into_iter().flatten().for_each(|told| self.meet_any(&told, effects));
        input
    }

    /// An endpoint of another process has been found, or is another now.
    pub(super) fn publisher_found(&mut self, endpoint: Guid, effects: &mut Effects) {
        if self.any.is_empty() {
            return;
        }
        if let Some(told) = self.rtps.as_ref().and_then(|rtps| rtps.publisher(endpoint)) {
            self.meet_any(&told, effects);
        }
    }

    fn meet_any(&mut self, told: &Told, effects: &mut Effects) {
        let Self { rtps: Some(rtps), any, readers, .. } = self else { return };
        let mut is_made = false;
        for end in any.iter_mut().filter(|end| end.is_met_by(told)) {
            match end.meet(rtps, told) {
                Ok(None) => {}
                Ok(Some((id, reader))) => {
                    is_made = true;
                    readers.insert(id, reader);
                    effects.push_back(Effect::ReaderMade { reader: id });
                }
                Err(line) => effects.push_back(Effect::NodeTrouble { node: end.node, line }),
            }
        }
        if is_made {
            effects.extend([Effect::NodesChanged, Effect::ParticipantWorked]);
        }
    }

    /// An endpoint of another process is gone: the readers that end with it.
    pub(in crate::driver) fn publisher_lost(&mut self, endpoint: Guid) -> Vec<EntityId> {
        self.any.iter_mut().flat_map(|end| end.lose(endpoint)).collect()
    }
}

/// The part of a subscription's room that each of its readers has: all may fill theirs at once, and half of what may wait is
/// free whenever one is told of room.
pub(super) fn share(room: usize) -> usize {
    room / (2 * MOST_READERS)
}

/// What is asked for, as far as it is offered.
pub(in crate::driver) fn as_offered(asked: QoS, offered: &QoS) -> QoS {
    let within = |asked: Option<Duration>, offered: Option<Duration>| Some(asked?.max(offered?));
    QoS {
        reliability: asked.reliability.min(offered.reliability),
        durability: asked.durability.min(offered.durability),
        deadline: within(asked.deadline, offered.deadline),
        liveliness: asked.liveliness.min(offered.liveliness),
        liveliness_lease: within(asked.liveliness_lease, offered.liveliness_lease),
        ..asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_core::qos::Liveliness;

    #[test]
    fn what_is_asked_for_is_what_is_offered_at_most() {
        let second = Duration::from_secs(1);
        let asked = QoS::keep_last(5)
            .transient_local()
            .deadline(second)
            .liveliness(Liveliness::ManualByTopic, Some(second));
        for offered in [
            QoS::sensor_data(),
            QoS::keep_last(1),
            QoS::keep_last(1).deadline(second * 2).liveliness(Liveliness::Automatic, Some(second * 3)),
            asked,
        ] {
            let given = as_offered(asked, &offered);
            assert!(given.incompatible_with(&offered).is_empty(), "{given:?} of {offered:?}");
            assert_eq!(given.depth, 5);
        }
        assert_eq!(as_offered(asked, &asked), asked);
        assert_eq!(as_offered(QoS::sensor_data(), &asked), QoS::sensor_data());
    }
}
