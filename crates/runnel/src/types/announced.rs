//! Topic descriptions that are announced to peers, and the queue limits at both ends.

use std::any::TypeId;
#[cfg(feature = "type_description")]
use std::borrow::Cow;
use std::sync::Arc;

use runnel_core::Message;
#[cfg(feature = "type_description")]
use runnel_core::names;
use runnel_core::qos::{History, QoS, Reliability};
use runnel_core::schema::{Generation, Schema};
use runnel_io::Reactor;
use runnel_ros1::node::TopicSpec;

use crate::data::{LinkInfo, Publication, PublicationOptions, SubscriptionSpec, TypeSums};
use crate::frame::QueueBound;
use crate::ipc::Pool;
use crate::types::type_mapping::TypeMapping;

/// Byte limit of a publisher's queue for one subscriber, and of a subscription's queue, at any depth.
const QUEUE_BYTES: usize = 1 << 30;

/// Queue limit of keep-all publishers per subscriber, and of keep-all subscriptions, before publishers wait. Those
/// that cannot wait drop the oldest message.
const KEEP_ALL: usize = 1000;

/// Stands for any type, in names and MD5 sums.
const ANY: &str = "*";

/// A topic by name and type, as announced to the peers of each graph.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    /// Its absolute name.
    pub(crate) name: String,
    /// Its type in ROS 1; `None` if the topic exists only in ROS 2.
    pub(crate) ros1: Option<Ros1Type>,
    /// Its type in ROS 2; `None` if the topic exists only in ROS 1.
    pub(crate) ros2: Option<Ros2Type>,
    /// For subscriptions of any type: the QoS requested from every publisher, even from one that offers less.
    pub(crate) strict_qos: Option<QoS>,
    /// Subscriptions request UDPROS from ROS 1 publishers before TCPROS.
    pub(crate) udpros: bool,
}

/// A message type in ROS 1.
#[derive(Clone, Debug)]
pub(crate) struct Ros1Type {
    /// Such as `std_msgs/String`; `*` for any.
    pub(crate) type_name: String,
    /// `*` for any.
    pub(crate) md5: String,
    pub(crate) definition: String,
    /// Messages begin with a header whose `seq` is incremented.
    pub(crate) has_header: bool,
    /// Length of every message, if that is fixed.
    pub(crate) fixed_len: Option<usize>,
}

/// A message type in ROS 2.
#[derive(Clone, Debug)]
pub(crate) struct Ros2Type {
    /// Such as `std_msgs::msg::dds_::String_`; `*` for any.
    pub(crate) dds_type: String,
    /// The type hash; empty if it is unknown.
    pub(crate) rihs01: String,
    /// The definition with all that it depends on; empty if it is unknown.
    #[cfg(feature = "type_description")]
    pub(crate) definition: Cow<'static, str>,
}

impl Ros1Type {
    pub(crate) fn of<M: Message>() -> Self {
        let [type_name, md5, definition] = [M::TYPE, M::MD5, M::DEFINITION].map(str::to_owned);
        Self { type_name, md5, definition, has_header: M::HAS_HEADER, fixed_len: M::FIXED_LEN }
    }

    pub(crate) fn of_schema(schema: &Schema) -> Self {
        Self {
            type_name: schema.def.name.to_string(),
            md5: schema.md5.clone(),
            definition: schema.full_text.clone(),
            has_header: schema.def.has_header(),
            fixed_len: schema.ros1_fixed_len(),
        }
    }

    fn any() -> Self {
        let [type_name, md5] = [ANY, ANY].map(str::to_owned);
        Self { type_name, md5, definition: String::new(), has_header: false, fixed_len: None }
    }
}

impl Ros2Type {
    pub(crate) fn of<M: Message>() -> Self {
        Self {
            dds_type: M::DDS_TYPE.to_owned(),
            rihs01: M::RIHS01.to_owned(),
            #[cfg(feature = "type_description")]
            definition: Cow::Borrowed(M::ROS2_DEFINITION),
        }
    }

    /// True if the ROS 2 encoding of the type is known.
    pub(crate) fn is_known(&self) -> bool {
        !self.rihs01.is_empty()
    }

    /// The ROS 2 name, such as `std_msgs/msg/String`.
    #[cfg(feature = "type_description")]
    pub(crate) fn ros2_name(&self) -> Option<String> {
        names::ros_type(&self.dds_type)
    }

    /// True if publishers determine the type.
    pub(crate) fn is_any(&self) -> bool {
        self.dds_type == ANY
    }

    fn of_schema(schema: &Schema) -> Self {
        Self {
            dds_type: schema.def.dds_name(),
            rihs01: schema.rihs01().unwrap_or_default(),
            #[cfg(feature = "type_description")]
            definition: Cow::Owned(schema.full_text.clone()),
        }
    }

    fn any() -> Self {
        Self::without_definition(ANY.to_owned(), String::new())
    }

    /// A type whose definition is unknown.
    pub(crate) fn without_definition(dds_type: String, rihs01: String) -> Self {
        Self {
            dds_type,
            rihs01,
            #[cfg(feature = "type_description")]
            definition: Cow::Borrowed(""),
        }
    }
}

impl Topic {
    /// A topic of a known type.
    pub(crate) fn of<M: Message>(name: String) -> Self {
        Self {
            name,
            ros1: Some(Ros1Type::of::<M>()),
            ros2: Some(Ros2Type::of::<M>()),
            strict_qos: None,
            udpros: false,
        }
    }

    /// A topic of a type known at run time, in the graphs in which that has a definition.
    pub(crate) fn of_mapping(name: String, mapping: &TypeMapping) -> Self {
        let definition = |generation| mapping.in_generation(generation).ok();
        let ros1 = definition(Generation::Ros1).map(|schema| Ros1Type::of_schema(schema));
        Self {
            name,
            ros1,
            ros2: definition(Generation::Ros2).map(|schema| Ros2Type::of_schema(schema)),
            strict_qos: None,
            udpros: false,
        }
    }

    /// A topic whose publishers determine its type.
    pub(crate) fn of_any(name: String) -> Self {
        Self {
            name,
            ros1: Some(Ros1Type::any()),
            ros2: Some(Ros2Type::any()),
            strict_qos: None,
            udpros: false,
        }
    }

    /// A topic that exists only in ROS 1.
    pub(crate) fn of_ros1(name: String, ros1: Ros1Type) -> Self {
        Self { name, ros1: Some(ros1), ros2: None, strict_qos: None, udpros: false }
    }

    /// A topic that exists only in ROS 2.
    pub(crate) fn of_ros2(name: String, ros2: Ros2Type) -> Self {
        Self { name, ros1: None, ros2: Some(ros2), strict_qos: None, udpros: false }
    }

    /// Type name and sum for matching within the process: those of ROS 1 if it has them.
    pub(crate) fn local_type(&self) -> (&str, &str) {
        match (&self.ros1, &self.ros2) {
            (Some(ros1), _) => (&ros1.type_name, &ros1.md5),
            (None, Some(ros2)) => (&ros2.dds_type, &ros2.rihs01),
            (None, None) => (ANY, ANY),
        }
    }

    /// The sums of its type, for matching within the process.
    pub(crate) fn type_sums(&self) -> TypeSums<'_> {
        let type_hash = self.ros2.as_ref().map_or("", |ros2| &ros2.rihs01);
        TypeSums { md5: self.local_type().1, type_hash }
    }

    /// The publication of the topic by `node`.
    pub(crate) fn publication(
        &self,
        reactor: Arc<Reactor>,
        pool: Arc<Pool>,
        node: &str,
        qos: QoS,
    ) -> Arc<Publication> {
        let (type_name, md5) = self.local_type();
        let info = LinkInfo {
            publisher: node.to_owned(),
            type_name: type_name.to_owned(),
            md5: md5.to_owned(),
            definition: self.ros1.as_ref().map(|ros1| ros1.definition.clone()).unwrap_or_default(),
            type_hash: self.type_sums().type_hash.to_owned(),
            ..LinkInfo::default()
        };
        Arc::new(Publication::new(self.publication_options(qos), info, reactor, pool))
    }

    /// The same topic, where publishers leave the `seq` of headers as it is.
    pub(crate) fn unnumbered(&self) -> Self {
        let ros1 = self.ros1.clone().map(|ros1| Ros1Type { has_header: false, ..ros1 });
        Self { ros1, ..self.clone() }
    }

    /// Queue options of a publisher.
    pub(crate) fn publication_options(&self, qos: QoS) -> PublicationOptions {
        PublicationOptions {
            bound: queue_bound(qos),
            latching: qos.is_latching(),
            has_header: self.ros1.as_ref().is_some_and(|ros1| ros1.has_header),
        }
    }

    /// Queue options of a subscription, which gets messages of type `takes` from this process by reference.
    pub(crate) fn subscription_options(&self, qos: QoS, takes: Option<TypeId>) -> SubscriptionSpec {
        let (type_name, md5) = self.local_type();
        SubscriptionSpec {
            topic: self.name.clone(),
            type_name: type_name.to_owned(),
            md5: md5.to_owned(),
            type_hash: self.type_sums().type_hash.to_owned(),
            bound: queue_bound(qos),
            deadline: qos.deadline,
            wants_info: false,
            keeps_all: qos.history == History::KeepAll && qos.reliability == Reliability::Reliable,
            takes,
            fixed_len: self.ros1.as_ref().and_then(|ros1| ros1.fixed_len),
        }
    }

    /// The description for the master and ROS 1 peers; `None` if the topic exists only in ROS 2.
    pub(crate) fn spec(&self, qos: QoS) -> Option<TopicSpec> {
        let ros1 = self.ros1.as_ref()?;
        Some(TopicSpec {
            topic: self.name.clone(),
            type_name: ros1.type_name.clone(),
            md5: ros1.md5.clone(),
            definition: ros1.definition.clone(),
            latching: qos.is_latching(),
            udpros: self.udpros,
        })
    }
}

/// The queue limit at either end of a topic.
fn queue_bound(qos: QoS) -> QueueBound {
    let messages = if qos.history == History::KeepAll { KEEP_ALL } else { qos.depth };
    QueueBound { messages, bytes: QUEUE_BYTES }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_msgs::std_msgs::msg::String as Text;

    #[test]
    fn type_has_name_in_each_graph() {
        let topic = Topic::of::<Text>("/chatter".into());
        assert_eq!(topic.ros1.unwrap().type_name, "std_msgs/String");
        assert_eq!(topic.ros2.unwrap().dds_type, "std_msgs::msg::dds_::String_");
        assert_eq!(Topic::of_any("/chatter".into()).ros2.unwrap().dds_type, "*");
    }
}
