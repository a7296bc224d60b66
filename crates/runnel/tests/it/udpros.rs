//! Tests of UDPROS links over real sockets.

use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Graph, LONG, spin_until, wait_until};
use crate::datagram_relay::Relay;
use crate::logged::{keep_log, wait_logged};
use runnel::core::Message;
use runnel::msgs::std_msgs::msg::{Empty, String as Text, UInt8MultiArray};
use runnel::{Context, Node, Publisher, QoS, Subscription, SubscriptionOptions};
use runnel_ros1::header::ConnectionHeader;
use runnel_ros1::rpc::Uri;
use runnel_ros1::xmlrpc::Value;

type Received = Arc<Mutex<Vec<usize>>>;

fn bytes(length: usize) -> UInt8MultiArray {
    UInt8MultiArray { data: (0..length).map(|place| place as u8).collect(), ..UInt8MultiArray::default() }
}

/// A subscription that records the lengths of its messages and asserts that they are complete.
fn listen(node: &Node, topic: &str, options: impl Into<SubscriptionOptions>) -> (Received, Subscription) {
    let received = Received::default();
    let into = Arc::clone(&received);
    let subscription = node.create_subscription(topic, options, move |message: &UInt8MultiArray| {
        let length = message.data.len();
        assert!(*message == bytes(length));
        into.lock().unwrap().push(length);
    });
    (received, subscription.unwrap())
}

fn udpros() -> SubscriptionOptions {
    SubscriptionOptions::from(QoS::keep_last(1000)).udpros()
}

/// URI of a node's slave API.
fn uri_of(graph: &Graph, node: &str) -> Uri {
    let uri = graph.ask("lookupNode", &["/test".into(), node.into()]);
    Uri::parse(uri.as_str().unwrap()).unwrap()
}

/// The value of a node's answer to a call.
fn ask(context: &Context, node: &Uri, method: &str, params: &[Value]) -> Value {
    let all: Vec<Value> = ["/test".into()].into_iter().chain(params.iter().cloned()).collect();
    let answer = context.call(node, method, &all, LONG).unwrap();
    assert_eq!(answer.as_array().unwrap()[0], Value::Int(1), "{answer:?}");
    answer.as_array().unwrap()[2].clone()
}

/// Transports of a node's links.
fn transports(context: &Context, graph: &Graph, node: &str) -> Vec<String> {
    let rows = ask(context, &uri_of(graph, node), "getBusInfo", &[]);
    let transport = |row: &Value| row.as_array().unwrap()[3].as_str().unwrap().to_owned();
    rows.as_array().unwrap().iter().map(transport).collect()
}

/// Waits until a node has these links. A subscriber knows its link a little later than the publisher.
fn wait_for_links(context: &Context, graph: &Graph, node: &str, expected: &[&str]) {
    let what = format!("{node} has the links {expected:?}");
    wait_until(&what, || transports(context, graph, node) == expected);
}

#[test]
fn message_sizes_around_datagram_limit_arrive() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let node = near.create_node("talker").unwrap();
    let talker = node.create_publisher::<UInt8MultiArray>("data", 1000).unwrap();
    let (received, subscription) = listen(&far.create_node("listener").unwrap(), "data", udpros());
    assert!(talker.wait_for_subscribers(1, LONG).unwrap());
    assert_eq!(transports(&near, &graph, "/talker"), ["UDPROS"]);
    wait_for_links(&near, &graph, "/listener", &["UDPROS"]);
    // A datagram holds 1464 bytes of a message, of which 16 are not the array's.
    let sizes: Vec<usize> =
        [0, 1, 10].into_iter().chain(1440..1460).chain(2900..2920).chain([60_000]).collect();
    for (count, size) in sizes.iter().enumerate() {
        talker.publish(bytes(*size)).unwrap();
        // One at a time, since the kernel drops what exceeds its buffer.
        spin_until(&far, "the message received", || received.lock().unwrap().len() > count);
    }
    assert_eq!(*received.lock().unwrap(), sizes);
    assert_eq!((subscription.received(), subscription.lost(), talker.dropped()), (sizes.len() as u64, 0, 0));
    let stats = ask(&near, &uri_of(&graph, "/talker"), "getBusStats", &[]);
    let row =
        &stats.as_array().unwrap()[0].as_array().unwrap()[0].as_array().unwrap()[2].as_array().unwrap()[0];
    assert_eq!(row.as_array().unwrap()[2], Value::Int(sizes.len() as i32), "messages in {row:?}");
}

#[test]
fn empty_message_arrives() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let talker = near.create_node("talker").unwrap().create_publisher::<Empty>("tick", 1).unwrap();
    let received = Received::default();
    let into = Arc::clone(&received);
    let listener = far.create_node("listener").unwrap();
    let _subscription = listener
        .create_subscription("tick", udpros(), move |_: &Empty| into.lock().unwrap().push(0))
        .unwrap();
    assert!(talker.wait_for_subscribers(1, LONG).unwrap());
    talker.publish(Empty {}).unwrap();
    spin_until(&far, "it is received", || received.lock().unwrap().len() == 1);
    assert_eq!(transports(&near, &graph, "/listener"), ["UDPROS"]);
}

#[test]
fn datagrams_travel_over_ipv6() {
    // IPv6 may be disabled on this system.
    let disabled = std::fs::read_to_string("/proc/sys/net/ipv6/conf/lo/disable_ipv6");
    if disabled.is_ok_and(|text| text.trim() == "1") || !std::path::Path::new("/proc/net/if_inet6").exists() {
        return eprintln!("not tested: this system has no IPv6");
    }
    let graph = Graph::new();
    let [near, far] = [(); 2].map(|()| graph.context_with(&["__ip:=::1"]));
    let node = near.create_node("talker").unwrap();
    let talker = node.create_publisher::<UInt8MultiArray>("data", 10).unwrap();
    let (received, _subscription) = listen(&far.create_node("listener").unwrap(), "data", udpros());
    assert!(talker.wait_for_subscribers(1, LONG).unwrap());
    assert_eq!(transports(&near, &graph, "/talker"), ["UDPROS"]);
    talker.publish(bytes(3000)).unwrap();
    spin_until(&far, "it is received", || *received.lock().unwrap() == [3000]);
}

#[test]
fn latched_message_arrives_by_datagrams() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let node = near.create_node("talker").unwrap();
    let talker = node.create_publisher::<UInt8MultiArray>("map", QoS::latched()).unwrap();
    talker.publish(bytes(5000)).unwrap();
    let listener = far.create_node("listener").unwrap();
    let (received, _first) = listen(&listener, "map", udpros());
    spin_until(&far, "the kept message received", || *received.lock().unwrap() == [5000]);
    let (second, _second) = listen(&listener, "map", udpros());
    spin_until(&far, "it is received a second time", || *second.lock().unwrap() == [5000]);
    assert_eq!(transports(&near, &graph, "/listener"), ["UDPROS"]);
}

#[test]
fn best_effort_does_not_request_udpros() {
    let graph = Graph::new();
    let (near, far) = (graph.context_on_network(), graph.context_on_network());
    let node = near.create_node("talker").unwrap();
    let talker = node.create_publisher::<UInt8MultiArray>("data", 10).unwrap();
    let (_, _subscription) = listen(&far.create_node("listener").unwrap(), "data", QoS::sensor_data());
    assert!(talker.wait_for_subscribers(1, LONG).unwrap());
    assert_eq!(transports(&near, &graph, "/talker"), ["TCPROS"]);
}

#[test]
fn reliable_subscription_moves_node_to_tcpros() {
    let graph = Graph::new();
    let (near, far) = (graph.context_on_network(), graph.context_on_network());
    let node = near.create_node("talker").unwrap();
    let talker = node.create_publisher::<UInt8MultiArray>("data", 10).unwrap();
    let listener = far.create_node("listener").unwrap();
    let (datagrams, _datagrams) = listen(&listener, "data", udpros());
    assert!(talker.wait_for_subscribers(1, LONG).unwrap());
    wait_for_links(&near, &graph, "/listener", &["UDPROS"]);
    let (reliable, subscription) = listen(&listener, "data", QoS::keep_last(10));
    wait_for_links(&near, &graph, "/listener", &["TCPROS"]);
    wait_until("the connection is joined", || subscription.publisher_count() == 1);
    wait_until("the publisher knows one link", || {
        talker.publish(bytes(3)).unwrap();
        talker.subscription_count() == 1
    });
    spin_until(&far, "both receive", || {
        [&datagrams, &reliable].iter().all(|received| !received.lock().unwrap().is_empty())
    });
}

/// Makes a publisher send this many messages at a time to an ended subscriber, until it detects that.
fn detects_ended_subscriber(
    graph: &Graph,
    near: &Context,
    far: &Context,
    at_a_time: usize,
) -> Publisher<UInt8MultiArray> {
    let node = near.create_node("talker").unwrap();
    let talker = node.create_publisher::<UInt8MultiArray>("data", 10).unwrap();
    let (_, subscription) = listen(&far.create_node("listener").unwrap(), "data", udpros());
    assert!(talker.wait_for_subscribers(1, LONG).unwrap());
    drop(subscription);
    wait_until("the link is gone", || {
        (0..at_a_time).for_each(|_| talker.publish(bytes(10)).unwrap());
        talker.subscription_count() == 0
    });
    // The publication detects it and informs the node.
    wait_for_links(near, graph, "/talker", &[]);
    talker
}

#[test]
fn ended_subscriber_is_detected_by_next_message() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let talker = detects_ended_subscriber(&graph, &near, &far, 1);
    let (received, _again) = listen(&far.create_node("again").unwrap(), "data", udpros());
    assert!(talker.wait_for_subscribers(1, LONG).unwrap());
    talker.publish(bytes(11)).unwrap();
    spin_until(&far, "the new one receives", || *received.lock().unwrap() == [11]);
}

#[test]
fn briefly_stalled_subscriber_keeps_its_link() {
    let graph = Graph::new();
    let near = graph.context();
    let node = near.create_node("talker").unwrap();
    let talker = node.create_publisher::<UInt8MultiArray>("data", 10).unwrap();
    let (socket, answer) = raw_subscriber(&near, &uri_of(&graph, "/talker"), 1000);
    let nobody = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    // The connected socket refuses datagrams from other addresses, and its port stays in use.
    socket.connect(nobody.local_addr().unwrap()).unwrap();
    talker.publish(bytes(10)).unwrap();
    wait_until("the refusal is reported", || talker.dropped() == 1);
    socket.connect(("127.0.0.1", sending_port(&answer))).unwrap();
    talker.publish(bytes(20)).unwrap();
    assert_eq!(socket.recv(&mut [0; 100]).unwrap(), 8 + 4 + 12 + 20);
    assert_eq!((talker.subscription_count(), talker.dropped()), (1, 1));
}

#[test]
fn network_errors_end_no_link() {
    let graph = Graph::new();
    let near = graph.context();
    let node = near.create_node("talker").unwrap();
    let talker = node.create_publisher::<UInt8MultiArray>("data", 10).unwrap();
    let (socket, answer) = raw_subscriber(&near, &uri_of(&graph, "/talker"), 1472);
    let ends = (sending_port(&answer), socket.local_addr().unwrap().port());
    // One error says that the datagram is too long for a hop, the other one that a router forbids it.
    for (dropped, code) in [(1, 4), (2, 13), (3, 4), (4, 13)] {
        unreachable(code, ends).expect("a raw socket, which takes root of the network: run ./test");
        wait_until("it counts as a drop", || talker.dropped() == dropped);
        talker.publish(bytes(1400)).unwrap();
        assert_eq!(socket.recv(&mut [0; 2000]).unwrap(), 8 + 4 + 12 + 1400);
    }
    assert_eq!(talker.subscription_count(), 1);
}

/// Has this host receive an ICMP error of this code about a datagram of its own between these ports.
fn unreachable(code: u8, (from, to): (u16, u16)) -> Result<(), rustix::io::Errno> {
    use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket};
    let icmp = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP))?;
    let mut message = vec![3, code, 0, 0, 0, 0];
    message.extend(1300u16.to_be_bytes());
    let (local, udp) = ([127, 0, 0, 1], 17);
    message.extend([0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, udp, 0, 0]);
    message.extend([local, local].concat());
    message.extend([from, to, 8, 0].map(u16::to_be_bytes).concat());
    let sum: u32 = message.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let here = std::net::SocketAddr::from((local, 0));
    sendto(icmp, &message, SendFlags::empty(), &here).map(drop)
}

/// Source port of a publisher's datagrams, from its answer.
fn sending_port(answer: &Value) -> u16 {
    answer.as_array().unwrap()[2].as_int().unwrap().try_into().unwrap()
}

#[test]
fn ended_subscriber_is_detected_by_sender() {
    let graph = Graph::new();
    // The subscriber's host refuses the first of two datagrams, and the send of the second consumes that error before
    // the reactor sees it.
    drop(detects_ended_subscriber(&graph, &graph.context(), &graph.context(), 2));
}

#[test]
fn ended_publisher_is_replaced_by_new_one() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let (received, subscription) = listen(&far.create_node("listener").unwrap(), "data", udpros());
    for size in [1, 2] {
        let node = near.create_node("talker").unwrap();
        let talker = node.create_publisher::<UInt8MultiArray>("data", 10).unwrap();
        assert!(talker.wait_for_subscribers(1, LONG).unwrap());
        talker.publish(bytes(size)).unwrap();
        spin_until(&far, "it is received", || received.lock().unwrap().last() == Some(&size));
        drop(talker);
        spin_until(&far, "it is forgotten", || subscription.publisher_count() == 0);
    }
}

/// Runs a test with a publisher and a subscription connected by a relay, which loses datagrams selected by number.
fn with_relay<T>(
    is_lost: impl FnMut(u64) -> bool + Send + 'static,
    test: impl FnOnce(&Publisher<UInt8MultiArray>, &Context, &Received, &Subscription) -> T,
) -> T {
    let (here, there) = (Graph::new(), Graph::new());
    let (near, far) = (here.context(), there.context());
    let node = near.create_node("talker").unwrap();
    let talker = node.create_publisher::<UInt8MultiArray>("data", 1000).unwrap();
    let (received, subscription) = listen(&far.create_node("listener").unwrap(), "data", udpros());
    let _relay = Relay::new(&near, uri_of(&here, "/talker"), &there, "/data", UInt8MultiArray::TYPE, is_lost);
    assert!(talker.wait_for_subscribers(1, LONG).unwrap());
    spin_until(&far, "the relay is joined", || subscription.publisher_count() == 1);
    test(&talker, &far, &received, &subscription)
}

/// Sends this many messages through such a relay. Returns the numbers of received and of lost messages.
fn through_relay(
    size: usize,
    messages: u64,
    is_lost: impl FnMut(u64) -> bool + Send + 'static,
) -> (u64, u64) {
    with_relay(is_lost, |talker, far, received, subscription| {
        for sent in 1..=messages {
            talker.publish(bytes(size)).unwrap();
            let answered = || received.lock().unwrap().len() as u64 + subscription.lost() + 1;
            // A loss shows only with the next message.
            spin_until(far, "the message before received or lost", || answered() >= sent);
            far.spin_once(Duration::from_millis(1)).unwrap();
        }
        // The last one is not lost by the relay.
        spin_until(far, "all received or lost", || {
            received.lock().unwrap().len() as u64 + subscription.lost() >= messages
        });
        (received.lock().unwrap().len() as u64, subscription.lost())
    })
}

#[test]
fn lost_datagrams_count_as_lost_messages() {
    // Every tenth of 400 is lost, and none of the first.
    assert_eq!(through_relay(10, 401, |count| count % 10 == 0), (361, 40));
    // Each message has four datagrams, so a loss of every tenth costs two messages in five.
    assert_eq!(through_relay(5000, 101, |count| count % 10 == 0), (61, 40));
}

#[test]
fn doubled_loss_within_one_message_counts_once() {
    assert_eq!(through_relay(5000, 11, |count| count == 6 || count == 7), (10, 1));
}

#[test]
fn consecutive_lost_messages_are_counted_singly() {
    with_relay(
        |count| (3..=5).contains(&count),
        |talker, far, received, subscription| {
            (1..=8).for_each(|size| talker.publish(bytes(size)).unwrap());
            spin_until(far, "the last is received", || received.lock().unwrap().last() == Some(&8));
            assert_eq!((&received.lock().unwrap()[..], subscription.lost()), (&[1, 2, 6, 7, 8][..], 3));
        },
    );
}

/// A fake subscriber on plain sockets.
fn raw_subscriber(context: &Context, node: &Uri, longest: i32) -> (UdpSocket, Value) {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    let fields = [("callerid", "/raw"), ("md5sum", "*"), ("topic", "/data"), ("type", "*")];
    let header = ConnectionHeader::new(fields).emit().split_off(4);
    let port = i32::from(socket.local_addr().unwrap().port());
    let offer: Vec<Value> =
        vec!["UDPROS".into(), Value::Binary(header), "192.0.2.1".into(), port.into(), longest.into()];
    let offers = Value::Array(vec![offer.into()]);
    let answer = ask(context, node, "requestTopic", &["/data".into(), offers]);
    (socket, answer)
}

#[test]
fn datagrams_go_to_the_callers_address() {
    let graph = Graph::new();
    let near = graph.context();
    let node = near.create_node("talker").unwrap();
    let talker = node.create_publisher::<UInt8MultiArray>("data", 10).unwrap();
    let (socket, answer) = raw_subscriber(&near, &uri_of(&graph, "/talker"), 1000);
    let [name, _, _, Value::Int(number), Value::Int(longest), Value::Binary(_)] = answer.as_array().unwrap()
    else {
        panic!("{answer:?}")
    };
    assert_eq!((name.as_str(), *longest), (Some("UDPROS"), 1000));
    talker.publish(bytes(2)).unwrap();
    let mut buffer = [0; 2000];
    let length = socket.recv(&mut buffer).unwrap();
    assert_eq!(length, 8 + 4 + 14);
    assert_eq!(buffer[..8], [&number.to_le_bytes()[..], &[0, 1, 1, 0]].concat());
    talker.publish(bytes(2000)).unwrap();
    assert_eq!(socket.recv(&mut buffer).unwrap(), 1000, "no longer than it takes");
}

#[test]
fn oversized_datagram_message_is_dropped_with_warning() {
    keep_log();
    let graph = Graph::new();
    let near = graph.context();
    let node = near.create_node("talker").unwrap();
    let talker = node.create_publisher::<UInt8MultiArray>("data", 10).unwrap();
    let (socket, _) = raw_subscriber(&near, &uri_of(&graph, "/talker"), 512);
    talker.publish(bytes(34_000_000)).unwrap();
    assert_eq!(talker.dropped(), 1);
    wait_logged(&["/data", "/raw", "34000016 bytes", "1 so far"]);
    talker.publish(bytes(1)).unwrap();
    let mut buffer = [0; 100];
    assert_eq!(socket.recv(&mut buffer).unwrap(), 8 + 4 + 13);
    assert_eq!(buffer[5], 2, "the number of the one that was dropped is left out");
}

#[test]
fn udpros_subscriber_of_other_type_is_refused() {
    keep_log();
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let talker = near.create_node("talker").unwrap().create_publisher::<Text>("data", 10).unwrap();
    let (_, subscription) = listen(&far.create_node("listener").unwrap(), "data", udpros());
    wait_logged(&["UDPROS subscriber of /data", "/listener", "md5sum"]);
    assert_eq!((talker.subscription_count(), subscription.publisher_count()), (0, 0));
}
