//! A node that has nothing to do.

use std::error::Error;
use std::ops::ControlFlow;

use crate::options::Options;
use crate::talk::End;
use crate::topic::Topics;

/// Has one publisher and one subscription, until the bench closes standard input.
///
/// # Errors
/// When iceoryx2 refuses.
pub fn idle(options: &Options) -> Result<(), Box<dyn Error>> {
    let (status, commands) = (Topics::one("status", options)?, Topics::one("commands", options)?);
    let (_outlet, inlet) = (status.outlet()?, commands.inlet()?);
    let end = End::notice("commands")?;
    inlet.each(&end, |_| Ok(ControlFlow::Continue(())))
}
