//! What commands need of ROS 2 alone: types of services and actions, and their events.

mod event_printer;
mod learned_types;
mod service_event;
mod service_types;

pub use event_printer::{EventForm, EventPrinter};
pub use learned_types::described_types;
pub use service_event::event_schema;
pub use service_types::{known_type, service_type};
