//! Responses recorded from ros_comm in pieces of any size, all framings, bounds, and random bytes.

use proptest::prelude::*;

use super::*;
use crate::http::vectors;

const LIMIT: usize = 4096;

/// The first response among bytes that arrive in pieces of one size, and the parser after it.
fn feed(bytes: &[u8], size: usize) -> Result<(Option<Response>, ResponseParser), ResponseError> {
    let mut parser = ResponseParser::new(LIMIT);
    for piece in bytes.chunks(size) {
        parser.push(piece);
        if let Some(response) = parser.step()? {
            return Ok((Some(response), parser));
        }
    }
    Ok((None, parser))
}

fn whole(bytes: &[u8], size: usize) -> Response {
    feed(bytes, size).expect("sound").0.expect("whole")
}

fn refused(message: &str) -> ResponseError {
    feed(message.as_bytes(), usize::MAX).expect_err("refused")
}

#[test]
fn recorded_responses_parse_in_any_pieces() {
    for message in [
        vectors::ROSCPP_TOPIC_ANSWER,
        vectors::ROSCPP_BUS_STATS,
        vectors::ROSCPP_FAULT,
        vectors::PYTHON_REGISTERED,
        vectors::PYTHON_FAULT,
    ] {
        for size in [1, 2, 3, 7, 100, usize::MAX] {
            assert_eq!(
                whole(message, size),
                Response { keep_open: true, body: vectors::body(message).to_vec() }
            );
        }
    }
}

#[test]
fn chunks_are_joined_in_any_pieces() {
    let document: &[u8] =
        b"<?xml version=\"1.0\"?><methodResponse><params><param><value><int>5</int></value></param>\
        </params></methodResponse>";
    for size in (1..40).chain([usize::MAX]) {
        assert_eq!(whole(vectors::NODE_CHUNKED, size), Response { keep_open: true, body: document.to_vec() });
    }
}

#[test]
fn chunk_extensions_and_trailers_are_skipped() {
    let message =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\nA;a=b\r\n0123456789\r\n0\r\nx: y\r\n\r\nrest";
    for size in [1, 5, usize::MAX] {
        assert_eq!(whole(message, size).body, b"0123456789");
    }
    let (_, parser) = feed(message, usize::MAX).expect("sound");
    assert_eq!(parser.buffered(), 4);
}

#[test]
fn malformed_chunks_are_refused() {
    for chunks in ["x\r\n", "\r\n", "5\r\nabcdeX", "5\nabcde", "-1\r\n", "11111111111111111\r\n", ";a\r\n"] {
        let message = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
        assert_eq!(refused(&message), ResponseError::BadChunk, "{chunks:?}");
    }
    let long = "1".to_owned() + &" ".repeat(MAX_CHUNK_LINE);
    assert_eq!(
        refused(&format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{long}")),
        ResponseError::BadChunk
    );
}

#[test]
fn body_without_length_ends_with_connection() {
    let (none, mut parser) = feed(b"HTTP/1.1 200 OK\r\n\r\nabc", 1).expect("sound");
    assert_eq!(none, None);
    assert_eq!(parser.finish(), Ok(Some(Response { keep_open: false, body: b"abc".to_vec() })));
}

#[test]
fn truncated_response_differs_from_no_response() {
    assert_eq!(ResponseParser::new(LIMIT).finish(), Ok(None));
    for cut in [
        "H",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
    ] {
        let (_, mut parser) = feed(cut.as_bytes(), 1).expect("sound");
        assert_eq!(parser.finish(), Err(ResponseError::Truncated), "{cut:?}");
    }
}

#[test]
fn interim_responses_are_skipped() {
    let message = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-length: 1\r\n\r\na";
    for size in [1, usize::MAX] {
        assert_eq!(whole(message, size).body, b"a");
    }
}

#[test]
fn server_may_close_after_response() {
    let open = |head: &str| whole(format!("{head}Content-length: 0\r\n\r\n").as_bytes(), 1).keep_open;
    assert!(open("HTTP/1.1 200 OK\r\n"));
    assert!(!open("HTTP/1.1 200 OK\r\nConnection: close\r\n"));
    assert!(!open("HTTP/1.0 200 OK\r\n"));
}

#[test]
fn other_statuses_and_codings_are_refused() {
    assert_eq!(
        refused("HTTP/1.1 404 Not Found\r\nContent-length: 5\r\n\r\n").to_string(),
        "HTTP status 404 Not Found"
    );
    let with = |field: &str| refused(&format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n"));
    assert_eq!(with("Content-Encoding: gzip"), ResponseError::ContentEncoding);
    assert_eq!(with("Transfer-Encoding: gzip, chunked"), ResponseError::TransferEncoding);
    assert_eq!(with("Content-Length: x"), ResponseError::BadLength);
    assert!(matches!(refused("RTSP/1.0 200 OK\r\n\r\n"), ResponseError::Malformed(_)));
}

#[test]
fn heads_and_bodies_are_bounded() {
    assert_eq!(refused(&"a".repeat(MAX_HEAD + 1)), ResponseError::HeadTooLong);
    let fields = "a: b\r\n".repeat(MAX_HEADERS + 1);
    assert_eq!(refused(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n")), ResponseError::TooManyHeaders);
    let too_long = ResponseError::BodyTooLong { limit: LIMIT };
    assert_eq!(refused("HTTP/1.1 200 OK\r\nContent-Length: 4097\r\n\r\n"), too_long);
    assert_eq!(refused(&format!("HTTP/1.1 200 OK\r\n\r\n{}", "a".repeat(LIMIT + 1))), too_long);
    let chunk = format!("800\r\n{}\r\n", "a".repeat(0x800));
    let chunks = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}{chunk}1\r\n");
    assert_eq!(refused(&chunks), too_long);
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes: Vec<u8>, size in 1..20usize) {
        if let Ok((_, mut parser)) = feed(&bytes, size) {
            let _ = parser.finish();
        }
    }

    #[test]
    fn damaged_response_parses_alike_in_any_pieces(at: prop::sample::Index, byte: u8, size in 1..50usize) {
        let mut message = vectors::NODE_CHUNKED.to_vec();
        let at = at.index(message.len());
        message[at] = byte;
        let outcome = |size| feed(&message, size).map(|(response, _)| response);
        prop_assert_eq!(outcome(size), outcome(usize::MAX));
    }
}
