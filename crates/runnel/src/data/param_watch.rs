//! Watched parameters, and the queue of changes for their callbacks.

use std::sync::Arc;

use super::events::{Event, EventLimit, Events};
use crate::callback_group::ExclusiveGroup;
use crate::parameters::parameter_value::ParameterValue;
use crate::ready::Dispatch;

/// Limit of waiting changes.
const LIMIT: EventLimit = EventLimit { count: 1000, bytes: 64 << 20 };

/// Limit of waiting values of the node's own parameters, which may all change at once.
const MOST_READS: usize = 20_000;

/// A change of a parameter: its name, and its value unless it was deleted.
pub(crate) type Change = (String, Option<ParameterValue>);

impl Event for Change {
    fn bytes(&self) -> usize {
        self.0.len() + self.1.as_ref().map_or(0, ParameterValue::memory)
    }
}

/// A watched parameter, and the queue of its changes.
pub(crate) struct WatchCore {
    pub(crate) key: String,
    pub(crate) changes: Arc<Events<Change>>,
}

impl WatchCore {
    /// A watched parameter whose changes `callback` gets, in its callback group.
    pub(crate) fn new(
        key: String,
        scheduling: (Dispatch, &Arc<ExclusiveGroup>),
        mut callback: impl FnMut(&str, Option<&ParameterValue>) + Send + 'static,
    ) -> Arc<Self> {
        let call = move |(key, value): Change| callback(&key, value.as_ref());
        Arc::new(Self { key, changes: Events::in_group(LIMIT, scheduling, call) })
    }

    /// Whether a parameter is the watched one, or below it.
    pub(crate) fn concerns(&self, key: &str) -> bool {
        let below = key.strip_prefix(&self.key);
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.key == "/")
    }

    /// Queues a change of the parameter.
    pub(crate) fn changed(&self, key: &str, value: Option<ParameterValue>) {
        self.changes.push((key.to_owned(), value));
    }
}

/// The value of one of the node's own parameters at the master, which the node has read.
pub(crate) struct ParameterRead {
    pub(crate) key: String,
    /// That of the request.
    pub(crate) token: u64,
    /// `None` if it is not set.
    pub(crate) value: Option<ParameterValue>,
}

impl Event for ParameterRead {
    fn bytes(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, ParameterValue::memory)
    }
}

impl ParameterRead {
    /// A queue of values for a callback, in its callback group.
    pub(crate) fn queue(
        scheduling: (Dispatch, &Arc<ExclusiveGroup>),
        callback: impl FnMut(Self) + Send + 'static,
    ) -> Arc<Events<Self>> {
        Events::in_group(EventLimit { count: MOST_READS, ..LIMIT }, scheduling, callback)
    }
}
