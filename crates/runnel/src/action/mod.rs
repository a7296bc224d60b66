//! Actions: goals that take a while, with feedback on the way, that can be cancelled.
//!
//! In ROS 1 an action is five topics below its name. The client publishes `goal` and `cancel`; the server publishes
//! `status` (the list of all goals that it knows, several times a second), `feedback` and `result`. What either side
//! makes of a goal is a state machine: [`conversation`] on the client's side, [`status`] and [`ledger`] on the server's,
//! which know neither topics nor clocks.

mod client;
mod conversation;
mod core;
mod dynamic;
mod envelope;
mod error;
mod form;
mod goal;
mod ledger;
mod server;
mod server_core;
mod simple;
mod single;
mod status;
mod tracker;

pub use client::{ActionClient, ClientGoalHandle, GoalOutcome};
pub use dynamic::{DynamicActionClient, DynamicGoalHandle};
pub use error::ActionError;
pub use server::{ActionServer, ServerGoalHandle};
pub use simple::{SimpleActionServer, SimpleGoalHandle};
pub use status::GoalStatus;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use runnel_core::time::Time;

use crate::node::Node;

/// Goals that a client follows at once at most, and that a server knows at once, those that ended of late included.
const MAX_GOALS: usize = 1000;

/// Names a goal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GoalId(Arc<str>);

impl GoalId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn of(text: &str) -> Self {
        Self(text.into())
    }

    /// An id that no other goal has: the node's name, a number and the time, as actionlib makes them.
    fn next(node: &Node, now: Time) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
        Self::of(&format!("{}-{number}-{}.{}", node.full_name(), now.sec as u32, now.nanosec))
    }
}

impl fmt::Display for GoalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
