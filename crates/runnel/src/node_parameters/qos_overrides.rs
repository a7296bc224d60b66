//! QoS policies that parameters override: `qos_overrides.TOPIC.publisher.depth` and the like.

use std::fmt;
use std::time::Duration;

use runnel_core::qos::{Durability, History, Liveliness, QoS, Reliability};

use crate::error::{Error, ParameterError};
use crate::node::Node;
use crate::node::options::{PublisherOptions, SubscriptionOptions};
use crate::parameters::ParameterDeclaration;
use crate::parameters::parameter_value::ParameterValue;

/// A policy that a parameter may override.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QosPolicyKind {
    /// See [`QoS::deadline`]; an integer of nanoseconds, 0 for none.
    Deadline,
    /// See [`QoS::durability`]: `volatile` or `transient_local`.
    Durability,
    /// See [`QoS::history`]: `keep_last` or `keep_all`.
    History,
    /// See [`QoS::depth`]; an integer.
    Depth,
    /// See [`QoS::lifespan`]; an integer of nanoseconds, 0 for none. Publishers only.
    Lifespan,
    /// See [`QoS::liveliness`]: `automatic` or `manual_by_topic`.
    Liveliness,
    /// See [`QoS::liveliness_lease`]; an integer of nanoseconds, 0 for none.
    LivelinessLeaseDuration,
    /// See [`QoS::reliability`]: `reliable` or `best_effort`.
    Reliability,
}

/// Checks the QoS that results from the parameters.
type Validation = Box<dyn FnOnce(&QoS) -> Result<(), String> + Send>;

/// Which policies of a publisher or a subscription parameters may override, as in rclcpp. The node declares a read-only
/// parameter for each, `qos_overrides.TOPIC.publisher.POLICY`, which arguments and files can set.
///
/// ```no_run
/// use runnel::{PublisherOptions, QoS, QosOverridingOptions, msgs::std_msgs::msg::String as Text};
///
/// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
/// let options = PublisherOptions::from(10).qos_overriding_options(QosOverridingOptions::default());
/// // talker --ros-args -p qos_overrides./chatter.publisher.depth:=50
/// let publisher = node.create_publisher::<Text>("chatter", options)?;
/// # Ok(())
/// # }
/// ```
pub struct QosOverridingOptions {
    policies: Vec<QosPolicyKind>,
    id: Option<String>,
    validation: Option<Validation>,
}

impl Default for QosOverridingOptions {
    /// History, depth and reliability.
    fn default() -> Self {
        Self::new(&[QosPolicyKind::History, QosPolicyKind::Depth, QosPolicyKind::Reliability])
    }
}

impl QosOverridingOptions {
    /// Lets parameters override these policies.
    pub fn new(policies: &[QosPolicyKind]) -> Self {
        Self { policies: policies.to_vec(), id: None, validation: None }
    }

    /// Distinguishes the parameters from those of another publisher or subscription of the topic:
    /// `qos_overrides.TOPIC.publisher_ID.POLICY`.
    #[must_use]
    pub fn id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }

    /// Checks the resulting QoS, and refuses it with a reason. The publisher or subscription is then not created.
    #[must_use]
    pub fn validation_callback(
        mut self,
        callback: impl FnOnce(&QoS) -> Result<(), String> + Send + 'static,
    ) -> Self {
        self.validation = Some(Box::new(callback));
        self
    }

    /// Declares the parameters of an endpoint, and returns its QoS with their values.
    fn override_qos(self, node: &Node, topic: &str, kind: &str, qos: QoS) -> Result<QoS, Error> {
        let id = self.id.map(|id| format!("_{id}")).unwrap_or_default();
        let mut overridden = qos;
        for policy in self.policies.into_iter().filter(|policy| policy.is_of(kind)) {
            let name = format!("qos_overrides.{topic}.{kind}{id}.{}", policy.name());
            let value = if node.has_parameter(&name) {
                node.get_parameter(&name)?
            } else {
                let text = format!("QoS policy {} of the {kind} of {topic}", policy.name());
                let declaration =
                    ParameterDeclaration::new(policy.value_in(&qos)).description(&text).read_only();
                node.declare_parameter(&name, declaration)?
            };
            overridden = policy.applied(overridden, &value).map_err(|values| {
                let value = value.short_text().unwrap_or_default();
                refused(format!("parameter {name}: {value} is no such policy. Try: {values}"))
            })?;
        }
        if let Some(validation) = self.validation {
            validation(&overridden).map_err(|why| refused(format!("QoS of the {kind} of {topic}: {why}")))?;
        }
        Ok(overridden)
    }
}

fn refused(reason: String) -> Error {
    ParameterError::Refused { reason }.into()
}

impl PublisherOptions {
    /// Lets parameters override policies.
    #[must_use]
    pub fn qos_overriding_options(mut self, options: QosOverridingOptions) -> Self {
        self.overriding =
            Some(Box::new(move |node, topic, qos| options.override_qos(node, topic, "publisher", qos)));
        self
    }
}

impl SubscriptionOptions {
    /// Lets parameters override policies.
    #[must_use]
    pub fn qos_overriding_options(mut self, options: QosOverridingOptions) -> Self {
        self.overriding =
            Some(Box::new(move |node, topic, qos| options.override_qos(node, topic, "subscription", qos)));
        self
    }
}

impl QosPolicyKind {
    /// Whether endpoints of a kind have the policy.
    fn is_of(self, kind: &str) -> bool {
        self != Self::Lifespan || kind == "publisher"
    }

    fn name(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Durability => "durability",
            Self::History => "history",
            Self::Depth => "depth",
            Self::Lifespan => "lifespan",
            Self::Liveliness => "liveliness",
            Self::LivelinessLeaseDuration => "liveliness_lease_duration",
            Self::Reliability => "reliability",
        }
    }

    /// The value of the policy as a parameter.
    fn value_in(self, qos: &QoS) -> ParameterValue {
        match self {
            Self::Deadline => nanoseconds(qos.deadline),
            Self::Durability => match qos.durability {
                Durability::Volatile => "volatile".into(),
                Durability::TransientLocal => "transient_local".into(),
            },
            Self::History => match qos.history {
                History::KeepLast => "keep_last".into(),
                History::KeepAll => "keep_all".into(),
            },
            Self::Depth => i64::try_from(qos.depth).unwrap_or(i64::MAX).into(),
            Self::Lifespan => nanoseconds(qos.lifespan),
            Self::Liveliness => match qos.liveliness {
                Liveliness::Automatic => "automatic".into(),
                Liveliness::ManualByTopic => "manual_by_topic".into(),
            },
            Self::LivelinessLeaseDuration => nanoseconds(qos.liveliness_lease),
            Self::Reliability => match qos.reliability {
                Reliability::Reliable => "reliable".into(),
                Reliability::BestEffort => "best_effort".into(),
            },
        }
    }

    /// The QoS with the policy of a parameter's value.
    ///
    /// # Errors
    /// The values that the parameter may have.
    fn applied(self, qos: QoS, value: &ParameterValue) -> Result<QoS, &'static str> {
        let text = match value {
            ParameterValue::String(text) => text.as_str(),
            _ => "",
        };
        Ok(match (self, text, duration(value)) {
            (Self::Deadline, _, Some(time)) => qos.deadline(time),
            (Self::Durability, "volatile", _) => qos.volatile(),
            (Self::Durability, "transient_local", _) => qos.transient_local(),
            (Self::History, "keep_last", _) => QoS { history: History::KeepLast, ..qos },
            (Self::History, "keep_all", _) => QoS { history: History::KeepAll, ..qos },
            (Self::Depth, ..) => QoS { depth: depth(value).ok_or("an integer from 1 on")?, ..qos },
            (Self::Lifespan, _, Some(time)) => qos.lifespan(time),
            (Self::Liveliness, "automatic", _) => qos.liveliness(Liveliness::Automatic, qos.liveliness_lease),
            (Self::Liveliness, "manual_by_topic", _) => {
                qos.liveliness(Liveliness::ManualByTopic, qos.liveliness_lease)
            }
            (Self::LivelinessLeaseDuration, _, Some(time)) => qos.liveliness(qos.liveliness, Some(time)),
            (Self::Reliability, "reliable", _) => qos.reliable(),
            (Self::Reliability, "best_effort", _) => qos.best_effort(),
            (Self::Durability, ..) => return Err("volatile, transient_local"),
            (Self::History, ..) => return Err("keep_last, keep_all"),
            (Self::Liveliness, ..) => return Err("automatic, manual_by_topic"),
            (Self::Reliability, ..) => return Err("reliable, best_effort"),
            _ => return Err("an integer of nanoseconds"),
        })
    }
}

/// A time as a parameter: nanoseconds, 0 for none.
fn nanoseconds(time: Option<Duration>) -> ParameterValue {
    let nanoseconds = time.map_or(0, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
    nanoseconds.into()
}

fn duration(value: &ParameterValue) -> Option<Duration> {
    match value {
        ParameterValue::Integer(nanoseconds) => Some(Duration::from_nanos(u64::try_from(*nanoseconds).ok()?)),
        _ => None,
    }
}

fn depth(value: &ParameterValue) -> Option<usize> {
    match value {
        ParameterValue::Integer(depth) => usize::try_from(*depth).ok().filter(|depth| *depth > 0),
        _ => None,
    }
}

impl fmt::Debug for QosOverridingOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("QosOverridingOptions");
        shown.field("policies", &self.policies).field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [QosPolicyKind; 8] = [
        QosPolicyKind::Deadline,
        QosPolicyKind::Durability,
        QosPolicyKind::History,
        QosPolicyKind::Depth,
        QosPolicyKind::Lifespan,
        QosPolicyKind::Liveliness,
        QosPolicyKind::LivelinessLeaseDuration,
        QosPolicyKind::Reliability,
    ];

    #[test]
    fn policies_survive_as_parameters() {
        let lease = Some(Duration::from_secs(5));
        let other = QoS::keep_all()
            .best_effort()
            .transient_local()
            .deadline(Duration::from_millis(100))
            .lifespan(Duration::from_secs(3))
            .liveliness(Liveliness::ManualByTopic, lease);
        for qos in [QoS::default(), QoS { depth: 7, ..other }] {
            let read = ALL
                .into_iter()
                .try_fold(QoS::keep_last(1), |read, policy| policy.applied(read, &policy.value_in(&qos)));
            assert_eq!(read, Ok(qos));
        }
    }

    #[test]
    fn unknown_policy_names_known_ones() {
        let why = |policy: QosPolicyKind, value: ParameterValue| policy.applied(QoS::default(), &value);
        assert_eq!(why(QosPolicyKind::Reliability, "relaible".into()), Err("reliable, best_effort"));
        assert_eq!(why(QosPolicyKind::Depth, 0.into()), Err("an integer from 1 on"));
        assert_eq!(why(QosPolicyKind::Deadline, (-1).into()), Err("an integer of nanoseconds"));
    }
}
