//! Publishers and subscriptions of this process in the ROS 2 graph, which are matched here: a participant does not match
//! what is its own.

use std::sync::Arc;

use runnel_core::qos::QoS;

use super::Driver;
use super::nodes::NodeKey;
use super::ros2::as_offered;
use crate::data::{Publication, SubscriptionCore};

/// What the nodes of this process have in the ROS 2 graph.
#[derive(Default)]
pub(super) struct Endpoints {
    offers: Vec<Endpoint<Publication>>,
    requests: Vec<Endpoint<SubscriptionCore>>,
}

struct Endpoint<E> {
    node: NodeKey,
    topic: String,
    qos: QoS,
    end: Arc<E>,
}

impl Driver {
    /// A node offers a topic, or more of it than before.
    pub(super) fn offer(&mut self, node: NodeKey, topic: &str, qos: QoS, publication: &Arc<Publication>) {
        let offers = &mut self.endpoints.offers;
        let index = match offers.iter().position(|offer| Arc::ptr_eq(&offer.end, publication)) {
            Some(index) => {
                let both = widest(offers[index].qos, qos);
                if std::mem::replace(&mut offers[index].qos, both) == both {
                    return;
                }
                index
            }
            None => {
                publication.keep_earlier();
                offers.push(Endpoint { node, topic: topic.to_owned(), qos, end: Arc::clone(publication) });
                offers.len() - 1
            }
        };
        let Endpoints { offers, requests } = &self.endpoints;
        let offer = &offers[index];
        let refused: Vec<_> =
            requests.iter().filter_map(|request| Some((request.node, try_match(offer, request)?))).collect();
        refused.into_iter().for_each(|(node, why)| self.say_incompatible(node, &why));
    }

    /// A node requests a topic.
    pub(super) fn request(
        &mut self,
        node: NodeKey,
        topic: &str,
        qos: QoS,
        subscription: &Arc<SubscriptionCore>,
    ) {
        let request = Endpoint { node, topic: topic.to_owned(), qos, end: Arc::clone(subscription) };
        let offers = self.endpoints.offers.iter();
        let refused: Vec<_> = offers.filter_map(|offer| try_match(offer, &request)).collect();
        self.endpoints.requests.push(request);
        refused.into_iter().for_each(|why| self.say_incompatible(node, &why));
    }

    fn say_incompatible(&mut self, node: NodeKey, why: &str) {
        if let Some(node) = self.node_slot(node) {
            node.warn_of_peer(format_args!("{why}"));
        }
    }
}

impl Endpoints {
    /// A publication is gone.
    pub(super) fn forget_publication(&mut self, publication: &Arc<Publication>) {
        self.offers.retain(|offer| !Arc::ptr_eq(&offer.end, publication));
    }

    /// A subscription is gone.
    pub(super) fn forget_subscription(&mut self, subscription: &Arc<SubscriptionCore>) {
        self.requests.retain(|request| !Arc::ptr_eq(&request.end, subscription));
    }

    /// A node is gone.
    pub(super) fn forget_node(&mut self, node: NodeKey) {
        self.offers.retain(|offer| offer.node != node);
        self.requests.retain(|request| request.node != node);
    }
}

/// Matches a publication with a subscription, if both are of one topic; why they do not meet, if they should.
fn try_match(offer: &Endpoint<Publication>, request: &Endpoint<SubscriptionCore>) -> Option<String> {
    if offer.topic != request.topic {
        return None;
    }
    // Who takes any type takes what is offered.
    let asked = if request.end.takes_any() { as_offered(request.qos, &offer.qos) } else { request.qos };
    let missing = asked.incompatible_with(&offer.qos);
    if missing.is_empty() {
        offer.end.match_local(Arc::clone(&request.end), asked.is_latching());
        return None;
    }
    let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let (topic, missing) = (&offer.topic, missing.join(" and "));
    Some(format!(
        "topic {topic}: a publisher of this process does not offer what a subscription asks for: {missing}"
    ))
}

/// What several publishers of one node offer together: whoever asks for what any of them offers gets the messages of all.
fn widest(one: QoS, other: QoS) -> QoS {
    let shortest = |one: Option<_>, other| one.into_iter().chain(other).min();
    QoS {
        reliability: one.reliability.max(other.reliability),
        durability: one.durability.max(other.durability),
        deadline: shortest(one.deadline, other.deadline),
        liveliness: one.liveliness.max(other.liveliness),
        liveliness_lease: shortest(one.liveliness_lease, other.liveliness_lease),
        ..one
    }
}
