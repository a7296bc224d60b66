//! Mirror of a node's own parameters at the ROS 1 parameter server, below the node's private name. Changes go both
//! ways.
//!
//! The master does not say in which order it has applied a change of another program and one of the node. So its
//! notification of a change only makes the node read the value, after all that the node itself has set. The value read is
//! discarded if the node has set the parameter since.

use std::sync::{Arc, Weak};

use runnel_core::names;
use runnel_core::sorted::{SortedMap, SortedSet};

use super::params::ros1_value;
use super::ros1_integers::{is_same_in_ros1, with_large_integers};
use crate::callback_group::CallbackGroup;
use crate::data::{ParameterRead, WatchCore};
use crate::node::NodeInner;
use crate::parameters::parameter_value::ParameterValue;
use crate::parameters::{Change, NodeParameters, Parameter, fitted};
use crate::sync::{Class, Mutex, lock};

/// See the module's documentation.
struct Mirror {
    node: Weak<NodeInner>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The number of the node's last write of each parameter at the master, by keys.
    last_writes: SortedMap<String, u64>,
    /// Parameters that the master cannot have together with these.
    without_place: SortedSet<String>,
    /// Writes of the node.
    writes: u64,
    /// The key and the value that the change in progress takes over from the master.
    adopted: Option<(String, ParameterValue)>,
}

impl NodeInner {
    /// Keeps parameters at the master, if the node is in ROS 1.
    pub(crate) fn mirror_at_master(self: &Arc<Self>, parameters: &NodeParameters) {
        if !self.is_in_ros1() {
            return;
        }
        let state = Mutex::new(Class::MasterParameters, State::default());
        let mirror = Arc::new(Mirror { node: Arc::downgrade(self), state });
        let [observer, reader, watcher] = [(); 3].map(|()| Arc::clone(&mirror));
        parameters.add_observer(Arc::new(move |change| observer.publish(change)));
        let group = CallbackGroup::for_entity(None);
        let scheduling = || (self.executor_dispatch(), &group);
        let reads = ParameterRead::queue(scheduling(), move |read| reader.adopt(read));
        if let Some(slot) = self.driver().nodes.get_mut(self.key) {
            slot.parameter_reads = Some(reads);
        }
        let noticed = move |key: &str, value: Option<&ParameterValue>| watcher.notice(key, value);
        let watch = WatchCore::new(self.full_name().to_owned(), scheduling(), noticed);
        // Only a node that has ended has no engine.
        let _ = self.add_watch(&watch);
    }
}

impl Mirror {
    /// Sends changes of the node to the master.
    fn publish(&self, change: &Change) {
        let Some(node) = self.node.upgrade() else { return };
        for Parameter { name, value } in change.new.iter().chain(&change.changed) {
            if let (Some(key), Some(value)) = (node.master_key(name), value)
                && self.has_place(&node, name, &key)
            {
                self.write(&node, &key, value);
            }
        }
        for Parameter { name, .. } in &change.deleted {
            if let Some(key) = node.master_key(name)
                && lock(&self.state).remove(&key)
            {
                let _ = node.engine(&mut node.driver(), |engine, now| engine.delete_parameter(now, &key));
            }
        }
    }

    /// Whether the master can have a parameter together with the others of the node. Warns once if it cannot.
    fn has_place(&self, node: &NodeInner, name: &str, key: &str) -> bool {
        let mut state = lock(&self.state);
        if state.last_writes.contains_key(key) {
            return true;
        }
        if state.without_place.contains(key) {
            return false;
        }
        let Some(other) = state.conflict(key) else {
            state.last_writes.insert(key.to_owned(), 0);
            return true;
        };
        state.without_place.insert(key.to_owned());
        drop(state);
        let line = format_args!(
            "parameter {name} is not at the parameter server, where {other} is: a name there has either a value or names \
             below it"
        );
        node.log().log_library(log::Level::Warn, line);
        false
    }

    /// Sets a parameter at the master, unless the value is the master's.
    fn write(&self, node: &NodeInner, key: &str, value: &ParameterValue) {
        let is_adopted = lock(&self.state).count_write(key, value);
        let value = ros1_value(value.clone());
        // A node that has ended leaves its parameters as they are.
        let _ = node.engine(&mut node.driver(), |engine, now| match is_adopted {
            true => engine.adopt_parameter(key, value),
            false => engine.set_temporary_parameter(now, key, value),
        });
    }

    /// Handles the notification of a change at the master, of a parameter or of all below a name.
    fn notice(&self, key: &str, value: Option<&ParameterValue>) {
        let Some(node) = self.node.upgrade() else { return };
        match value {
            Some(ParameterValue::Map(members)) => {
                for (name, value) in members {
                    self.notice(&names::join(key, name), Some(value));
                }
            }
            Some(value) => self.request(&node, key, value),
            // A deleted parameter stays with its node, as one that roscpp has read.
            None => {}
        }
    }

    /// Reads a parameter that another program has set.
    fn request(&self, node: &NodeInner, key: &str, value: &ParameterValue) {
        let Some((_, _, current)) = self.mirrored(node, key) else { return };
        if !current.is_some_and(|current| is_same_in_ros1(&current, value)) {
            let token = lock(&self.state).last_write(key);
            let _ = node.engine(&mut node.driver(), |engine, now| engine.read_parameter(now, key, token));
        }
    }

    /// The node's parameter with this key, if it is at the master: its name and its value.
    fn mirrored<'a>(
        &self,
        node: &'a NodeInner,
        key: &str,
    ) -> Option<(String, &'a Arc<NodeParameters>, Option<ParameterValue>)> {
        let name = node.own_name(key)?;
        let parameters = node.declared_parameters().filter(|parameters| parameters.has(&name))?;
        let has_place = node.master_key(&name).is_some() && lock(&self.state).conflict(key).is_none();
        let current = parameters.get(&name).ok().flatten();
        has_place.then_some((name, parameters, current))
    }

    /// Takes over a value that was read, unless the node has set the parameter since.
    fn adopt(&self, ParameterRead { key, token, value }: ParameterRead) {
        let Some(node) = self.node.upgrade() else { return };
        let (Some(value), Some((name, parameters, current))) = (value, self.mirrored(&node, &key)) else {
            return;
        };
        let is_namespace = matches!(value, ParameterValue::Map(_));
        if is_namespace || current.is_some_and(|current| is_same_in_ros1(&current, &value)) {
            return;
        }
        let Ok(descriptor) = parameters.describe(&name) else { return };
        let value = with_large_integers(value);
        let value = if descriptor.dynamic_typing { value } else { fitted(value, descriptor.type_) };
        let is_latest = || lock(&self.state).begin_adoption(&key, token, &value);
        let adopted = parameters.set_if(Parameter::new(&name, value.clone()), is_latest);
        let Err(why) = adopted else { return };
        lock(&self.state).adopted = None;
        let line = format_args!("the parameter server's value of {key} is refused: {why}");
        node.log().log_library(log::Level::Warn, line);
        parameters.with_value(&name, |current| self.write(&node, &key, current));
    }
}

impl State {
    /// A mirrored key that is above or below this one, since ROS 1 has no name with a value and names below it.
    fn conflict(&self, key: &str) -> Option<String> {
        let above = std::iter::successors(Some(key), |key| key.rsplit_once('/').map(|(above, _)| above));
        let above = above.skip(1).find(|above| self.last_writes.contains_key(*above));
        let prefix = format!("{key}/");
        let below = || self.last_writes.range(prefix.clone()..).next().map(|(below, _)| below.as_str());
        above.or_else(|| below().filter(|below| below.starts_with(&prefix))).map(str::to_owned)
    }

    /// Removes a parameter. True if the master has it.
    fn remove(&mut self, key: &str) -> bool {
        self.without_place.remove(key);
        self.last_writes.remove(key).is_some()
    }

    /// The number of the node's last write of a parameter.
    fn last_write(&self, key: &str) -> u64 {
        self.last_writes.get(key).copied().unwrap_or_default()
    }

    /// Counts a write. True if the value is the master's, which needs no write.
    fn count_write(&mut self, key: &str, value: &ParameterValue) -> bool {
        let is_adopted = self.adopted.take().is_some_and(|(of, adopted)| of == key && adopted == *value);
        if !is_adopted {
            self.writes += 1;
            self.last_writes.insert(key.to_owned(), self.writes);
        }
        is_adopted
    }

    /// Begins to take over a value that was read with this token. False if the node has set the parameter since.
    fn begin_adoption(&mut self, key: &str, token: u64, value: &ParameterValue) -> bool {
        let is_latest = self.last_write(key) == token;
        self.adopted = is_latest.then(|| (key.to_owned(), value.clone()));
        is_latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_stale_after_write_of_node() {
        let mut state = State::default();
        assert!(!state.count_write("/n/a", &1.into()));
        let token = state.last_write("/n/a");
        assert!(state.begin_adoption("/n/a", token, &2.into()));
        assert!(state.count_write("/n/a", &2.into()), "the master has it");
        assert_eq!(state.last_write("/n/a"), token);
        assert!(!state.count_write("/n/a", &2.into()), "the node's own write of the same value is sent");
        assert!(!state.begin_adoption("/n/a", token, &3.into()));
        assert!(!state.count_write("/n/a", &3.into()));
    }

    #[test]
    fn name_with_value_conflicts_with_names_below() {
        let mut state = State::default();
        for key in ["/n/limits/low", "/n/rate", "/n/rate-limit"] {
            state.count_write(key, &1.into());
        }
        assert_eq!(state.conflict("/n/limits").as_deref(), Some("/n/limits/low"));
        assert_eq!(state.conflict("/n/rate/max/soft").as_deref(), Some("/n/rate"));
        for key in ["/n/limits/low", "/n/limits/high", "/n/rat", "/n/other", "/n/rate"] {
            assert_eq!(state.conflict(key), None, "{key}");
        }
    }
}
