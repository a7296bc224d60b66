//! Rate at which one core writes and reads MCAP files with each compression.
//!
//! `compression_rate [MIB]`
//!
//! MIB of messages for each row (default 256). Messages have 64 KiB, chunks 1 MiB, and the file is in memory. The rates are of
//! processor time, so that other programs change them little. `camera` is an image with noise, `lidar` are the ranges of a
//! scan, `text` are words, and `noise` cannot be compressed.

mod processor;

use std::error::Error;
use std::io::Cursor;
use std::time::Duration;

use runnel_bag::disk::MemoryDisk;
use runnel_bag::mcap::{Profile, Reader, Writer};
use runnel_bag::{BagReader, BagWriter, Channel, Compression, NewMessage, Selection};

const MESSAGE: usize = 64 << 10;

/// Different messages of each kind.
const MESSAGES: usize = 256;

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Zstd];

/// A byte of a message, by its place and a random number.
type Byte = fn(usize, u64) -> u8;

const CONTENTS: [(&str, Byte); 4] =
    [("camera", camera), ("lidar", lidar), ("text", text), ("noise", |_, random| random as u8)];

fn main() -> Result<(), Box<dyn Error>> {
    let mib = std::env::args().nth(1).map_or(Ok(256), |mib| mib.parse::<usize>())?;
    println!("content  compression  ratio  written MiB/s  read MiB/s");
    for (name, byte) in CONTENTS {
        let messages = messages(byte);
        for compression in COMPRESSIONS {
            let Rates { ratio, written, read } = measure(&messages, compression, mib)?;
            let rate = |time: Duration| mib as f64 / time.as_secs_f64().max(0.01);
            let [written, read] = [written, read].map(rate);
            println!("{name:8} {:11} {ratio:6.2} {written:14.0} {read:11.0}", compression.name());
        }
    }
    Ok(())
}

struct Rates {
    /// Of the messages to the file.
    ratio: f64,
    /// Processor time.
    written: Duration,
    read: Duration,
}

fn measure(messages: &[Vec<u8>], compression: Compression, mib: usize) -> Result<Rates, Box<dyn Error>> {
    let start = processor::time();
    let mut writer = Writer::on_disk(MemoryDisk::new(1, 4 << 20), Profile::None)?;
    writer.set_compression(compression)?;
    let channel = writer.add_channel(&Channel { topic: "/data".to_owned(), ..Channel::default() })?;
    for (time, message) in (0..).zip(messages.iter().cycle().take((mib << 20) / MESSAGE)) {
        let data = message.into();
        writer.write(&NewMessage { channel, log_time: time, publish_time: time, sequence: 0, data })?;
    }
    writer.finish()?;
    let written = processor::time() - start;
    let disk = writer.into_disk();
    let start = processor::time();
    let mut reader = Reader::open(Cursor::new(disk.bytes()))?;
    let mut len = 0;
    for message in reader.messages(&Selection::default()) {
        len += message?.data.len();
    }
    let read = processor::time() - start;
    Ok(Rates { ratio: len as f64 / disk.bytes().len() as f64, written, read })
}

fn messages(byte: Byte) -> Vec<Vec<u8>> {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 33
    };
    (0..MESSAGES).map(|_| (0..MESSAGE).map(|place| byte(place, random())).collect()).collect()
}

/// A gradient with noise of two bits, 640 pixels a row.
fn camera(place: usize, random: u64) -> u8 {
    ((place % 640 / 5 + place / 640) as u8).wrapping_add(random as u8 & 3)
}

/// Ranges in metres as 32-bit floating-point numbers, with noise of four bits.
fn lidar(place: usize, random: u64) -> u8 {
    let range = 2.0 + ((place / 4) as f32 / 180.0).sin();
    let [first, others @ ..] = range.to_le_bytes();
    if place.is_multiple_of(4) { first ^ (random as u8 & 15) } else { others[place % 4 - 1] }
}

/// Words of a log.
fn text(place: usize, random: u64) -> u8 {
    const LINE: &[u8] = b"[INFO] [1700000000.123] [navigation]: goal 17 reached at x=1.25 y=-3.75; waiting\n";
    match LINE[place % LINE.len()] {
        digit @ b'0'..=b'9' => b'0' + ((u64::from(digit) + random) % 10) as u8,
        letter => letter,
    }
}
