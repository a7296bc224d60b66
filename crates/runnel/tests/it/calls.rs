//! Tests of XML-RPC calls to masters and nodes.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use crate::common::{Graph, LONG};
use runnel::Error;
use runnel_io::clock;
use runnel_ros1::rpc::{CallError, Uri};
use runnel_ros1::xmlrpc::Value;

#[test]
fn concurrent_calls_get_their_own_responses() {
    let graph = Graph::new();
    let context = graph.tool();
    // It never accepts: the kernel completes the connections, and no call is answered.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let silent = Uri::parse(&format!("http://{}", silent.local_addr().unwrap())).unwrap();
    let gone = Uri::parse("http://127.0.0.1:9").unwrap();
    let params = ["/test".into()];
    let uris = [context.master_uri(), &silent, &gone];
    let calls: Vec<(&Uri, &str, &[Value])> =
        uris.iter().cycle().take(60).map(|uri| (*uri, "getUri", &params[..])).collect();
    // The master answers in time, even on a busy machine.
    let timeout = Duration::from_secs(3);
    let start = clock::monotonic();
    let answers = context.call_all(&calls, timeout).unwrap();
    // One after another, the silent peers would take twenty times as long as one.
    assert!(clock::monotonic().since(start) < 10 * timeout);
    assert_eq!(answers.len(), 60);
    for answers in answers.chunks(3) {
        assert_eq!(answers[0].as_ref().unwrap().as_array().unwrap()[2].as_str(), Some(graph.uri.as_str()));
        assert!(matches!(answers[1], Err(Error::Call(CallError::TimedOut { .. }))), "{answers:?}");
        assert!(matches!(answers[2], Err(Error::Call(CallError::Unreachable { .. }))), "{answers:?}");
    }
    assert!(context.call_all(&[], LONG).unwrap().is_empty());
}
