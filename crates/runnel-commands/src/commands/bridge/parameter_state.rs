//! The parameters of one ROS 2 node that a bridge also keeps at the ROS 1 master, without I/O.
//!
//! Both graphs report each change, also those that the bridge makes. A report of the bridge's own change must not be carried
//! back, not even if the value has changed again meanwhile: so values that the bridge has set are expected back.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use runnel::ParameterValue;

/// How long a report of an own change is expected. Not every master reports changes to the node that makes them.
const EXPECTED_FOR: Duration = Duration::from_secs(2);

/// Most own changes of a parameter that are expected to be reported.
const MOST_EXPECTED: usize = 16;

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct ParameterState {
    /// What both graphs have, by the name in ROS 2.
    values: BTreeMap<String, ParameterValue>,
    /// Values set at the master whose reports are expected.
    expected: BTreeMap<String, VecDeque<(ParameterValue, Instant)>>,
}

/// What to do at the master or at the node.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Set this parameter.
    Set(String, ParameterValue),
    /// Delete this parameter.
    Delete(String),
}

impl ParameterState {
    /// The node has these parameters. Returns the changes to make at the master.
    pub fn on_node(&mut self, now_set: BTreeMap<String, ParameterValue>) -> Vec<Change> {
        let deleted = self.values.keys().filter(|name| !now_set.contains_key(*name));
        let mut changes: Vec<Change> = deleted.cloned().map(Change::Delete).collect();
        for (name, value) in &now_set {
            if self.values.get(name) != Some(value) {
                changes.push(Change::Set(name.clone(), value.clone()));
            }
        }
        self.values = now_set;
        changes
    }

    /// The bridge sets a value at the master, which reports it.
    pub fn expect(&mut self, name: &str, value: &ParameterValue, now: Instant) {
        let expected = self.expected.entry(name.to_owned()).or_default();
        if expected.len() == MOST_EXPECTED {
            expected.pop_front();
        }
        expected.push_back((value.clone(), now));
    }

    /// The master reports a value. Returns the change to make at the node.
    pub fn on_master(&mut self, name: &str, value: ParameterValue, now: Instant) -> Option<Change> {
        let known = self.values.get(name)?;
        let value = in_type_of(known, value);
        if let Some(expected) = self.expected.get_mut(name) {
            expected.retain(|(_, at)| now.duration_since(*at) < EXPECTED_FOR);
            if let Some(index) = expected.iter().position(|(own, _)| *own == value) {
                expected.drain(..=index);
                return None;
            }
        }
        (*known != value).then(|| Change::Set(name.to_owned(), value))
    }

    /// The node has accepted a change.
    pub fn accepted(&mut self, name: &str, value: ParameterValue) {
        self.values.insert(name.to_owned(), value);
    }

    /// The value that both graphs have.
    pub fn value(&self, name: &str) -> Option<&ParameterValue> {
        self.values.get(name)
    }

    /// The number of parameters.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Forgets all, and returns their names.
    pub fn clear(&mut self) -> Vec<String> {
        self.expected.clear();
        std::mem::take(&mut self.values).into_keys().collect()
    }
}

/// A value of the master in the type of the parameter, which the master does not know: an integer may be meant as a double,
/// and an empty array has no type.
fn in_type_of(known: &ParameterValue, value: ParameterValue) -> ParameterValue {
    use ParameterValue as Value;
    match (known, value) {
        (Value::Double(_), Value::Integer(number)) => Value::Double(number as f64),
        (Value::DoubleArray(_), Value::IntegerArray(numbers)) => {
            Value::DoubleArray(numbers.into_iter().map(|number| number as f64).collect())
        }
        (known, Value::List(list)) if list.is_empty() => match known {
            Value::BoolArray(_) => Value::BoolArray(Vec::new()),
            Value::IntegerArray(_) => Value::IntegerArray(Vec::new()),
            Value::DoubleArray(_) => Value::DoubleArray(Vec::new()),
            Value::StringArray(_) => Value::StringArray(Vec::new()),
            _ => Value::List(list),
        },
        (_, value) => value,
    }
}

/// The parameters in a value of the master: a namespace has several. `name` is the part behind that of the node.
pub fn flatten(name: &str, value: ParameterValue, into: &mut Vec<(String, ParameterValue)>) {
    match value {
        ParameterValue::Map(members) => {
            for (member, value) in members {
                let separator = if name.is_empty() { "" } else { "." };
                flatten(&format!("{name}{separator}{member}"), value, into);
            }
        }
        value => into.push((name.to_owned(), value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(value: impl Into<ParameterValue>) -> ParameterState {
        let mut state = ParameterState::default();
        let value = value.into();
        let set = BTreeMap::from([("rate".to_owned(), value.clone())]);
        assert_eq!(state.on_node(set), [Change::Set("rate".into(), value)]);
        state
    }

    fn set(value: impl Into<ParameterValue>) -> Option<Change> {
        Some(Change::Set("rate".into(), value.into()))
    }

    #[test]
    fn change_of_one_graph_is_made_in_the_other() {
        let (mut state, now) = (state(1), Instant::now());
        assert_eq!(state.on_master("rate", 2.into(), now), set(2));
        state.accepted("rate", 2.into());
        assert_eq!(state.on_node([("rate".to_owned(), 2.into())].into()), [], "it is known");
        assert_eq!(state.on_node(BTreeMap::new()), [Change::Delete("rate".into())]);
        assert_eq!(state.on_master("other", 1.into(), now), None, "the node has no such parameter");
    }

    #[test]
    fn late_reports_of_own_changes_are_not_carried_back() {
        let (mut state, now) = (state(1), Instant::now());
        for value in [2, 3] {
            state.on_node([("rate".to_owned(), value.into())].into());
            state.expect("rate", &value.into(), now);
        }
        assert_eq!(state.on_master("rate", 2.into(), now), None, "it is 3 by now");
        assert_eq!(state.on_master("rate", 3.into(), now), None);
        assert_eq!(state.on_master("rate", 2.into(), now), set(2), "another node has set it");
    }

    #[test]
    fn expected_reports_are_forgotten() {
        let (mut state, now) = (state(1), Instant::now());
        (0..100).for_each(|_| state.expect("rate", &7.into(), now));
        assert_eq!(state.expected["rate"].len(), MOST_EXPECTED);
        assert_eq!(state.on_master("rate", 7.into(), now + EXPECTED_FOR), set(7));
    }

    #[test]
    fn value_gets_the_type_of_its_parameter() {
        let now = Instant::now();
        assert_eq!(state(1.5).on_master("rate", 2.into(), now), set(2.0));
        let mut list = state(vec![1_i64]);
        let empty = ParameterValue::List(Vec::new());
        assert_eq!(list.on_master("rate", empty, now), set(ParameterValue::IntegerArray(Vec::new())));
    }

    #[test]
    fn namespace_has_several_parameters() {
        let inner = ParameterValue::Map([("b".to_owned(), 1.into())].into());
        let value = ParameterValue::Map([("a".to_owned(), inner), ("c".to_owned(), 2.into())].into());
        let mut found = Vec::new();
        flatten("", value, &mut found);
        assert_eq!(found, [("a.b".to_owned(), 1.into()), ("c".to_owned(), 2.into())]);
    }
}
