//! Parameters: those that are to be set for this node, and those whose changes it wants to hear of. A master that comes
//! back is told of both again.

use runnel_core::time::Instant;

use super::event::NodeEvent;
use super::{Node, Role};
use crate::xmlrpc::Value;

impl Node {
    /// Sets a parameter, as command lines do with `_name:=value`. It stays when the node ends.
    pub fn set_parameter(&mut self, now: Instant, key: &str, value: Value) {
        self.registrar.want(Role::Parameter, key);
        self.parameters.insert(key.to_owned(), value);
        self.ask_master(now);
        // A value that cannot be written is refused at once.
        self.serve_rpc(now);
    }

    /// Has changes of a parameter, and of those below it, told as [`NodeEvent::ParameterChanged`], its present value
    /// first. Once for each key.
    pub fn watch_parameter(&mut self, now: Instant, key: &str) {
        self.registrar.want(Role::ParamSubscriber, key);
        self.ask_master(now);
    }

    /// Ends [`Self::watch_parameter`].
    pub fn unwatch_parameter(&mut self, now: Instant, key: &str) {
        self.registrar.forget(Role::ParamSubscriber, key);
        self.ask_master(now);
    }

    /// What the master is called with, and the method; `None` if it is not wanted any more.
    pub(super) fn parameter_registration(&self, role: Role, key: &str) -> Option<(&'static str, [Value; 3])> {
        let name = Value::from(self.config.name.as_str());
        match role {
            Role::Parameter => Some(("setParam", [name, key.into(), self.parameters.get(key)?.clone()])),
            _ => Some(("subscribeParam", [name, self.uri().into(), key.into()])),
        }
    }

    /// A parameter has a value, or none: then the master tells an empty struct.
    pub(super) fn parameter_told(&mut self, key: &str, value: &Value) {
        // What the original tells has a slash at its end.
        let key = if key == "/" { key } else { key.trim_end_matches('/') }.to_owned();
        let value =
            Some(value.clone()).filter(|value| !matches!(value, Value::Struct(map) if map.is_empty()));
        self.events.push_back(NodeEvent::ParameterChanged { key, value });
    }
}
