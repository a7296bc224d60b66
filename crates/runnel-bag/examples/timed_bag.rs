//! A bag to measure with how late a player publishes: `std_msgs/String` of ROS 2 on `/timed`, at a steady rate.
//!
//! `timed_bag FILE.mcap [RATE [SECONDS [BYTES]]]`
//!
//! RATE in messages a second (default 1000), SECONDS (default 20), BYTES of each text (default 100). Then
//! `runnel --json bag play FILE.mcap` reports the lateness.

use std::error::Error;
use std::fs::File;

use runnel_bag::disk::Plain;
use runnel_bag::mcap::{Profile, Writer};
use runnel_bag::{BagWriter, Channel, Encoding, NewMessage, Schema, SchemaLanguage};

const SECOND: u64 = 1_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: u64| words.get(place).map_or(Ok(default), |word| word.parse());
    let path = words.first().ok_or("timed_bag FILE.mcap [RATE [SECONDS [BYTES]]]")?;
    let (rate, seconds, bytes) = (number(1, 1000)?.max(1), number(2, 20)?, number(3, 100)?);
    let mut writer = Writer::on_disk(Plain::new(File::create_new(path)?), Profile::Ros2)?;
    let channel = writer.add_channel(&Channel {
        topic: "/timed".to_owned(),
        type_name: "std_msgs/msg/String".to_owned(),
        encoding: Encoding::Cdr,
        schema: Schema { language: SchemaLanguage::Ros2Msg, data: b"string data\n".to_vec() },
        ..Channel::default()
    })?;
    let text = vec![b'x'; usize::try_from(bytes)?];
    let len = u32::try_from(text.len() + 1)?.to_le_bytes();
    let data = [&[0, 1, 0, 0], &len[..], &text, &[0]].concat();
    for number in 0..rate * seconds {
        let log_time = 1_700_000_000 * SECOND + number * SECOND / rate;
        let sequence = u32::try_from(number)?;
        let message =
            NewMessage { channel, log_time, publish_time: log_time, sequence, data: (&data[..]).into() };
        writer.write(&message)?;
    }
    writer.finish()?;
    Ok(())
}
