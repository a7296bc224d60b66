use std::io::Cursor;

use super::records::{self, Fields, MAGIC, Op, put};
use super::*;
use crate::disk::MemoryDisk;
use crate::{
    BagReader, BagWriter, Channel, ChannelId, Compression, Error, NewMessage, Schema, SchemaLanguage,
    Selection,
};

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Bz2, Compression::Lz4];

pub(super) fn channel(topic: &str) -> Channel {
    Channel {
        topic: topic.into(),
        type_name: "std_msgs/String".into(),
        schema: Schema { language: SchemaLanguage::Ros1Msg, data: b"string data\n".to_vec() },
        md5: Some("992ce8a1687cec8c8bd883ec73ca41d1".into()),
        publisher: (topic != "/anonymous").then(|| "/talker".into()),
        latching: topic == "/latched",
        metadata: [("tcp_nodelay".to_owned(), "1".to_owned())].into(),
        ..Channel::default()
    }
}

pub(super) fn at(millis: u64) -> u64 {
    millis * 1_000_000
}

pub(super) fn message(channel: ChannelId, millis: u64, data: &[u8]) -> NewMessage<'_> {
    let log_time = at(millis);
    NewMessage { channel, log_time, publish_time: log_time, sequence: 0, data: data.into() }
}

/// Topic, milliseconds, bytes.
pub(super) type Written = (&'static str, u64, Vec<u8>);

/// Messages on three topics, a chunk for every five, and the time of every third steps back.
pub(super) fn script() -> Vec<Written> {
    (0..40)
        .map(|number| {
            let topic = ["/latched", "/chatter", "/anonymous"][number % 3];
            let time = 1000 + number as u64 * 10 - if number % 3 == 2 { 35 } else { 0 };
            (topic, time, format!("{number:03}").repeat(number % 7).into_bytes())
        })
        .collect()
}

fn write_script(writer: &mut impl BagWriter, script: &[Written]) {
    let mut known: Vec<(&str, ChannelId)> = Vec::new();
    for (number, (topic, time, bytes)) in script.iter().enumerate() {
        let id = known.iter().find(|(known, _)| known == topic).map(|(_, id)| *id);
        let id = id.unwrap_or_else(|| {
            known.push((topic, writer.add_channel(&channel(topic)).unwrap()));
            known.last().unwrap().1
        });
        writer.write(&message(id, *time, bytes)).unwrap();
        if number % 5 == 4 {
            writer.flush().unwrap();
        }
    }
}

pub(super) fn bag(script: &[Written], compression: Compression, finishes: bool) -> Vec<u8> {
    let mut writer = Writer::new(Cursor::new(Vec::new())).unwrap();
    writer.set_compression(compression).unwrap();
    write_script(&mut writer, script);
    if finishes { writer.finish() } else { writer.flush() }.unwrap();
    writer.into_disk().into_inner().into_inner()
}

/// Topic, milliseconds and bytes of the selected messages.
pub(super) fn read(bag: &[u8], selection: &Selection) -> Vec<(String, u64, Vec<u8>)> {
    let mut reader = Reader::open(Cursor::new(bag)).unwrap();
    let topics: Vec<String> = reader.channels().iter().map(|channel| channel.topic.clone()).collect();
    let messages = reader.messages(selection).map(Result::unwrap);
    messages
        .map(|message| {
            let millis = message.log_time / 1_000_000;
            (topics[message.channel.index()].clone(), millis, message.data.to_vec())
        })
        .collect()
}

pub(super) fn by_time(script: &[Written]) -> Vec<(String, u64, Vec<u8>)> {
    let mut sorted: Vec<_> =
        script.iter().map(|(topic, time, bytes)| ((*topic).to_owned(), *time, bytes.clone())).collect();
    sorted.sort_by_key(|(_, time, _)| *time);
    sorted
}

#[test]
fn written_messages_are_read_by_time() {
    for compression in COMPRESSIONS {
        for finishes in [true, false] {
            let bag = bag(&script(), compression, finishes);
            assert_eq!(read(&bag, &Selection::default()), by_time(&script()), "{compression:?} {finishes}");
        }
    }
}

/// The bag has three chunks, and all messages have one time.
#[test]
fn messages_of_one_time_are_in_the_order_of_the_file() {
    let script: Vec<Written> = (0..12).map(|number| ("/chatter", 7, vec![number])).collect();
    let bag = bag(&script, Compression::None, true);
    let read: Vec<u8> = read(&bag, &Selection::default()).iter().map(|(_, _, bytes)| bytes[0]).collect();
    assert_eq!(read, (0..12).collect::<Vec<u8>>());
}

#[test]
fn channels_and_summary_are_read_as_written() {
    for finishes in [true, false] {
        let bag = bag(&script(), Compression::Lz4, finishes);
        let reader = Reader::open(Cursor::new(&bag)).unwrap();
        assert_eq!(reader.channels(), ["/latched", "/chatter", "/anonymous"].map(channel));
        assert!(reader.damage().is_none());
        let chunks = reader.chunks();
        assert_eq!(chunks.len(), 8);
        assert_eq!((chunks[0].start, chunks[0].end), (at(985), at(1040)));
        let summary = reader.summary();
        assert_eq!((summary.is_finished, summary.len), (finishes, bag.len() as u64));
        assert_eq!((summary.start, summary.end), (Some(at(985)), Some(at(1390))));
        assert_eq!(summary.counts, [14, 13, 13]);
        let [(Compression::Lz4, totals)] = summary.chunks[..] else { panic!("{:?}", summary.chunks) };
        assert!(totals.count == 8 && totals.decompressed > 40 * 60 && totals.stored > 0);
    }
}

/// The encoding of MCAP has no MD5 sum.
#[test]
fn missing_md5_sum_is_that_of_the_definition() {
    let read = |definition: &[u8]| {
        let mut writer = Writer::new(Cursor::new(Vec::new())).unwrap();
        let mut channel = Channel { md5: None, ..channel("/chatter") };
        channel.schema.data = definition.to_vec();
        let id = writer.add_channel(&channel).unwrap();
        writer.write(&message(id, 1, b"")).unwrap();
        writer.finish().unwrap();
        let bag = writer.into_disk().into_inner().into_inner();
        Reader::open(Cursor::new(&bag)).unwrap().channels()[0].md5.clone().unwrap()
    };
    assert_eq!(read(b"string data\n"), "992ce8a1687cec8c8bd883ec73ca41d1");
    assert_eq!([read(b""), read(b"unknown/Type x"), read(b"\xFF")], ["*", "*", "*"]);
}

#[test]
fn selection_limits_topics_and_times() {
    let bag = bag(&script(), Compression::None, true);
    let chatter = Reader::open(Cursor::new(&bag)).unwrap().channels()[1].clone();
    assert_eq!(chatter.topic, "/chatter");
    let selection =
        Selection { channels: Some(vec![ChannelId(1)]), start: Some(at(1105)), end: Some(at(1215)) };
    let expected: Vec<_> = by_time(&script())
        .into_iter()
        .filter(|(topic, time, _)| topic == "/chatter" && (1105..=1215).contains(time))
        .collect();
    assert_eq!(expected.len(), 3);
    assert_eq!(read(&bag, &selection), expected);
}

#[test]
fn other_files_are_refused_by_name() {
    let open = |bytes: &[u8]| Reader::open(Cursor::new(bytes)).err().unwrap();
    assert!(matches!(open(b""), Error::NotABag));
    assert!(matches!(open(b"PNG and something else"), Error::NotABag));
    assert!(matches!(open(b"#ROSBAG V1.2\nmore"), Error::UnsupportedVersion(version) if version == "1.2"));
    let mut encrypted = MAGIC.to_vec();
    let fields =
        Fields::of(Op::BagHeader).with("index_pos", &[0; 8]).with("encryptor", b"rosbag/AesCbcEncryptor");
    put(&mut encrypted, fields, b"");
    assert!(matches!(open(&encrypted), Error::Encrypted(plugin) if plugin == "rosbag/AesCbcEncryptor"));
}

#[test]
fn records_of_unknown_kinds_are_skipped() {
    let mut bag = bag(&script(), Compression::None, false);
    let mut fields = Fields::none().with("op", &[0x77]);
    put(&mut bag, fields, b"from a later version");
    fields = Fields::none().with("op", b"not a number");
    put(&mut bag, fields, b"");
    assert_eq!(read(&bag, &Selection::default()), by_time(&script()));
}

/// rosbag_direct_write fills the header of a message with a field of its own, so that the data end with a block.
#[test]
fn unknown_fields_are_ignored() {
    let mut chunk = channel::record(&channel("/chatter"), ChannelId(9)).unwrap();
    let fields = Fields::of(Op::Message)
        .with("overlay", &[b'='; 3000])
        .with("conn", &9_u32.to_le_bytes())
        .with("time", &records::time(at(5)));
    put(&mut chunk, fields, b"hello");
    let mut bag = MAGIC.to_vec();
    bag.extend(records::bag_header(0, 0, 0));
    let size = (chunk.len() as u32).to_le_bytes();
    put(&mut bag, Fields::of(Op::Chunk).with("compression", b"none").with("size", &size), &chunk);
    assert_eq!(read(&bag, &Selection::default()), [("/chatter".into(), 5, b"hello".to_vec())]);
}

#[test]
fn chunks_above_the_memory_limit_are_read_again() {
    let bag = bag(&script(), Compression::Lz4, true);
    let mut reader = Reader::open(Cursor::new(&bag)).unwrap();
    let read: Vec<_> = reader.messages_within(0).map(|message| message.unwrap().data.to_vec()).collect();
    assert_eq!(read, by_time(&script()).into_iter().map(|(_, _, bytes)| bytes).collect::<Vec<_>>());
}

/// The buffer has space for a few messages, and some messages are longer than it.
#[test]
fn bag_on_a_disk_of_blocks_is_the_bag() {
    let script: Vec<Written> = (0..60)
        .map(|number: u64| ("/chatter", number, vec![number as u8; 37 * (number as usize % 20)]))
        .collect();
    for (block, buffer) in [(16, 256), (512, 512), (64, 6400), (4096, 8192)] {
        for finishes in [true, false] {
            let mut writer = Writer::on_disk(MemoryDisk::new(block, buffer)).unwrap();
            write_script(&mut writer, &script);
            if finishes { writer.finish() } else { writer.flush() }.unwrap();
            let disk = writer.into_disk();
            let reader = Reader::open(Cursor::new(disk.bytes())).unwrap();
            assert!(reader.damage().is_none(), "{block} {buffer} {finishes} {:?}", reader.damage());
            assert_eq!(reader.summary().is_finished, finishes);
            assert_eq!(read(disk.bytes(), &Selection::default()), by_time(&script));
        }
    }
}

#[test]
fn repeated_channels_of_a_chunk_are_kept_once() {
    let record = |id| channel::record(&channel("/chatter"), ChannelId(id)).unwrap();
    let contents = chunk::Contents::parse(&[record(3), record(4), record(3)].concat());
    assert_eq!(contents.channels.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [3, 4]);
}
