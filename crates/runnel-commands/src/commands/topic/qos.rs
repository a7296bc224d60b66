//! Quality of service: as ros2 prints it, and as users ask for it.

use std::time::Duration;

use runnel::core::qos::{Durability, History, Liveliness, QoS, Reliability};
use serde_json::{Value as Json, json};

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
