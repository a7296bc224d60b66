//! Explanation of an incompatible QoS between a publisher and a subscription: both values, and what to set.

use std::time::Duration;

use runnel_core::qos::{Policy, QoS};

/// Explanation of incompatible data representations.
const REPRESENTATION: &str = "the subscription does not read the data representation that the publisher writes \
                              (here publishers write XCDR1, as those of ROS 2 do, and subscriptions read XCDR1 and XCDR2)";

/// Such as `reliability is best effort at the publisher and reliable at the subscription (set reliable at the
/// publisher, or best effort at the subscription)`. It has words instead of identifiers, since users of the command
/// line read it too.
pub(super) fn explain_incompatible(policies: &[Policy], offered: &QoS, requested: &QoS) -> String {
    let each: Vec<String> = policies.iter().map(|policy| explain(*policy, offered, requested)).collect();
    each.join("; ")
}

fn explain(policy: Policy, offered: &QoS, requested: &QoS) -> String {
    if policy == Policy::DataRepresentation {
        return REPRESENTATION.to_owned();
    }
    let [has, wants] = [offered, requested].map(|qos| value(policy, qos));
    let [more, less] = [requested, offered].map(|qos| setting(policy, qos));
    format!(
        "{policy} is {has} at the publisher and {wants} at the subscription \
         (set {more} at the publisher, or {less} at the subscription)"
    )
}

/// Value of a policy.
fn value(policy: Policy, qos: &QoS) -> String {
    match policy {
        Policy::Reliability => qos.reliability.to_string(),
        Policy::Durability => qos.durability.to_string(),
        Policy::Deadline => time(qos.deadline),
        Policy::Liveliness => qos.liveliness.to_string(),
        Policy::LivelinessLease => time(qos.liveliness_lease),
        Policy::DataRepresentation => String::new(),
    }
}

fn time(time: Option<Duration>) -> String {
    time.map_or("for ever".to_owned(), |time| format!("{time:?}"))
}

/// What to set for a policy.
fn setting(policy: Policy, qos: &QoS) -> String {
    match policy {
        Policy::Reliability | Policy::Durability => value(policy, qos),
        Policy::Deadline if qos.deadline.is_none() => "no deadline".to_owned(),
        Policy::Deadline => format!("a deadline of {}", time(qos.deadline)),
        Policy::Liveliness => format!("liveliness of kind {}", qos.liveliness),
        Policy::LivelinessLease if qos.liveliness_lease.is_none() => "no lease of liveliness".to_owned(),
        Policy::LivelinessLease => format!("a lease of liveliness of {}", time(qos.liveliness_lease)),
        Policy::DataRepresentation => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanation_names_both_values_and_settings() {
        let (offered, requested) = (QoS::sensor_data(), QoS::latched().deadline(Duration::from_millis(100)));
        let why = explain_incompatible(&requested.incompatible_with(&offered), &offered, &requested);
        let parts: Vec<&str> = why.split("; ").collect();
        assert_eq!(
            parts,
            [
                "durability is volatile at the publisher and transient local at the subscription (set \
             transient local at the publisher, or volatile at the subscription)",
                "deadline is for ever at the publisher and 100ms at the subscription (set a deadline of 100ms at the \
             publisher, or no deadline at the subscription)",
                "reliability is best effort at the publisher and reliable at the subscription (set reliable at the \
             publisher, or best effort at the subscription)",
            ]
        );
    }

    #[test]
    fn unsupported_data_representation_is_explained() {
        let why = explain_incompatible(&[Policy::DataRepresentation], &QoS::default(), &QoS::default());
        assert_eq!(why, REPRESENTATION);
    }
}
