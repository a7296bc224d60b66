//! Matching of publishers and subscriptions of this process in the ROS 2 graph. The participant does not match its own
//! endpoints.

use std::sync::Arc;

use runnel_core::qos::QoS;

use super::effect::{Effect, Effects};
use super::incompatible::explain_incompatible;
use super::nodes::NodeKey;
use super::ros2::limited_to_offer;
use crate::data::{Publication, SubscriptionCore, WriterGroup};
use crate::types::announced::Topic;

/// ROS 2 endpoints of the nodes of this process.
#[derive(Default)]
pub(super) struct Endpoints {
    offers: Vec<Endpoint<Publication>>,
    requests: Vec<Endpoint<SubscriptionCore>>,
}

struct Endpoint<E> {
    node: NodeKey,
    topic: String,
    qos: QoS,
    /// The subscription also accepts publishers that offer less than its QoS.
    accepts_less: bool,
    end: Arc<E>,
}

impl Endpoints {
    /// Adds or extends the offer of a publication, and matches it.
    pub(super) fn offer(
        &mut self,
        node: NodeKey,
        topic: &str,
        offer: &Arc<WriterGroup>,
        publication: &Arc<Publication>,
        effects: &mut Effects,
    ) {
        let (offers, qos) = (&mut self.offers, offer.qos);
        let index = match offers.iter().position(|offer| Arc::ptr_eq(&offer.end, publication)) {
            Some(index) => {
                offers[index].qos = widest(offers[index].qos, qos);
                index
            }
            None => {
                publication.keep_earlier();
                let (topic, end) = (topic.to_owned(), Arc::clone(publication));
                offers.push(Endpoint { node, topic, qos, accepts_less: false, end });
                offers.len() - 1
            }
        };
        let of = &self.offers[index];
        let refused = |request| refuse(of, request, std::slice::from_ref(offer));
        effects.extend(self.requests.iter().filter_map(refused));
    }

    /// Reduces the offer of a publication to its remaining offers. Subscriptions that request more are unmatched.
    pub(super) fn offer_less(&mut self, publication: &Arc<Publication>, effects: &mut Effects) {
        let Self { offers, requests } = self;
        let of = offers.iter_mut().find(|offer| Arc::ptr_eq(&offer.end, publication));
        let left = publication.groups();
        let (Some(of), Some(qos)) = (of, left.iter().map(|offer| offer.qos).reduce(widest)) else { return };
        of.qos = qos;
        let unmatched =
            |request: &&Endpoint<_>| !of.is_compatible(request) && publication.unmatch_local(&request.end);
        effects.extend(requests.iter().filter(unmatched).filter_map(|request| refuse(of, request, &left)));
    }

    /// Adds a subscription, and matches it.
    pub(super) fn request(
        &mut self,
        node: NodeKey,
        topic: &Topic,
        qos: QoS,
        subscription: &Arc<SubscriptionCore>,
        effects: &mut Effects,
    ) {
        let accepts_less = subscription.takes_any() && topic.strict_qos.is_none();
        // For an untyped subscription, `best_available` is settled for each publisher.
        let qos = topic.strict_qos.unwrap_or(qos);
        let (topic, end) = (topic.name.clone(), Arc::clone(subscription));
        let request = Endpoint { node, topic, qos, accepts_less, end };
        effects.extend(self.offers.iter().filter_map(|offer| refuse(offer, &request, &offer.end.groups())));
        self.requests.push(request);
    }

    /// QoS that publications of a topic offer.
    pub(super) fn offered(&self, topic: &str) -> impl Iterator<Item = QoS> {
        self.offers.iter().filter(move |offer| offer.topic == topic).map(|offer| offer.qos)
    }

    /// QoS that subscriptions to a topic request.
    pub(super) fn requested(&self, topic: &str) -> impl Iterator<Item = QoS> {
        self.requests.iter().filter(move |request| request.topic == topic).map(|request| request.qos)
    }

    /// Removes a publication.
    pub(super) fn forget_publication(&mut self, publication: &Arc<Publication>) {
        self.offers.retain(|offer| !Arc::ptr_eq(&offer.end, publication));
    }

    /// Removes a subscription.
    pub(super) fn forget_subscription(&mut self, subscription: &Arc<SubscriptionCore>) {
        self.requests.retain(|request| !Arc::ptr_eq(&request.end, subscription));
    }

    /// Removes the endpoints of a node.
    pub(super) fn forget_node(&mut self, node: NodeKey) {
        self.offers.retain(|offer| offer.node != node);
        self.requests.retain(|request| request.node != node);
    }
}

impl Endpoint<Publication> {
    /// QoS that a subscription requests of this publication. An untyped subscription requests no more than is offered,
    /// unless its QoS is strict.
    fn requested_by(&self, request: &Endpoint<SubscriptionCore>) -> QoS {
        let requested = request.qos.settled_for_subscription(&[self.qos]);
        if request.accepts_less { limited_to_offer(requested, &self.qos) } else { requested }
    }

    fn is_compatible(&self, request: &Endpoint<SubscriptionCore>) -> bool {
        self.topic == request.topic && self.requested_by(request).incompatible_with(&self.qos).is_empty()
    }
}

/// Matches a publication with a subscription of the same topic if their QoS is compatible. If not, reports the
/// incompatibility to both, and to each publisher by its own offer. Returns a warning if one of them has no event
/// callback for it.
fn refuse(
    of: &Endpoint<Publication>,
    request: &Endpoint<SubscriptionCore>,
    offers: &[Arc<WriterGroup>],
) -> Option<Effect> {
    if of.topic != request.topic {
        return None;
    }
    let requested = of.requested_by(request);
    let policies = requested.incompatible_with(&of.qos);
    if policies.is_empty() {
        of.end.match_local(Arc::clone(&request.end), requested.is_latching());
        return None;
    }
    let notify = |offer: &Arc<WriterGroup>| offer.incompatible(&requested.incompatible_with(&offer.qos));
    let publishers_notified = offers.iter().fold(true, |all, offer| notify(offer) & all);
    let node = match request.end.events().incompatible(&policies) {
        false => request.node,
        true if publishers_notified => return None,
        true => of.node,
    };
    let why = explain_incompatible(&policies, &of.qos, &requested);
    let line =
        format!("topic {}: a publisher and a subscription of this process do not match: {why}", of.topic);
    Some(Effect::NodeWarning { node, line })
}

/// Union of the offers of one node's publishers: a subscription that is compatible with any of them gets the messages
/// of all.
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
