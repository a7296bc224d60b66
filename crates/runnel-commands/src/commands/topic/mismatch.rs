//! Reasons why a publisher and a subscriber of one topic exchange no messages, and advice.

use runnel::core::qos::Policy;
use runnel::{DataRepresentation, EndpointInfo};

use super::qos;
use crate::graphs::holder;

/// Advice for ends of different types.
const ONE_TYPE: &str = "one type at both ends";

/// Why a pair does not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// A sentence that names both ends.
    pub what: String,
    /// What to do; may be empty.
    pub advice: String,
}

impl Reason {
    /// One line: the reason and the advice.
    pub fn with_advice(&self) -> String {
        match self.advice.as_str() {
            "" => self.what.clone(),
            advice => format!("{}. Try: {advice}", self.what),
        }
    }

    /// The reason of a pair in ROS 1, which has no QoS: its nodes use different types.
    pub fn of_ros1_types([publisher, published]: [&str; 2], [subscriber, subscribed]: [&str; 2]) -> Self {
        let what = format!(
            "No messages from publisher {publisher} to subscriber {subscriber}: type mismatch: {published} and \
             {subscribed}"
        );
        Self { what, advice: ONE_TYPE.to_owned() }
    }
}

/// Why a ROS 2 publisher and subscription do not match; `None` if they do.
pub fn reason(publisher: &EndpointInfo, subscription: &EndpointInfo) -> Option<Reason> {
    let (from, to) = (holder(publisher), holder(subscription));
    let reason = |why: String, advice: String| Reason {
        what: format!("No messages from publisher {from} to subscription {to}: {why}"),
        advice,
    };
    if publisher.dds_type != subscription.dds_type {
        let why = format!("type mismatch: {} and {}", publisher.ros_type(), subscription.ros_type());
        return Some(reason(why, ONE_TYPE.to_owned()));
    }
    let incompatible = subscription.incompatible_with(publisher);
    let describe = |policy: &Policy| {
        let (offered, asked) = (value(publisher, *policy), value(subscription, *policy));
        format!("{policy} {offered} is offered, {asked} is requested")
    };
    let advise = |policy: &Policy| {
        let (offered, asked) = (setting(publisher, *policy), setting(subscription, *policy));
        let word = match policy {
            Policy::Reliability | Policy::Durability => String::new(),
            policy => format!("{policy} "),
        };
        format!("{word}{offered} at {to}, or {asked} at {from}")
    };
    let policies: Vec<String> = incompatible.iter().map(describe).collect();
    let advice: Vec<String> = incompatible.iter().map(advise).collect();
    (!policies.is_empty())
        .then(|| reason(format!("incompatible QoS: {}", policies.join("; ")), advice.join("; ")))
}

fn value(end: &EndpointInfo, policy: Policy) -> String {
    let of = &end.qos;
    match policy {
        Policy::Reliability => qos::reliability(of.reliability).to_owned(),
        Policy::Durability => qos::durability(of.durability).to_owned(),
        Policy::Deadline => qos::time(of.deadline),
        Policy::Liveliness => qos::liveliness(of.liveliness).to_owned(),
        Policy::LivelinessLease => qos::time(of.liveliness_lease),
        Policy::DataRepresentation => listed(&end.representations),
    }
}

/// The value as words of a sentence. Of several encodings it is the preferred one, the only one that a publisher uses.
pub fn setting(end: &EndpointInfo, policy: Policy) -> String {
    match policy {
        Policy::DataRepresentation => {
            end.representations.first().map_or_else(String::new, ToString::to_string)
        }
        policy => value(end, policy).to_lowercase().replace('_', " "),
    }
}

/// The encodings of an endpoint.
pub fn listed(representations: &[DataRepresentation]) -> String {
    representations.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::graphs::tests::graph;
    use runnel::core::qos::QoS;

    #[test]
    fn each_policy_has_its_advice() {
        let mut graph = graph(&[("rt/a", 1, true), ("rt/a", 2, false)]);
        graph.endpoints[1].qos = QoS::keep_last(1).transient_local().deadline(Duration::from_nanos(5));
        let reason = reason(&graph.endpoints[0], &graph.endpoints[1]).expect("they do not match");
        let expected = "volatile at /node2, or transient local at /node1; deadline infinite at /node2, or 5 nanoseconds at \
                        /node1";
        assert_eq!(reason.advice, expected);
    }
}
