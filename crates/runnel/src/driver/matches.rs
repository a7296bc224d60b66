//! Publishers and subscriptions of this process in the ROS 2 graph, which are matched here: a participant does not match
//! what is its own.

use std::sync::Arc;

use runnel_core::qos::QoS;

use super::effect::{Effect, Effects};
use super::incompatible::why_not;
use super::nodes::NodeKey;
use super::ros2::as_offered;
use crate::announced::Topic;
use crate::data::{Offer, Publication, SubscriptionCore};

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
    /// A subscription that takes what is offered, if that is less.
    takes_less: bool,
    end: Arc<E>,
}

impl Endpoints {
    /// A node offers a topic, or something else of it than before.
    pub(super) fn offer(
        &mut self,
        node: NodeKey,
        topic: &str,
        offer: &Arc<Offer>,
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
                offers.push(Endpoint { node, topic, qos, takes_less: false, end });
                offers.len() - 1
            }
        };
        let of = &self.offers[index];
        let refused = |request| refuse(of, request, std::slice::from_ref(offer));
        effects.extend(self.requests.iter().filter_map(refused));
    }

    /// A node offers what is left of a topic: who asks for more gets nothing more.
    pub(super) fn offer_less(&mut self, publication: &Arc<Publication>, effects: &mut Effects) {
        let Self { offers, requests } = self;
        let of = offers.iter_mut().find(|offer| Arc::ptr_eq(&offer.end, publication));
        let left = publication.offers();
        let (Some(of), Some(qos)) = (of, left.iter().map(|offer| offer.qos).reduce(widest)) else { return };
        of.qos = qos;
        let parted = |request: &&Endpoint<_>| !of.meets(request) && publication.unmatch_local(&request.end);
        effects.extend(requests.iter().filter(parted).filter_map(|request| refuse(of, request, &left)));
    }

    /// A node requests a topic.
    pub(super) fn request(
        &mut self,
        node: NodeKey,
        topic: &Topic,
        qos: QoS,
        subscription: &Arc<SubscriptionCore>,
        effects: &mut Effects,
    ) {
        let takes_less = subscription.takes_any() && topic.exactly.is_none();
        // Who takes any type settles what is best available for each publisher.
        let qos = topic.exactly.unwrap_or(qos);
        let (topic, end) = (topic.name.clone(), Arc::clone(subscription));
        let request = Endpoint { node, topic, qos, takes_less, end };
        effects.extend(self.offers.iter().filter_map(|offer| refuse(offer, &request, &offer.end.offers())));
        self.requests.push(request);
    }

    /// What is offered of a topic.
    pub(super) fn offered(&self, topic: &str) -> impl Iterator<Item = QoS> {
        self.offers.iter().filter(move |offer| offer.topic == topic).map(|offer| offer.qos)
    }

    /// What is asked for of a topic.
    pub(super) fn requested(&self, topic: &str) -> impl Iterator<Item = QoS> {
        self.requests.iter().filter(move |request| request.topic == topic).map(|request| request.qos)
    }

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

impl Endpoint<Publication> {
    /// What a subscription asks for of it. Who takes any type takes what is offered, unless it asks exactly.
    fn asked_by(&self, request: &Endpoint<SubscriptionCore>) -> QoS {
        let asked = request.qos.settled_for_subscription(&[self.qos]);
        if request.takes_less { as_offered(asked, &self.qos) } else { asked }
    }

    fn meets(&self, request: &Endpoint<SubscriptionCore>) -> bool {
        self.topic == request.topic && self.asked_by(request).incompatible_with(&self.qos).is_empty()
    }
}

/// Matches a publication with a subscription, if both are of one topic and that is possible. If it is not, both are told,
/// the publishers by what they have offered; what is to be said of it by whom, unless callbacks hear of it.
fn refuse(
    of: &Endpoint<Publication>,
    request: &Endpoint<SubscriptionCore>,
    offers: &[Arc<Offer>],
) -> Option<Effect> {
    if of.topic != request.topic {
        return None;
    }
    let asked = of.asked_by(request);
    let policies = asked.incompatible_with(&of.qos);
    if policies.is_empty() {
        of.end.match_local(Arc::clone(&request.end), asked.is_latching());
        return None;
    }
    let told = |offer: &Arc<Offer>| offer.incompatible(&asked.incompatible_with(&offer.qos));
    let publishers_hear = offers.iter().fold(true, |all, offer| told(offer) & all);
    let node = match request.end.events().incompatible(&policies) {
        false => request.node,
        true if publishers_hear => return None,
        true => of.node,
    };
    let why = why_not(&policies, &of.qos, &asked);
    let line =
        format!("topic {}: a publisher and a subscription of this process do not meet: {why}", of.topic);
    Some(Effect::NodeTrouble { node, line })
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
