//! Messages that there is no memory for: an error for each, and the program goes on. Each test runs in a process of its own
//! that may have little memory.

use std::process::Command;

use runnel_core::wire::{DecodeErrorKind, decode};
use runnel_ros1::tcpros::{FrameError, FrameReader, MAX_MESSAGE};

/// Set in the process that has little memory.
const LITTLE: &str = "RUNNEL_LITTLE_MEMORY";

/// Kibibytes of addresses that such a process may have.
const LIMIT: &str = "300000";

/// Runs a test again in a process that may have little memory. Tells whether this is that process.
fn with_little_memory(test: &str) -> bool {
    if std::env::var_os(LITTLE).is_some() {
        return true;
    }
    let mut again = Command::new("sh");
    again.args(["-c", &format!("ulimit -v {LIMIT}; exec \"$@\""), "sh"]);
    again.arg(std::env::current_exe().unwrap()).args(["--exact", test, "--test-threads", "1"]);
    let output =
        again.env(LITTLE, "1").env("RUST_BACKTRACE", "0").env("MALLOC_ARENA_MAX", "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{:?}", output.status);
    false
}

/// Gives a reader a message of `length` bytes by parts, until it is whole or refused.
fn receive(reader: &mut FrameReader, length: u32) -> Result<usize, FrameError> {
    let part = vec![7; 64 * 1024];
    assert_eq!(reader.take(&mut &length.to_le_bytes()[..], Vec::new)?, None);
    let mut left = length as usize;
    loop {
        let mut input = &part[..left.min(part.len())];
        left -= input.len();
        if let Some(whole) = reader.take(&mut input, Vec::new)? {
            return Ok(whole.len());
        }
    }
}

#[test]
fn frame_beyond_memory_is_an_error() {
    if !with_little_memory("frame_beyond_memory_is_an_error") {
        return;
    }
    let mut reader = FrameReader::new(MAX_MESSAGE);
    let Err(FrameError::NoMemory { length, arrived }) = receive(&mut reader, 900_000_000) else {
        panic!("it is refused");
    };
    assert!(length == 900_000_000 && arrived > 1 << 20, "{arrived} of {length}");
    // What it held is free again.
    assert_eq!(receive(&mut FrameReader::new(MAX_MESSAGE), 50_000_000), Ok(50_000_000));
}

#[test]
fn room_for_frame_beyond_memory_is_refused() {
    if !with_little_memory("room_for_frame_beyond_memory_is_refused") {
        return;
    }
    let mut reader = FrameReader::new(MAX_MESSAGE);
    reader.take(&mut &900_000_000u32.to_le_bytes()[..], Vec::new).unwrap();
    while let Some(room) = reader.room() {
        let count = room.len();
        assert_eq!(reader.arrived(count), None);
    }
    let refused = reader.take(&mut &[0; 64][..], Vec::new);
    assert!(matches!(refused, Err(FrameError::NoMemory { length: 900_000_000, .. })), "{refused:?}");
}

#[test]
fn sequence_beyond_memory_is_an_error() {
    if !with_little_memory("sequence_beyond_memory_is_an_error") {
        return;
    }
    // Empty texts, of four bytes each, take six times as much in memory.
    let count = 15_000_000u32;
    let mut bytes = vec![0; 4 + 4 * count as usize];
    bytes[..4].copy_from_slice(&count.to_le_bytes());
    let error = decode::<Vec<String>>(&bytes).unwrap_err();
    assert_eq!(error.kind(), DecodeErrorKind::NoMemory { bytes: count as usize * size_of::<String>() });
    let few = 1000u32;
    bytes[..4].copy_from_slice(&few.to_le_bytes());
    bytes.truncate(4 + 4 * few as usize);
    assert_eq!(decode::<Vec<String>>(&bytes).unwrap().len(), 1000);
}
