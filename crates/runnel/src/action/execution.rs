//! Execution of one goal by the user's function.

use std::panic::{AssertUnwindSafe, catch_unwind};

use runnel_core::message::Action;

use super::server::ServerGoalHandle;
use crate::sync::assert_unlocked;

/// Executes a goal. One that is left open is aborted. A panic in one goal must not end the server.
pub(super) fn execute_goal<A: Action>(
    goal: &ServerGoalHandle<A>,
    execute: impl FnOnce() -> Result<(), String>,
) {
    assert_unlocked("the execution of a goal");
    let returned = catch_unwind(AssertUnwindSafe(execute));
    let returned = returned.unwrap_or_else(|_| Err("executing the goal failed with a panic".into()));
    if returned.is_ok() && !is_open(goal) {
        return;
    }
    let text = returned.err().unwrap_or_else(|| "executing the goal ended without saying how".into());
    goal.warn(&text);
    if is_open(goal)
        && let Err(error) = goal.abort(&A::Result::default(), &text)
    {
        goal.warn(error);
    }
}

/// Whether a goal has not ended.
pub(super) fn is_open<A: Action>(goal: &ServerGoalHandle<A>) -> bool {
    !goal.status().is_terminal()
}
