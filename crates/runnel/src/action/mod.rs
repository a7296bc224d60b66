//! Actions: goals that take a while, with feedback on the way, that can be cancelled.
//!
//! In ROS 1 an action is five topics below its name. The client publishes `goal` and `cancel`; the server publishes
//! `status` (the list of all goals that it knows, several times a second), `feedback` and `result`. What either side
//! makes of a goal is a state machine: [`client_state_machine`] on the client's side, [`goal_status`](crate::goal_status) and [`goal_registry`] on the server's,
//! which know neither topics nor clocks.

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

/// Goals that a client follows at once at most, and that a server knows at once, those that ended of late included.
const MAX_GOALS: usize = 1000;
