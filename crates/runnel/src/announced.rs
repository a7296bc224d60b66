//! Topics as peers are told of them, and what may wait at either end.

use std::any::TypeId;
use std::sync::Arc;

use runnel_core::Message;
use runnel_core::qos::{History, QoS};
use runnel_ros1::node::TopicSpec;
use runnel_ros1::tcpros::QueueBound;

use crate::context::Context;
use crate::data::{LinkInfo, Publication, PublicationOptions, SubscriptionOptions};

/// Bytes that a publisher holds for one slow subscriber at most, and a subscription for its callback, whatever the depth.
const QUEUE_BYTES: usize = 1 << 30;

/// Messages that a publisher which keeps all holds for one slow subscriber before it waits, and a subscription that
/// keeps all before it drops the oldest.
const KEEP_ALL: usize = 1000;

/// A topic by name and type, as peers are told of it.
pub(crate) struct Announced<'a> {
    pub(crate) topic: String,
    pub(crate) type_name: &'a str,
    pub(crate) md5: &'a str,
    pub(crate) definition: &'a str,
    pub(crate) has_header: bool,
}

impl Announced<'_> {
    /// A topic of a type that is known.
    pub(crate) fn of<M: Message>(topic: String) -> Announced<'static> {
        Announced {
            topic,
            type_name: M::TYPE,
            md5: M::MD5,
            definition: M::DEFINITION,
            has_header: M::HAS_HEADER,
        }
    }

    pub(crate) fn publication(&self, context: &Context, node: &str, qos: QoS) -> Arc<Publication> {
        let info = LinkInfo {
            publisher: node.to_owned(),
            type_name: self.type_name.to_owned(),
            md5: self.md5.to_owned(),
            definition: self.definition.to_owned(),
            ..LinkInfo::default()
        };
        let (reactor, pool) = (Arc::clone(&context.shared.reactor), Arc::clone(&context.shared.pool));
        Arc::new(Publication::new(self.publication_options(qos), info, reactor, pool))
    }

    /// How a publisher of it queues messages.
    pub(crate) fn publication_options(&self, qos: QoS) -> PublicationOptions {
        PublicationOptions {
            bound: queue_bound(qos),
            latching: qos.is_latching(),
            has_header: self.has_header,
        }
    }

    /// How a subscription to it queues messages, which with `takes` come by reference if they are of this process.
    pub(crate) fn subscription_options(&self, qos: QoS, takes: Option<TypeId>) -> SubscriptionOptions {
        SubscriptionOptions {
            topic: self.topic.clone(),
            type_name: self.type_name.to_owned(),
            md5: self.md5.to_owned(),
            bound: queue_bound(qos),
            takes,
        }
    }

    pub(crate) fn spec(&self, latching: bool) -> TopicSpec {
        TopicSpec {
            topic: self.topic.clone(),
            type_name: self.type_name.to_owned(),
            md5: self.md5.to_owned(),
            definition: self.definition.to_owned(),
            latching,
            udpros: false,
        }
    }
}

/// What may wait, at either end of a topic.
fn queue_bound(qos: QoS) -> QueueBound {
    let messages = if qos.history == History::KeepAll { KEEP_ALL } else { qos.depth };
    QueueBound { messages, bytes: QUEUE_BYTES }
}
