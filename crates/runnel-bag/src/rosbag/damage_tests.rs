use std::io::{Cursor, Write};

use super::Reader;
use super::records::{self, Fields, MAGIC, Op, put};
use super::tests::{Written, at, bag, by_time, read, script};
use crate::{BagReader, Compression, Error, Selection};

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

/// A file refuses a position that is more than it can count.
#[test]
fn false_index_position_is_named_and_all_is_read() {
    let whole = bag(&script(), Compression::None, true);
    let place = whole.windows(10).position(|bytes| bytes == b"index_pos=").unwrap() + 10;
    for position in [1, 4109, whole.len() as u64, u64::MAX] {
        let mut bag = whole.clone();
        bag[place..place + 8].copy_from_slice(&position.to_le_bytes());
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bag).unwrap();
        let reader = Reader::open(file).unwrap();
        let damage = reader.damage().unwrap();
        assert!(matches!(damage, Error::Malformed { .. } | Error::Truncated { .. }), "{damage}");
        assert_eq!(read(&bag, &Selection::default()), by_time(&script()), "{position}");
    }
}
