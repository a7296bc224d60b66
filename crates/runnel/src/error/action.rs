//! Errors of actions.

use std::fmt;

use crate::goal_status::{GoalId, GoalStatus};

/// Why an operation on an action failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActionError {
    /// The client follows as many goals as it can.
    TooManyGoals {
        /// The limit.
        limit: usize,
    },
    /// The status of the server's goal does not allow the operation.
    WrongStatus {
        /// The goal.
        goal: GoalId,
        /// Its status.
        status: GoalStatus,
        /// The requested status.
        wanted: &'static str,
    },
    /// The action server has ended.
    ServerEnded,
}

impl fmt::Display for ActionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyGoals { limit } => write!(f, "this client already tracks {limit} goals"),
            Self::WrongStatus { goal, status, wanted } => {
                write!(f, "goal {goal} is {status} and cannot become {wanted}")
            }
            Self::ServerEnded => f.write_str("the action server has ended"),
        }
    }
}

impl std::error::Error for ActionError {}
