//! Actions: long-running goals with feedback, which can be cancelled.
//!
//! In ROS 1 an action is five topics below its name. The client publishes `goal` and `cancel`. The server publishes
//! `status` (the list of all goals that it knows, several times a second), `feedback` and `result`. Each side has a
//! state machine for a goal: [`client_state_machine`] at the client, [`goal_status`](crate::goal_status) and
//! [`goal_registry`] at the server. They know neither topics nor clocks.

mod client;
mod client_state_machine;
mod core;
mod dynamic;
mod futures;
mod goal;
mod goal_handle;
mod goal_registry;
mod header;
mod server;
mod server_core;
mod simple;
mod single_goal_slot;
mod tracker;
mod types;

pub use client::{ActionClient, ClientGoalHandle, GoalOutcome};
pub use dynamic::{DynamicActionClient, DynamicGoalHandle};
pub use futures::FeedbackStream;
pub use goal_handle::GoalHandleBase;
pub use server::{ActionServer, ServerGoalHandle};
pub use simple::{SimpleActionServer, SimpleGoalHandle};

/// Maximum number of goals that a client tracks, and that a server knows, including recently ended ones.
const MAX_GOALS: usize = 1000;
