//! Small messages: texts, and pairs of 32-bit integers that pass through three ends.

use std::error::Error;
use std::ops::ControlFlow;

use crate::options::Options;
use crate::stamps::Pace;
use crate::talk::{StopSignal, join, send_ready, wait_for_end, wait_for_start};
use crate::topic::Topics;

const GREETING: &[u8] = b"hello world ";

/// Sends texts.
///
/// # Errors
/// If iceoryx2 fails or the bench has ended; the same in all roles.
pub fn talker(options: &Options) -> Result<(), Box<dyn Error>> {
    send_all("chatter", options, |number| [GREETING, number.to_string().as_bytes()].concat())
}

/// Receives texts.
pub fn listener(options: &Options) -> Result<(), Box<dyn Error>> {
    receive_all("chatter", options, |text| {
        let number = text.strip_prefix(GREETING).ok_or("unexpected text")?;
        Ok(std::str::from_utf8(number)?.parse()?)
    })
}

/// Sends pairs.
pub fn para_in(options: &Options) -> Result<(), Box<dyn Error>> {
    send_all("para", options, |number| pair(number as i32, 1).to_vec())
}

/// Forwards the first integer of each pair, with the sum of both.
pub fn para_add(options: &Options) -> Result<(), Box<dyn Error>> {
    let (paras, sums) = (Topics::one("para", options)?, Topics::one("sum", options)?);
    let (subscribers, publishers) = (paras.subscribers()?, sums.publishers()?);
    let stop = StopSignal::on_eof("para")?;
    join(&[&paras, &sums], &publishers)?;
    subscribers.receive_all(&stop, |para| {
        let (a, b) = parse_pair(para)?;
        publishers.send(&pair(a, a.wrapping_add(b))).map(ControlFlow::Continue)
    })
}

/// Receives the sums.
pub fn add(options: &Options) -> Result<(), Box<dyn Error>> {
    receive_all("sum", options, |sum| {
        let (a, b) = parse_pair(sum)?;
        if b == a.wrapping_add(1) {
            Ok(a as u64)
        } else {
            Err(format!("the sum of {a} and 1 is not {b}").into())
        }
    })
}

/// Sends each message of `make` when it is due.
fn send_all(
    name: &'static str,
    options: &Options,
    make: impl Fn(u64) -> Vec<u8>,
) -> Result<(), Box<dyn Error>> {
    let (mut sent, mut pace) = (options.stamps(), Pace::new(options.rate));
    // Bytes of the longest text.
    let mut options = options.clone();
    options.size = GREETING.len() + 20;
    let topic = Topics::one(name, &options)?;
    let publishers = topic.publishers()?;
    join(&[&topic], &publishers)?;
    wait_for_start()?;
    for number in 0..options.total {
        pace.wait(number);
        sent.record(number);
        publishers.send(&make(number))?;
    }
    // Sent messages are in this end's memory.
    wait_for_end();
    options.write_sent(&sent)
}

/// Receives all messages; `number_in` returns the number of a message.
fn receive_all(
    name: &'static str,
    options: &Options,
    number_in: impl Fn(&[u8]) -> Result<u64, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut received = options.stamps();
    let topic = Topics::one(name, options)?;
    let subscribers = topic.subscribers()?;
    let stop = StopSignal::on_eof(name)?;
    send_ready()?;
    subscribers.receive_all(&stop, |message| {
        let number = number_in(message)?;
        received.record(number);
        let last = number + 1 == options.total;
        Ok(if last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    options.write_received(&received)
}

fn pair(a: i32, b: i32) -> [u8; 8] {
    ((u64::from(b as u32) << 32) | u64::from(a as u32)).to_le_bytes()
}

fn parse_pair(message: &[u8]) -> Result<(i32, i32), Box<dyn Error>> {
    let both = u64::from_le_bytes(*message.first_chunk().ok_or("a pair is too short")?);
    Ok((both as u32 as i32, (both >> 32) as u32 as i32))
}
