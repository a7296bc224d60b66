//! What is said of a publisher and a subscription that do not meet: what is offered and asked for, and how to mend it.

use std::time::Duration;

use runnel_core::qos::{Policy, QoS};

/// What is said of a serialization that the other does not understand.
const REPRESENTATION: &str = "the subscription does not read the data representation that the publisher writes \
                              (here publishers write XCDR1, as those of ROS 2 do, and subscriptions read XCDR1 and XCDR2)";

/// Such as `reliability is best effort at the publisher and reliable at the subscription (set reliable at the publisher, or
/// best effort at the subscription)`. In words, since it is read by those who set it at a shell, too.
pub(super) fn why_not(policies: &[Policy], offered: &QoS, asked: &QoS) -> String {
    let each: Vec<String> = policies.iter().map(|policy| of(*policy, offered, asked)).collect();
    each.join("; ")
}

fn of(policy: Policy, offered: &QoS, asked: &QoS) -> String {
    if policy == Policy::DataRepresentation {
        return REPRESENTATION.to_owned();
    }
    let [has, wants] = [offered, asked].map(|qos| told(policy, qos));
    let [more, less] = [asked, offered].map(|qos| setting(policy, qos));
    format!(
        "{policy} is {has} at the publisher and {wants} at the subscription \
         (set {more} at the publisher, or {less} at the subscription)"
    )
}

/// A policy's value.
fn told(policy: Policy, qos: &QoS) -> String {
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

/// A policy and its value, as what to set.
fn setting(policy: Policy, qos: &QoS) -> String {
    match policy {
        Policy::Reliability | Policy::Durability => told(policy, qos),
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
    fn a_refusal_names_what_is_offered_and_asked_for_and_how_to_mend_it() {
        let (offered, asked) = (QoS::sensor_data(), QoS::latched().deadline(Duration::from_millis(100)));
        let why = why_not(&asked.incompatible_with(&offered), &offered, &asked);
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
    fn a_serialization_that_is_not_understood_is_said_to_be_so() {
        let why = why_not(&[Policy::DataRepresentation], &QoS::default(), &QoS::default());
        assert_eq!(why, REPRESENTATION);
    }
}
