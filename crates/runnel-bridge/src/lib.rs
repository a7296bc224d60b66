//! The bridge between ROS 1 and ROS 2 without I/O: which topic is carried in which direction and with which QoS, which
//! types correspond, and how a serialized message of one generation becomes one of the other.
//!
//! - [`decide`](decision::decide) takes what both graphs show of a topic and says what the bridge has to do.
//! - [`TypePair`] has the definitions of a topic's type in both generations, [`ServiceTypes`] and [`ActionTypes`] those of
//!   a service and an action.
//! - [`Plan`] converts messages. It is compiled once per pair of definitions.
//! - [`Rules`] name packages, messages and fields that differ, in the format of `ros1_bridge`.
#![forbid(unsafe_code)]

pub mod decision;
mod patterns;
mod plan;
mod rules;
mod server_types;
mod static_transforms;
mod type_pair;

pub use patterns::Patterns;
pub use plan::{CompileError, ConvertError, ConvertErrorKind, Notes, Plan};
pub use rules::{FieldPair, FieldPath, Rules, RulesError};
pub use server_types::{ActionTypes, AnnouncedServer, ServiceTypes};
pub use static_transforms::StaticTransforms;
pub use type_pair::{AnnouncedType, TypeError, TypePair};
