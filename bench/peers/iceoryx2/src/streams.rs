//! Messages in one direction.

use std::error::Error;
use std::ops::ControlFlow;

use crate::options::{Options, Touch};
use crate::stamps::{NUMBER, Pace, number};
use crate::talk::{StopSignal, join, send_ready, wait_for_end, wait_for_start};
use crate::topic::Topics;

/// Sends each message when it is due.
///
/// # Errors
/// If iceoryx2 fails or the bench has ended; the same in all roles.
pub fn source(options: &Options) -> Result<(), Box<dyn Error>> {
    let (mut sent, mut pace) = (options.stamps(), Pace::new(options.rate));
    let mut message = options.message();
    let burst = Topics::many("burst", options)?;
    let publishers = burst.publishers()?;
    join(&[&burst], &publishers)?;
    wait_for_start()?;
    for number in 0..options.total {
        let size = options.size_of(number);
        message[..NUMBER].copy_from_slice(&number.to_le_bytes());
        pace.wait(number);
        sent.record(number);
        match options.touch {
            Touch::Copy => publishers.send(&message[..size])?,
            touch => publishers.send_loaned(size, number, touch)?,
        }
    }
    // Sent messages are in this end's memory.
    wait_for_end();
    options.write_sent(&sent)
}

/// Receives messages until the last one has arrived.
pub fn sink(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut received = options.stamps();
    let burst = Topics::many("burst", options)?;
    let subscribers = burst.subscribers()?;
    let stop = StopSignal::on_eof("burst")?;
    send_ready()?;
    subscribers.receive_all(&stop, |message| {
        let number = number(message);
        if options.touch == Touch::Read && !is_payload_intact(message, number) {
            return Err(format!("the payload of message {number} is not what was sent").into());
        }
        received.record(number);
        let last = number + 1 == options.total;
        Ok(if last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    options.write_received(&received)
}

/// Whether all bytes after the number are what the source wrote.
fn is_payload_intact(message: &[u8], number: u64) -> bool {
    let payload = message.get(NUMBER..).unwrap_or_default();
    let sum: u64 = payload.iter().map(|byte| u64::from(*byte)).sum();
    sum == payload.len() as u64 * (number & 0xff)
}
