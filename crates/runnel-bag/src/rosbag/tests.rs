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

fn at(millis: u64) -> u64 {
    millis * 1_000_000
}

pub(super) fn message(channel: ChannelId, millis: u64, data: &[u8]) -> NewMessage<'_> {
    let log_time = at(millis);
    NewMessage { channel, log_time, publish_time: log_time, sequence: 0, data: data.into() }
}

/// Topic, milliseconds, bytes.
type Written = (&'static str, u64, Vec<u8>);

/// Messages on three topics, a chunk for every five, and the time of every third steps back.
fn script() -> Vec<Written> {
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

fn bag(script: &[Written], compression: Compression, finishes: bool) -> Vec<u8> {
    let mut writer = Writer::new(Cursor::new(Vec::new())).unwrap();
    writer.set_compression(compression).unwrap();
    write_script(&mut writer, script);
    if finishes { writer.finish() } else { writer.flush() }.unwrap();
    writer.into_disk().into_inner().into_inner()
}

/// Topic, milliseconds and bytes of the selected messages.
fn read(bag: &[u8], selection: &Selection) -> Vec<(String, u64, Vec<u8>)> {
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

fn by_time(script: &[Written]) -> Vec<(String, u64, Vec<u8>)> {
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

/// Ends of the messages' records in the file, in the order of the file.
fn ends_of_messages(bag: &[u8], script: &[Written]) -> Vec<usize> {
    let mut from = 0;
    script
        .iter()
        .map(|(_, time, bytes)| {
            let mut tail = b"time=".to_vec();
            tail.extend(records::time(at(*time)));
            tail.extend((bytes.len() as u32).to_le_bytes());
            tail.extend(bytes);
            from += bag[from..].windows(tail.len()).position(|window| window == tail).unwrap() + tail.len();
            from
        })
        .collect()
}

#[test]
fn everything_before_a_cut_is_read() {
    let script = script();
    let bag = bag(&script, Compression::None, true);
    let ends = ends_of_messages(&bag, &script);
    let first_chunk = MAGIC.len() + records::bag_header(0, 0, 0).len();
    for cut in (first_chunk..bag.len()).step_by(3) {
        let mut reader = Reader::open(Cursor::new(&bag[..cut])).unwrap();
        let messages = reader.messages(&Selection::default()).map(Result::unwrap).count();
        let complete = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(messages, complete, "cut at {cut}");
    }
}

#[test]
fn complete_chunks_before_a_cut_are_read() {
    for compression in [Compression::Bz2, Compression::Lz4] {
        let whole = bag(&script(), compression, true);
        let chunks = Reader::open(Cursor::new(&whole)).unwrap().chunks().to_vec();
        for (number, chunk) in chunks.iter().enumerate() {
            let cut = chunk.position as usize + 30;
            let mut reader = Reader::open(Cursor::new(&whole[..cut])).unwrap();
            assert!(matches!(reader.damage(), Some(Error::Truncated { at }) if *at == chunk.position));
            assert_eq!(reader.messages(&Selection::default()).map(Result::unwrap).count(), 5 * number);
        }
    }
}

/// What a power failure left out is zeros.
#[test]
fn gap_in_an_uncompressed_chunk_is_an_error() {
    let script: Vec<Written> = (1..20).map(|number| ("/chatter", number, vec![number as u8; 600])).collect();
    for finishes in [true, false] {
        let mut bag = bag(&script, Compression::None, finishes);
        let place = bag.windows(600).position(|bytes| bytes == [7; 600]).unwrap();
        bag[place + 50..place + 550].fill(0);
        let mut reader = Reader::open(Cursor::new(&bag)).unwrap();
        let results: Vec<_> = reader.messages(&Selection::default()).collect();
        let sound = results.iter().filter_map(|result| result.as_ref().ok());
        assert!(sound.clone().all(|message| message.data.iter().all(|byte| *byte != 0)));
        let is_reported = results.iter().any(|result| matches!(result, Err(Error::Checksum { .. })));
        if finishes {
            assert!(is_reported && sound.count() == 14, "the other chunks are read");
        } else {
            assert!(matches!(reader.damage(), Some(Error::Checksum { .. })), "{:?}", reader.damage());
            assert_eq!(sound.count(), 5, "as rosbag, which cuts the bag at the first damage");
        }
    }
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    // Both decompressors begin with megabytes of buffers.
    for (compression, step) in [(Compression::None, 1), (Compression::Bz2, 61), (Compression::Lz4, 37)] {
        let whole = bag(&script(), compression, true);
        for place in (0..whole.len()).step_by(step) {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x41;
            let Ok(mut reader) = Reader::open(Cursor::new(&damaged)) else { continue };
            let messages = reader.messages(&Selection::default()).take(100).count();
            assert!(messages <= 41, "{messages}");
        }
    }
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
fn message_of_undefined_channel_is_an_error() {
    let mut chunk = Vec::new();
    let fields = Fields::of(Op::Message).with("conn", &[7, 0, 0, 0]).with("time", &[0; 8]);
    put(&mut chunk, fields, b"");
    let mut bag = MAGIC.to_vec();
    bag.extend(records::bag_header(0, 0, 0));
    let size = (chunk.len() as u32).to_le_bytes();
    put(&mut bag, Fields::of(Op::Chunk).with("compression", b"none").with("size", &size), &chunk);
    let reader = Reader::open(Cursor::new(&bag)).unwrap();
    assert!(matches!(reader.damage(), Some(Error::UndefinedChannel { id: 7, .. })));
}

#[test]
fn false_compression_is_named() {
    let mut bag = bag(&script(), Compression::None, true);
    let place = bag.windows(16).position(|bytes| bytes == b"compression=none").unwrap();
    bag[place + 12..place + 16].copy_from_slice(b"zstd");
    let mut reader = Reader::open(Cursor::new(&bag)).unwrap();
    let results: Vec<_> = reader.messages(&Selection::default()).collect();
    let errors: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(matches!(&errors[..], [Error::UnsupportedCompression { name, .. }] if name == "zstd"));
    assert_eq!(results.len(), 1 + 35, "the other chunks are read");
}

#[test]
fn chunks_above_the_memory_limit_are_read_again() {
    let bag = bag(&script(), Compression::Lz4, true);
    let mut reader = Reader::open(Cursor::new(&bag)).unwrap();
    let read: Vec<_> = reader.messages_within(0).map(|message| message.unwrap().data.to_vec()).collect();
    assert_eq!(read, by_time(&script()).into_iter().map(|(_, _, bytes)| bytes).collect::<Vec<_>>());
}

#[test]
fn zeros_behind_an_unfinished_bag_are_no_damage() {
    for zeros in [1, 7, 8, 100, 5000] {
        let mut bag = bag(&script(), Compression::None, false);
        bag.resize(bag.len() + zeros, 0);
        assert!(Reader::open(Cursor::new(&bag)).unwrap().damage().is_none(), "{zeros}");
        assert_eq!(read(&bag, &Selection::default()), by_time(&script()));
        bag.push(1);
        assert!(Reader::open(Cursor::new(&bag)).unwrap().damage().is_some(), "{zeros}");
    }
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
fn chunk_much_longer_than_its_compressed_data_is_refused() {
    let mut bag = MAGIC.to_vec();
    bag.extend(records::bag_header(0, 0, 0));
    let size = (257_u32 << 20).to_le_bytes();
    put(&mut bag, Fields::of(Op::Chunk).with("compression", b"bz2").with("size", &size), b"BZh9");
    let reader = Reader::open(Cursor::new(&bag)).unwrap();
    let damage = reader.damage().unwrap().to_string();
    assert!(damage.ends_with("the chunk is longer than 1024 times its compressed data"), "{damage}");
}

#[test]
fn repeated_channels_of_a_chunk_are_kept_once() {
    let record = |id| channel::record(&channel("/chatter"), ChannelId(id)).unwrap();
    let contents = chunk::Contents::parse(&[record(3), record(4), record(3)].concat());
    assert_eq!(contents.channels.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [3, 4]);
}
