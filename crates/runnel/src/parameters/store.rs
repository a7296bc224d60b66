//! The parameters of a node, and the rules by which they change.

use runnel_core::sorted::SortedMap;
use runnel_msgs::rcl_interfaces::msg::{ListParametersResult, ParameterDescriptor, ParameterType};

use super::check::check;
use super::limits::{LONGEST_NAME, MOST_IMPLICIT, MOST_IMPLICIT_BYTES};
use super::list::list;
use super::message::declared_type;
use super::{Override, Overrides, Parameter};
use crate::error::ParameterError;
use crate::parameters::parameter_value::ParameterValue;

/// A change of parameters, in the order in which they were set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Change {
    /// Parameters that have a value now, and had none.
    pub(crate) new: Vec<Parameter>,
    /// Parameters with another value, or set to the same one.
    pub(crate) changed: Vec<Parameter>,
    /// Deleted parameters, with their last values.
    pub(crate) deleted: Vec<Parameter>,
}

/// A declared parameter.
struct Declared {
    descriptor: ParameterDescriptor,
    value: Option<ParameterValue>,
    /// It was set without a declaration of the node.
    is_implicit: bool,
}

/// See the module's documentation.
pub(super) struct Store {
    parameters: SortedMap<String, Declared>,
    overrides: Overrides,
    /// Whether parameters may be set, and read as not set, without a declaration.
    allow_undeclared: bool,
    /// Number of implicit parameters, and the bytes of their values.
    implicit: usize,
    implicit_bytes: usize,
}

impl Store {
    pub(super) fn new(overrides: Overrides, allow_undeclared: bool) -> Self {
        Self { parameters: SortedMap::new(), overrides, allow_undeclared, implicit: 0, implicit_bytes: 0 }
    }

    pub(super) fn allow_undeclared(&mut self, allowed: bool) {
        self.allow_undeclared = allowed;
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.parameters.contains_key(name)
    }

    pub(super) fn overrides(&self) -> &Overrides {
        &self.overrides
    }

    /// The value of a parameter.
    ///
    /// # Errors
    /// [`ParameterError::NotDeclared`], unless undeclared parameters are allowed; [`ParameterError::NotSet`] if its type
    /// is static and it has no value yet.
    pub(super) fn get(&self, name: &str) -> Result<Option<&ParameterValue>, ParameterError> {
        match self.parameters.get(name) {
            Some(Declared { value: Some(value), .. }) => Ok(Some(value)),
            Some(declared) if declared.descriptor.dynamic_typing => Ok(None),
            Some(_) => Err(ParameterError::NotSet { name: name.to_owned() }),
            None if self.allow_undeclared => Ok(None),
            None => Err(ParameterError::NotDeclared { name: name.to_owned() }),
        }
    }

    /// All parameters that have a value, by name.
    pub(super) fn values(&self) -> impl Iterator<Item = (&str, &ParameterValue)> {
        self.parameters.iter().filter_map(|(name, declared)| Some((name.as_str(), declared.value.as_ref()?)))
    }

    /// The descriptor of a parameter.
    ///
    /// # Errors
    /// [`ParameterError::NotDeclared`], unless undeclared parameters are allowed.
    pub(super) fn describe(&self, name: &str) -> Result<ParameterDescriptor, ParameterError> {
        match self.parameters.get(name) {
            Some(declared) => Ok(declared.descriptor.clone()),
            None if self.allow_undeclared => {
                Ok(ParameterDescriptor { name: name.to_owned(), ..ParameterDescriptor::default() })
            }
            None => Err(ParameterError::NotDeclared { name: name.to_owned() }),
        }
    }

    /// The number of the type of a parameter's value.
    ///
    /// # Errors
    /// [`ParameterError::NotDeclared`], unless undeclared parameters are allowed.
    pub(super) fn type_of(&self, name: &str) -> Result<u8, ParameterError> {
        match self.parameters.get(name) {
            Some(declared) => Ok(declared_type(declared.value.as_ref())),
            None if self.allow_undeclared => Ok(ParameterType::PARAMETER_NOT_SET),
            None => Err(ParameterError::NotDeclared { name: name.to_owned() }),
        }
    }

    pub(super) fn list(&self, prefixes: &[String], depth: u64) -> ListParametersResult {
        list(self.parameters.keys().map(String::as_str), prefixes, depth)
    }

    /// The value with which a parameter is to be declared: an override, or else the default. `further` is an override
    /// with a lower priority.
    ///
    /// # Errors
    /// If the parameter is declared already, or the value does not fit the descriptor.
    pub(super) fn initial_value(
        &self,
        descriptor: &ParameterDescriptor,
        default: Option<ParameterValue>,
        ignore_override: bool,
        further: Option<Override>,
    ) -> Result<Option<ParameterValue>, ParameterError> {
        let name = &descriptor.name;
        check_name(name)?;
        if self.has(name) {
            return Err(ParameterError::AlreadyDeclared { name: name.clone() });
        }
        if let Some(value) = &default {
            check(descriptor, value)?;
        }
        let given = self.overrides.get(name).cloned().or(further).filter(|_| !ignore_override);
        let Some(Override { value, origin }) = given else { return Ok(default) };
        let value = if descriptor.dynamic_typing { value } else { fitted(value, descriptor.type_) };
        check(descriptor, &value).map_err(|error| error.with_origin(&origin))?;
        Ok(Some(value))
    }

    /// Adds a declared parameter.
    pub(super) fn declare(
        &mut self,
        mut descriptor: ParameterDescriptor,
        value: Option<ParameterValue>,
    ) -> Change {
        if descriptor.dynamic_typing {
            descriptor.type_ = declared_type(value.as_ref());
        }
        let name = descriptor.name.clone();
        let new = value.clone().map(|value| Parameter { name: name.clone(), value: Some(value) });
        self.parameters.insert(name, Declared { descriptor, value, is_implicit: false });
        Change { new: new.into_iter().collect(), ..Change::default() }
    }

    /// Removes a declared parameter.
    ///
    /// # Errors
    /// [`ParameterError::NotDeclared`] or [`ParameterError::ReadOnly`].
    pub(super) fn undeclare(&mut self, name: &str) -> Result<Change, ParameterError> {
        let name = name.to_owned();
        match self.parameters.get(&name) {
            None => return Err(ParameterError::NotDeclared { name }),
            Some(declared) if declared.descriptor.read_only => return Err(ParameterError::ReadOnly { name }),
            Some(_) => {}
        }
        let deleted = self.remove(&name);
        Ok(Change { deleted: deleted.into_iter().collect(), ..Change::default() })
    }

    /// Whether all of these may be set.
    ///
    /// # Errors
    /// The first that may not, and why.
    pub(super) fn check(&self, parameters: &[Parameter]) -> Result<(), ParameterError> {
        if parameters.is_empty() {
            return Err(ParameterError::Empty);
        }
        let unknown = parameters.iter().filter(|parameter| !self.has(&parameter.name)).count();
        if self.allow_undeclared && self.implicit + unknown > MOST_IMPLICIT {
            return Err(ParameterError::TooMany { limit: MOST_IMPLICIT });
        }
        let added: usize = parameters.iter().map(|parameter| self.implicit_size(parameter)).sum();
        if added > 0 && self.implicit_bytes + added > MOST_IMPLICIT_BYTES {
            return Err(ParameterError::TooManyBytes { limit: MOST_IMPLICIT_BYTES });
        }
        parameters.iter().try_for_each(|parameter| self.check_one(parameter))
    }

    /// The bytes of a value that is to be set, if the parameter is or becomes an implicit one.
    fn implicit_size(&self, Parameter { name, value }: &Parameter) -> usize {
        let is_implicit = self.parameters.get(name).is_none_or(|declared| declared.is_implicit);
        value.as_ref().filter(|_| is_implicit).map_or(0, ParameterValue::memory)
    }

    fn check_one(&self, Parameter { name, value }: &Parameter) -> Result<(), ParameterError> {
        check_name(name)?;
        match (self.parameters.get(name), value) {
            (None, _) if !self.allow_undeclared => Err(ParameterError::NotDeclared { name: name.clone() }),
            (None, _) if name.len() > LONGEST_NAME => {
                Err(ParameterError::NameTooLong { limit: LONGEST_NAME })
            }
            (None, Some(value)) => check(&undeclared_descriptor(name), value),
            (None, None) => Ok(()),
            (Some(declared), _) if declared.descriptor.read_only => {
                Err(ParameterError::ReadOnly { name: name.clone() })
            }
            (Some(declared), Some(value)) => check(&declared.descriptor, value),
            (Some(declared), None) if declared.descriptor.dynamic_typing => Ok(()),
            (Some(_), None) => Err(ParameterError::StaticType { name: name.clone() }),
        }
    }

    /// Sets checked parameters. One without a value is deleted.
    pub(super) fn set(&mut self, parameters: &[Parameter]) -> Change {
        let mut change = Change::default();
        for parameter in parameters {
            match &parameter.value {
                Some(value) => self.set_one(parameter, value, &mut change),
                None => change.deleted.extend(self.remove(&parameter.name)),
            }
        }
        change
    }

    /// Removes a parameter. Returns it with its last value, if it had one.
    fn remove(&mut self, name: &str) -> Option<Parameter> {
        let declared = self.parameters.remove(name)?;
        if declared.is_implicit {
            self.implicit -= 1;
            self.implicit_bytes -= declared.value.as_ref().map_or(0, ParameterValue::memory);
        }
        Some(Parameter::new(name, declared.value?))
    }

    fn set_one(&mut self, parameter: &Parameter, value: &ParameterValue, change: &mut Change) {
        let name = &parameter.name;
        if !self.has(name) {
            self.implicit += 1;
            let descriptor = undeclared_descriptor(name);
            let declared = Declared { descriptor, value: None, is_implicit: true };
            self.parameters.insert(name.clone(), declared);
        }
        let Some(declared) = self.parameters.get_mut(name) else { return };
        if declared.descriptor.dynamic_typing {
            declared.descriptor.type_ = declared_type(Some(value));
        }
        let kind = if declared.value.is_some() { &mut change.changed } else { &mut change.new };
        kind.push(parameter.clone());
        let before = declared.value.replace(value.clone());
        if declared.is_implicit {
            self.implicit_bytes += value.memory();
            self.implicit_bytes -= before.as_ref().map_or(0, ParameterValue::memory);
        }
    }
}

fn undeclared_descriptor(name: &str) -> ParameterDescriptor {
    ParameterDescriptor { name: name.to_owned(), dynamic_typing: true, ..ParameterDescriptor::default() }
}

/// A name must not be empty, as in rclcpp, nor contain control characters, which lists could not show.
fn check_name(name: &str) -> Result<(), ParameterError> {
    match name {
        "" => Err(ParameterError::InvalidName { name: String::new() }),
        _ if name.chars().any(char::is_control) => Err(ParameterError::InvalidName { name: name.to_owned() }),
        _ => Ok(()),
    }
}

/// The value of an override, or of the ROS 1 parameter server, for a parameter of a static type.
///
/// Unlike rclcpp, an integer is accepted for a double, since `rate: 5` means `5.0` to its writer, and an empty list for
/// an array of any type.
pub(crate) fn fitted(value: ParameterValue, declared: u8) -> ParameterValue {
    match (declared, value) {
        (ParameterType::PARAMETER_DOUBLE, ParameterValue::Integer(number)) => (number as f64).into(),
        (ParameterType::PARAMETER_DOUBLE_ARRAY, ParameterValue::IntegerArray(numbers)) => {
            numbers.into_iter().map(|number| number as f64).collect::<Vec<f64>>().into()
        }
        (declared, ParameterValue::List(values)) if values.is_empty() => match declared {
            ParameterType::PARAMETER_BYTE_ARRAY => ParameterValue::ByteArray(Vec::new()),
            ParameterType::PARAMETER_BOOL_ARRAY => ParameterValue::BoolArray(Vec::new()),
            ParameterType::PARAMETER_INTEGER_ARRAY => ParameterValue::IntegerArray(Vec::new()),
            ParameterType::PARAMETER_DOUBLE_ARRAY => ParameterValue::DoubleArray(Vec::new()),
            ParameterType::PARAMETER_STRING_ARRAY => ParameterValue::StringArray(Vec::new()),
            _ => ParameterValue::List(values),
        },
        // [1, 2.5] is a list of numbers to its writer.
        (ParameterType::PARAMETER_DOUBLE_ARRAY, ParameterValue::List(values)) => doubles(values),
        (_, value) => value,
    }
}

/// The array of doubles, if all values are numbers.
fn doubles(values: Vec<ParameterValue>) -> ParameterValue {
    let number = |value: &ParameterValue| match value {
        ParameterValue::Double(number) => Some(*number),
        ParameterValue::Integer(number) => Some(*number as f64),
        _ => None,
    };
    let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
    numbers.map_or(ParameterValue::List(values), ParameterValue::DoubleArray)
}

#[cfg(test)]
mod tests;
