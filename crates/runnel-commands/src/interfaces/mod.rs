//! Message, service and action types by what the user calls them, and their definitions as text.

mod definition;
mod found;

pub use definition::{definition_text, full_type};
pub use found::Found;
