//! Calls that wait for other calls to the same server.

use super::against_servers::{SERVER, answer, options, result};
use super::*;

/// A peer with three calls to one server, limited to one connection.
fn one_at_a_time() -> (RpcPeer, [CallId; 3]) {
    let mut peer = RpcPeer::new(RpcConfig { max_connections_per_server: 1, ..RpcConfig::default() });
    let options = CallOptions { total_timeout: Duration::from_secs(12), ..options(false) };
    let calls = ["a", "b", "c"].map(|method| peer.call(seconds(0), &uri(SERVER), method, &[], options));
    (peer, calls)
}

#[test]
fn call_timeout_runs_from_its_turn() {
    let (mut peer, calls) = one_at_a_time();
    for (call, answered_at) in calls.into_iter().zip([4, 8, 11]) {
        let Some(Transmit::Connect { conn, .. }) = transmits(&mut peer).pop() else { panic!("its turn") };
        peer.handle_timeout(seconds(answered_at));
        peer.handle_connected(seconds(answered_at), conn);
        peer.handle_data(seconds(answered_at), conn, &answer(1));
        assert_eq!(result(&mut peer), (call, Ok(1.into())));
    }
}

#[test]
fn waiting_call_times_out() {
    let (mut peer, [first, second, third]) = one_at_a_time();
    for (time, over) in [(5, &[first][..]), (10, &[second]), (12, &[third])] {
        assert_eq!(peer.poll_timeout(), Some(seconds(time)));
        peer.handle_timeout(seconds(time));
        let late = events(&mut peer).into_iter().map(|event| match event {
            RpcEvent::Answered { call, result: Err(CallError::TimedOut { .. }) } => call,
            other => panic!("too late, not {other:?}"),
        });
        assert_eq!(late.collect::<Vec<_>>(), over);
    }
    assert_eq!(peer.poll_timeout(), None);
}
