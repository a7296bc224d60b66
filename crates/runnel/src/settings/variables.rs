//! Environment variables of the process.

use std::env;

/// The value of a variable that is set and not empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
