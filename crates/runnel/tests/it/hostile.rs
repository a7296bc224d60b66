//! Tests of peers that send too little, too much or invalid data: each harms only itself, and its fault is logged.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use crate::common::{Graph, LONG, spin_until};
use crate::fake_publisher::FakePublisher;
use crate::logged::{is_logged, keep_log, wait_logged};
use crate::raw::{Ports, framed_text, read_frame, send, subscribe, subscriber_header};
use runnel::core::Message;
use runnel::msgs::geometry_msgs::msg::{Twist, Wrench};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, Publisher, QoS, Subscription};
use runnel_ros1::header::ConnectionHeader;
use runnel_ros1::rpc::Uri;

/// A latched topic with the message `good`, and a context whose listeners request it.
struct Scene {
    graph: Graph,
    _talking: Context,
    publisher: Publisher<Text>,
    ports: Ports,
    far: Context,
}

fn text(data: &str) -> Text {
    Text { data: data.to_owned() }
}

impl Scene {
    fn new(talker: &str) -> Self {
        keep_log();
        let graph = Graph::new();
        let (talking, far) = (graph.context(), graph.context());
        let node = talking.create_node(talker).unwrap();
        let publisher = node.create_publisher::<Text>("good", QoS::latched()).unwrap();
        publisher.publish(text("good")).unwrap();
        let ports = Ports::of(&far, &format!("/{talker}"), "/good");
        Self { graph, _talking: talking, publisher, ports, far }
    }

    /// Asserts that node and master answer calls, and that a new subscriber gets the message.
    fn assert_still_serves(&self) {
        let rpc = Uri::parse(&format!("http://{}/", self.ports.rpc)).unwrap();
        self.far.call(&rpc, "getPid", &["/test".into()], LONG).unwrap();
        self.graph.ask("getPid", &["/test".into()]);
        let mut stream = subscribe(self.ports.tcpros, "/good_subscriber", "/good");
        assert_eq!(read_frame(&mut stream).unwrap(), framed_text("good")[4..]);
    }

    /// Everything that a new connection receives until it is closed.
    fn answer_of(&self, to: SocketAddr, bytes: &[u8]) -> String {
        let mut stream = send(to, bytes);
        let mut answer = Vec::new();
        // If the connection was closed with unread data, it ends with a reset. What arrived before counts.
        match stream.read_to_end(&mut answer) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => {
                panic!("not closed: {error}")
            }
            _ => String::from_utf8_lossy(&answer).into_owned(),
        }
    }
}

/// A subscription and what it has received.
fn listen(context: &Context, name: &str, topic: &str) -> (Arc<Mutex<Vec<String>>>, Subscription) {
    let received = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&received);
    let node = context.create_node(name).unwrap();
    let subscription = node.create_subscription(topic, 10, move |message: &Text| {
        into.lock().unwrap().push(message.data.clone());
    });
    (received, subscription.unwrap())
}

const CALL: &str = "<methodCall><methodName>getPid</methodName><params><param><value>/x</value></param></params>\
                    </methodCall>";

fn post(length: usize, body: &str) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

#[test]
fn stalled_peer_blocks_nobody() {
    let scene = Scene::new("patient");
    let header = subscriber_header("/slow", "/good", "*", "*");
    let mut silent = Vec::new();
    for cut in [0, 1, 3, 5, header.len() - 1] {
        silent.push(send(scene.ports.tcpros, &header[..cut]));
    }
    let request = post(CALL.len(), CALL);
    for port in [scene.ports.rpc, scene.ports.master] {
        for cut in [0, 1, 20, request.len() - CALL.len(), request.len() - 1] {
            silent.push(send(port, &request[..cut]));
        }
    }
    scene.assert_still_serves();
    // They were not closed for it: they may be slow but correct.
    let mut last = silent.pop().unwrap();
    last.write_all(&request[request.len() - 1..]).unwrap();
    let mut status = [0; 15];
    last.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200 OK");
}

#[test]
fn peer_closed_within_message_is_removed() {
    let scene = Scene::new("calm");
    let header = subscriber_header("/short", "/good", "*", "*");
    let request = post(CALL.len(), CALL);
    for cut in [0, 1, 4, 6, header.len() - 1] {
        let mut stream = send(scene.ports.tcpros, &header[..cut]);
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    }
    for port in [scene.ports.rpc, scene.ports.master] {
        for cut in [0, 1, 30, request.len() - 1] {
            let mut stream = send(port, &request[..cut]);
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
        }
    }
    scene.assert_still_serves();
}

#[test]
fn excessive_lengths_are_refused_at_once() {
    let scene = Scene::new("strict");
    for length in [u32::MAX, 1 << 31, (1 << 20) + 1] {
        assert_eq!(scene.answer_of(scene.ports.tcpros, &length.to_le_bytes()), "");
        wait_logged(&["[/strict]", &format!("a length of {length} bytes was announced")]);
    }
    for port in [scene.ports.rpc, scene.ports.master] {
        let body = scene.answer_of(port, &post(usize::MAX, ""));
        assert!(body.starts_with("HTTP/1.1 413"), "{body}");
        let head = scene.answer_of(port, format!("POST / HTTP/1.1\r\nX: {}", "a".repeat(70_000)).as_bytes());
        assert!(head.starts_with("HTTP/1.1 4"), "{head}");
        let fields =
            scene.answer_of(port, format!("POST / HTTP/1.1\r\n{}\r\n", "X: a\r\n".repeat(65)).as_bytes());
        assert!(fields.starts_with("HTTP/1.1 4"), "{fields}");
    }
    scene.assert_still_serves();
}

#[test]
fn unknown_protocol_gets_an_error() {
    let scene = Scene::new("polite");
    for port in [scene.ports.rpc, scene.ports.master] {
        let other = scene.answer_of(port, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n");
        assert!(other.starts_with("HTTP/1.1 400"), "{other}");
        // A complete request with invalid XML gets a fault, and the connection remains.
        for body in
            ["", "<methodCall", "<a>", "\u{fffd}", &CALL[..CALL.len() - 1], &CALL.replace("getPid", "")]
        {
            let mut stream = send(port, &post(body.len(), body));
            let mut answer = vec![0; 15];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer, b"HTTP/1.1 200 OK", "{body}");
        }
    }
    let http = scene.answer_of(scene.ports.tcpros, b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(http, "");
    let broken = scene.answer_of(scene.ports.tcpros, b"\x08\0\0\0\x40\0\0\0a=b.");
    assert!(
        broken.contains("error=connection header: a field announces 64 bytes, but only 4 are left"),
        "{broken}"
    );
    scene.assert_still_serves();
}

#[test]
fn subscriber_of_other_type_is_refused_and_logged() {
    let scene = Scene::new("typed");
    let wrong = subscriber_header("/confused", "/good", "std_msgs/Int32", "da5909fbe378aeaf85e547e830cc1bb7");
    let answer = scene.answer_of(scene.ports.tcpros, &wrong);
    assert!(answer.contains("error="), "{answer}");
    let words = ["/good", "/confused", "std_msgs/Int32", "da5909fb", "/typed", "std_msgs/String", Text::MD5];
    assert!(words.iter().all(|word| answer.contains(word)), "{answer}");
    wait_logged(&words);
    assert_eq!(scene.publisher.subscription_count(), 0);
    scene.assert_still_serves();
}

#[test]
fn publisher_of_other_type_is_refused_and_logged() {
    let scene = Scene::new("unrelated_a");
    let fake = FakePublisher::new(&scene.graph, "/impostor", "/typed");
    let (_received, subscription) = listen(&scene.far, "typed_listener", "typed");
    let md5 = "00000000000000000000000000000000";
    let mut stream = fake.accept_and_send("/impostor", md5, &framed_text("never"));
    assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0, "it is closed");
    wait_logged(&["[/typed_listener]", "publisher of /typed", "std_msgs/String", md5, Text::MD5]);
    assert_eq!((subscription.publisher_count(), subscription.received()), (0, 0));
}

#[test]
fn refusal_by_publisher_is_logged() {
    let scene = Scene::new("unrelated_b");
    let fake = FakePublisher::new(&scene.graph, "/refuser", "/closed");
    let (_received, _subscription) = listen(&scene.far, "closed_listener", "closed");
    fake.accept().write_all(&ConnectionHeader::error("not for you").emit()).unwrap();
    wait_logged(&["[/closed_listener]", "publisher of /closed", "not for you"]);
}

#[test]
fn malformed_message_is_logged_and_next_delivered() {
    let scene = Scene::new("unrelated_c");
    let fake = FakePublisher::new(&scene.graph, "/garbler", "/texts");
    let (received, subscription) = listen(&scene.far, "texts_listener", "texts");
    // A text with too large a length, one with extra bytes, and one that is not UTF-8, which is accepted.
    let claims = b"\x08\0\0\0\xff\0\0\0abcd";
    let over = b"\x06\0\0\0\x01\0\0\0ab";
    let no_text = b"\x05\0\0\0\x01\0\0\0\xff";
    let sent = [&framed_text("one")[..], claims, over, no_text, &framed_text("two")].concat();
    let _stream = fake.accept_and_send("/garbler", Text::MD5, &sent);
    spin_until(&scene.far, "the good messages received", || received.lock().unwrap().len() == 3);
    assert_eq!(*received.lock().unwrap(), ["one", "\u{fffd}", "two"]);
    assert_eq!((subscription.received(), subscription.malformed()), (5, 2));
    assert!(is_logged(&["ERROR topic /texts", "[/garbler]", "data"]), "publisher and field are named");
}

#[test]
fn garbage_after_header_restarts_only_that_link() {
    let scene = Scene::new("unrelated_d");
    let fake = FakePublisher::new(&scene.graph, "/babbler", "/noise");
    let (received, _subscription) = listen(&scene.far, "noise_listener", "noise");
    let mut stream = fake.accept_and_send("/babbler", Text::MD5, &[0xff; 1000]);
    assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0, "it is closed");
    wait_logged(&["publisher [/babbler]", "a length of 4294967295 bytes was announced"]);
    let _stream = fake.accept_and_send("/babbler", Text::MD5, &framed_text("sense"));
    spin_until(&scene.far, "the message after the garbage received", || !received.lock().unwrap().is_empty());
}

#[test]
fn data_after_subscriber_header_is_ignored() {
    let scene = Scene::new("deaf");
    let mut chatty = subscribe(scene.ports.tcpros, "/chatty", "/good");
    assert_eq!(read_frame(&mut chatty).unwrap(), framed_text("good")[4..]);
    (0..64).for_each(|_| chatty.write_all(&[0xff; 16 * 1024]).unwrap());
    scene.assert_still_serves();
    scene.publisher.publish(text("more")).unwrap();
    assert_eq!(read_frame(&mut chatty).unwrap(), framed_text("more")[4..]);
}

#[test]
fn subscriber_that_reads_no_answers_blocks_nobody() {
    let scene = Scene::new("brisk");
    let request = post(CALL.len(), CALL);
    // Thousands of calls at once from a peer that never reads.
    let mut stream = TcpStream::connect(scene.ports.rpc).unwrap();
    stream.set_nonblocking(true).unwrap();
    let calls = request.repeat(1000);
    let (mut taken, mut refused) = (0, 0);
    while refused < 20 {
        assert!(
            taken < 256 << 20,
            "requests of a peer that does not read its answers are not read without limit"
        );
        match stream.write(&calls) {
            Ok(count) => (taken, refused) = (taken + count, 0),
            // The node has run, and its socket still accepts nothing.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                scene.assert_still_serves();
                refused += 1;
            }
            Err(_) => break,
        }
    }
    scene.assert_still_serves();
}

#[test]
fn type_mismatch_within_process_is_refused() {
    keep_log();
    let graph = Graph::new();
    let context = graph.context();
    let (talker, listener) =
        (context.create_node("talker").unwrap(), context.create_node("listener").unwrap());
    let received = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&received);
    // As many bytes as a Twist, so that decoding would succeed.
    let _wrenches =
        listener.create_subscription("push", 10, move |wrench: &Wrench| into.lock().unwrap().push(*wrench));
    let publisher = talker.create_publisher::<Twist>("push", 10).unwrap();
    wait_logged(&["/push", "[/talker]", "geometry_msgs/Twist", "geometry_msgs/Wrench"]);
    publisher.publish(Twist::default()).unwrap();
    context.spin_some().unwrap();
    assert_eq!((publisher.subscription_count(), received.lock().unwrap().len()), (0, 0));
}
