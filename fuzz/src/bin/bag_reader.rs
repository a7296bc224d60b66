//! Bags with any contents: all that a reader does ends, and its memory is limited by the file.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use runnel_bag::rosbag::Reader;
use runnel_bag::{BagReader, Selection};

fuzz_target!(|data: &[u8]| {
    let Ok(mut reader) = Reader::open(Cursor::new(data)) else { return };
    let channels = reader.channels().len();
    assert_eq!(reader.summary().counts.len(), channels);
    let _ = reader.metadata();
    // Each message is a record, though compression may shorten records.
    for message in reader.messages(&Selection::default()).take(100_000).flatten() {
        assert!(message.channel.index() < channels);
    }
});
