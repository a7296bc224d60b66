//! Best-available policies: they are resolved when an endpoint is created, from the endpoints on the other side of the topic.

use core::time::Duration;

use super::{Durability, Liveliness, QoS, Reliability};

/// Which policies of a [`QoS`] are settled when the endpoint is made: see [`QoS::best_available`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BestAvailable {
    /// See [`QoS::reliability`].
    pub reliability: bool,
    /// See [`QoS::durability`].
    pub durability: bool,
    /// See [`QoS::deadline`].
    pub deadline: bool,
    /// See [`QoS::liveliness`].
    pub liveliness: bool,
    /// See [`QoS::liveliness_lease`].
    pub liveliness_lease: bool,
}

impl BestAvailable {
    /// No policy.
    pub(super) const NONE: Self = Self {
        reliability: false,
        durability: false,
        deadline: false,
        liveliness: false,
        liveliness_lease: false,
    };

    /// Every policy.
    const ALL: Self = Self {
        reliability: true,
        durability: true,
        deadline: true,
        liveliness: true,
        liveliness_lease: true,
    };

    /// Whether any policy is to be settled.
    pub fn any(self) -> bool {
        self != Self::NONE
    }
}

/// The shortest time that is offered because a subscription requests it: any node in the graph can request.
const SHORTEST_PROMISE: Duration = Duration::from_millis(1);

impl QoS {
    /// Keeps the last 10, with the highest level of service that matches all endpoints known when the endpoint is created.
    /// Endpoints discovered later change nothing.
    ///
    /// A subscription requests the policies that all publishers offer, or [`QoS::default`] without publishers. A publisher is
    /// reliable and transient local, which matches every subscription, and offers the deadline and liveliness of the most
    /// demanding subscription, but no time below a millisecond. Source: `rmw_qos_profile_best_available`.
    pub const fn best_available() -> Self {
        Self { best_available: BestAvailable::ALL, ..Self::keep_last(10) }
    }

    /// Has the reliability settled when the endpoint is made.
    #[must_use]
    pub const fn reliability_best_available(self) -> Self {
        Self { best_available: BestAvailable { reliability: true, ..self.best_available }, ..self }
    }

    /// Has the durability settled when the endpoint is made.
    #[must_use]
    pub const fn durability_best_available(self) -> Self {
        Self { best_available: BestAvailable { durability: true, ..self.best_available }, ..self }
    }

    /// Has the deadline settled when the endpoint is made.
    #[must_use]
    pub const fn deadline_best_available(self) -> Self {
        Self { best_available: BestAvailable { deadline: true, ..self.best_available }, ..self }
    }

    /// Has liveliness and its lease settled when the endpoint is made.
    #[must_use]
    pub const fn liveliness_best_available(self) -> Self {
        let best_available =
            BestAvailable { liveliness: true, liveliness_lease: true, ..self.best_available };
        Self { best_available, ..self }
    }

    /// The request of a subscription, for the offers of its topic's publishers.
    #[must_use]
    pub fn settled_for_subscription(self, offered: &[QoS]) -> Self {
        let defaults = Self::default();
        let settled = match offered.split_first() {
            None => defaults,
            Some((first, others)) => others.iter().fold(*first, |all, one| Self {
                reliability: all.reliability.min(one.reliability),
                durability: all.durability.min(one.durability),
                liveliness: all.liveliness.min(one.liveliness),
                deadline: longest(all.deadline, one.deadline),
                liveliness_lease: longest(all.liveliness_lease, one.liveliness_lease),
                ..all
            }),
        };
        self.settled(settled)
    }

    /// The offer of a publisher, for the requests of its topic's subscriptions.
    #[must_use]
    pub fn settled_for_publisher(self, requested: &[QoS]) -> Self {
        let most = |manual: Liveliness, one: &QoS| manual.max(one.liveliness);
        self.settled(Self {
            reliability: Reliability::Reliable,
            durability: Durability::TransientLocal,
            liveliness: requested.iter().fold(Liveliness::Automatic, most),
            deadline: shortest(requested.iter().filter_map(|one| one.deadline)),
            liveliness_lease: shortest(requested.iter().filter_map(|one| one.liveliness_lease)),
            ..self
        })
    }

    /// These policies with those of `others` that were to be settled.
    fn settled(self, others: Self) -> Self {
        let requested = self.best_available;
        Self {
            reliability: if requested.reliability { others.reliability } else { self.reliability },
            durability: if requested.durability { others.durability } else { self.durability },
            deadline: if requested.deadline { others.deadline } else { self.deadline },
            liveliness: if requested.liveliness { others.liveliness } else { self.liveliness },
            liveliness_lease: if requested.liveliness_lease {
                others.liveliness_lease
            } else {
                self.liveliness_lease
            },
            best_available: BestAvailable::NONE,
            ..self
        }
    }
}

/// The shortest time that can be promised.
fn shortest(times: impl Iterator<Item = Duration>) -> Option<Duration> {
    times.filter(|time| *time >= SHORTEST_PROMISE).min()
}

/// The longer of two times, of which `None` is for ever.
fn longest(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    Some(one?.max(other?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn weak() -> QoS {
        QoS::keep_last(1).best_effort().deadline(MS(300))
    }

    fn strong() -> QoS {
        QoS::latched().deadline(MS(100)).liveliness(Liveliness::ManualByTopic, Some(MS(50)))
    }

    #[test]
    fn subscription_requests_the_most_all_publishers_offer() {
        let best = QoS::best_available();
        let of = |offered: &[QoS]| {
            let settled = best.settled_for_subscription(offered);
            assert!(offered.iter().all(|offered| settled.incompatible_with(offered).is_empty()));
            assert_eq!((settled.depth, settled.best_available.any()), (10, false));
            settled
        };
        let of_strong = of(&[strong()]);
        assert_eq!(strong().incompatible_with(&of_strong), [], "it requests the common offer");
        let both = of(&[strong(), weak()]);
        assert_eq!((both.reliability, both.durability), (Reliability::BestEffort, Durability::Volatile));
        assert_eq!((both.deadline, both.liveliness_lease), (Some(MS(300)), None));
        assert_eq!(of(&[strong(), QoS::default()]).deadline, None, "one promises nothing");
        assert_eq!(of(&[]), QoS::default());
    }

    #[test]
    fn publisher_offers_the_most_that_is_requested() {
        let settled = QoS::best_available().settled_for_publisher(&[weak(), strong()]);
        assert_eq!(settled, QoS { depth: 10, ..strong() });
        assert_eq!(QoS::best_available().settled_for_publisher(&[]), QoS::keep_last(10).transient_local());
    }

    #[test]
    fn publisher_does_not_promise_unkeepable_times() {
        let absurd = strong()
            .deadline(Duration::from_nanos(1))
            .liveliness(Liveliness::Automatic, Some(Duration::ZERO));
        let settled = QoS::best_available().settled_for_publisher(&[absurd, weak()]);
        assert_eq!((settled.deadline, settled.liveliness_lease), (Some(MS(300)), None));
    }

    #[test]
    fn explicit_policies_are_not_changed() {
        let qos = QoS::keep_last(3).reliability_best_available();
        assert_eq!(qos.settled_for_subscription(&[weak()]), QoS::keep_last(3).best_effort());
        assert_eq!(qos.best_effort().reliable().best_available, BestAvailable::NONE);
        let qos = QoS::keep_last(3).deadline_best_available().durability_best_available();
        assert_eq!(qos.settled_for_subscription(&[strong()]), QoS::latched().deadline(MS(100)).with_depth(3));
        let qos = QoS::keep_last(3).liveliness_best_available();
        let settled = qos.settled_for_publisher(&[strong()]);
        assert_eq!(settled.incompatible_with(&settled), []);
        assert_eq!(settled, QoS::keep_last(3).liveliness(Liveliness::ManualByTopic, Some(MS(50))));
        assert_eq!(QoS::default().settled_for_publisher(&[strong()]), QoS::default());
    }

    impl QoS {
        fn with_depth(self, depth: usize) -> Self {
            Self { depth, ..self }
        }
    }
}
