//! Bags with any contents: all that a reader does ends, and its memory is limited by the file.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use runnel_bag::rosbag::{Reader, Selection};

fuzz_target!(|data: &[u8]| {
    let Ok(mut reader) = Reader::open(Cursor::new(data)) else { return };
    let chunks = reader.chunks().to_vec();
    for chunk in &chunks {
        let _ = reader.compression(chunk);
    }
    let connections = reader.connections().len();
    let messages = reader.messages(&Selection::default());
    // Each message is a record, though compression may shorten records.
    for message in messages.take(100_000).flatten() {
        assert!(message.connection.index() < connections);
    }
});
