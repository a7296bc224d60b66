//! Message, service and action types by the names that users type, and their definitions as text.

mod definition;
mod found;
mod nested;
mod prototype;

pub use definition::{definition_text, full_type};
pub use found::Found;
pub use nested::{Comments, with_nested};
pub use prototype::{default_message, prototype};
