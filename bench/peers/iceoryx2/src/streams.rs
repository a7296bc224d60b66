//! Messages one way.

use std::error::Error;
use std::ops::ControlFlow;

use crate::options::{Options, Touch};
use crate::stamps::{NUMBER, Pace, number};
use crate::talk::{End, join, say_ready, wait_for_end, wait_for_go};
use crate::topic::Topics;

/// Sends each message when it is due.
///
/// # Errors
/// When iceoryx2 refuses or the bench has gone, as in all roles.
pub fn source(options: &Options) -> Result<(), Box<dyn Error>> {
    let (mut sent, mut pace) = (options.stamps(), Pace::new(options.rate));
    let mut message = options.message();
    let burst = Topics::many("burst", options)?;
    let outlet = burst.outlet()?;
    join(&[&burst], &outlet)?;
    wait_for_go()?;
    for number in 0..options.total {
        let size = options.size_of(number);
        message[..NUMBER].copy_from_slice(&number.to_le_bytes());
        pace.wait(number);
        sent.take(number);
        match options.touch {
            Touch::Copy => outlet.send(&message[..size])?,
            touch => outlet.lend(size, number, touch)?,
        }
    }
    // What was sent lies in this end's memory.
    wait_for_end();
    options.write_sent(&sent)
}

/// Takes messages until the last one has come.
pub fn sink(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut received = options.stamps();
    let burst = Topics::many("burst", options)?;
    let inlet = burst.inlet()?;
    let end = End::notice("burst")?;
    say_ready()?;
    inlet.each(&end, |message| {
        let number = number(message);
        if options.touch == Touch::Read && !is_whole(message, number) {
            return Err(format!("the payload of message {number} is not what was sent").into());
        }
        received.take(number);
        let last = number + 1 == options.total;
        Ok(if last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    options.write_received(&received)
}

/// Whether all bytes behind the number are what the source wrote.
fn is_whole(message: &[u8], number: u64) -> bool {
    let payload = message.get(NUMBER..).unwrap_or_default();
    let sum: u64 = payload.iter().map(|byte| u64::from(*byte)).sum();
    sum == payload.len() as u64 * (number & 0xff)
}
