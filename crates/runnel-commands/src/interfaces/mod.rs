//! Message, service and action types by the names that users type, and their definitions as text.

mod definition;
mod found;

pub use definition::{definition_text, full_type};
pub use found::Found;
