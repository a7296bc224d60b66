//! Parameters of one node: their values and descriptors, the callbacks that accept changes, and the messages of the
//! parameter services. Nothing here knows the graph.
//!
//! The rules are those of rclcpp 28 (`NodeParameters`, `ParameterService`) unless a comment names another.

mod argument_overrides;
mod callbacks;
mod check;
mod declaration;
mod event;
mod limits;
mod list;
mod message;
mod node_parameters;
mod overrides;
mod parameter_files;
pub(crate) mod parameter_value;
mod requests;
mod store;
mod yaml_value;

use crate::parameters::parameter_value::ParameterValue;

pub(crate) use argument_overrides::{ARGUMENTS, argument_overrides};
pub use callbacks::ParameterCallbackHandle;
pub use declaration::{DeclaredType, IntoParameterDeclaration, ParameterDeclaration, RangedType};
pub(crate) use event::{PARAMETER_EVENTS, event_message};
pub(crate) use message::from_message;
pub use message::parameter_type_name;
pub(crate) use node_parameters::NodeParameters;
pub(crate) use overrides::{Override, Overrides};
pub(crate) use requests::{
    Answer, describe_parameters, get_parameter_types, get_parameters, list_parameters, set_parameters,
    set_parameters_atomically,
};
pub(crate) use store::{Change, fitted};
use yaml_value::file_value;

/// A parameter: its name, and its value unless it has none. Setting one without a value deletes it, if its type is
/// dynamic.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, such as `limits.speed`.
    pub name: String,
    /// Its value.
    pub value: Option<ParameterValue>,
}

impl Parameter {
    /// A parameter with a value.
    pub fn new(name: impl Into<String>, value: impl Into<ParameterValue>) -> Self {
        Self { name: name.into(), value: Some(value.into()) }
    }

    /// A parameter without a value.
    pub fn not_set(name: impl Into<String>) -> Self {
        Self { name: name.into(), value: None }
    }
}
