//! Actions: long-running goals with feedback, which can be canceled.
//!
//! In ROS 1 an action is five topics below its name. The client publishes `goal` and `cancel`. The server publishes
//! `status` (the list of all goals that it knows, several times a second), `feedback` and `result`.
//!
//! In ROS 2 an action is three services and two topics below `_action`. The client calls `send_goal`, `get_result` and
//! `cancel_goal`. The server publishes `feedback` and `status` (the list of all accepted goals, after each change).
//!
//! Each side has a state machine for a goal, which serves both generations: [`client_state_machine`] at the client,
//! [`goal_status`](crate::goal_status) and [`goal_registry`] at the server, with the rules of ROS 2 in [`ros2_goals`].
//! They know neither topics nor clocks. `client_ros1` and `client_ros2`, `server_ends` and `server_inputs` connect them
//! to the graphs.

mod client;
mod client_input;
mod client_ros1;
mod client_ros2;
mod client_state_machine;
mod concurrent;
mod content;
mod core;
mod dynamic;
mod dynamic_server;
mod execution;
mod futures;
mod goal;
mod goal_handle;
mod goal_registry;
mod goal_requests;
mod goal_table;
mod header;
mod ros2_goals;
mod ros2_message;
mod ros2_request;
mod ros2_service;
mod server;
mod server_arrivals;
mod server_core;
mod server_ends;
mod server_inputs;
mod server_output;
mod server_requests;
mod server_types;
mod simple;
mod single_goal_slot;
mod tracker;
mod types;

pub use client::{ActionClient, ClientGoalHandle, GoalOutcome};
pub use dynamic::{DynamicActionClient, DynamicGoalHandle};
pub use dynamic_server::{DynamicActionServer, DynamicServerGoalHandle};
pub use futures::FeedbackStream;
pub use goal_handle::GoalHandleBase;
pub use server::{ActionServer, ServerGoalHandle};
pub use simple::{SimpleActionServer, SimpleGoalHandle};

/// Maximum number of goals that a client tracks, and that a server knows, including recently ended ones.
const MAX_GOALS: usize = 1000;
