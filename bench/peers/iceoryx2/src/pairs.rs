//! Round trips of messages.

use std::error::Error;
use std::ops::ControlFlow;

use crate::options::Options;
use crate::stamps::{NUMBER, number};
use crate::talk::{StopSignal, join, wait_for_start};
use crate::topic::Topics;

/// Sends each message when the previous one has come back.
///
/// # Errors
/// If iceoryx2 fails or the bench has ended; the same in all roles.
pub fn ping(options: &Options) -> Result<(), Box<dyn Error>> {
    let (mut sent, mut received) = (options.stamps(), options.stamps());
    let mut message = options.message();
    let (questions, answers) = (Topics::many("ping", options)?, Topics::one("pong", options)?);
    let (publishers, subscribers) = (questions.publishers()?, answers.subscribers()?);
    let mut send = |number: u64| {
        message[..NUMBER].copy_from_slice(&number.to_le_bytes());
        sent.record(number);
        publishers.send_round_robin(&message)
    };
    join(&[&questions, &answers], &publishers)?;
    wait_for_start()?;
    let stop = StopSignal::on_eof("pong")?;
    send(0)?;
    subscribers.receive_all(&stop, |answer| {
        let number = number(answer);
        received.record(number);
        match number + 1 {
            next if next < options.total => send(next).map(ControlFlow::Continue),
            _ => Ok(ControlFlow::Break(())),
        }
    })?;
    options.write_sent(&sent)?;
    options.write_received(&received)
}

/// Sends back every message.
pub fn pong(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut received = options.stamps();
    let (questions, answers) = (Topics::many("ping", options)?, Topics::one("pong", options)?);
    let (subscribers, publishers) = (questions.subscribers()?, answers.publishers()?);
    let stop = StopSignal::on_eof("ping")?;
    join(&[&questions, &answers], &publishers)?;
    subscribers.receive_all(&stop, |question| {
        received.record(number(question));
        publishers.send(question).map(ControlFlow::Continue)
    })?;
    options.write_received(&received)
}
