//! Small messages: texts, and pairs of 32-bit integers through a chain of three ends.

use std::error::Error;
use std::ops::ControlFlow;

use crate::options::Options;
use crate::stamps::Pace;
use crate::talk::{End, join, say_ready, wait_for_end, wait_for_go};
use crate::topic::Topics;

const GREETING: &[u8] = b"hello world ";

/// Sends texts.
///
/// # Errors
/// When iceoryx2 refuses or the bench has gone, as in all roles.
pub fn talker(options: &Options) -> Result<(), Box<dyn Error>> {
    send_all("chatter", options, |number| [GREETING, number.to_string().as_bytes()].concat())
}

/// Takes texts.
pub fn listener(options: &Options) -> Result<(), Box<dyn Error>> {
    take_all("chatter", options, |text| {
        let number = text.strip_prefix(GREETING).ok_or("not a text that was sent")?;
        Ok(std::str::from_utf8(number)?.parse()?)
    })
}

/// Sends pairs.
pub fn para_in(options: &Options) -> Result<(), Box<dyn Error>> {
    send_all("para", options, |number| pair(number as i32, 1).to_vec())
}

/// Sends each pair's first number on, with the sum of both.
pub fn para_add(options: &Options) -> Result<(), Box<dyn Error>> {
    let (paras, sums) = (Topics::one("para", options)?, Topics::one("sum", options)?);
    let (inlet, outlet) = (paras.inlet()?, sums.outlet()?);
    let end = End::notice("para")?;
    join(&[&paras, &sums], &outlet)?;
    inlet.each(&end, |para| {
        let (a, b) = of_pair(para)?;
        outlet.send(&pair(a, a.wrapping_add(b))).map(ControlFlow::Continue)
    })
}

/// Takes the sums.
pub fn add(options: &Options) -> Result<(), Box<dyn Error>> {
    take_all("sum", options, |sum| {
        let (a, b) = of_pair(sum)?;
        if b == a.wrapping_add(1) { Ok(a as u64) } else { Err(format!("{a} and 1 are not {b}").into()) }
    })
}

/// Sends each message that `make` makes, when it is due.
fn send_all(
    name: &'static str,
    options: &Options,
    make: impl Fn(u64) -> Vec<u8>,
) -> Result<(), Box<dyn Error>> {
    let (mut sent, mut pace) = (options.stamps(), Pace::new(options.rate));
    // A text with the longest number.
    let mut options = options.clone();
    options.size = GREETING.len() + 20;
    let topic = Topics::one(name, &options)?;
    let outlet = topic.outlet()?;
    join(&[&topic], &outlet)?;
    wait_for_go()?;
    for number in 0..options.total {
        pace.wait(number);
        sent.take(number);
        outlet.send(&make(number))?;
    }
    // What was sent lies in this end's memory.
    wait_for_end();
    options.write_sent(&sent)
}

/// Takes all messages, each with the number that `number_in` finds in it.
fn take_all(
    name: &'static str,
    options: &Options,
    number_in: impl Fn(&[u8]) -> Result<u64, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut received = options.stamps();
    let topic = Topics::one(name, options)?;
    let inlet = topic.inlet()?;
    let end = End::notice(name)?;
    say_ready()?;
    inlet.each(&end, |message| {
        let number = number_in(message)?;
        received.take(number);
        let last = number + 1 == options.total;
        Ok(if last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    options.write_received(&received)
}

fn pair(a: i32, b: i32) -> [u8; 8] {
    ((u64::from(b as u32) << 32) | u64::from(a as u32)).to_le_bytes()
}

fn of_pair(message: &[u8]) -> Result<(i32, i32), Box<dyn Error>> {
    let both = u64::from_le_bytes(*message.first_chunk().ok_or("a pair is too short")?);
    Ok((both as u32 as i32, (both >> 32) as u32 as i32))
}
