//! Overrides in parameter files and arguments.

use runnel_core::names::Arguments;

use super::{Override, Overrides, file_value};
use crate::error::Error;
use crate::parameters::parameter_value::ParameterValue;
use crate::settings::environment::{FileParams, argument_value};

/// The origin of values in arguments, for errors.
pub(crate) const ARGUMENTS: &str = "arguments of the node";

/// The parameters that files and arguments give the node of this full name, by their ROS 2 names. Arguments precede files.
///
/// # Errors
/// If the value of an argument is not valid YAML.
pub(crate) fn argument_overrides(
    files: Option<&FileParams>,
    arguments: &Arguments,
    full_name: &str,
    name: &str,
) -> Result<Overrides, Error> {
    let of_files = files.into_iter().flat_map(|files| files.with_lines(full_name));
    let of_files = of_files
        .map(|(name, value, origin)| Ok((name.to_owned(), Override { value: file_value(value), origin })));
    let of_arguments = arguments.params_of(name).map(|param| {
        let (name, value) = match param.is_yaml {
            true => (param.name.clone(), yaml_argument(&param.name, &param.value)?),
            false => (param.name.replace('/', "."), ros1_argument(&param.value)),
        };
        Ok((name, Override { value, origin: ARGUMENTS.to_owned() }))
    });
    of_files.chain(of_arguments).collect()
}

/// The value of an argument `-p name:=value`.
fn yaml_argument(name: &str, text: &str) -> Result<ParameterValue, Error> {
    let value = argument_value(text).map_err(|why| format!("{name}:={text}: {why}"));
    value.map(|value| file_value(&value)).map_err(|why| Error::Environment { variable: "-p", why })
}

/// The value of an argument `_name:=value`, parsed as by roscpp.
fn ros1_argument(text: &str) -> ParameterValue {
    if let Ok(number) = text.parse::<i64>() {
        return number.into();
    }
    match (text, text.parse::<f64>()) {
        (_, Ok(number)) => number.into(),
        ("true" | "True" | "TRUE", _) => true.into(),
        ("false" | "False" | "FALSE", _) => false.into(),
        _ => text.into(),
    }
}
