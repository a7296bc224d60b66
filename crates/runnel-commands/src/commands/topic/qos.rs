//! Quality of service: as ros2 prints it, and as users ask for it.

use std::time::Duration;

use runnel::core::qos::{Durability, History, Liveliness, QoS, Reliability};
use serde_json::{Value as Json, json};

/// What the user asks for; what is left out is up to the command.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AskedQos {
    /// QoS of this name, which the other options of QoS change
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    qos_profile: Option<Profile>,

    /// Keep so many messages
    #[arg(long, value_name = "N", help_heading = HEADING, value_parser = depth)]
    qos_depth: Option<usize>,

    /// Keep the last messages, or all
    #[arg(long, value_name = "POLICY", help_heading = HEADING)]
    qos_history: Option<AskedHistory>,

    /// Whether lost messages are sent again
    #[arg(long, value_name = "POLICY", help_heading = HEADING)]
    qos_reliability: Option<AskedReliability>,

    /// Whether who comes late gets earlier messages
    #[arg(long, value_name = "POLICY", help_heading = HEADING)]
    qos_durability: Option<AskedDurability>,
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

fn depth(text: &str) -> Result<usize, String> {
    let depth = text.parse().ok().filter(|depth| (1..=MOST_DEPTH).contains(depth));
    depth.ok_or_else(|| format!("must be a number from 1 to {MOST_DEPTH}"))
}

/// The deepest queue that can be asked for.
const MOST_DEPTH: usize = 1_000_000;

impl AskedQos {
    /// What is asked for, where `otherwise` is what the command would choose.
    pub fn over(&self, otherwise: QoS) -> QoS {
        let mut qos = match self.qos_profile {
            None => otherwise,
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
        match self.qos_durability {
            Some(AskedDurability::TransientLocal) => qos.transient_local(),
            Some(AskedDurability::Volatile | AskedDurability::SystemDefault) => qos.volatile(),
            Some(AskedDurability::BestAvailable) => qos.durability_best_available(),
            None => qos,
        }
    }
}

/// What a subscription asks for to hear all these publishers, as ros2 chooses: reliable if all are, and earlier messages if
/// all keep them.
pub fn matching(publishers: &[QoS], depth: usize) -> QoS {
    let all = |fits: fn(&QoS) -> bool| !publishers.is_empty() && publishers.iter().all(fits);
    let some_lose = publishers.iter().any(|offered| offered.reliability == Reliability::BestEffort);
    let mut qos = QoS::keep_last(depth);
    if some_lose {
        qos = qos.best_effort();
    }
    if all(QoS::is_latching) { qos.transient_local() } else { qos }
}

/// The word for a reliability.
pub fn reliability(of: Reliability) -> &'static str {
    match of {
        Reliability::Reliable => "RELIABLE",
        Reliability::BestEffort => "BEST_EFFORT",
    }
}

/// The word for a durability.
pub fn durability(of: Durability) -> &'static str {
    match of {
        Durability::TransientLocal => "TRANSIENT_LOCAL",
        Durability::Volatile => "VOLATILE",
    }
}

/// The word for a liveliness.
pub fn liveliness(of: Liveliness) -> &'static str {
    match of {
        Liveliness::Automatic => "AUTOMATIC",
        Liveliness::ManualByTopic => "MANUAL_BY_TOPIC",
    }
}

/// A time as ros2 prints it; `None` is for ever.
pub fn time(of: Option<Duration>) -> String {
    of.map_or_else(|| "Infinite".to_owned(), |time| format!("{} nanoseconds", time.as_nanos()))
}

/// History and depth, unless these are not told.
fn history(qos: &QoS, told: bool) -> String {
    match qos.history {
        _ if !told => "UNKNOWN".to_owned(),
        History::KeepAll => "KEEP_ALL".to_owned(),
        History::KeepLast => format!("KEEP_LAST ({})", qos.depth),
    }
}

/// A profile as `ros2 topic info -v` prints it, indented.
pub fn text(qos: &QoS, tells_history: bool) -> String {
    let rows = [
        ("Reliability", reliability(qos.reliability).to_owned()),
        ("History (Depth)", history(qos, tells_history)),
        ("Durability", durability(qos.durability).to_owned()),
        ("Lifespan", time(qos.lifespan)),
        ("Deadline", time(qos.deadline)),
        ("Liveliness", liveliness(qos.liveliness).to_owned()),
        ("Liveliness lease duration", time(qos.liveliness_lease)),
    ];
    rows.iter().map(|(name, value)| format!("  {name}: {value}\n")).collect()
}

/// The same for programs. Times are in nanoseconds; null is for ever, or not known.
pub fn to_json(qos: &QoS, tells_history: bool) -> Json {
    let time = |of: Option<Duration>| of.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let keeps_last = tells_history && qos.history == History::KeepLast;
    let history = match qos.history {
        History::KeepAll => "KEEP_ALL",
        History::KeepLast => "KEEP_LAST",
    };
    json!({
        "reliability": reliability(qos.reliability),
        "history": tells_history.then_some(history),
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
    fn what_is_asked_for_changes_what_the_command_would_choose_and_nothing_else() {
        let otherwise = QoS::keep_last(256).transient_local();
        assert_eq!(AskedQos::default().over(otherwise), otherwise);
        let asked = AskedQos {
            qos_profile: Some(Profile::SensorData),
            qos_depth: Some(7),
            qos_durability: Some(AskedDurability::TransientLocal),
            ..AskedQos::default()
        };
        assert_eq!(asked.over(otherwise), QoS::keep_last(7).best_effort().transient_local());
        let asked = AskedQos {
            qos_history: Some(AskedHistory::KeepAll),
            qos_reliability: Some(AskedReliability::BestEffort),
            ..AskedQos::default()
        };
        assert_eq!(asked.over(QoS::keep_last(9)), QoS { depth: 9, ..QoS::keep_all().best_effort() });
        assert!(depth("0").is_err() && depth("x").is_err() && depth("5") == Ok(5));
    }

    #[test]
    fn what_matches_all_publishers_is_the_least_that_they_offer() {
        let (sure, latched) = (QoS::keep_last(1), QoS::keep_last(1).transient_local());
        assert_eq!(matching(&[], 5), QoS::keep_last(5));
        assert_eq!(matching(&[sure, latched], 5), QoS::keep_last(5));
        assert_eq!(matching(&[latched, latched], 5), QoS::keep_last(5).transient_local());
        assert_eq!(
            matching(&[latched, latched.best_effort()], 5),
            QoS::keep_last(5).best_effort().transient_local()
        );
    }

    #[test]
    fn a_profile_reads_as_ros2_prints_it() {
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
