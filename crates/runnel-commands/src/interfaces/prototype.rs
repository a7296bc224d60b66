//! Prototypes of types: a message with default values, for `topic pub` and similar commands.

use std::sync::Arc;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::Schema;

use super::Found;
use crate::error::CliError;
use crate::python_yaml::{PrintOptions, tree};

/// A message, the request of a service or the goal of an action with default values.
///
/// # Errors
/// If it has no default value, since it is too large.
pub fn default_message(found: &Found) -> Result<DynamicMessage, CliError> {
    let schema: &Arc<Schema> = match found {
        Found::Message(schema) => schema,
        Found::Service(service) => &service.request,
        Found::Action(action) => &action.goal,
    };
    DynamicMessage::default_of(schema).map_err(CliError::failed)
}

/// The same in YAML.
///
/// # Errors
/// As [`default_message`].
pub fn prototype(found: &Found) -> Result<String, CliError> {
    let message = default_message(found)?;
    let options = PrintOptions { generation: message.schema().generation, ..PrintOptions::default() };
    Ok(tree(&message, options).block())
}
