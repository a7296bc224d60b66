//! The client side of a peer.

use super::*;
use crate::http::{self, vectors};
use crate::xmlrpc::encode_response;

pub(super) const SERVER: &str = "http://robot:11311/RPC2";

pub(super) fn options(keep_open: bool) -> CallOptions {
    CallOptions { timeout: Duration::from_secs(5), total_timeout: Duration::from_secs(5), keep_open }
}

fn call(peer: &mut RpcPeer, method: &str, keep_open: bool) -> CallId {
    peer.call(seconds(0), &uri(SERVER), method, &["/n".into()], options(keep_open))
}

/// The connection that a peer requests; it requests nothing else.
fn requested_connection(peer: &mut RpcPeer) -> ConnId {
    match &transmits(peer)[..] {
        [Transmit::Connect { conn, to }] if to.to_string() == "robot:11311" => *conn,
        other => panic!("one connection, not {other:?}"),
    }
}

fn opened(peer: &mut RpcPeer) -> ConnId {
    let conn = requested_connection(peer);
    peer.handle_connected(seconds(1), conn);
    conn
}

/// A peer with a kept connection that has answered a call.
fn kept() -> (RpcPeer, ConnId) {
    let mut peer = RpcPeer::new(RpcConfig::default());
    call(&mut peer, "first", true);
    let conn = opened(&mut peer);
    sent(&mut peer, conn);
    peer.handle_data(seconds(1), conn, &answer(0));
    events(&mut peer);
    (peer, conn)
}

pub(super) fn answer(number: i32) -> Vec<u8> {
    http::response(&encode_response(&Ok(number.into())).expect("encodes"), true)
}

/// The only event: the end of a call.
pub(super) fn result(peer: &mut RpcPeer) -> (CallId, Result<Value, CallError>) {
    match events(peer).pop() {
        Some(RpcEvent::Answered { call, result }) => (call, result),
        other => panic!("an answer, not {other:?}"),
    }
}

fn error(peer: &mut RpcPeer) -> String {
    result(peer).1.expect_err("failed").to_string()
}

#[test]
fn call_uses_path_of_uri() {
    let mut peer = RpcPeer::new(RpcConfig::default());
    call(&mut peer, "getPid", false);
    let conn = opened(&mut peer);
    let (request, closed) = sent(&mut peer, conn);
    assert!(request.starts_with("POST /RPC2 HTTP/1.1\r\nHost: robot:11311\r\n"), "{request}");
    assert!(request.contains("Connection: close\r\n") && request.contains("<methodName>getPid</methodName>"));
    assert!(!closed);
}

#[test]
fn recorded_answers_complete_call_and_close() {
    for message in [vectors::ROSCPP_TOPIC_ANSWER, vectors::PYTHON_REGISTERED, vectors::NODE_CHUNKED] {
        let mut peer = RpcPeer::new(RpcConfig::default());
        let id = call(&mut peer, "a", false);
        let conn = opened(&mut peer);
        sent(&mut peer, conn);
        message.iter().for_each(|byte| peer.handle_data(seconds(1), conn, &[*byte]));
        let (ended, value) = result(&mut peer);
        assert!(ended == id && value.is_ok());
        assert_eq!(transmits(&mut peer), [Transmit::Close { conn }]);
        assert_eq!((peer.owns(conn), peer.poll_timeout()), (false, None));
    }
}

#[test]
fn server_fault_is_returned() {
    let mut peer = RpcPeer::new(RpcConfig::default());
    call(&mut peer, "nosuch", false);
    let conn = opened(&mut peer);
    peer.handle_data(seconds(1), conn, vectors::ROSCPP_FAULT);
    assert_eq!(
        error(&mut peer),
        "call of nosuch of http://robot:11311/RPC2: fault -1: nosuch: unknown method name"
    );
}

#[test]
fn kept_calls_share_one_connection() {
    let mut peer = RpcPeer::new(RpcConfig::default());
    let calls = ["a", "b", "c"].map(|method| call(&mut peer, method, true));
    let conn = opened(&mut peer);
    for (number, id) in (0..).zip(calls) {
        let (request, _) = sent(&mut peer, conn);
        assert_eq!(request.matches("POST").count(), 1);
        assert!(!request.contains("Connection: close"));
        peer.handle_data(seconds(1), conn, &answer(number));
        assert_eq!(result(&mut peer), (id, Ok(number.into())));
    }
    assert_eq!((transmits(&mut peer), peer.owns(conn), peer.poll_timeout()), (vec![], true, None));
}

#[test]
fn other_calls_use_own_connections() {
    let mut peer = RpcPeer::new(RpcConfig::default());
    for method in ["a", "b"] {
        call(&mut peer, method, false);
    }
    assert_eq!(transmits(&mut peer).len(), 2);
}

#[test]
fn end_of_idle_kept_connection_is_reported() {
    let (mut peer, conn) = kept();
    peer.handle_closed(seconds(9), conn, None);
    assert_eq!(events(&mut peer), [RpcEvent::KeptConnectionLost]);
    assert_eq!((transmits(&mut peer), peer.poll_timeout()), (vec![], None));
    call(&mut peer, "again", true);
    opened(&mut peer);
}

#[test]
fn call_on_stale_connection_is_repeated_once() {
    let (mut peer, stale) = kept();
    let (id, next) = (call(&mut peer, "a", true), call(&mut peer, "b", true));
    assert!(sent(&mut peer, stale).0.contains("<methodName>a<"));
    peer.handle_closed(seconds(1), stale, Some("reset"));
    assert_eq!(events(&mut peer), [RpcEvent::KeptConnectionLost]);
    let fresh = opened(&mut peer);
    assert!(sent(&mut peer, fresh).0.contains("<methodName>a<"));
    peer.handle_data(seconds(1), fresh, &answer(1));
    assert_eq!(result(&mut peer), (id, Ok(1.into())));
    peer.handle_data(seconds(1), fresh, &answer(2));
    assert_eq!(result(&mut peer), (next, Ok(2.into())));
}

#[test]
fn call_is_not_repeated_twice() {
    let (mut peer, stale) = kept();
    call(&mut peer, "a", true);
    sent(&mut peer, stale);
    peer.handle_closed(seconds(1), stale, None);
    let fresh = opened(&mut peer);
    sent(&mut peer, fresh);
    peer.handle_closed(seconds(1), fresh, Some("reset"));
    assert_eq!(
        error(&mut peer),
        "call of a of http://robot:11311/RPC2: connection closed before the answer: reset"
    );
    assert_eq!(transmits(&mut peer), []);
}

#[test]
fn call_with_partial_answer_is_not_repeated() {
    let (mut peer, conn) = kept();
    call(&mut peer, "a", true);
    sent(&mut peer, conn);
    peer.handle_data(seconds(1), conn, b"H");
    peer.handle_closed(seconds(1), conn, None);
    assert!(matches!(
        &events(&mut peer)[..],
        [RpcEvent::KeptConnectionLost, RpcEvent::Answered { result: Err(CallError::Closed { .. }), .. }]
    ));
    assert_eq!(transmits(&mut peer), []);
}

#[test]
fn call_on_new_connection_is_not_repeated() {
    for keep_open in [true, false] {
        let mut peer = RpcPeer::new(RpcConfig::default());
        call(&mut peer, "a", keep_open);
        let conn = opened(&mut peer);
        sent(&mut peer, conn);
        peer.handle_closed(seconds(1), conn, None);
        assert_eq!(
            error(&mut peer),
            "call of a of http://robot:11311/RPC2: connection closed before the answer"
        );
        assert_eq!(transmits(&mut peer), []);
    }
}

#[test]
fn unreachable_server_fails_every_queued_call() {
    let mut peer = RpcPeer::new(RpcConfig::default());
    let calls = ["a", "b"].map(|method| call(&mut peer, method, true));
    for id in calls {
        let conn = requested_connection(&mut peer);
        peer.handle_closed(seconds(1), conn, Some("refused"));
        let (ended, failure) = result(&mut peer);
        assert_eq!(ended, id);
        assert!(matches!(failure, Err(CallError::Unreachable { why: Some(why), .. }) if why == "refused"));
    }
    assert_eq!((transmits(&mut peer), peer.poll_timeout()), (vec![], None));
}

#[test]
fn closing_server_gets_one_connection_per_call() {
    let mut peer = RpcPeer::new(RpcConfig::default());
    let calls = ["a", "b"].map(|method| call(&mut peer, method, true));
    let body = encode_response(&Ok(1.into())).expect("encodes");
    for id in calls {
        let conn = match transmits(&mut peer).pop() {
            Some(Transmit::Connect { conn, .. }) => conn,
            other => panic!("a connection, not {other:?}"),
        };
        peer.handle_connected(seconds(1), conn);
        peer.handle_data(seconds(1), conn, &http::response(&body, false));
        assert_eq!(result(&mut peer), (id, Ok(1.into())));
        assert!(!peer.owns(conn));
    }
}

#[test]
fn answer_may_end_with_connection() {
    let mut peer = RpcPeer::new(RpcConfig::default());
    let calls = ["a", "b"].map(|method| call(&mut peer, method, true));
    let conn = opened(&mut peer);
    sent(&mut peer, conn);
    let body = encode_response(&Ok(1.into())).expect("encodes");
    peer.handle_data(seconds(1), conn, &[b"HTTP/1.0 200 OK\r\n\r\n", &body[..]].concat());
    assert_eq!(events(&mut peer), []);
    peer.handle_closed(seconds(1), conn, None);
    assert_eq!(result(&mut peer), (calls[0], Ok(1.into())));
    opened(&mut peer);
}

#[test]
fn call_after_timeout_uses_new_connection() {
    let mut peer = RpcPeer::new(RpcConfig::default());
    let slow = call(&mut peer, "slow", true);
    let next = peer.call(seconds(3), &uri(SERVER), "next", &[], options(true));
    let conn = opened(&mut peer);
    sent(&mut peer, conn);
    assert_eq!(peer.poll_timeout(), Some(seconds(5)));
    peer.handle_timeout(seconds(5));
    let (ended, failure) = result(&mut peer);
    assert_eq!(
        (ended, failure.expect_err("failed").to_string().ends_with("no answer in time")),
        (slow, true)
    );
    let [Transmit::Close { conn: closed }, Transmit::Connect { conn: fresh, .. }] = transmits(&mut peer)[..]
    else {
        panic!("one connection for the other")
    };
    assert_eq!((closed, peer.owns(conn)), (conn, false));
    peer.handle_connected(seconds(5), fresh);
    peer.handle_data(seconds(6), fresh, &answer(2));
    assert_eq!(result(&mut peer), (next, Ok(2.into())));
}

#[test]
fn call_times_out_while_waiting_or_connecting() {
    let mut peer = RpcPeer::new(RpcConfig::default());
    let calls = [call(&mut peer, "a", true), call(&mut peer, "b", true), call(&mut peer, "c", false)];
    peer.handle_timeout(seconds(5));
    let ended: Vec<_> = events(&mut peer)
        .into_iter()
        .map(|event| match event {
            RpcEvent::Answered { call, result: Err(CallError::TimedOut { .. }) } => call,
            other => panic!("too late, not {other:?}"),
        })
        .collect();
    assert_eq!(ended, calls);
    assert_eq!(peer.poll_timeout(), None);
    assert!(transmits(&mut peer).iter().all(|transmit| !matches!(transmit, Transmit::Send { .. })));
}

#[test]
fn canceled_call_causes_no_event() {
    let mut peer = RpcPeer::new(RpcConfig::default());
    let calls = ["a", "b", "c"].map(|method| call(&mut peer, method, true));
    let conn = opened(&mut peer);
    sent(&mut peer, conn);
    peer.cancel(calls[1]);
    assert_eq!(transmits(&mut peer), []);
    peer.handle_data(seconds(1), conn, &answer(0));
    peer.cancel(calls[0]);
    assert_eq!(events(&mut peer), []);
    assert!(sent(&mut peer, conn).0.contains("<methodName>c<"));
    peer.cancel(calls[2]);
    assert_eq!(transmits(&mut peer), [Transmit::Close { conn }]);
    assert_eq!((events(&mut peer), peer.poll_timeout()), (vec![], None));
}

#[test]
fn malformed_answers_fail_call_with_reason() {
    for (bytes, why) in [
        (&b"HTTP/1.1 404 Not Found\r\n\r\n"[..], "bad answer: HTTP status 404 Not Found"),
        (b"SSH-2.0-x\r\n\r\n", "bad answer: not an HTTP response"),
        (b"HTTP/1.1 200 OK\r\nContent-length: 1\r\n\r\nx", "bad answer: byte 0: stray text \"x\""),
        (
            b"HTTP/1.1 200 OK\r\nContent-length: 99999999999\r\n\r\nx",
            "bad answer: body longer than the limit of 16777216 bytes",
        ),
    ] {
        let mut peer = RpcPeer::new(RpcConfig::default());
        call(&mut peer, "a", false);
        let conn = opened(&mut peer);
        sent(&mut peer, conn);
        peer.handle_data(seconds(1), conn, bytes);
        let error = error(&mut peer);
        assert!(error.contains(why), "{error}");
        assert_eq!(transmits(&mut peer), [Transmit::Close { conn }]);
    }
}

#[test]
fn unsolicited_bytes_close_kept_connection() {
    let (mut peer, conn) = kept();
    peer.handle_data(seconds(2), conn, b"HTTP/1.1 408 Request Timeout\r\n\r\n");
    assert_eq!(events(&mut peer), [RpcEvent::KeptConnectionLost]);
    assert_eq!(transmits(&mut peer), [Transmit::Close { conn }]);
    let (mut peer, conn) = kept();
    call(&mut peer, "a", true);
    sent(&mut peer, conn);
    peer.handle_data(seconds(2), conn, &[answer(1), b"x".to_vec()].concat());
    assert!(result(&mut peer).1.is_ok() && !peer.owns(conn));
}

#[test]
fn unwritable_call_fails_immediately() {
    let mut peer = RpcPeer::new(RpcConfig::default());
    let id = peer.call(seconds(0), &uri(SERVER), "a", &["\0".into()], options(true));
    let (ended, failure) = result(&mut peer);
    assert!(ended == id && matches!(failure, Err(CallError::BadRequest { .. })));
    assert_eq!((transmits(&mut peer), peer.poll_timeout()), (vec![], None));
}

#[test]
fn waiting_calls_are_bounded() {
    let mut peer = RpcPeer::new(RpcConfig { max_queued_calls: 2, ..RpcConfig::default() });
    let calls = ["a", "b", "c"].map(|method| call(&mut peer, method, true));
    let (ended, failure) = result(&mut peer);
    assert!(ended == calls[2] && matches!(failure, Err(CallError::TooManyCalls { .. })));
}

#[test]
fn kept_connections_are_bounded() {
    let mut peer = RpcPeer::new(RpcConfig { max_kept_connections: 1, ..RpcConfig::default() });
    call(&mut peer, "a", true);
    peer.call(seconds(0), &uri("http://other:1"), "b", &[], options(true));
    let conns: Vec<_> = transmits(&mut peer)
        .into_iter()
        .map(|transmit| match transmit {
            Transmit::Connect { conn, .. } => conn,
            other => panic!("a connection, not {other:?}"),
        })
        .collect();
    for conn in &conns {
        peer.handle_connected(seconds(1), *conn);
        peer.handle_data(seconds(1), *conn, &answer(1));
    }
    assert_eq!((peer.owns(conns[0]), peer.owns(conns[1])), (true, false));
}

#[test]
fn largest_answer_is_dropped_at_total_limit() {
    let mut peer = RpcPeer::new(RpcConfig { max_buffered: 100_000, ..RpcConfig::default() });
    call(&mut peer, "a", false);
    let conn = opened(&mut peer);
    sent(&mut peer, conn);
    peer.handle_data(seconds(1), conn, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n");
    peer.handle_data(seconds(1), conn, &[b' '; 100_001]);
    assert!(error(&mut peer).contains("buffer limit"));
    assert!(!peer.owns(conn));
}
