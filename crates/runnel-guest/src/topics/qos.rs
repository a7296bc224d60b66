//! Quality of service as the host reads it.

use std::time::Duration;

use runnel_core::qos::{Durability, History, Liveliness, QoS, Reliability};

use crate::abi;

/// The record of a QoS.
pub(super) fn record(qos: &QoS) -> abi::Qos {
    let best = qos.best_available;
    abi::Qos {
        history: match qos.history {
            History::KeepLast => abi::History::KEEP_LAST,
            History::KeepAll => abi::History::KEEP_ALL,
        },
        depth: u32::try_from(qos.depth).unwrap_or(u32::MAX),
        reliability: match qos.reliability {
            _ if best.reliability => abi::Reliability::BEST_AVAILABLE,
            Reliability::BestEffort => abi::Reliability::BEST_EFFORT,
            Reliability::Reliable => abi::Reliability::RELIABLE,
        },
        durability: match qos.durability {
            _ if best.durability => abi::Durability::BEST_AVAILABLE,
            Durability::Volatile => abi::Durability::VOLATILE,
            Durability::TransientLocal => abi::Durability::TRANSIENT_LOCAL,
        },
        liveliness: match qos.liveliness {
            _ if best.liveliness => abi::Liveliness::BEST_AVAILABLE,
            Liveliness::Automatic => abi::Liveliness::AUTOMATIC,
            Liveliness::ManualByTopic => abi::Liveliness::MANUAL_BY_TOPIC,
        },
        deadline: nanoseconds(qos.deadline),
        lifespan: nanoseconds(qos.lifespan),
        liveliness_lease: nanoseconds(qos.liveliness_lease),
    }
}

/// 0 stands for none.
fn nanoseconds(time: Option<Duration>) -> u64 {
    time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(0))
}
