//! Quality of service: as ros2 prints it, and as options.

use std::time::Duration;

use runnel::core::qos::{Durability, History, Liveliness, QoS, Reliability};
use serde_json::{Value as Json, json};

use crate::value_parsers;

/// The QoS options; the command has a default for those not given.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AskedQos {
    /// Start from the QoS profile of this name; other options change it
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    qos_profile: Option<Profile>,

    /// Keep this many messages
    #[arg(long, value_name = "N", help_heading = HEADING, value_parser = depth)]
    qos_depth: Option<usize>,

    /// Keep the last messages, or all
    #[arg(long, value_name = "POLICY", help_heading = HEADING)]
    qos_history: Option<AskedHistory>,

    /// Whether lost messages are sent again
    #[arg(long, value_name = "POLICY", help_heading = HEADING)]
    qos_reliability: Option<AskedReliability>,

    /// Whether late subscribers get earlier messages
    #[arg(long, value_name = "POLICY", help_heading = HEADING)]
    qos_durability: Option<AskedDurability>,

    /// How a publisher shows that it is alive
    #[arg(long, value_name = "POLICY", help_heading = HEADING)]
    qos_liveliness: Option<AskedLiveliness>,

    /// How long a publisher may take to show that it is alive
    #[arg(long, value_name = "SECONDS", help_heading = HEADING, value_parser = value_parsers::seconds)]
    qos_liveliness_lease_duration_seconds: Option<Duration>,
}

const HEADING: &str = "QoS, for ROS 2";

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum Profile {
    Default,
    SystemDefault,
    SensorData,
    ServicesDefault,
    Parameters,
    BestAvailable,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum AskedHistory {
    KeepLast,
    KeepAll,
    SystemDefault,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum AskedReliability {
    Reliable,
    BestEffort,
    SystemDefault,
    BestAvailable,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum AskedDurability {
    TransientLocal,
    Volatile,
    SystemDefault,
    BestAvailable,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum AskedLiveliness {
    Automatic,
    ManualByTopic,
    SystemDefault,
    BestAvailable,
}

fn depth(text: &str) -> Result<usize, String> {
    let depth = text.parse().ok().filter(|depth| (1..=MOST_DEPTH).contains(depth));
    depth.ok_or_else(|| format!("must be a number from 1 to {MOST_DEPTH}"))
}

/// The largest queue that can be requested.
const MOST_DEPTH: usize = 1_000_000;

impl AskedQos {
    /// The requested QoS, based on the command's default.
    pub fn over(&self, default: QoS) -> QoS {
        let mut qos = match self.qos_profile {
            None => default,
            Some(Profile::Default) => QoS::default(),
            Some(Profile::SystemDefault) => QoS::system_default(),
            Some(Profile::SensorData) => QoS::sensor_data(),
            Some(Profile::ServicesDefault) => QoS::services_default(),
            Some(Profile::Parameters) => QoS::parameters(),
            Some(Profile::BestAvailable) => QoS::best_available(),
        };
        qos.depth = self.qos_depth.unwrap_or(qos.depth);
        match self.qos_history {
            Some(AskedHistory::KeepAll) => qos.history = History::KeepAll,
            Some(AskedHistory::KeepLast | AskedHistory::SystemDefault) => qos.history = History::KeepLast,
            None if self.qos_depth.is_some() => qos.history = History::KeepLast,
            None => {}
        }
        let qos = match self.qos_reliability {
            Some(AskedReliability::BestEffort) => qos.best_effort(),
            Some(AskedReliability::Reliable | AskedReliability::SystemDefault) => qos.reliable(),
            Some(AskedReliability::BestAvailable) => qos.reliability_best_available(),
            None => qos,
        };
        let qos = match self.qos_durability {
            Some(AskedDurability::TransientLocal) => qos.transient_local(),
            Some(AskedDurability::Volatile | AskedDurability::SystemDefault) => qos.volatile(),
            Some(AskedDurability::BestAvailable) => qos.durability_best_available(),
            None => qos,
        };
        let kind = match self.qos_liveliness {
            Some(AskedLiveliness::ManualByTopic) => Liveliness::ManualByTopic,
            // A subscription that requests automatic liveliness matches every publisher.
            Some(_) => Liveliness::Automatic,
            None => qos.liveliness,
        };
        match self.qos_liveliness_lease_duration_seconds {
            None if self.qos_liveliness.is_none() => qos,
            lease => qos.liveliness(kind, lease.or(qos.liveliness_lease)),
        }
    }
}

/// The QoS with which a subscription matches all these publishers, as ros2 chooses it: reliable if all are reliable,
/// transient local if all are.
pub fn matching(publishers: &[QoS], depth: usize) -> QoS {
    let all = |fits: fn(&QoS) -> bool| !publishers.is_empty() && publishers.iter().all(fits);
    let any_best_effort = publishers.iter().any(|offered| offered.reliability == Reliability::BestEffort);
    let mut qos = QoS::keep_last(depth);
    if any_best_effort {
        qos = qos.best_effort();
    }
    if all(QoS::is_latching) { qos.transient_local() } else { qos }
}

/// The name of a reliability.
pub fn reliability(of: Reliability) -> &'static str {
    match of {
        Reliability::Reliable => "RELIABLE",
        Reliability::BestEffort => "BEST_EFFORT",
    }
}

/// The name of a durability.
pub fn durability(of: Durability) -> &'static str {
    match of {
        Durability::TransientLocal => "TRANSIENT_LOCAL",
        Durability::Volatile => "VOLATILE",
    }
}

/// The name of a liveliness.
pub fn liveliness(of: Liveliness) -> &'static str {
    match of {
        Liveliness::Automatic => "AUTOMATIC",
        Liveliness::ManualByTopic => "MANUAL_BY_TOPIC",
    }
}

/// A duration as ros2 prints it; `None` is infinite.
pub fn time(of: Option<Duration>) -> String {
    of.map_or_else(|| "Infinite".to_owned(), |time| format!("{} nanoseconds", time.as_nanos()))
}

/// History and depth, if they are known.
fn history(qos: &QoS, is_known: bool) -> String {
    match qos.history {
        _ if !is_known => "UNKNOWN".to_owned(),
        History::KeepAll => "KEEP_ALL".to_owned(),
        History::KeepLast => format!("KEEP_LAST ({})", qos.depth),
    }
}

/// A profile as `ros2 topic info -v` prints it, indented.
pub fn text(qos: &QoS, has_history: bool) -> String {
    let rows = [
        ("Reliability", reliability(qos.reliability).to_owned()),
        ("History (Depth)", history(qos, has_history)),
        ("Durability", durability(qos.durability).to_owned()),
        ("Lifespan", time(qos.lifespan)),
        ("Deadline", time(qos.deadline)),
        ("Liveliness", liveliness(qos.liveliness).to_owned()),
        ("Liveliness lease duration", time(qos.liveliness_lease)),
    ];
    rows.iter().map(|(name, value)| format!("  {name}: {value}\n")).collect()
}

/// A profile on one line: reliability, durability, history if it is known, and what is unusual.
pub fn in_words(qos: &QoS, has_history: bool) -> String {
    let mut words = vec![reliability(qos.reliability).to_owned(), durability(qos.durability).to_owned()];
    words.extend(has_history.then(|| history(qos, true)));
    words.extend(qos.deadline.map(|_| format!("deadline {}", time(qos.deadline))));
    words.extend(qos.lifespan.map(|_| format!("lifespan {}", time(qos.lifespan))));
    let has_liveliness = qos.liveliness != Liveliness::Automatic || qos.liveliness_lease.is_some();
    let named = || format!("liveliness {}, lease {}", liveliness(qos.liveliness), time(qos.liveliness_lease));
    words.extend(has_liveliness.then(named));
    words.join(", ")
}

/// The same for programs. Durations are in nanoseconds; null is infinite or unknown.
pub fn to_json(qos: &QoS, has_history: bool) -> Json {
    let time = |of: Option<Duration>| of.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let keeps_last = has_history && qos.history == History::KeepLast;
    let history = match qos.history {
        History::KeepAll => "KEEP_ALL",
        History::KeepLast => "KEEP_LAST",
    };
    json!({
        "reliability": reliability(qos.reliability),
        "history": has_history.then_some(history),
        "depth": keeps_last.then_some(qos.depth),
        "durability": durability(qos.durability),
        "lifespan": time(qos.lifespan),
        "deadline": time(qos.deadline),
        "liveliness": liveliness(qos.liveliness),
        "liveliness_lease": time(qos.liveliness_lease),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_change_only_their_part_of_the_default() {
        let default = QoS::keep_last(256).transient_local();
        assert_eq!(AskedQos::default().over(default), default);
        let asked = AskedQos {
            qos_profile: Some(Profile::SensorData),
            qos_depth: Some(7),
            qos_durability: Some(AskedDurability::TransientLocal),
            ..AskedQos::default()
        };
        assert_eq!(asked.over(default), QoS::keep_last(7).best_effort().transient_local());
        let asked = AskedQos {
            qos_history: Some(AskedHistory::KeepAll),
            qos_reliability: Some(AskedReliability::BestEffort),
            ..AskedQos::default()
        };
        assert_eq!(asked.over(QoS::keep_last(9)), QoS { depth: 9, ..QoS::keep_all().best_effort() });
        let asked = AskedQos {
            qos_liveliness: Some(AskedLiveliness::ManualByTopic),
            qos_liveliness_lease_duration_seconds: Some(Duration::from_secs(2)),
            ..AskedQos::default()
        };
        let lease = Some(Duration::from_secs(2));
        assert_eq!(asked.over(default), default.liveliness(Liveliness::ManualByTopic, lease));
        assert!(depth("0").is_err() && depth("x").is_err() && depth("5") == Ok(5));
    }

    #[test]
    fn matching_qos_is_the_least_offered() {
        let (reliable, latched) = (QoS::keep_last(1), QoS::keep_last(1).transient_local());
        assert_eq!(matching(&[], 5), QoS::keep_last(5));
        assert_eq!(matching(&[reliable, latched], 5), QoS::keep_last(5));
        assert_eq!(matching(&[latched, latched], 5), QoS::keep_last(5).transient_local());
        assert_eq!(
            matching(&[latched, latched.best_effort()], 5),
            QoS::keep_last(5).best_effort().transient_local()
        );
    }

    #[test]
    fn profile_reads_as_in_ros2() {
        let qos = QoS::keep_last(7).best_effort().deadline(Duration::from_millis(100));
        let expected = "  Reliability: BEST_EFFORT\n  History (Depth): KEEP_LAST (7)\n  Durability: VOLATILE\n  \
                        Lifespan: Infinite\n  Deadline: 100000000 nanoseconds\n  Liveliness: AUTOMATIC\n  \
                        Liveliness lease duration: Infinite\n";
        assert_eq!(text(&qos, true), expected);
        assert!(text(&qos, false).contains("History (Depth): UNKNOWN\n"));
        assert_eq!(to_json(&qos, false)["depth"], Json::Null);
        assert_eq!(to_json(&QoS::keep_all(), true)["history"], "KEEP_ALL");
    }
}
