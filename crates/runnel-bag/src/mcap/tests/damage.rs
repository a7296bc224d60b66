use super::records::{Content, op};
use super::*;
use crate::Error;

/// Ends of the messages' records in an uncompressed file, in the order of the file.
fn ends_of_messages(bag: &[u8], script: &[Written]) -> Vec<usize> {
    let mut from = 0;
    script
        .iter()
        .map(|(_, time, bytes)| {
            let tail = [&time.to_le_bytes()[..], &(time - 1).to_le_bytes(), bytes].concat();
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
    for cut in MAGIC.len()..bag.len() {
        let complete = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(count(&bag[..cut]), (complete, 0), "cut at {cut}");
        assert!(!open(&bag[..cut]).summary().is_finished);
    }
}

#[test]
fn complete_chunks_before_a_cut_are_read() {
    for compression in &COMPRESSIONS[1..] {
        let whole = bag(&script(), *compression, true);
        let chunks = open(&whole).chunks().to_vec();
        for (number, chunk) in chunks.iter().enumerate() {
            for depth in [3, 30, 60] {
                let cut = &whole[..chunk.position as usize + depth];
                assert!(matches!(open(cut).damage(), Some(Error::Truncated { at }) if *at == chunk.position));
                assert_eq!(count(cut), (5 * number, 0));
            }
        }
    }
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    for compression in COMPRESSIONS {
        // The decompressors begin with megabytes of buffers.
        let step = if *compression == Compression::None { 1 } else { 151 };
        let whole = bag(&script(), *compression, true);
        for place in (0..whole.len()).step_by(step) {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x41;
            let Ok(mut reader) = Reader::open(Cursor::new(&damaged)) else { continue };
            let messages = reader.messages(&Selection::default()).take(100).count();
            assert!(messages <= 41, "{messages}");
            let _ = reader.metadata();
        }
    }
}

/// The chunk of messages 10 to 14.
#[test]
fn damaged_chunk_is_named_and_others_are_read() {
    for finishes in [true, false] {
        let mut bag = bag(&script(), Compression::None, finishes);
        let chunk = open(&bag).chunks()[2].position;
        let place = bag.windows(6).position(|bytes| bytes == b"012012").unwrap();
        bag[place] ^= 1;
        let mut reader = open(&bag);
        let errors: Vec<_> = reader.messages(&Selection::default()).filter_map(Result::err).collect();
        assert!(matches!(errors[..], [Error::Checksum { at }] if at == chunk), "{errors:?}");
        assert_eq!(count(&bag), (35, 1));
        let damage = open(&bag).damage().map(ToString::to_string);
        assert_eq!(damage, (!finishes).then(|| Error::Checksum { at: chunk }.to_string()));
    }
}

#[test]
fn damaged_summary_is_named_and_all_is_read() {
    let mut bag = bag(&script(), Compression::None, true);
    let place = bag.windows(5).rposition(|bytes| bytes == b"/ros2").unwrap();
    bag[place] ^= 1;
    assert!(matches!(open(&bag).damage(), Some(Error::Checksum { .. })));
    assert_eq!(read(&bag, &Selection::default()), by_time(&script()));
}

#[test]
fn file_without_summary_is_read() {
    let mut bag = bag(&script(), Compression::None, false);
    bag.extend(Content::default().u32(0).into_record(op::DATA_END));
    bag.extend(Content::default().u64(0).u64(0).u32(0).into_record(op::FOOTER));
    bag.extend(MAGIC);
    let reader = open(&bag);
    assert!(reader.damage().is_none() && reader.summary().is_finished);
    assert_eq!(read(&bag, &Selection::default()), by_time(&script()));
}

#[test]
fn zeros_behind_an_unfinished_file_are_no_damage() {
    for zeros in [1, 8, 9, 5000] {
        let mut bag = bag(&script(), Compression::None, false);
        bag.resize(bag.len() + zeros, 0);
        assert!(open(&bag).damage().is_none(), "{zeros}");
        assert_eq!(read(&bag, &Selection::default()), by_time(&script()));
        bag.push(1);
        assert!(open(&bag).damage().is_some(), "{zeros}");
    }
}

#[test]
fn records_of_unknown_kinds_are_skipped() {
    let mut bag = bag(&script(), Compression::None, false);
    bag.extend(Content::default().u64(1).into_record(0x80));
    bag.extend(Content::default().into_record(0x7F));
    let message = Content::default().u16(1).u32(0).u64(5000).u64(4999).into_record(op::MESSAGE);
    let data = [Content::default().u64(1).into_record(0xFF), message].concat();
    bag.extend(chunk(&data, ""));
    assert!(open(&bag).damage().is_none());
    assert_eq!(read(&bag, &Selection::default()).last().unwrap(), &("/ros1".into(), 5000, Vec::new()));
}

fn chunk(data: &[u8], compression: &str) -> Vec<u8> {
    let len = data.len() as u64;
    let head = Content::default().u64(0).u64(0).u64(len).u32(0).text(compression).u64(len);
    [&head.into_record_start(op::CHUNK, len), data].concat()
}

#[test]
fn record_without_kind_in_a_chunk_is_damage() {
    let message = Content::default().u16(1).u32(0).u64(5000).u64(4999).into_record(op::MESSAGE);
    let mut bag = bag(&script(), Compression::None, false);
    let at = bag.len() as u64;
    bag.extend(chunk(&[message, vec![0; 9]].concat(), ""));
    assert!(matches!(open(&bag).damage(), Some(Error::Malformed { at: found, .. }) if *found == at));
    assert_eq!(count(&bag), (41, 0));
}

#[test]
fn unsupported_compression_and_undefined_channel_are_named() {
    let mut bag = bag(&script(), Compression::None, false);
    bag.extend(chunk(b"1234", "brotli"));
    let message = Content::default().u16(77).u32(0).u64(1).u64(1).into_record(op::MESSAGE);
    bag.extend(chunk(&message, ""));
    bag.extend(message);
    assert_eq!(count(&bag), (40, 2));
    let mut reader = open(&bag);
    let errors: Vec<_> = reader.messages(&Selection::default()).filter_map(Result::err).collect();
    assert!(matches!(&errors[0], Error::UnsupportedCompression { name, .. } if name == "brotli"));
    assert!(matches!(errors[1], Error::UndefinedChannel { id: 77, .. }));
}

#[test]
fn other_files_are_refused_by_name() {
    let open = |bytes: &[u8]| Reader::open(Cursor::new(bytes)).err().unwrap();
    assert!(matches!(open(b""), Error::NotABag));
    assert!(matches!(open(b"PNG and something else"), Error::NotABag));
    assert!(matches!(open(b"\x89MCAP1\r\n"), Error::UnsupportedVersion(version) if version == "1"));
}

#[test]
fn chunk_much_longer_than_its_compressed_data_is_refused() {
    let mut bag = bag(&script(), Compression::None, false);
    let at = bag.len() as u64;
    let head = Content::default().u64(0).u64(0).u64(257 << 20).u32(0).text("lz4").u64(9);
    bag.extend([&head.into_record_start(op::CHUNK, 9), &[0; 9][..]].concat());
    let damage = open(&bag).damage().unwrap().to_string();
    let reason = "the chunk is longer than 4 GiB or 1024 times its compressed data";
    assert_eq!(damage, format!("byte {at}: {reason}"));
}

#[test]
fn repeated_definitions_of_a_chunk_are_kept_once() {
    let channel = Content::default().u16(7).u16(0).text("/a").text("json").blob(b"").into_record(op::CHANNEL);
    let other = Content::default().u16(8).u16(0).text("/b").text("json").blob(b"").into_record(op::CHANNEL);
    let contents = chunk::Contents::parse([&channel[..], &channel, &other, &channel, &channel].concat());
    assert_eq!(contents.definitions.len(), 2);
}
