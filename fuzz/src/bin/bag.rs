//! Bags: written records can be read back, and a full disk causes an error.
//!
//! The first byte of the input is the size of the disk. Then follow steps: kind, length, bytes.
#![no_main]

use std::io::{self, Cursor, Seek, SeekFrom, Write};

use libfuzzer_sys::fuzz_target;
use runnel_bag::rosbag::Writer;
use runnel_bag::{BagWriter, Channel, ChannelId, Error, NewMessage, Schema, SchemaLanguage};

const MAGIC: &[u8] = b"#ROSBAG V2.0\n";
const BAG_HEADER: u8 = 3;
const CHUNK: u8 = 5;
const MESSAGE: u8 = 2;

/// A file on a disk of limited size.
struct Disk {
    file: Cursor<Vec<u8>>,
    capacity: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let free = self.capacity.saturating_sub(self.file.position() as usize);
        if free == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write(&bytes[..bytes.len().min(free)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// A record: its header's fields and its data.
struct Record<'a> {
    header: &'a [u8],
    data: &'a [u8],
}

impl<'a> Record<'a> {
    fn field(&self, name: &str) -> Option<&'a [u8]> {
        let mut rest = self.header;
        while !rest.is_empty() {
            let (field, later) = length_prefixed(rest);
            let equals = field.iter().position(|byte| *byte == b'=').expect("a field has a name");
            if &field[..equals] == name.as_bytes() {
                return Some(&field[equals + 1..]);
            }
            rest = later;
        }
        None
    }

    fn op(&self) -> u8 {
        self.field("op").expect("every record has an op")[0]
    }
}

/// The bytes after a length prefix, and the rest.
fn length_prefixed(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (len, rest) = bytes.split_first_chunk().expect("a length");
    rest.split_at(u32::from_le_bytes(*len) as usize)
}

fn records(mut rest: &[u8]) -> Vec<Record<'_>> {
    let mut records = Vec::new();
    while !rest.is_empty() {
        let (header, later) = length_prefixed(rest);
        let (data, later) = length_prefixed(later);
        records.push(Record { header, data });
        rest = later;
    }
    records
}

/// The messages of a bag, with their channels' numbers.
fn messages(bag: &[u8]) -> Vec<(u32, &[u8])> {
    let records = records(bag.strip_prefix(MAGIC).expect("a bag"));
    assert_eq!(records[0].op(), BAG_HEADER);
    let index = u64::from_le_bytes(records[0].field("index_pos").unwrap().try_into().unwrap());
    assert!(index as usize <= bag.len());
    let chunks = records.iter().filter(|record| record.op() == CHUNK);
    chunks
        .flat_map(|chunk| self::records(chunk.data))
        .filter(|record| record.op() == MESSAGE)
        .map(|record| (u32::from_le_bytes(record.field("conn").unwrap().try_into().unwrap()), record.data))
        .collect()
}

/// A message, with its channel's number.
type Message = (u32, Vec<u8>);

/// Writes a bag as described by the input. Returns the bag and its expected messages.
fn write(steps: &[u8], capacity: usize) -> Result<(Vec<u8>, Vec<Message>), Error> {
    let mut disk = Disk { file: Cursor::default(), capacity };
    let mut writer = Writer::new(&mut disk)?;
    let (mut channels, mut expected): (Vec<ChannelId>, Vec<Message>) = Default::default();
    let mut rest = steps;
    while let [kind, len, more @ ..] = rest {
        let (bytes, later) = more.split_at(usize::from(*len).min(more.len()));
        rest = later;
        if kind % 4 == 0 || channels.is_empty() {
            let text = String::from_utf8_lossy(bytes).into_owned();
            channels.push(writer.add_channel(&Channel {
                topic: text.clone(),
                type_name: "p/T".to_owned(),
                schema: Schema { language: SchemaLanguage::Ros1Msg, data: text.clone().into_bytes() },
                publisher: Some(text),
                latching: *kind > 127,
                ..Channel::default()
            })?);
            continue;
        }
        let number = usize::from(*kind) / 4 % channels.len();
        // Sometimes long enough to complete a chunk.
        let message = if kind % 4 == 1 { bytes.repeat(1 + 10 * usize::from(*len)) } else { bytes.to_vec() };
        let log_time = (u64::from(*kind) << 50) + u64::from(*len);
        let (channel, data) = (channels[number], (&message).into());
        writer.write(&NewMessage { channel, log_time, publish_time: log_time, sequence: 0, data })?;
        expected.push((number as u32, message));
    }
    writer.finish()?;
    drop(writer);
    Ok((disk.file.into_inner(), expected))
}

fuzz_target!(|data: &[u8]| {
    let Some((capacity, steps)) = data.split_first() else { return };
    let (bag, expected) = write(steps, usize::MAX).expect("an unlimited disk");
    let expected: Vec<(u32, &[u8])> = expected.iter().map(|(id, bytes)| (*id, bytes.as_slice())).collect();
    assert_eq!(messages(&bag), expected);
    let capacity = usize::from(*capacity) * bag.len() / 200;
    assert_eq!(write(steps, capacity).is_ok(), capacity >= bag.len());
});
