//! Actions and their clients.

use super::{done, number, value};
use crate::abi::{self, Encoding, Handle};
use crate::error::Error;

pub(crate) fn create_action_client(
    node: Handle,
    action: &str,
    type_name: &str,
    encoding: Encoding,
) -> Result<Handle, Error> {
    let (action, type_name) = ((action.as_ptr(), action.len()), (type_name.as_ptr(), type_name.len()));
    // SAFETY: the host reads the texts.
    number(unsafe { abi::create_action_client(node, action.0, action.1, type_name.0, type_name.1, encoding) })
}

pub(crate) fn action_is_ready(client: Handle) -> Result<bool, Error> {
    // SAFETY: it has no pointers.
    number(unsafe { abi::action_is_ready(client) }).map(|is_ready| is_ready != 0)
}

/// Sends a goal; returns its id.
pub(crate) fn send_goal(client: Handle, goal: &[u8]) -> Result<u64, Error> {
    // SAFETY: the host reads the bytes, and writes one number.
    value(|id| unsafe { abi::send_goal(client, goal.as_ptr(), goal.len(), id) })
}

pub(crate) fn cancel_goal(goal: u64) -> Result<(), Error> {
    // SAFETY: it has no pointers.
    done(unsafe { abi::cancel_goal(goal) })
}

pub(crate) fn create_action_server(
    node: Handle,
    action: &str,
    type_name: &str,
    encoding: Encoding,
) -> Result<Handle, Error> {
    let (action, type_name) = ((action.as_ptr(), action.len()), (type_name.as_ptr(), type_name.len()));
    // SAFETY: the host reads the texts.
    number(unsafe { abi::create_action_server(node, action.0, action.1, type_name.0, type_name.1, encoding) })
}

pub(crate) fn accept_goal(goal: u64) -> Result<(), Error> {
    // SAFETY: it has no pointers.
    done(unsafe { abi::accept_goal(goal) })
}

pub(crate) fn reject_goal(goal: u64, why: &str) -> Result<(), Error> {
    // SAFETY: the host reads the text.
    done(unsafe { abi::reject_goal(goal, why.as_ptr(), why.len()) })
}

pub(crate) fn publish_feedback(goal: u64, feedback: &[u8]) -> Result<(), Error> {
    // SAFETY: the host reads the bytes.
    done(unsafe { abi::publish_feedback(goal, feedback.as_ptr(), feedback.len()) })
}

pub(crate) fn finish_goal(goal: u64, status: i32, text: &str, result: &[u8]) -> Result<(), Error> {
    let (text, result) = ((text.as_ptr(), text.len()), (result.as_ptr(), result.len()));
    // SAFETY: the host reads the text and the bytes.
    done(unsafe { abi::finish_goal(goal, status, result.0, result.1, text.0, text.1) })
}
