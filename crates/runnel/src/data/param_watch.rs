//! Parameters that are watched, and the changes that wait for their callbacks.

use std::sync::Arc;

use super::events::{Event, Events, Most};
use crate::parameter_value::ParameterValue;
use crate::ready::When;

/// Changes that wait for a callback at most.
const MOST: Most = Most { count: 1000, bytes: 64 << 20 };

/// A change of a parameter: its name, and its value unless it has none any more.
pub(crate) type Change = (String, Option<ParameterValue>);

impl Event for Change {
    fn bytes(&self) -> usize {
        self.0.len() + self.1.as_ref().map_or(0, ParameterValue::memory)
    }
}

/// A parameter that is watched, and what hears of its changes.
pub(crate) struct WatchCore {
    pub(crate) key: String,
    pub(crate) changes: Arc<Events<Change>>,
}

impl WatchCore {
    /// Has `callback` hear of changes.
    pub(crate) fn new(
        key: String,
        when: When,
        mut callback: impl FnMut(&str, Option<&ParameterValue>) + Send + 'static,
    ) -> Arc<Self> {
        let hear = move |(key, value): Change| callback(&key, value.as_ref());
        Arc::new(Self { key, changes: Events::new(MOST, when, hear) })
    }

    /// Whether a parameter is the one that is watched, or below it.
    pub(crate) fn concerns(&self, key: &str) -> bool {
        let below = key.strip_prefix(&self.key);
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.key == "/")
    }

    /// A parameter has changed.
    pub(crate) fn changed(&self, key: &str, value: Option<ParameterValue>) {
        self.changes.push((key.to_owned(), value));
    }
}
