//! The server side of a peer.

use super::*;
use crate::http::{self, RequestError, vectors};
use crate::xmlrpc::encode_call;

fn small() -> RpcConfig {
    RpcConfig { max_body: 4096, max_server_connections: 3, max_pipelined: 1024, ..RpcConfig::default() }
}

/// A server with one client.
fn connected(config: RpcConfig) -> (RpcPeer, ConnId) {
    let mut peer = RpcPeer::new(config);
    let conn = peer.handle_accepted(seconds(0), client_address()).expect("accepted");
    (peer, conn)
}

fn post(method: &str) -> Vec<u8> {
    http::request("a:1", "/", &encode_call(method, &[]).expect("encodes"), true)
}

fn called(peer: &mut RpcPeer) -> Vec<String> {
    let method = |event| match event {
        RpcEvent::Called { method, .. } => method,
        other => panic!("a call, not {other:?}"),
    };
    events(peer).into_iter().map(method).collect()
}

fn refusals(peer: &mut RpcPeer) -> Vec<ClientFault> {
    let why = |event| match event {
        RpcEvent::Refused { why, .. } => Some(why),
        _ => None,
    };
    events(peer).into_iter().filter_map(why).collect()
}

#[test]
fn call_is_reported_and_answered() {
    for (message, method) in
        [(vectors::ROSCPP_REGISTER_PUBLISHER, "registerPublisher"), (vectors::PYTHON_GET_PID, "getPid")]
    {
        let (mut peer, conn) = connected(RpcConfig::default());
        message.iter().for_each(|byte| peer.handle_data(seconds(1), conn, &[*byte]));
        assert_eq!(called(&mut peer), [method]);
        assert_eq!(transmits(&mut peer), []);
        peer.reply(seconds(1), conn, Ok(1.into()));
        let (answer, closed) = sent(&mut peer, conn);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("<i4>1</i4>"), "{answer}");
        assert!(!closed && peer.owns(conn));
    }
}

#[test]
fn fault_is_sent_as_fault() {
    let (mut peer, conn) = connected(RpcConfig::default());
    peer.handle_data(seconds(1), conn, &post("x"));
    peer.reply(seconds(1), conn, Err(Fault { code: -1, message: "x: unknown method name".to_owned() }));
    assert!(sent(&mut peer, conn).0.contains("<fault>"));
}

#[test]
fn unwritable_answer_becomes_fault() {
    let (mut peer, conn) = connected(RpcConfig::default());
    for answer in [Ok("\u{7}".into()), Err(Fault { code: 1, message: "\u{7}".to_owned() })] {
        peer.handle_data(seconds(1), conn, &post("x"));
        peer.reply(seconds(1), conn, answer);
        assert!(sent(&mut peer, conn).0.contains("character U+0007 at byte 0"));
    }
}

#[test]
fn one_request_is_served_at_a_time() {
    let (mut peer, conn) = connected(RpcConfig::default());
    peer.handle_data(seconds(1), conn, &[post("a"), post("b")].concat());
    assert_eq!(called(&mut peer), ["a"]);
    peer.handle_data(seconds(1), conn, &post("c"));
    assert_eq!(called(&mut peer), [""; 0]);
    peer.reply(seconds(1), conn, Ok(1.into()));
    assert_eq!(called(&mut peer), ["b"]);
    peer.reply(seconds(1), conn, Ok(1.into()));
    assert_eq!(called(&mut peer), ["c"]);
}

#[test]
fn reply_without_call_is_ignored() {
    let (mut peer, conn) = connected(RpcConfig::default());
    peer.reply(seconds(1), conn, Ok(1.into()));
    peer.handle_data(seconds(1), conn, &post("a"));
    peer.handle_closed(seconds(1), conn, None);
    peer.reply(seconds(1), conn, Ok(1.into()));
    assert_eq!(transmits(&mut peer), []);
    assert!(!peer.owns(conn));
}

#[test]
fn http_1_0_connection_closes_after_answer() {
    let (mut peer, conn) = connected(RpcConfig::default());
    let message = String::from_utf8(post("a")).expect("text").replace("HTTP/1.1", "HTTP/1.0");
    peer.handle_data(seconds(1), conn, message.as_bytes());
    peer.reply(seconds(1), conn, Ok(1.into()));
    let (answer, closed) = sent(&mut peer, conn);
    assert!(answer.contains("Connection: close\r\n") && closed && !peer.owns(conn));
}

#[test]
fn waiting_client_gets_continue() {
    let (mut peer, conn) = connected(RpcConfig::default());
    peer.handle_data(
        seconds(1),
        conn,
        b"POST / HTTP/1.1\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
    );
    assert_eq!(sent(&mut peer, conn), ("HTTP/1.1 100 Continue\r\n\r\n".to_owned(), false));
}

#[test]
fn malformed_call_gets_fault_and_keeps_connection() {
    let (mut peer, conn) = connected(RpcConfig::default());
    peer.handle_data(seconds(1), conn, &[http::request("a:1", "/", b"<nil/>", true), post("a")].concat());
    let (answer, closed) = sent(&mut peer, conn);
    let why = "<string>byte 0: &lt;nil/&gt; is not a value in ROS</string>";
    assert!(answer.contains(why), "{answer}");
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("<fault>") && !closed);
    assert!(matches!(
        &events(&mut peer)[..],
        [RpcEvent::Refused { why: ClientFault::BadCall(_), .. }, RpcEvent::Called { .. }]
    ));
}

#[test]
fn malformed_request_is_refused_and_closed() {
    for (bytes, line, why) in [
        (
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            "HTTP/1.1 405 Method Not Allowed\r\n",
            RequestError::Method("GET".to_owned()),
        ),
        (b"POST / HTTP/1.1\r\n\r\n", "HTTP/1.1 411 Length Required\r\n", RequestError::NoLength),
        (
            b"POST / HTTP/1.1\r\nContent-Length: 4097\r\n\r\n",
            "HTTP/1.1 413 Content Too Large\r\n",
            RequestError::BodyTooLong { length: 4097, limit: 4096 },
        ),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 501 Not Implemented\r\n",
            RequestError::TransferEncoding,
        ),
        (
            b"\x16\x03\x01\n\n",
            "HTTP/1.1 400 Bad Request\r\n",
            RequestError::Malformed(httparse::Error::Token),
        ),
    ] {
        let (mut peer, conn) = connected(small());
        peer.handle_data(seconds(1), conn, bytes);
        let (answer, closed) = sent(&mut peer, conn);
        assert!(answer.starts_with(line) && closed, "{answer}");
        assert_eq!(refusals(&mut peer), [ClientFault::BadRequest(why)]);
        assert_eq!((peer.owns(conn), peer.poll_timeout()), (false, None));
    }
}

#[test]
fn master_serves_two_paths_node_serves_any() {
    for (path, any_path, served) in
        [("/", false, true), ("/RPC2", false, true), ("/foo", false, false), ("/foo", true, true)]
    {
        let (mut peer, conn) = connected(RpcConfig { any_path, ..RpcConfig::default() });
        let body = encode_call("a", &[]).expect("encodes");
        peer.handle_data(seconds(1), conn, &http::request("a:1", path, &body, true));
        assert_eq!(peer.owns(conn), served, "{path}");
        assert_eq!(sent(&mut peer, conn).0.starts_with("HTTP/1.1 404 Not Found\r\n"), !served, "{path}");
    }
}

#[test]
fn slow_client_is_closed_at_deadline() {
    let (mut peer, conn) = connected(RpcConfig::default());
    assert_eq!(peer.poll_timeout(), Some(seconds(10)));
    peer.handle_data(seconds(9), conn, b"P");
    assert_eq!(peer.poll_timeout(), Some(seconds(10)));
    peer.handle_timeout(seconds(9));
    assert!(peer.owns(conn));
    peer.handle_timeout(seconds(10));
    assert_eq!(transmits(&mut peer), [Transmit::Close { conn }]);
    assert_eq!(refusals(&mut peer), [ClientFault::RequestTimedOut { within: Duration::from_secs(10) }]);
    assert_eq!(peer.poll_timeout(), None);
}

#[test]
fn later_deadline_runs_from_first_byte() {
    let (mut peer, conn) = connected(RpcConfig::default());
    peer.handle_data(seconds(1), conn, &post("a"));
    assert_eq!(peer.poll_timeout(), None);
    peer.reply(seconds(30), conn, Ok(1.into()));
    assert_eq!(peer.poll_timeout(), None);
    peer.handle_data(seconds(100), conn, b"PO");
    peer.handle_data(seconds(105), conn, b"ST");
    assert_eq!(peer.poll_timeout(), Some(seconds(110)));
}

#[test]
fn oldest_connection_without_request_is_evicted() {
    let mut peer = RpcPeer::new(small());
    let accept = |peer: &mut RpcPeer, at| peer.handle_accepted(seconds(at), client_address());
    let live = accept(&mut peer, 0).expect("accepted");
    peer.handle_data(seconds(0), live, &post("a"));
    let silent = [accept(&mut peer, 1), accept(&mut peer, 2), accept(&mut peer, 3), accept(&mut peer, 4)];
    let silent = silent.map(|conn| conn.expect("another client is evicted"));
    assert_eq!(silent.map(|conn| peer.owns(conn)), [false, false, true, true]);
    assert!(peer.owns(live));
    let closed = transmits(&mut peer);
    assert_eq!(closed, [Transmit::Close { conn: silent[0] }, Transmit::Close { conn: silent[1] }]);
}

#[test]
fn silent_clients_do_not_block_live_client() {
    let mut peer = RpcPeer::new(RpcConfig::default());
    let silent: Vec<_> =
        (0..1000).map(|_| peer.handle_accepted(seconds(0), client_address()).expect("accepted")).collect();
    let live = peer.handle_accepted(seconds(0), client_address()).expect("accepted");
    peer.handle_data(seconds(0), live, &post("a"));
    assert_eq!(silent.iter().filter(|conn| peer.owns(**conn)).count(), 511);
    assert_eq!(events(&mut peer).len(), 1000 + 1 - 512 + 1);
    peer.reply(seconds(0), live, Ok(1.into()));
    assert!(peer.owns(live));
}

#[test]
fn longest_idle_client_is_evicted() {
    let mut peer = RpcPeer::new(small());
    let conns = [1, 2, 3].map(|at| {
        let conn = peer.handle_accepted(seconds(0), client_address()).expect("accepted");
        peer.handle_data(seconds(at), conn, &post("a"));
        conn
    });
    // The first is still served; the third was answered before the second.
    peer.reply(seconds(4), conns[2], Ok(1.into()));
    peer.reply(seconds(5), conns[1], Ok(1.into()));
    let late = peer.handle_accepted(seconds(6), client_address()).expect("another client is evicted");
    assert_eq!(conns.map(|conn| peer.owns(conn)), [true, true, false]);
    peer.handle_data(seconds(6), late, &post("a"));
    assert!(peer.handle_accepted(seconds(7), client_address()).is_some());
    assert_eq!([conns[0], conns[1], late].map(|conn| peer.owns(conn)), [true, false, true]);
}

#[test]
fn client_is_refused_when_all_are_in_service() {
    let mut peer = RpcPeer::new(small());
    for _ in 0..3 {
        let conn = peer.handle_accepted(seconds(0), client_address()).expect("accepted");
        peer.handle_data(seconds(0), conn, &post("a"));
    }
    events(&mut peer);
    assert_eq!(peer.handle_accepted(seconds(0), client_address()), None);
    assert_eq!(refusals(&mut peer), [ClientFault::TooManyConnections { open: 3 }]);
}

#[test]
fn pipelined_bytes_are_bounded() {
    let (mut peer, conn) = connected(small());
    peer.handle_data(seconds(1), conn, &post("a"));
    peer.handle_data(seconds(1), conn, &[b' '; 1024]);
    assert!(peer.owns(conn));
    peer.handle_data(seconds(1), conn, b" ");
    assert!(!peer.owns(conn));
    assert_eq!(refusals(&mut peer), [ClientFault::PipelinedBeyondLimit { limit: 1024 }]);
}

#[test]
fn largest_buffers_are_closed_at_total_limit() {
    let mut peer = RpcPeer::new(RpcConfig { max_buffered: 300_000, ..RpcConfig::default() });
    let mut begin = |body: usize| {
        let conn = peer.handle_accepted(seconds(0), client_address()).expect("accepted");
        peer.handle_data(seconds(0), conn, b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");
        peer.handle_data(seconds(0), conn, &vec![b' '; body]);
        conn
    };
    let (small, large, middle) = (begin(1000), begin(200_000), begin(70_000));
    let late = begin(40_000);
    assert!(
        [small, large, middle, late].iter().all(|conn| peer.owns(*conn)),
        "311 000 bytes, but less than 64 KiB since the last check"
    );
    peer.handle_data(seconds(0), late, &[b' '; 30_000]);
    assert_eq!([small, large, middle, late].map(|conn| peer.owns(conn)), [true, false, true, true]);
}

#[test]
fn idle_clients_cause_no_timeout() {
    let (mut peer, conn) = connected(RpcConfig::default());
    peer.handle_data(seconds(1), conn, &post("a"));
    peer.reply(seconds(1), conn, Ok(1.into()));
    assert_eq!(peer.poll_timeout(), None);
    assert!(peer.owns(conn));
}

#[test]
fn unknown_connections_are_ignored() {
    let mut peer = RpcPeer::new(RpcConfig::default());
    let conn = peer.new_conn_id();
    peer.handle_connected(seconds(0), conn);
    peer.handle_data(seconds(0), conn, b"abc");
    peer.handle_closed(seconds(0), conn, None);
    assert_eq!((transmits(&mut peer), events(&mut peer)), (vec![], vec![]));
}

#[test]
fn many_small_buffers_are_bounded_too() {
    let mut peer = RpcPeer::new(RpcConfig { max_buffered: 300_000, ..RpcConfig::default() });
    let conns: Vec<ConnId> = (0..100)
        .map(|_| {
            let conn = peer.handle_accepted(seconds(0), client_address()).expect("accepted");
            peer.handle_data(seconds(0), conn, b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");
            peer.handle_data(seconds(0), conn, &[b' '; 10_000]);
            conn
        })
        .collect();
    let open = conns.iter().filter(|conn| peer.owns(**conn)).count();
    assert!((25..=37).contains(&open), "{open}");
}
