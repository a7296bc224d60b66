//! One condition of a rule, such as `/battery percentage < 0.3`.

use std::time::{Duration, Instant};

use super::duration;
use super::quantity::{Measurements, Quantity, Value};
use super::schedule::{LocalTime, Schedule};
use crate::similar;

/// What may begin a condition, but for topics.
const SUBJECTS: [&str; 4] = ["cpu", "round_trip", "loss", "time"];

/// Longer ones first, since the others are their beginnings.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("!=", Comparison::Different),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
    Different,
}

/// A condition, which holds or does not hold at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// As the user wrote it.
    pub text: String,
    pub kind: Kind,
}

/// What a condition is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A measured value.
    Measured { quantity: Quantity, comparison: Comparison, limit: Value },
    /// The time.
    During(Schedule),
}

/// The instant for which conditions are evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    pub steady: Instant,
    pub local: LocalTime,
}

/// A condition at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// `None` if it is not known.
    pub holds: Option<bool>,
    /// The measured value, or why there is none.
    pub measured: String,
}

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    /// What is wrong, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let subject =
            text.split(|byte: char| byte.is_whitespace() || "<>=!".contains(byte)).next().unwrap_or_default();
        let kind = match subject {
            "time" => Kind::During(Schedule::parse(&text["time".len()..])?),
            _ if subject.starts_with('/') || SUBJECTS.contains(&subject) => measured(text)?,
            _ => {
                let meant = similar::meant(subject, SUBJECTS);
                return Err(format!(
                    "{text:?} begins with {subject:?}{meant}: a condition begins with {}, or a topic, as in \"/battery \
                     percentage < 0.3\"",
                    SUBJECTS.join(", ")
                ));
            }
        };
        Ok(Self { text: text.to_owned(), kind })
    }

    /// Whether it holds. A value that is older than `stale` is not known.
    pub fn evaluate(&self, now: Now, measurements: &Measurements, stale: Duration) -> Evaluated {
        let (quantity, comparison, limit) = match &self.kind {
            Kind::During(schedule) => {
                return Evaluated { holds: Some(schedule.holds(now.local)), measured: now.local.to_string() };
            }
            Kind::Measured { quantity, comparison, limit } => (quantity, *comparison, limit),
        };
        let unknown = |measured: String| Evaluated { holds: None, measured };
        let Some((value, age)) = measurements.get(quantity, now.steady) else {
            return unknown("not measured yet".to_owned());
        };
        let measured = quantity.shown(value);
        if age > stale {
            return unknown(format!("{measured}, {} ago", duration::shown(age)));
        }
        match compare(value, comparison, limit) {
            Some(holds) => Evaluated { holds: Some(holds), measured },
            None => unknown(format!("{measured}, which cannot be compared")),
        }
    }
}

/// `None` for values that have no order, such as NaN, and for those of different kinds.
fn compare(value: &Value, comparison: Comparison, limit: &Value) -> Option<bool> {
    let order = match (value, limit) {
        (Value::Number(value), Value::Number(limit)) => value.partial_cmp(limit)?,
        (Value::Text(value), Value::Text(limit)) => value.cmp(limit),
        (Value::Bool(value), Value::Bool(limit)) => value.cmp(limit),
        _ => return None,
    };
    Some(match comparison {
        Comparison::Below => order.is_lt(),
        Comparison::AtMost => order.is_le(),
        Comparison::Above => order.is_gt(),
        Comparison::AtLeast => order.is_ge(),
        Comparison::Equal => order.is_eq(),
        Comparison::Different => order.is_ne(),
    })
}

/// A condition that compares a value.
fn measured(text: &str) -> Result<Kind, String> {
    let found = text.char_indices().find_map(|(at, _)| {
        let (operator, comparison) =
            COMPARISONS.iter().find(|(operator, _)| text[at..].starts_with(operator))?;
        Some((&text[..at], *comparison, text[at + operator.len()..].trim()))
    });
    let (subject, comparison, limit) = found.ok_or_else(|| {
        let operators: Vec<&str> = COMPARISONS.iter().map(|(operator, _)| *operator).collect();
        format!("{text:?} compares nothing: it needs one of {} and a value", operators.join(", "))
    })?;
    let quantity = quantity(subject).map_err(|why| format!("{text:?}: {why}"))?;
    let limit = value(&quantity, limit).map_err(|why| format!("{text:?}: {why}"))?;
    let is_ordered = !matches!(comparison, Comparison::Equal | Comparison::Different);
    if is_ordered && !matches!(limit, Value::Number(_)) {
        return Err(format!("{text:?}: only numbers have an order: use == or !="));
    }
    Ok(Kind::Measured { quantity, comparison, limit })
}

fn quantity(subject: &str) -> Result<Quantity, String> {
    let words: Vec<&str> = subject.split_whitespace().collect();
    match words.as_slice() {
        ["cpu"] => Ok(Quantity::Cpu),
        ["cpu", ..] => Err("cpu is followed by a comparison".to_owned()),
        [name @ ("round_trip" | "loss"), host] => {
            check_address(host)?;
            let quantity = if *name == "loss" { Quantity::Loss } else { Quantity::RoundTrip };
            Ok(quantity((*host).to_owned()))
        }
        [name @ ("round_trip" | "loss"), ..] => {
            Err(format!("{name} is followed by one host, as in \"{name} station:7411\""))
        }
        [topic, path] => Ok(Quantity::Field { topic: (*topic).to_owned(), path: (*path).to_owned() }),
        _ => Err("a topic is followed by one field, as in \"/battery percentage\" or \"/odom pose.pose.position.x\"".to_owned()),
    }
}

/// Checks an address of a host.
///
/// # Errors
/// If it has not the form HOST:PORT.
pub fn check_address(address: &str) -> Result<(), String> {
    let parts = address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    match parts.and_then(|(_, port)| port.parse::<u16>().ok()) {
        Some(1..) => Ok(()),
        _ => Err(format!("{address:?} is no address of a host, such as \"station:7411\"")),
    }
}

fn value(quantity: &Quantity, text: &str) -> Result<Value, String> {
    let number =
        |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::Number);
    match quantity {
        Quantity::Cpu | Quantity::Loss(_) => {
            let share = match text.strip_suffix('%') {
                Some(percent) => percent.trim().parse().ok().map(|percent: f64| percent / 100.0),
                None => text.parse().ok(),
            };
            let share = share.filter(|share| (0.0..=1.0).contains(share)).map(Value::Number);
            share.ok_or_else(|| format!("{text:?} is no share, such as 80 % or 0.8"))
        }
        Quantity::RoundTrip(_) => duration::parse(text).map(|duration| Value::Number(duration.as_secs_f64())),
        Quantity::Field { .. } => {
            let quoted =
                || text.strip_prefix('"')?.strip_suffix('"').map(|text| Value::Text(text.to_owned()));
            let value = text.parse().ok().map(Value::Bool).or_else(|| number(text)).or_else(quoted);
            value.ok_or_else(|| format!("{text:?} is no value: a number, true, false, or text in quotes"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(topic: &str, path: &str) -> Quantity {
        Quantity::Field { topic: topic.into(), path: path.into() }
    }

    #[test]
    fn conditions_of_each_kind_are_parsed() {
        for (text, quantity, comparison, limit) in [
            ("cpu > 80 %", Quantity::Cpu, Comparison::Above, Value::Number(0.8)),
            ("cpu>=0.5", Quantity::Cpu, Comparison::AtLeast, Value::Number(0.5)),
            (
                "loss station:7411 > 5%",
                Quantity::Loss("station:7411".into()),
                Comparison::Above,
                Value::Number(0.05),
            ),
            (
                "round_trip [::1]:1 < 50 ms",
                Quantity::RoundTrip("[::1]:1".into()),
                Comparison::Below,
                Value::Number(0.05),
            ),
            (
                "/battery percentage <= 0.3",
                field("/battery", "percentage"),
                Comparison::AtMost,
                Value::Number(0.3),
            ),
            (
                "/mode data == \"a < b\"",
                field("/mode", "data"),
                Comparison::Equal,
                Value::Text("a < b".into()),
            ),
            ("/on data != true", field("/on", "data"), Comparison::Different, Value::Bool(true)),
        ] {
            let kind = Kind::Measured { quantity, comparison, limit };
            assert_eq!(Condition::parse(text), Ok(Condition { text: text.into(), kind }));
        }
        let during = Kind::During(Schedule::parse("22:00-06:00 mon").unwrap());
        assert_eq!(Condition::parse("time 22:00-06:00 mon").unwrap().kind, during);
    }

    #[test]
    fn other_conditions_are_refused_with_what_is_allowed() {
        for (text, part) in [
            ("", "begins with \"\": a condition begins with cpu, round_trip, loss, time, or a topic"),
            ("cpo > 1", "(did you mean cpu?)"),
            ("battery percentage < 0.3", "or a topic, as in \"/battery percentage < 0.3\""),
            ("cpu", "it needs one of <=, >=, ==, !=, <, >"),
            ("cpu load > 1", "cpu is followed by a comparison"),
            ("cpu > 101 %", "is no share, such as 80 % or 0.8"),
            ("cpu > nan", "is no share"),
            ("loss > 5 %", "loss is followed by one host"),
            ("loss station > 5 %", "is no address of a host, such as \"station:7411\""),
            ("loss station:0 > 5 %", "is no address of a host"),
            ("round_trip station:1 > 50", "is no duration, such as"),
            ("/battery < 0.3", "a topic is followed by one field"),
            ("/battery percentage < low", "is no value: a number, true, false, or text in quotes"),
            ("/battery percentage < \"low\"", "only numbers have an order"),
            ("/on data > true", "only numbers have an order"),
            ("time 8-18", "is no time of the day"),
        ] {
            let error = Condition::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn values_that_cannot_be_compared_are_not_known() {
        let condition = Condition::parse("/battery percentage < 0.3").unwrap();
        let quantity = field("/battery", "percentage");
        let steady = Instant::now();
        let evaluate = |value: Option<Value>, age: u64| {
            let mut measurements = Measurements::default();
            if let Some(value) = value {
                measurements.set(quantity.clone(), value, steady);
            }
            let now =
                Now { steady: steady + Duration::from_secs(age), local: LocalTime { weekday: 0, minute: 0 } };
            let Evaluated { holds, measured } =
                condition.evaluate(now, &measurements, Duration::from_secs(60));
            (holds, measured)
        };
        let number = |number| Some(Value::Number(number));
        assert_eq!(evaluate(number(0.25), 0), (Some(true), "0.25".into()));
        assert_eq!(evaluate(number(f64::from(0.35_f32)), 60), (Some(false), "0.35".into()));
        assert_eq!(evaluate(number(0.25), 61), (None, "0.25, 61 s ago".into()));
        assert_eq!(evaluate(None, 0), (None, "not measured yet".into()));
        assert_eq!(evaluate(number(f64::NAN), 0), (None, "NaN, which cannot be compared".into()));
        assert_eq!(evaluate(Some(Value::Bool(true)), 0), (None, "true, which cannot be compared".into()));
    }
}
