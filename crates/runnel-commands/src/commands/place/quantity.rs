//! What rules measure.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use super::duration;

/// Something that is measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// The share of this host's processors that is in use, from 0 to 1.
    Cpu,
    /// The round-trip time to a host, in seconds.
    RoundTrip(String),
    /// The share of probes to a host that are not answered, from 0 to 1.
    Loss(String),
    /// A field of the last message of a topic.
    Field { topic: String, path: String },
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::RoundTrip(host) => write!(f, "round_trip {host}"),
            Self::Loss(host) => write!(f, "loss {host}"),
            Self::Field { topic, path } => write!(f, "{topic} {path}"),
        }
    }
}

impl Quantity {
    /// A number of this quantity as text.
    fn number(&self, number: f64) -> String {
        match self {
            Self::Cpu | Self::Loss(_) => format!("{} %", (number * 1000.0).round() / 10.0),
            Self::RoundTrip(_) => {
                Duration::try_from_secs_f64(number).map_or_else(|_| number.to_string(), duration::shown)
            }
            // Without the digits that come from the precision of 32-bit numbers.
            Self::Field { .. } => ((number * 1e6).round() / 1e6).to_string(),
        }
    }

    /// A value of this quantity as text.
    pub fn shown(&self, value: &Value) -> String {
        match value {
            Value::Number(number) => self.number(*number),
            Value::Bool(value) => value.to_string(),
            Value::Text(text) => format!("{text:?}"),
        }
    }
}

/// A measured value, or one to compare with.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A truth value.
    Bool(bool),
    /// Text.
    Text(String),
}

/// The last value of each quantity, and when it was measured.
#[derive(Clone, Debug, Default)]
pub struct Measurements {
    values: BTreeMap<Quantity, (Value, Instant)>,
}

impl Measurements {
    /// Adds a value, in place of the last one.
    pub fn set(&mut self, quantity: Quantity, value: Value, now: Instant) {
        self.values.insert(quantity, (value, now));
    }

    /// The last value, and its age.
    pub fn get(&self, quantity: &Quantity, now: Instant) -> Option<(&Value, Duration)> {
        let (value, at) = self.values.get(quantity)?;
        Some((value, now.saturating_duration_since(*at)))
    }
}
