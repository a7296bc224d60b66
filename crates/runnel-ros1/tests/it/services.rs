//! Services: lookup, single and persistent calls, and their failures.

use runnel_ros1::node::{
    HandshakeFault, NodeEvent, PeerFault, RequestedType, ServiceClientSpec, ServiceFailure, TypeMismatch,
    TypeSum,
};
use runnel_testkit::net::{App, CallFailure, FAIL, Net, SILENCE, Socket, millis, secs, text_service};

const SERVICE: &str = "/echo";

/// A master, a node that provides the service, and one that calls it.
fn scene() -> (Net, App, App) {
    let mut net = Net::new(1);
    net.master("hub");
    let (server, client) = (net.node("/server", "a"), net.node("/client", "b"));
    net.provide(server, SERVICE);
    net.run_for(secs(1));
    (net, server, client)
}

fn client_spec() -> ServiceClientSpec {
    let spec = text_service(SERVICE);
    ServiceClientSpec {
        service: spec.service,
        type_name: spec.type_name,
        md5: spec.md5,
        persistent: false,
        probe: false,
    }
}

fn failure(net: &mut Net, client: App, spec: ServiceClientSpec) -> ServiceFailure {
    let link = net.call_service_as(client, spec, "hello", secs(5));
    net.run_for(secs(6));
    match net.answers(client, link).as_slice() {
        [Err(CallFailure::None(why))] => why.clone(),
        other => panic!("one failure, not {other:?}"),
    }
}

fn unharmed(net: &mut Net, client: App) {
    let link = net.call_service(client, SERVICE, "still there?", secs(5));
    net.run_for(secs(1));
    assert_eq!(net.answers(client, link), [Ok("still there?".to_owned())]);
    net.run_for(secs(1));
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn answered_call_leaves_no_connection() {
    let (mut net, _, client) = scene();
    let link = net.call_service(client, SERVICE, "hello", secs(5));
    net.run_for(secs(1));
    assert_eq!(net.answers(client, link), [Ok("hello".to_owned())]);
    unharmed(&mut net, client);
}

#[test]
fn failing_service_gives_reason() {
    let (mut net, _, client) = scene();
    let link = net.call_service(client, SERVICE, FAIL, secs(5));
    net.run_for(secs(1));
    assert_eq!(net.answers(client, link), [Err(CallFailure::Failed("on purpose".to_owned()))]);
    unharmed(&mut net, client);
}

#[test]
fn persistent_link_carries_many_calls() {
    let (mut net, server, client) = scene();
    let client_spec = ServiceClientSpec { persistent: true, ..client_spec() };
    let link = net.call_service_as(client, client_spec, "1", secs(5));
    net.run_for(secs(1));
    net.with_node(client, |node, _| node.set_service_deadline(link, None));
    for request in ["2", FAIL, "3"] {
        net.call_again(client, link, request);
        net.run_for(secs(20));
    }
    let failed = Err(CallFailure::Failed("on purpose".to_owned()));
    let expected = [Ok("1".to_owned()), Ok("2".to_owned()), failed, Ok("3".to_owned())];
    assert_eq!(net.answers(client, link), expected);
    net.with_node(client, |node, _| node.close_service(link));
    net.run_for(secs(1));
    unharmed(&mut net, client);
    assert_eq!(net.node_of(server).connection_count(), 1, "that to the master");
}

#[test]
fn missing_provider_is_reported_immediately() {
    let (mut net, _, client) = scene();
    let client_spec = ServiceClientSpec { service: "/nothing".into(), ..client_spec() };
    assert_eq!(failure(&mut net, client, client_spec), ServiceFailure::NotProvided);
    unharmed(&mut net, client);
}

#[test]
fn type_mismatch_is_refused_with_both_types() {
    let (mut net, server, client) = scene();
    let client_spec =
        ServiceClientSpec { type_name: "test/Other".into(), md5: "8".repeat(32), ..client_spec() };
    let ServiceFailure::Refused { why, .. } = failure(&mut net, client, client_spec) else {
        panic!("refused")
    };
    let spec = text_service(SERVICE);
    let types = TypeMismatch {
        requested: TypeSum::new("test/Other", &"8".repeat(32)),
        offered: TypeSum::new("test/Echo", &spec.md5),
    };
    let (name, peer, node) = (SERVICE.to_owned(), "/client".to_owned(), "/server".to_owned());
    let expected = HandshakeFault::ClientType(Box::new(RequestedType { name, peer, node, types }));
    assert_eq!(why, HandshakeFault::Rejected(expected.to_string()));
    let is_reported = |event: &NodeEvent| match event {
        NodeEvent::PeerFault { why: PeerFault::Incoming { fault, .. } } => *fault == expected,
        _ => false,
    };
    assert!(net.events(server).iter().any(is_reported), "the server reports it, too");
    unharmed(&mut net, client);
}

#[test]
fn any_type_is_accepted_by_both_ends() {
    let (mut net, _, client) = scene();
    let link =
        net.call_service_as(client, ServiceClientSpec { md5: "*".into(), ..client_spec() }, "x", secs(5));
    net.run_for(secs(1));
    assert_eq!(net.answers(client, link), [Ok("x".to_owned())]);
}

#[test]
fn ended_service_is_refused_by_its_node() {
    let (mut net, server, client) = scene();
    // The master is unreachable when the service ends, and is notified later.
    net.disconnect_host("hub");
    net.with_node(server, |node, now| node.unadvertise_service(now, SERVICE));
    net.run_for(millis(10));
    net.reconnect_host("hub");
    let link = net.call_service(client, SERVICE, "hello", secs(5));
    net.run_for(secs(6));
    let answers = net.answers(client, link);
    let gone = |why: &ServiceFailure| match why {
        ServiceFailure::NotProvided => true,
        ServiceFailure::Refused { why: HandshakeFault::Rejected(why), .. } => {
            why.contains("not provided by node [/server]")
        }
        _ => false,
    };
    assert!(matches!(answers.as_slice(), [Err(CallFailure::None(why))] if gone(why)), "{answers:?}");
}

#[test]
fn server_death_during_call_is_reported() {
    let (mut net, server, client) = scene();
    let link = net.call_service(client, SERVICE, SILENCE, secs(60));
    net.run_for(secs(1));
    assert_eq!(net.answers(client, link), []);
    net.kill(server);
    net.run_for(secs(1));
    let answers = net.answers(client, link);
    assert!(
        matches!(answers.as_slice(), [Err(CallFailure::None(ServiceFailure::Lost { .. }))]),
        "{answers:?}"
    );
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn closed_server_port_is_unreachable() {
    let (mut net, server, client) = scene();
    net.kill(server);
    let why = failure(&mut net, client, client_spec());
    assert!(matches!(why, ServiceFailure::Unreachable { .. } | ServiceFailure::NotProvided), "{why}");
}

#[test]
fn timeout_names_the_pending_step() {
    let (mut net, server, client) = scene();
    let link = net.call_service(client, SERVICE, SILENCE, secs(2));
    net.run_for(millis(1900));
    assert_eq!(net.answers(client, link), []);
    net.run_for(millis(200));
    let timed_out = |what| [Err(CallFailure::None(ServiceFailure::TimedOut { waiting_for: what }))];
    assert_eq!(net.answers(client, link), timed_out("the answer"));
    net.run_for(secs(1));
    assert_eq!(net.leaks(), Vec::<String>::new());
    net.stall(server);
    let link = net.call_service(client, SERVICE, "hello", secs(2));
    net.run_for(secs(3));
    assert_eq!(net.answers(client, link), timed_out("its node's connection header"));
    net.resume(server);
    net.run_for(secs(1));
    unharmed(&mut net, client);
}

#[test]
fn missing_master_is_named() {
    let mut net = Net::new(1);
    let client = net.node("/client", "b");
    let why = failure(&mut net, client, client_spec());
    assert!(matches!(why, ServiceFailure::MasterSilent { .. }), "{why}");
}

#[test]
fn services_are_registered_at_returned_master() {
    let mut net = Net::new(1);
    let master = net.master("hub");
    let (server, client) = (net.node("/server", "a"), net.node("/client", "b"));
    net.provide(server, SERVICE);
    net.run_for(secs(1));
    net.kill(master);
    net.run_for(secs(3));
    net.master("hub");
    net.run_for(secs(5));
    unharmed(&mut net, client);
    net.stop(server);
    net.run_for(secs(2));
    assert_eq!(failure(&mut net, client, client_spec()), ServiceFailure::NotProvided);
}

/// A scripted client that connects to the server and sends this header.
fn dial(net: &mut Net, server: App, fields: &[(&str, &str)]) -> Socket {
    let peer = net.fake("peer", "c");
    let socket = net.dial_node(peer, server, fields);
    net.settle();
    socket
}

#[test]
fn probe_is_answered_with_type() {
    let (mut net, server, client) = scene();
    let probe = [("callerid", "/rosservice"), ("md5sum", "*"), ("probe", "1"), ("service", SERVICE)];
    let socket = dial(&mut net, server, &probe);
    let header = net.header_received(socket).expect("an answer");
    let spec = text_service(SERVICE);
    let expected = [
        ("callerid", "/server"),
        ("md5sum", spec.md5.as_str()),
        ("request_type", "test/EchoRequest"),
        ("response_type", "test/EchoResponse"),
        ("service", SERVICE),
        ("type", "test/Echo"),
    ];
    expected.iter().for_each(|(key, value)| assert_eq!(header.get(key), Some(*value), "{key}"));
    net.close_socket(socket);
    net.settle();
    unharmed(&mut net, client);
}

#[test]
fn probe_gets_type_without_call() {
    let (mut net, _, client) = scene();
    let client_spec =
        ServiceClientSpec { type_name: "*".into(), md5: "*".into(), probe: true, ..client_spec() };
    let until = net.now() + secs(5);
    let link = net.with_node(client, |node, now| node.open_service(now, client_spec, Some(until)));
    net.run_for(secs(1));
    let linked = net.events(client).iter().find_map(|event| match event {
        NodeEvent::ServiceLinked(linked) => Some(linked),
        _ => None,
    });
    let linked = linked.expect("it stands");
    let spec = text_service(SERVICE);
    assert_eq!(
        (linked.provider.as_str(), &linked.type_name, &linked.md5),
        ("/server", &spec.type_name, &spec.md5)
    );
    net.with_node(client, |node, _| node.close_service(link));
    net.run_for(secs(1));
    unharmed(&mut net, client);
}

#[test]
fn missing_client_fields_are_named() {
    let (mut net, server, client) = scene();
    let spec = text_service(SERVICE);
    let whole = [("callerid", "/peer"), ("md5sum", spec.md5.as_str()), ("service", SERVICE)];
    for missing in ["callerid", "md5sum", "service"] {
        let fields: Vec<_> =
            whole.iter().map(|(key, value)| (*key, if *key == missing { "" } else { *value })).collect();
        let socket = dial(&mut net, server, &fields);
        let header = net.header_received(socket).expect("an answer");
        assert!(header.get("error").is_some_and(|why| why.contains(missing)), "{header:?}");
        assert!(net.is_over(socket));
    }
    unharmed(&mut net, client);
}

#[test]
fn request_may_follow_header_immediately() {
    let (mut net, server, client) = scene();
    let peer = net.fake("peer", "c");
    let socket = net.dial_tcpros(peer, server);
    let spec = text_service(SERVICE);
    let header = runnel_ros1::header::ConnectionHeader::new([
        ("callerid", "/peer"),
        ("md5sum", spec.md5.as_str()),
        ("service", SERVICE),
    ]);
    let bytes = [header.emit(), 5u32.to_le_bytes().to_vec(), b"hello".to_vec()].concat();
    net.write(socket, &bytes);
    net.settle();
    let received = net.received(socket);
    assert!(received.ends_with(b"\x01\x05\0\0\0hello"), "{received:?}");
    assert!(net.is_over(socket), "a client that requests no persistent connection makes one call");
    unharmed(&mut net, client);
}

#[test]
fn closed_link_leaves_nothing_at_any_step() {
    for wait in 0..40 {
        let (mut net, _, client) = scene();
        let link = net.call_service(client, SERVICE, "hello", secs(5));
        net.run_for(millis(wait));
        net.with_node(client, |node, _| node.close_service(link));
        net.run_for(secs(1));
        unharmed(&mut net, client);
    }
}

#[test]
fn second_service_of_same_name_is_refused() {
    let (mut net, server, _) = scene();
    let again = net.with_node(server, |node, now| node.advertise_service(now, text_service(SERVICE)));
    assert!(again.expect_err("refused").to_string().contains(SERVICE));
}

/// Whether the wait for a service has ended. The connection of a probe ends right after it.
fn is_linked(net: &Net, client: App) -> bool {
    let end = net.events(client).iter().find_map(|event| match event {
        NodeEvent::ServiceLinked(_) => Some(true),
        NodeEvent::ServiceFailed { .. } => Some(false),
        _ => None,
    });
    assert_ne!(end, Some(false), "the wait failed");
    end.is_some()
}

#[test]
fn awaited_service_is_linked_once_provided() {
    let mut net = Net::new(1);
    net.master("hub");
    let (server, client) = (net.node("/server", "a"), net.node("/client", "b"));
    let spec = ServiceClientSpec { probe: true, ..client_spec() };
    let link = net.with_node(client, |node, now| node.await_service(now, spec));
    net.run_for(secs(20));
    assert!(!is_linked(&net, client));
    net.provide(server, SERVICE);
    net.run_for(secs(3));
    assert!(is_linked(&net, client));
    net.with_node(client, |node, _| node.close_service(link));
    net.run_for(secs(3));
    unharmed(&mut net, client);
}

/// The master still names a killed node.
#[test]
fn wait_for_service_outlasts_killed_provider() {
    let (mut net, server, client) = scene();
    net.kill(server);
    let spec = ServiceClientSpec { probe: true, ..client_spec() };
    net.with_node(client, |node, now| node.await_service(now, spec));
    net.run_for(secs(5));
    assert!(!is_linked(&net, client));
    let another = net.node("/another", "c");
    net.provide(another, SERVICE);
    net.run_for(secs(5));
    assert!(is_linked(&net, client));
}

#[test]
fn ended_wait_for_service_looks_up_no_more() {
    let mut net = Net::new(1);
    net.master("hub");
    let (server, client) = (net.node("/server", "a"), net.node("/client", "b"));
    let spec = ServiceClientSpec { probe: true, ..client_spec() };
    let link = net.with_node(client, |node, now| node.await_service(now, spec));
    net.run_for(secs(2));
    net.with_node(client, |node, _| node.close_service(link));
    net.provide(server, SERVICE);
    net.run_for(secs(3));
    assert!(!is_linked(&net, client));
    assert_eq!(net.leaks(), Vec::<String>::new());
}
