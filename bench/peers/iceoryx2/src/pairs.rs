//! Ping-pong.

use std::error::Error;
use std::ops::ControlFlow;

use crate::options::Options;
use crate::stamps::{NUMBER, number};
use crate::talk::{End, join, wait_for_go};
use crate::topic::Topics;

/// Sends each message when the one before has come back.
///
/// # Errors
/// When iceoryx2 refuses or the bench has gone, as in all roles.
pub fn ping(options: &Options) -> Result<(), Box<dyn Error>> {
    let (mut sent, mut received) = (options.stamps(), options.stamps());
    let mut message = options.message();
    let (questions, answers) = (Topics::many("ping", options)?, Topics::one("pong", options)?);
    let (outlet, inlet) = (questions.outlet()?, answers.inlet()?);
    let mut send = |number: u64| {
        message[..NUMBER].copy_from_slice(&number.to_le_bytes());
        sent.take(number);
        outlet.send_in_turn(&message)
    };
    join(&[&questions, &answers], &outlet)?;
    wait_for_go()?;
    let end = End::notice("pong")?;
    send(0)?;
    inlet.each(&end, |answer| {
        let number = number(answer);
        received.take(number);
        match number + 1 {
            next if next < options.total => send(next).map(ControlFlow::Continue),
            _ => Ok(ControlFlow::Break(())),
        }
    })?;
    options.write_sent(&sent)?;
    options.write_received(&received)
}

/// Sends back what comes.
pub fn pong(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut received = options.stamps();
    let (questions, answers) = (Topics::many("ping", options)?, Topics::one("pong", options)?);
    let (inlet, outlet) = (questions.inlet()?, answers.outlet()?);
    let end = End::notice("ping")?;
    join(&[&questions, &answers], &outlet)?;
    inlet.each(&end, |question| {
        received.take(number(question));
        outlet.send(question).map(ControlFlow::Continue)
    })?;
    options.write_received(&received)
}
