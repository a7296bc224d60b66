//! What commands need of ROS 2 alone: types of services and actions, and messages as Python prints them.

mod event_printer;
mod learned_types;
mod message_yaml;
mod python_repr;
mod service_event;
mod service_types;

pub use event_printer::{EventForm, EventPrinter};
pub use learned_types::described_types;
pub use message_yaml::message_yaml;
pub use python_repr::python_repr;
pub use service_event::event_schema;
pub use service_types::service_type;
