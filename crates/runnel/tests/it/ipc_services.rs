//! Tests of persistent service connections that switch to shared memory during a request or response, or after a delay.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use crate::common::{Graph, LONG, wait_until};
use crate::fake_process::{
    ASK, BYTES, FakeConnection, OPEN, POSITION, SAMPLE, hex, low_process_id, open_record, token_bytes, unhex,
};
use crate::ipc_scene::{subscribe_to, switch_to_memory};
use crate::raw;
use crate::raw::{Ports, framed_text, read_frame};
use runnel::core::message::Service;
use runnel::msgs::std_msgs::msg::{String as Text, UInt8MultiArray};
use runnel::{Context, Error};
use runnel_ros1::header::ConnectionHeader;
use runnel_ros1::rpc::Uri;
use runnel_ros1::xmlrpc::Value;

/// A service with long requests and responses.
struct Echo;

impl Service for Echo {
    type Request = Text;
    type Response = Text;
    const TYPE: &'static str = "test/Echo";
    const MD5: &'static str = "0123456789abcdef0123456789abcdef";
    const ROS2_TYPE: &'static str = "test/srv/Echo";
    const RIHS01: &'static str = "";
}

/// More than the kernel accepts on an unread connection.
fn long_text() -> String {
    (0..20 << 20).map(|index| char::from(b'a' + (index % 23) as u8)).collect()
}

fn spin(context: &Context) -> JoinHandle<()> {
    let context = context.clone();
    thread::spawn(move || context.spin().unwrap())
}

/// Reads the bytes of a stream from its connection, and the rest of `count` from shared memory.
fn rest_of_stream(
    stream: &mut TcpStream,
    session: &mut FakeConnection,
    opened: (u32, u64),
    count: usize,
) -> Vec<u8> {
    let (channel, before) = opened;
    let mut bytes = vec![0; usize::try_from(before).unwrap()];
    stream.read_exact(&mut bytes).unwrap();
    wait_until("the rest by shared memory", || {
        match session.next() {
            Some(record) if record.channel == channel && record.kind == BYTES => bytes.extend(record.payload),
            Some(_) => {}
            // The other end may wait for space.
            None => session.ring(),
        }
        bytes.len() >= count
    });
    bytes
}

/// Waits for data without reading it.
fn wait_for_bytes(stream: &TcpStream) {
    wait_until("bytes over the connection", || stream.peek(&mut [0]).unwrap() == 1);
}

#[test]
fn response_in_transit_continues_in_shared_memory() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let (text, server) = (long_text(), near.create_node("server").unwrap());
    let answer = text.clone();
    let _service =
        server.create_service::<Echo, String>("echo", move |_| Ok(Text { data: answer.clone() })).unwrap();
    let spinning = spin(&near);
    let uri = graph.ask("lookupService", &["/test".into(), "/echo".into()]);
    let uri = Uri::parse_scheme("rosrpc", uri.as_str().unwrap()).unwrap();
    let (me, token) = (low_process_id(), low_process_id());
    let (process, hidden) = (hex(me), hex(token));
    let header = ConnectionHeader::new([
        ("callerid", "/by_hand"),
        ("md5sum", Echo::MD5),
        ("persistent", "1"),
        ("service", "/echo"),
        ("runnel_process", &process),
        ("runnel_link", &hidden),
    ]);
    let mut stream = raw::send(([127, 0, 0, 1], uri.endpoint.port).into(), &header.emit());
    let header = ConnectionHeader::parse(&read_frame(&mut stream).unwrap()).unwrap();
    let mut session = FakeConnection::handshake(me, unhex(header.get("runnel_process").unwrap()));
    stream.write_all(&framed_text("what?")).unwrap();
    wait_for_bytes(&stream);
    session.push(ASK, 0, &token_bytes(token));
    // Nobody rings the doorbell again.
    let open = session.wait_for(OPEN);
    let whole = [&[1][..], &framed_text(&text)].concat();
    let opened = (open.channel, open.word(2));
    assert!((1..whole.len() as u64).contains(&opened.1), "{} bytes over the connection", opened.1);
    assert!(rest_of_stream(&mut stream, &mut session, opened, whole.len()) == whole);
    // The connection is still read, and its request is answered in shared memory.
    stream.write_all(&framed_text("what else?")).unwrap();
    assert!(rest_of_stream(&mut stream, &mut session, (open.channel, 0), whole.len()) == whole);
    near.shutdown();
    spinning.join().unwrap();
    drop(far);
}

/// A fake service, and a real client that calls it.
struct FakeService {
    stream: TcpStream,
    session: FakeConnection,
    token: u128,
    calling: JoinHandle<Result<Text, Error>>,
}

impl FakeService {
    /// The client has sent as much of its request as the kernel accepts, and requests shared memory for the response.
    fn new(graph: &Graph, context: &Context, me: u128, request: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("rosrpc://{}", listener.local_addr().unwrap());
        let registration = ["/by_hand", "/echo", &uri, "http://127.0.0.1:1/"].map(Value::from);
        graph.ask("registerService", &registration);
        let client = context.create_node("client").unwrap().create_persistent_client::<Echo>("echo").unwrap();
        let calling = thread::spawn(move || client.call_timeout(&Text { data: request }, LONG));
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let asked = ConnectionHeader::parse(&read_frame(&mut stream).unwrap()).unwrap();
        let process = hex(me);
        let fields = [("callerid", "/by_hand"), ("md5sum", Echo::MD5), ("runnel_process", &process)];
        stream.write_all(&ConnectionHeader::new(fields).emit()).unwrap();
        let token = unhex(asked.get("runnel_link").unwrap());
        let mut session = FakeConnection::handshake(me, unhex(asked.get("runnel_process").unwrap()));
        assert_eq!(session.wait_for(ASK).payload, token_bytes(token));
        Self { stream, session, token, calling }
    }

    fn answer(self, text: &str) {
        let Self { mut session, calling, .. } = self;
        session.push(BYTES, 1, &[&[1][..], &framed_text(text)].concat());
        assert_eq!(calling.join().unwrap().unwrap().data, text);
    }
}

#[test]
fn request_in_transit_continues_in_shared_memory() {
    let graph = Graph::new();
    let context = graph.context();
    let text = long_text();
    let mut called = FakeService::new(&graph, &context, low_process_id(), text.clone());
    wait_for_bytes(&called.stream);
    called.session.push(OPEN, 1, &open_record(called.token, 0));
    let open = called.session.wait_for(OPEN);
    let whole = framed_text(&text);
    let opened = (open.channel, open.word(2));
    assert!((1..whole.len() as u64).contains(&opened.1), "{} bytes over the connection", opened.1);
    assert!(rest_of_stream(&mut called.stream, &mut called.session, opened, whole.len()) == whole);
    called.answer("done");
}

#[test]
fn requests_switch_once_ring_has_space() {
    let graph = Graph::new();
    let (context, other) = (graph.context(), graph.context());
    let talker = context.create_node("talker").unwrap();
    let publisher = talker.create_publisher::<UInt8MultiArray>("data", 20_000).unwrap();
    let spinning = spin(&context);
    let me = low_process_id();
    let mut called = FakeService::new(&graph, &context, me, "short".into());
    // A subscriber of the same process lets the ring fill up.
    let tcpros = Ports::of(&other, "/talker", "/data").tcpros;
    let (_stream, _, token) = subscribe_to(tcpros, "/data", me);
    switch_to_memory(&mut called.session, token);
    // Short messages, so that a full ring has no space for any other record.
    let message = UInt8MultiArray { data: vec![7; 4], ..Default::default() };
    (0..20_000).for_each(|_| publisher.publish(&message).unwrap());
    called.session.push(OPEN, 1, &open_record(called.token, 0));
    let FakeService { session, token, .. } = &mut called;
    wait_until("the service's path is known", || session.peer_word(POSITION) == session.written);
    let mut messages = 0;
    wait_until("requests switch", || match session.next() {
        Some(record) if record.kind == OPEN => record.word(0) == *token as u64,
        Some(record) => {
            messages += usize::from(record.kind == SAMPLE);
            false
        }
        None => {
            session.ring();
            false
        }
    });
    assert!(messages > 8_000, "the ring was full");
    called.answer("done");
    context.shutdown();
    spinning.join().unwrap();
}
