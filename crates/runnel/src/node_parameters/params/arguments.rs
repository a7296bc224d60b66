//! Parameters that files and arguments give a node.

use runnel_core::names;
use runnel_ros1::node::Role;
use runnel_ros1::xmlrpc::Value;

use crate::error::{Error, Ros1Feature};
use crate::node::NodeInner;
use crate::parameters::ARGUMENTS;
use crate::parameters::parameter_value::{OutOfRange, ParameterValue};

impl NodeInner {
    /// Sets this node's parameters from the arguments, and returns when the master has them.
    pub(crate) fn set_argument_params(&self) -> Result<(), Error> {
        if !self.is_in_ros1() {
            return Ok(());
        }
        for (name, given) in self.overrides.clone() {
            if self.is_kept_from_master(&name) {
                continue;
            }
            let private = format!("~{}", name.replace('.', "/"));
            let key = match names::resolve(&self.namespace, &self.name, &private) {
                Ok(key) => key,
                // ROS 2 has more names than ROS 1.
                Err(error) => {
                    let line = format_args!("parameter {name} is not at the parameter server: {error}");
                    self.log().log_library(log::Level::Warn, line);
                    continue;
                }
            };
            let value = ros1_value(given.value);
            self.engine(&mut self.driver(), |node, now| node.set_parameter(now, &key, value))?;
            self.wait_registered(Role::Parameter, &key)?;
        }
        Ok(())
    }

    /// The node's own value of the parameter with this absolute name: of a declared one or, before its declaration, that
    /// of files and arguments.
    pub(super) fn own_param(&self, key: &str) -> Result<Option<ParameterValue>, Error> {
        let name = self.own_name(key).ok_or_else(|| not_own(key))?;
        if let Some(parameters) = self.declared_parameters().filter(|parameters| parameters.has(&name)) {
            return Ok(parameters.get(&name).unwrap_or_default());
        }
        Ok(self.overrides.get(&name).map(|given| given.value.clone()))
    }

    /// The name of the node's own parameter that is to be set for this absolute name, if it is one: a declared one or,
    /// in a node that is only in ROS 2, any.
    pub(super) fn own_name_to_set(&self, key: &str) -> Result<Option<String>, Error> {
        let name = self.own_name(key);
        if !self.is_in_ros1() {
            return name.map(Some).ok_or_else(|| not_own(key));
        }
        let is_declared =
            |name: &String| self.declared_parameters().is_some_and(|declared| declared.has(name));
        Ok(name.filter(is_declared))
    }

    /// The ROS 2 name of the parameter with this absolute name, if it is below the node's own.
    pub(crate) fn own_name(&self, key: &str) -> Option<String> {
        Some(key.strip_prefix(self.full_name())?.strip_prefix('/')?.replace('/', "."))
    }

    /// Where the node's own value of a parameter is from.
    pub(super) fn own_param_origin(&self, key: &str) -> String {
        let name = self.own_name(key).unwrap_or_default();
        let shared = &self.context.shared;
        let mut arguments = self.options.arguments(shared).params_of(&self.name);
        let is_argument = arguments.any(|param| param.name.replace('/', ".") == name);
        match shared.settings.params.file_of(self.full_name(), &name) {
            Some(file) if !is_argument => format!("params file {file}"),
            _ => ARGUMENTS.to_owned(),
        }
    }
}

fn not_own(key: &str) -> Error {
    Error::Ros1Only { feature: Ros1Feature::SharedParameter(key.to_owned()) }
}

/// A value for the ROS 1 parameter server. Each integer beyond 32 bits becomes the nearest double.
pub(crate) fn ros1_value(value: ParameterValue) -> Value {
    match value {
        ParameterValue::IntegerArray(numbers) => {
            Value::Array(numbers.into_iter().map(|number| ros1_value(number.into())).collect())
        }
        ParameterValue::List(values) => Value::Array(values.into_iter().map(ros1_value).collect()),
        ParameterValue::Map(members) => {
            Value::Struct(members.into_iter().map(|(name, value)| (name, ros1_value(value))).collect())
        }
        value => value.into_ros1().unwrap_or_else(|OutOfRange { number, .. }| Value::Double(number as f64)),
    }
}
