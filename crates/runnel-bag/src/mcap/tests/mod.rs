mod damage;
mod oracle;
mod round_trip;

use std::io::Cursor;

use super::*;
use crate::disk::MemoryDisk;
use crate::{
    BagReader, BagWriter, Channel, ChannelId, Compression, Encoding, NewMessage, Schema, SchemaLanguage,
    Selection,
};

const COMPRESSIONS: &[Compression] = if cfg!(feature = "zstd") {
    &[Compression::None, Compression::Lz4, Compression::Zstd]
} else {
    &[Compression::None, Compression::Lz4]
};

fn channel(topic: &str) -> Channel {
    match topic {
        "/ros1" => Channel {
            topic: topic.into(),
            type_name: "std_msgs/String".into(),
            encoding: Encoding::Ros1,
            schema: Schema { language: SchemaLanguage::Ros1Msg, data: b"string data\n".to_vec() },
            md5: Some("992ce8a1687cec8c8bd883ec73ca41d1".into()),
            publisher: Some("/talker".into()),
            latching: true,
            ..Channel::default()
        },
        "/ros2" => Channel {
            topic: topic.into(),
            type_name: "std_msgs/msg/String".into(),
            encoding: Encoding::Cdr,
            schema: Schema { language: SchemaLanguage::Ros2Msg, data: b"string data\n".to_vec() },
            type_hash: Some("RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18".into()),
            offered_qos: Some("- depth: 10\n".into()),
            metadata: [("note".to_owned(), "kept".to_owned())].into(),
            ..Channel::default()
        },
        _ => Channel {
            topic: topic.into(),
            type_name: "Unknown".into(),
            encoding: Encoding::Other("json".into()),
            ..Channel::default()
        },
    }
}

/// Topic, log time and bytes.
type Written = (&'static str, u64, Vec<u8>);

/// Messages on three topics, a chunk for every five, and the time of every third steps back.
fn script() -> Vec<Written> {
    (0..40)
        .map(|number| {
            let topic = ["/ros1", "/ros2", "/json"][number % 3];
            let time = 1000 + number as u64 * 10 - if number % 3 == 2 { 35 } else { 0 };
            (topic, time, format!("{number:03}").repeat(number % 7).into_bytes())
        })
        .collect()
}

fn write_script(writer: &mut impl BagWriter, script: &[Written]) {
    let mut known: Vec<(&str, ChannelId)> = Vec::new();
    for (number, (topic, log_time, bytes)) in script.iter().enumerate() {
        let id = known.iter().find(|(known, _)| known == topic).map(|(_, id)| *id);
        let channel = id.unwrap_or_else(|| {
            known.push((topic, writer.add_channel(&channel(topic)).unwrap()));
            known.last().unwrap().1
        });
        let (publish_time, sequence) = (log_time - 1, number as u32);
        let message = NewMessage { channel, log_time: *log_time, publish_time, sequence, data: bytes.into() };
        writer.write(&message).unwrap();
        if number % 5 == 4 {
            writer.flush().unwrap();
        }
    }
}

fn bag(script: &[Written], compression: Compression, finishes: bool) -> Vec<u8> {
    let mut writer = Writer::new(Cursor::new(Vec::new()), Profile::None).unwrap();
    writer.set_compression(compression).unwrap();
    write_script(&mut writer, script);
    if finishes { writer.finish() } else { writer.flush() }.unwrap();
    writer.into_disk().into_inner().into_inner()
}

fn open(bag: &[u8]) -> Reader<Cursor<&[u8]>> {
    Reader::open(Cursor::new(bag)).unwrap()
}

/// Topic, log time and bytes of the selected messages.
fn read(bag: &[u8], selection: &Selection) -> Vec<(String, u64, Vec<u8>)> {
    let mut reader = open(bag);
    let topics: Vec<String> = reader.channels().iter().map(|channel| channel.topic.clone()).collect();
    reader
        .messages(selection)
        .map(|message| {
            let message = message.unwrap();
            assert_eq!(message.publish_time, message.log_time - 1);
            (topics[message.channel.index()].clone(), message.log_time, message.data.to_vec())
        })
        .collect()
}

fn by_time(script: &[Written]) -> Vec<(String, u64, Vec<u8>)> {
    let mut sorted: Vec<_> =
        script.iter().map(|(topic, time, bytes)| ((*topic).to_owned(), *time, bytes.clone())).collect();
    sorted.sort_by_key(|(_, time, _)| *time);
    sorted
}

/// Counts what is read, and the errors.
fn count(bag: &[u8]) -> (usize, usize) {
    let mut reader = open(bag);
    let results: Vec<_> = reader.messages(&Selection::default()).take(1000).collect();
    let messages = results.iter().filter(|result| result.is_ok()).count();
    (messages, results.len() - messages)
}
