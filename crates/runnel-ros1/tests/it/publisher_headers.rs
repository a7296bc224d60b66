//! Publishers' connection headers, as checked by the subscriber.

use runnel_ros1::header::{HeaderError, MAX_HEADER, MAX_VALUE};
use runnel_ros1::node::{
    HandshakeFault, LinkFault, NextStep, NodeEvent, PeerFault, TopicSpec, TypeMismatch, TypeSum,
};
use runnel_ros1::tcpros::frame;
use runnel_testkit::net::{App, Conditions, FakePublisher, Net, publisher_header, secs, text_topic};

const TOPIC: &str = "/chatter";

/// A listener with two scripted publishers, of which the second is already linked.
fn scene(spec: TopicSpec) -> (Net, App, [FakePublisher; 2], App) {
    let mut net = Net::new(1);
    let master = net.fake_master();
    let listener = net.node("/listener", "l");
    net.subscribe_as(listener, spec);
    let publishers = ["/odd", "/good"].map(|name| net.fake_publisher(name, "p"));
    net.run_for(secs(1));
    let [odd, fine] = &publishers;
    net.update(master, listener, TOPIC, &[&odd.uri, &fine.uri]);
    net.answer_subscriber(fine, &publisher_header("/good", &text_topic(TOPIC)));
    net.settle();
    (net, listener, publishers, master)
}

/// The fault of a publisher that is not retried.
fn fault_of(net: &Net, listener: App, publisher: &FakePublisher) -> Option<HandshakeFault> {
    net.events(listener).iter().find_map(|event| match event {
        NodeEvent::PeerFault {
            why: PeerFault::Publisher { uri, fault: LinkFault::Handshake(fault), next: NextStep::Nothing, .. },
        } => (*uri == publisher.uri).then(|| fault.clone()),
        _ => None,
    })
}

fn framed(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame(&mut bytes, |out| out.extend_from_slice(text.as_bytes()));
    bytes
}

/// A publisher's header with one field removed or replaced.
fn with<'a>(spec: &'a TopicSpec, field: &str, value: Option<&'a str>) -> Vec<(&'a str, &'a str)> {
    let fields = publisher_header("/odd", spec).into_iter();
    fields
        .filter_map(|(key, old)| if key == field { value.map(|new| (key, new)) } else { Some((key, old)) })
        .collect()
}

#[test]
fn subscriber_header_has_fields_of_roscpp() {
    let (mut net, _, [odd, _], _) = scene(text_topic(TOPIC));
    let socket = net.answer_subscriber(&odd, &publisher_header("/odd", &text_topic(TOPIC)));
    let header = net.header_received(socket).expect("our header");
    let spec = text_topic(TOPIC);
    let expected =
        [("callerid", "/listener"), ("md5sum", &spec.md5), ("topic", TOPIC), ("type", &spec.type_name)];
    expected.iter().for_each(|(key, value)| assert_eq!(header.get(key), Some(*value), "{key}"));
    assert_eq!(net.pieces_received(socket).len(), 1, "nothing after the header");
}

#[test]
fn error_header_closes_connection() {
    let (mut net, listener, [odd, _], _) = scene(text_topic(TOPIC));
    let socket = net.answer_subscriber(&odd, &[("error", "I do not like you")]);
    net.write(socket, &framed("not for us"));
    net.settle();
    assert!(net.is_over(socket));
    let refuses = HandshakeFault::Rejected("I do not like you".to_owned());
    assert_eq!(fault_of(&net, listener, &odd), Some(refuses));
    assert_eq!(
        (net.publishers(listener, TOPIC), net.received_texts(listener)),
        (vec!["/good".to_owned()], Vec::new())
    );
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn type_mismatch_is_refused_with_both_types() {
    let (mut net, listener, [odd, _], _) = scene(text_topic(TOPIC));
    let other = TopicSpec { type_name: "std_msgs/Int16".into(), md5: "8".repeat(32), ..text_topic(TOPIC) };
    let socket = net.answer_subscriber(&odd, &publisher_header("/odd", &other));
    net.settle();
    assert!(net.is_over(socket));
    let [wanted, offered] = [text_topic(TOPIC), other].map(|spec| TypeSum::new(&spec.type_name, &spec.md5));
    let types = HandshakeFault::OfferedType(Box::new(TypeMismatch { requested: wanted, offered }));
    assert_eq!(fault_of(&net, listener, &odd), Some(types));
    assert_eq!(net.publishers(listener, TOPIC), ["/good"]);
}

#[test]
fn publisher_header_requires_only_md5sum_and_type() {
    let spec = text_topic(TOPIC);
    for (field, needed) in [
        ("md5sum", true),
        ("type", true),
        ("callerid", false),
        ("latching", false),
        ("message_definition", false),
        ("topic", false),
    ] {
        let (mut net, listener, [odd, _], _) = scene(spec.clone());
        let socket = net.answer_subscriber(&odd, &with(&spec, field, None));
        net.settle();
        assert_eq!(net.is_over(socket), needed, "{field}");
        assert_eq!(net.publishers(listener, TOPIC).len(), if needed { 1 } else { 2 }, "{field}");
        let missing = needed.then_some(HandshakeFault::Header(HeaderError::Missing(field)));
        assert_eq!(fault_of(&net, listener, &odd), missing, "{field}");
    }
}

#[test]
fn subscriber_to_any_type_learns_type() {
    let any =
        TopicSpec { type_name: "*".into(), md5: "*".into(), definition: String::new(), ..text_topic(TOPIC) };
    let (mut net, listener, [odd, _], _) = scene(any);
    let spec = TopicSpec {
        type_name: "a/B".into(),
        md5: "8".repeat(32),
        definition: "int8 x\n".into(),
        ..text_topic(TOPIC)
    };
    net.answer_subscriber(&odd, &publisher_header("/odd", &spec));
    net.settle();
    assert_eq!(net.publishers(listener, TOPIC), ["/good", "/odd"]);
    let joined = net.events(listener).iter().rev().find_map(|event| match event {
        NodeEvent::PublisherJoined(link) => {
            Some((link.type_name.as_str(), link.md5.as_str(), link.definition.as_str()))
        }
        _ => None,
    });
    assert_eq!(joined, Some(("a/B", spec.md5.as_str(), "int8 x\n")));
}

#[test]
fn messages_may_arrive_with_header_or_bytewise() {
    for conditions in [Conditions::calm(), Conditions::byte_by_byte(), Conditions::rough()] {
        let (mut net, listener, [odd, _], _) = scene(text_topic(TOPIC));
        net.conditions = conditions;
        let socket = net.accept_socket(odd.app);
        let header = runnel_ros1::header::ConnectionHeader::new(publisher_header("/odd", &text_topic(TOPIC)));
        net.write(socket, &[header.emit(), framed("one"), framed(""), framed("two")].concat());
        net.settle();
        assert_eq!(net.received_texts(listener), ["one", "", "two"]);
    }
}

#[test]
fn malformed_headers_close_connection() {
    let field_beyond = [&8u32.to_le_bytes()[..], &100u32.to_le_bytes(), b"a=bc"].concat();
    let too_long = (MAX_HEADER as u32 + 1).to_le_bytes().to_vec();
    for bytes in
        [field_beyond, too_long, vec![0xff; 4], vec![0; 4], b"HTTP/1.1 404 Not Found\r\n\r\n".to_vec()]
    {
        let (mut net, listener, [odd, _], _) = scene(text_topic(TOPIC));
        let socket = net.accept_socket(odd.app);
        net.write(socket, &bytes);
        net.settle();
        assert!(net.is_over(socket), "{bytes:?}");
        let fault = fault_of(&net, listener, &odd);
        let is_it = matches!(fault, Some(HandshakeFault::Header(_) | HandshakeFault::Length(_)));
        assert!(is_it, "{bytes:?}: {fault:?}");
        assert_eq!(net.publishers(listener, TOPIC), ["/good"]);
        assert_eq!(net.leaks(), Vec::<String>::new());
    }
}

#[test]
fn silent_publisher_is_retried_after_ten_seconds() {
    let (mut net, listener, [odd, _], _) = scene(text_topic(TOPIC));
    let silent = net.accept_socket(odd.app);
    net.write(silent, &[200]);
    let since = net.now();
    net.run_until("it is left", secs(11), |net| net.is_over(silent));
    assert!(net.now().since(since) >= secs(9));
    net.answer_subscriber(&odd, &publisher_header("/odd", &text_topic(TOPIC)));
    net.settle();
    assert_eq!(net.publishers(listener, TOPIC), ["/good", "/odd"]);
}

#[test]
fn refusing_publisher_is_retried_when_listed_again() {
    let (mut net, listener, [odd, fine], master) = scene(text_topic(TOPIC));
    net.answer_subscriber(&odd, &[("error", "not yet")]);
    net.run_for(secs(1));
    net.update(master, listener, TOPIC, &[&odd.uri, &fine.uri]);
    net.answer_subscriber(&odd, &publisher_header("/odd", &text_topic(TOPIC)));
    net.settle();
    assert_eq!(net.publishers(listener, TOPIC), ["/good", "/odd"]);
}

#[test]
fn too_long_message_ends_link_which_reconnects() {
    let (mut net, listener, [odd, _], _) = scene(text_topic(TOPIC));
    let socket = net.answer_subscriber(&odd, &publisher_header("/odd", &text_topic(TOPIC)));
    net.write(socket, &1_000_000_001u32.to_le_bytes());
    net.settle();
    assert!(net.is_over(socket));
    net.answer_subscriber(&odd, &publisher_header("/odd", &text_topic(TOPIC)));
    net.settle();
    assert_eq!(net.publishers(listener, TOPIC), ["/good", "/odd"]);
}

#[test]
fn publisher_with_too_long_name_is_refused() {
    let (mut net, listener, [odd, _], _) = scene(text_topic(TOPIC));
    let name = "/n".repeat(MAX_VALUE);
    let socket = net.answer_subscriber(&odd, &publisher_header(&name, &text_topic(TOPIC)));
    net.settle();
    assert!(net.is_over(socket));
    let too_long = HandshakeFault::Header(HeaderError::FieldTooLong("callerid"));
    assert_eq!(fault_of(&net, listener, &odd), Some(too_long));
    assert_eq!(net.publishers(listener, TOPIC), ["/good"]);
}

#[test]
fn publisher_text_is_logged_on_one_line() {
    let (mut net, listener, [odd, _], _) = scene(text_topic(TOPIC));
    let words = format!("no\n[ERROR] [/other]: forged\u{1b}[2J{}", "x".repeat(100_000));
    net.answer_subscriber(&odd, &[("error", &words)]);
    net.settle();
    let line = net.events(listener).iter().find_map(|event| match event {
        NodeEvent::PeerFault { why: why @ PeerFault::Publisher { .. } } => Some(why.to_string()),
        _ => None,
    });
    let line = line.expect("a line");
    assert!(line.contains(r"no\n[ERROR] [/other]: forged\x1b[2Jxxx") && line.len() < 500, "{line:.600}");
}
