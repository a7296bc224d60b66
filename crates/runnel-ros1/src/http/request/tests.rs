//! Requests recorded from ros_comm in pieces of any size, refusals, bounds, and random bytes.

use proptest::prelude::*;

use super::*;
use crate::http::vectors;

const LIMIT: usize = 4096;

/// All steps of bytes that arrive in pieces of one size, until the first error.
fn steps(bytes: &[u8], size: usize) -> Result<Vec<RequestStep>, RequestError> {
    let mut parser = RequestParser::new(LIMIT);
    let mut steps = Vec::new();
    for piece in bytes.chunks(size) {
        parser.push(piece);
        loop {
            match parser.step()? {
                RequestStep::Incomplete => break,
                step => steps.push(step),
            }
        }
    }
    Ok(steps)
}

fn only_request(bytes: &[u8], size: usize) -> Request {
    match steps(bytes, size).as_deref() {
        Ok([RequestStep::Whole(request)]) => request.clone(),
        other => panic!("one request, not {other:?}"),
    }
}

fn refused(head: &str) -> RequestError {
    steps(head.as_bytes(), usize::MAX).expect_err("refused")
}

#[test]
fn recorded_requests_parse_in_any_pieces() {
    for (message, path) in [
        (vectors::ROSCPP_REGISTER_PUBLISHER, "/"),
        (vectors::ROSCPP_VALUES, "/"),
        (vectors::PYTHON_GET_PID, "/RPC2"),
        (vectors::PYTHON_SET_PARAM, "/"),
        (vectors::PYTHON_MULTICALL, "/"),
    ] {
        for size in [1, 2, 3, 7, 100, usize::MAX] {
            let request = only_request(message, size);
            assert_eq!((request.path.as_str(), request.keep_open), (path, true));
            assert_eq!(request.body, vectors::body(message));
        }
    }
}

#[test]
fn pipelined_requests_may_have_line_ends_between() {
    let both = [vectors::ROSCPP_REGISTER_PUBLISHER, b"\r\n\n", vectors::PYTHON_GET_PID].concat();
    for size in [1, 10, usize::MAX] {
        assert_eq!(steps(&both, size).map(|steps| steps.len()), Ok(2));
    }
}

#[test]
fn bytes_of_next_request_are_kept() {
    let mut parser = RequestParser::new(LIMIT);
    parser.push(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nabPOST");
    assert!(matches!(parser.step(), Ok(RequestStep::Whole(_))));
    assert_eq!((parser.buffered(), parser.is_idle()), (4, false));
}

#[test]
fn connection_closes_after_http_1_0_or_on_request() {
    let open = |head: &str| only_request(format!("{head}Content-Length: 0\r\n\r\n").as_bytes(), 1).keep_open;
    assert!(open("POST / HTTP/1.1\r\n"));
    assert!(open("POST / HTTP/1.1\r\nConnection: keep-alive\r\n"));
    assert!(!open("POST / HTTP/1.1\r\nconnection: TE, Close\r\n"));
    assert!(!open("POST / HTTP/1.0\r\n"));
}

#[test]
fn waiting_client_gets_continue_once() {
    let head = "POST / HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\n";
    let mut parser = RequestParser::new(LIMIT);
    parser.push(head.as_bytes());
    assert_eq!(parser.step(), Ok(RequestStep::Continue));
    parser.push(b"ab");
    assert_eq!(parser.step(), Ok(RequestStep::Incomplete));
    parser.push(b"c");
    assert!(matches!(parser.step(), Ok(RequestStep::Whole(_))));
    let together = format!("{head}abc");
    assert!(matches!(steps(together.as_bytes(), usize::MAX).as_deref(), Ok([RequestStep::Whole(_)])));
}

#[test]
fn unsupported_requests_are_refused_with_status() {
    for (head, code) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        ("BREW / HTTP/1.1\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\n\r\n", 411),
        ("POST / HTTP/1.1\r\nContent-Length: abc\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nContent-Length: 4097\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nContent-Length: 4\r\nContent-Encoding: gzip\r\n\r\n", 415),
        ("POST / HTTP/1.1\r\nContent-Length: 4\r\nExpect: cake\r\n\r\n", 417),
        ("POST / HTTP/2.0\r\n\r\n", 505),
        ("\x16\x03\x01\x02\n\n", 400),
    ] {
        assert_eq!(refused(head).status().0, code, "{head:?}: {}", refused(head));
    }
}

#[test]
fn web_page_requests_are_refused() {
    let with =
        |origin: &str| steps(format!("POST / HTTP/1.1\r\n{origin}Content-Length: 0\r\n\r\n").as_bytes(), 7);
    for origin in [
        "http://evil.example",
        "https://robot:11311",
        "HTTP://Evil.Example",
        "null",
        "Null",
        "",
        "file:// http://evil.example",
        "file://, https://evil.example",
    ] {
        let error = with(&format!("origin: {origin}\r\n")).expect_err(origin);
        assert!(matches!(&error, RequestError::Origin(_)) && error.status().0 == 403, "{origin}: {error}");
    }
    let two = with("Origin: file://\r\nOrigin: null\r\n").expect_err("one of them is of a web page");
    assert_eq!(two, RequestError::Origin("null".to_owned()));
    for origin in ["", "Origin: file://\r\n", "Origin: app://studio\r\n", "Origin: chrome-extension://a\r\n"]
    {
        assert_eq!(with(origin).map(|steps| steps.len()), Ok(1), "{origin}");
    }
}

#[test]
fn two_lengths_are_refused_even_if_equal() {
    for lengths in
        ["Content-Length: 2\r\nContent-Length: 3\r\n", "content-length: 2\r\nContent-Length: 2\r\n"]
    {
        let error = refused(&format!("POST / HTTP/1.1\r\n{lengths}\r\nab"));
        assert_eq!((&error, error.status().0), (&RequestError::TwoLengths, 400));
    }
}

#[test]
fn length_beyond_64_bits_is_refused() {
    let error = refused("POST / HTTP/1.1\r\nContent-Length: 18446744073709551618\r\n\r\nab");
    assert_eq!((&error, error.status().0), (&RequestError::BadLength, 400));
}

#[test]
fn head_is_bounded() {
    assert_eq!(refused(&"a".repeat(MAX_HEAD + 1)), RequestError::HeadTooLong);
    let fields = |count: usize| {
        format!("POST / HTTP/1.1\r\nContent-Length: 0\r\n{}\r\n", "a: b\r\n".repeat(count - 1))
    };
    assert_eq!(steps(fields(MAX_HEADERS).as_bytes(), usize::MAX).map(|steps| steps.len()), Ok(1));
    assert_eq!(refused(&fields(MAX_HEADERS + 1)), RequestError::TooManyHeaders);
}

#[test]
fn longest_body_is_accepted() {
    let message = format!("POST / HTTP/1.1\r\nContent-Length: {LIMIT}\r\n\r\n{}", "a".repeat(LIMIT));
    assert_eq!(only_request(message.as_bytes(), 1000).body.len(), LIMIT);
}

#[test]
fn announced_length_reserves_no_memory() {
    let mut parser = RequestParser::new(usize::MAX);
    parser.push(b"POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\nab");
    assert_eq!(parser.step(), Ok(RequestStep::Incomplete));
    assert!(parser.bytes.capacity() < 1024);
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes: Vec<u8>, size in 1..20usize) {
        let _ = steps(&bytes, size);
    }

    #[test]
    fn damaged_head_parses_alike_in_any_pieces(at in 0..180usize, byte: u8, size in 1..50usize) {
        let mut message = vectors::PYTHON_GET_PID.to_vec();
        message[at] = byte;
        prop_assert_eq!(steps(&message, size), steps(&message, usize::MAX));
    }
}
