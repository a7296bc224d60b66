//! Prototypes of types: a message with default values, for `topic pub` and similar commands.

use std::sync::Arc;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::Schema;

use super::Found;
use crate::error::CliError;
use crate::python_yaml::{PrintOptions, tree};

/// A message, the request of a service or the goal of an action with default values, in YAML.
///
/// # Errors
/// If it has no default value, since it is too large.
pub fn prototype(found: &Found) -> Result<String, CliError> {
    let schema: &Arc<Schema> = match found {
        Found::Message(schema) => schema,
        Found::Service(service) => &service.request,
        Found::Action(action) => &action.goal,
    };
    let message = DynamicMessage::default_of(schema).map_err(CliError::failed)?;
    Ok(tree(&message, PrintOptions::default()).block())
}
