//! An idle node.

use std::error::Error;
use std::ops::ControlFlow;

use crate::options::Options;
use crate::talk::StopSignal;
use crate::topic::Topics;

/// Keeps one idle publisher and one idle subscriber until the bench closes standard input.
///
/// # Errors
/// If iceoryx2 fails.
pub fn idle(options: &Options) -> Result<(), Box<dyn Error>> {
    let (status, commands) = (Topics::one("status", options)?, Topics::one("commands", options)?);
    let (_publishers, subscribers) = (status.publishers()?, commands.subscribers()?);
    let stop = StopSignal::on_eof("commands")?;
    subscribers.receive_all(&stop, |_| Ok(ControlFlow::Continue(())))
}
