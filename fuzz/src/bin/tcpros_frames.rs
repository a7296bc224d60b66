//! A stream of messages, or of a service's responses: however it is cut, and whichever way it is received, the same messages come of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_fuzz::pieces;
use runnel_ros1::tcpros::{FrameError, FrameReader, Response, ResponseReader};

const LIMIT: usize = 100_000;

/// The messages of a stream that is given in pieces.
fn take<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Vec<u8>>, FrameError> {
    let mut reader = FrameReader::new(LIMIT);
    let mut frames = Vec::new();
    for mut piece in pieces {
        // A message without bytes is complete with its length.
        while let Some(frame) = reader.take(&mut piece, || vec![0xAA; 3])? {
            frames.push(frame);
        }
        assert!(piece.is_empty(), "bytes were left over");
    }
    Ok(frames)
}

/// The messages of a stream that is received into the reader's own room wherever there is some.
fn receive(mut stream: &[u8]) -> Result<Vec<Vec<u8>>, FrameError> {
    let mut reader = FrameReader::new(LIMIT);
    let mut frames = Vec::new();
    while !stream.is_empty() {
        let room = reader.receive_buffer().filter(|room| !room.is_empty());
        let frame = match room {
            Some(room) => {
                let (now, later) = stream.split_at(room.len().min(stream.len()));
                room[..now.len()].copy_from_slice(now);
                stream = later;
                reader.advance(now.len())
            }
            None => {
                let (mut now, later) = stream.split_at(1);
                stream = later;
                reader.take(&mut now, Vec::new)?
            }
        };
        frames.extend(frame);
    }
    Ok(frames)
}

/// The stream as the responses of a service.
fn respond<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Response>, FrameError> {
    let mut reader = ResponseReader::new(LIMIT);
    let mut responses = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() {
            responses.extend(reader.take(&mut piece)?);
        }
    }
    Ok(responses)
}

fuzz_target!(|data: &[u8]| {
    let stream = data.get(1..).unwrap_or_default();
    let whole = take([stream]);
    assert_eq!(take(pieces(data)), whole);
    assert_eq!(receive(stream), whole);
    assert_eq!(respond(pieces(data)), respond([stream]));
    if let Ok(frames) = whole {
        let length: usize = frames.iter().map(|frame| 4 + frame.len()).sum();
        assert!(length <= stream.len());
    }
});
