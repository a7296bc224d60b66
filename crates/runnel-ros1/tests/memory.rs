//! Messages that exceed available memory: each is an error, and the program continues. Each test runs in a process
//! with limited memory.

use std::process::Command;

use runnel_core::bounds::{MAX_MESSAGE, QueueBound};
use runnel_core::wire::{DecodeErrorKind, NoMemory, decode};
use runnel_ros1::tcpros::{FrameError, FrameReader, ResponseReader, SendQueue, response_prefix, try_frame};

/// Set in the process with limited memory.
const LITTLE: &str = "RUNNEL_LITTLE_MEMORY";

/// Address space of that process, in KiB.
const LIMIT: &str = "300000";

/// Runs a test again in a process with limited memory. Returns whether this is that process.
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

/// Feeds a reader a message of `length` bytes in parts, until it is complete or refused.
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
    // The memory of the refused message is free again.
    assert_eq!(receive(&mut FrameReader::new(MAX_MESSAGE), 50_000_000), Ok(50_000_000));
}

#[test]
fn receive_buffer_beyond_memory_is_refused() {
    if !with_little_memory("receive_buffer_beyond_memory_is_refused") {
        return;
    }
    let mut reader = FrameReader::new(MAX_MESSAGE);
    reader.take(&mut &900_000_000u32.to_le_bytes()[..], Vec::new).unwrap();
    while let Some(buffer) = reader.receive_buffer() {
        let count = buffer.len();
        assert_eq!(reader.advance(count), None);
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

#[test]
fn own_message_beyond_memory_is_an_error() {
    if !with_little_memory("own_message_beyond_memory_is_an_error") {
        return;
    }
    let (part, mut out) = (vec![7; 1_000_000], vec![1, 2]);
    let refused = try_frame(&mut out, |out| (0..900).for_each(|_| out.extend_from_slice(&part)));
    assert_eq!((refused, out.capacity()), (Err(NoMemory { bytes: 900_000_000 }), 0));
    try_frame(&mut out, |out| (0..50).for_each(|_| out.extend_from_slice(&part))).unwrap();
    assert_eq!((out.len(), &out[..5]), (50_000_004, &[0x80, 0xf0, 0xfa, 0x02, 7][..]));
}

#[test]
fn preamble_beyond_memory_is_an_error() {
    if !with_little_memory("preamble_beyond_memory_is_an_error") {
        return;
    }
    let mut queue = SendQueue::new(QueueBound { messages: 10, bytes: usize::MAX });
    queue.push(vec![7; 110_000_000], 5);
    assert!(queue.insert_preamble(&vec![7; 110_000_000]).is_err());
    assert_eq!((queue.len(), queue.slices(9).map(<[u8]>::len).collect()), (1, vec![109_999_999]));
    assert_eq!(queue.insert_preamble(&[7; 5]), Ok(1));
}

#[test]
fn failure_reason_beyond_memory_is_an_error() {
    if !with_little_memory("failure_reason_beyond_memory_is_an_error") {
        return;
    }
    // Invalid UTF-8 takes three times as much as text.
    let reason = vec![0xff; 70_000_000];
    let mut reader = ResponseReader::new(MAX_MESSAGE);
    assert_eq!(reader.take(&mut &response_prefix(false, reason.len())[..]), Ok(None));
    let refused = reader.take(&mut &reason[..]);
    assert!(matches!(refused, Err(FrameError::NoMemory { length: 70_000_000, .. })), "{refused:?}");
}

#[test]
fn text_beyond_memory_is_an_error() {
    if !with_little_memory("text_beyond_memory_is_an_error") {
        return;
    }
    // A replacement character has three bytes.
    let count = 80_000_000u32;
    let mut bytes = vec![0xff; 4 + count as usize];
    bytes[..4].copy_from_slice(&count.to_le_bytes());
    let error = decode::<String>(&bytes).unwrap_err();
    assert_eq!(error.kind(), DecodeErrorKind::NoMemory { bytes: 3 * count as usize });
    bytes[..4].copy_from_slice(&2u32.to_le_bytes());
    bytes.truncate(6);
    assert_eq!(decode::<String>(&bytes).unwrap(), "\u{fffd}\u{fffd}");
}
