//! Parameters that the node sets, reads and subscribes to. They are set again at a master that returns.

use runnel_core::sorted::{SortedMap, SortedSet};
use runnel_core::time::Instant;

use super::conn::Purpose;
use super::event::NodeEvent;
use super::master_calls::{Failure, answer_value};
use super::{Node, Role};
use crate::rpc::CallError;
use crate::xmlrpc::Value;

/// Parameters that the node sets or reads.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    /// The values that a master that returns gets.
    values: SortedMap<String, Value>,
    /// Those of them that are deleted when the node ends.
    temporary: SortedSet<String>,
    /// Parameters to be read, with the token of the last request.
    reads: SortedMap<String, u64>,
}

impl Node {
    /// Sets a parameter, as `_name:=value` on a command line does. It stays when the node ends. Of several values for a
    /// parameter, the master gets the last one last.
    pub fn set_parameter(&mut self, now: Instant, key: &str, value: Value) {
        self.parameters.temporary.remove(key);
        self.write_parameter(now, key, value);
    }

    /// Sets a parameter. If it is new, it is deleted when the node [ends](Self::begin_close), unless
    /// [`Self::set_parameter`] or [`Self::adopt_parameter`] is called for it.
    pub fn set_temporary_parameter(&mut self, now: Instant, key: &str, value: Value) {
        if !self.parameters.values.contains_key(key) {
            self.parameters.temporary.insert(key.to_owned());
        }
        self.write_parameter(now, key, value);
    }

    fn write_parameter(&mut self, now: Instant, key: &str, value: Value) {
        self.registrar.want_changed(Role::Parameter, key);
        self.parameters.values.insert(key.to_owned(), value);
        self.ask_master(now);
        // A value that cannot be encoded is refused immediately.
        self.serve_rpc(now);
    }

    /// Takes over the value that another program has set at the master: a master that returns gets it. The parameter
    /// stays when the node ends.
    pub fn adopt_parameter(&mut self, key: &str, value: Value) {
        self.parameters.values.insert(key.to_owned(), value);
        self.parameters.temporary.remove(key);
        self.registrar.adopt(Role::Parameter, key);
    }

    /// Deletes a parameter that the node has set.
    pub fn delete_parameter(&mut self, now: Instant, key: &str) {
        self.parameters.temporary.remove(key);
        if self.parameters.values.remove(key).is_some() {
            self.registrar.forget(Role::Parameter, key);
            self.ask_master(now);
        }
    }

    /// Whether the master has not confirmed yet that a parameter is deleted.
    pub fn is_deleting_parameter(&self, key: &str) -> bool {
        self.registrar.is_ending(Role::Parameter, key)
    }

    /// Reads a parameter, once the master has the value that the node has set last. [`NodeEvent::ParameterRead`] reports
    /// the value with `token`. Of several requests for one key that the master has not received, the last counts.
    pub fn read_parameter(&mut self, now: Instant, key: &str, token: u64) {
        self.parameters.reads.insert(key.to_owned(), token);
        self.ask_master(now);
    }

    /// Makes the reads whose turn it is. The calls to the master share a connection, so a read follows the call that sets
    /// the parameter.
    pub(super) fn ask_for_parameters(&mut self, now: Instant) {
        if !self.registrar.can_call() {
            return;
        }
        let (registrar, reads) = (&self.registrar, &mut self.parameters.reads);
        let mut due = Vec::new();
        reads.retain(|key, token| {
            let waits = registrar.is_due(Role::Parameter, key);
            if !waits {
                due.push((key.clone(), *token));
            }
            waits
        });
        for (key, token) in due {
            let params = [self.config.name.as_str().into(), key.as_str().into()];
            self.call_master(now, "getParam", &params, Purpose::ReadParameter { key, token });
        }
    }

    /// A parameter that is not set is reported as such. Without an answer nothing is reported: a master that returns reports
    /// the values of all subscriptions.
    pub(super) fn parameter_read(
        &mut self,
        now: Instant,
        key: String,
        token: u64,
        answer: Result<Value, CallError>,
    ) {
        let value = match answer.map_err(Failure::from).and_then(|value| answer_value(&value)) {
            Ok(value) => Some(value),
            Err(Failure::Refused(_)) => None,
            Err(Failure::Silent(why)) => return self.master_silent(now, why),
        };
        self.events.push_back(NodeEvent::ParameterRead { key, token, value });
    }

    /// Keeps all parameters at the end of the node, when another node of its name may have set them already.
    pub(super) fn keep_parameters(&mut self) {
        self.parameters.temporary.clear();
    }

    /// Whether a registration is to be ended when the node ends. A parameter usually stays.
    pub(super) fn ends_with_node(&self, role: Role, name: &str) -> bool {
        role != Role::Parameter || self.parameters.temporary.contains(name)
    }

    /// Subscribes to a parameter and those in its namespace. [`NodeEvent::ParameterChanged`] reports each change, and
    /// first the current value. Repeated calls for one key have no effect.
    pub fn watch_parameter(&mut self, now: Instant, key: &str) {
        self.registrar.want(Role::ParamSubscriber, key);
        self.ask_master(now);
    }

    /// Ends [`Self::watch_parameter`].
    pub fn unwatch_parameter(&mut self, now: Instant, key: &str) {
        self.registrar.forget(Role::ParamSubscriber, key);
        self.ask_master(now);
    }

    /// Method and parameters of the registration call; `None` if it was canceled.
    pub(super) fn parameter_registration(&self, role: Role, key: &str) -> Option<(&'static str, [Value; 3])> {
        let name = Value::from(self.config.registered_name());
        match role {
            Role::Parameter => {
                Some(("setParam", [name, key.into(), self.parameters.values.get(key)?.clone()]))
            }
            _ => Some(("subscribeParam", [name, self.uri().into(), key.into()])),
        }
    }

    /// A parameter has changed. The master reports a missing value as an empty struct.
    pub(super) fn on_parameter_changed(&mut self, key: &str, value: &Value) {
        // The original master sends keys with a slash at the end.
        let key = if key == "/" { key } else { key.trim_end_matches('/') }.to_owned();
        let value =
            Some(value.clone()).filter(|value| !matches!(value, Value::Struct(map) if map.is_empty()));
        self.events.push_back(NodeEvent::ParameterChanged { key, value });
    }
}
