//! TCPROS streams of messages or service responses: the result does not depend on how the stream is split and received.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_fuzz::chunks;
use runnel_ros1::tcpros::{FrameError, FrameReader, Response, ResponseReader};

const LIMIT: usize = 100_000;

/// The messages of a stream in chunks.
fn take<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Vec<u8>>, FrameError> {
    let mut reader = FrameReader::new(LIMIT);
    let mut frames = Vec::new();
    for mut chunk in chunks {
        // An empty message is complete with its length.
        while let Some(frame) = reader.take(&mut chunk, || vec![0xAA; 3])? {
            frames.push(frame);
        }
        assert!(chunk.is_empty(), "unread bytes");
    }
    Ok(frames)
}

/// The messages of a stream, received into the reader's own buffer where it has one.
fn receive(mut stream: &[u8]) -> Result<Vec<Vec<u8>>, FrameError> {
    let mut reader = FrameReader::new(LIMIT);
    let mut frames = Vec::new();
    while !stream.is_empty() {
        let buffer = reader.receive_buffer().filter(|buffer| !buffer.is_empty());
        let frame = match buffer {
            Some(buffer) => {
                let (now, later) = stream.split_at(buffer.len().min(stream.len()));
                buffer[..now.len()].copy_from_slice(now);
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

/// The stream parsed as responses of a service.
fn respond<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Response>, FrameError> {
    let mut reader = ResponseReader::new(LIMIT);
    let mut responses = Vec::new();
    for mut chunk in chunks {
        while !chunk.is_empty() {
            responses.extend(reader.take(&mut chunk)?);
        }
    }
    Ok(responses)
}

fuzz_target!(|data: &[u8]| {
    let stream = data.get(1..).unwrap_or_default();
    let unsplit = take([stream]);
    assert_eq!(take(chunks(data)), unsplit);
    assert_eq!(receive(stream), unsplit);
    assert_eq!(respond(chunks(data)), respond([stream]));
    if let Ok(frames) = unsplit {
        let length: usize = frames.iter().map(|frame| 4 + frame.len()).sum();
        assert!(length <= stream.len());
    }
});
