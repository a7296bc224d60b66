//! What `topic hz`, `bw` and `delay` have in common.

use std::time::Duration;

use crate::error::CliError;
use crate::output::Output;

/// Messages that wait at most to be counted.
pub const DEPTH: usize = 1000;

/// How often results are printed.
pub const PERIOD: Duration = Duration::from_secs(1);

/// Tells people that messages are waited for.
pub fn subscribed(output: Output, topic: &str) -> Result<(), CliError> {
    if output.json { Ok(()) } else { output.line(&format!("subscribed to [{topic}]")) }
}
