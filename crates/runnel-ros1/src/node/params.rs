//! Parameters that the node sets, and its parameter subscriptions. Both are registered again with a master that
//! returns.

use runnel_core::time::Instant;

use super::event::NodeEvent;
use super::{Node, Role};
use crate::xmlrpc::Value;

impl Node {
    /// Sets a parameter, as `_name:=value` on a command line does. It stays when the node ends. Of several values for a
    /// parameter, the master gets the last one last.
    pub fn set_parameter(&mut self, now: Instant, key: &str, value: Value) {
        self.registrar.want_changed(Role::Parameter, key);
        self.parameters.insert(key.to_owned(), value);
        self.ask_master(now);
        // A value that cannot be encoded is refused immediately.
        self.serve_rpc(now);
    }

    /// Stops to set a parameter again with a master that returns.
    pub fn forget_parameter(&mut self, key: &str) {
        self.registrar.drop_entry(Role::Parameter, key);
        self.parameters.remove(key);
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

    /// Method and parameters of the registration call; `None` if it was cancelled.
    pub(super) fn parameter_registration(&self, role: Role, key: &str) -> Option<(&'static str, [Value; 3])> {
        let name = Value::from(self.config.name.as_str());
        match role {
            Role::Parameter => Some(("setParam", [name, key.into(), self.parameters.get(key)?.clone()])),
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
