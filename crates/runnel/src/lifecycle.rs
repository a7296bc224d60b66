//! Lifecycle nodes: ROS 2's managed nodes, whose work other nodes start and stop.

mod interface;
mod node;
mod publisher;
mod services;
mod state_machine;

pub use interface::{CallbackResult, LifecycleNodeInterface};
pub use node::{LifecycleNode, TransitionError};
pub use publisher::LifecyclePublisher;
pub use state_machine::{CallbackReturn, LifecycleState};
