//! Tests of peers that announce long messages and send them slowly: memory is bounded over all links, and correct peers
//! continue.

use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::common::{Graph, LONG, wait_until};
use crate::fake_publisher::FakePublisher;
use crate::logged::wait_logged;
use crate::process::alone;
use crate::raw::{framed_text, read_frame, send};
use runnel::core::{Message, Service};
use runnel::msgs::roscpp::srv::{SetLoggerLevel, SetLoggerLevelRequest, SetLoggerLevelResponse};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Context, ContextOptions, ReceiveBudget};
use runnel_ros1::header::ConnectionHeader;
use runnel_ros1::rpc::Uri;

/// Number of connections of the original attack.
const PEERS: usize = 30;

const ANNOUNCED: usize = 900_000_000;

/// Budget for incomplete messages.
const BUDGET: usize = 16 << 20;

/// Default timeout of a message without progress, as in README.md.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// A context that spins on its own thread.
struct Spinning {
    context: Context,
    thread: Option<JoinHandle<()>>,
}

impl Spinning {
    fn new(options: ContextOptions) -> Self {
        let context = Context::with_options(options.ipc(false)).unwrap();
        let spinner = context.clone();
        let thread = Some(std::thread::spawn(move || spinner.spin().unwrap()));
        Self { context, thread }
    }

    /// The budget's state, after asserting its limit.
    fn budget(&self) -> ReceiveBudget {
        let budget = self.context.receive_budget();
        assert!(budget.in_use <= budget.limit, "{budget:?}");
        budget
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        self.context.shutdown();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A service client that sends its request's length and the first bytes.
fn begin_request<S: Service>(graph: &Graph, service: &str, announced: usize, part: usize) -> TcpStream {
    let params = ["/test", service].map(Into::into);
    let uri = Uri::parse_scheme("rosrpc", graph.ask("lookupService", &params).as_str().unwrap()).unwrap();
    let fields = [("callerid", "/slow"), ("md5sum", S::MD5), ("service", service), ("persistent", "1")];
    let mut stream = send(([127, 0, 0, 1], uri.endpoint.port).into(), &ConnectionHeader::new(fields).emit());
    let answer = ConnectionHeader::parse(&read_frame(&mut stream).unwrap()).unwrap();
    assert_eq!(answer.get("error"), None);
    stream.write_all(&(announced as u32).to_le_bytes()).unwrap();
    let sent = stream.write_all(&vec![0; part]);
    assert!(sent.is_ok() || is_end(&sent.unwrap_err()), "only the end of the link may stop it");
    stream
}

fn is_end(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

/// Whether the peer has closed the connection, even if it had unread data.
fn is_closed(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    match stream.peek(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => is_end(&error),
    }
}

#[test]
fn one_byte_service_refuses_announced_length_at_once() {
    let _alone = alone();
    let graph = Graph::new();
    let far = Spinning::new(graph.options());
    let node = far.context.create_node("switch").unwrap();
    let answer = |_: &SetBoolRequest| Ok::<_, String>(SetBoolResponse::default());
    let _service = node.create_service::<SetBool, _>("switch", answer).unwrap();
    let streams: Vec<_> =
        (0..PEERS).map(|_| begin_request::<SetBool>(&graph, "/switch", ANNOUNCED, 0)).collect();
    for stream in &streams {
        wait_until("the link closed", || is_closed(stream));
    }
    wait_logged(&["service /switch", "client [/slow]", "900000000 bytes", "have exactly 1"]);
    assert_eq!((far.budget().in_use, far.budget().given_up), (0, 0));
}

#[test]
fn slow_requests_of_many_clients_stay_within_budget() {
    let _alone = alone();
    let graph = Graph::new();
    let far = Spinning::new(graph.options().receive_budget(BUDGET));
    let node = far.context.create_node("levels").unwrap();
    let answer = |_: &SetLoggerLevelRequest| Ok::<_, String>(SetLoggerLevelResponse::default());
    let _service = node.create_service::<SetLoggerLevel, _>("levels", answer).unwrap();
    // A message longer than the whole budget is refused by its length.
    let stream = begin_request::<SetLoggerLevel>(&graph, "/levels", ANNOUNCED, 0);
    wait_until("the link closed", || is_closed(&stream));
    let refused = ["900000000 bytes", "16777216", "RUNNEL_RECEIVE_BUDGET=900 "];
    wait_logged(&[&["service /levels: client [/slow] at 127.0.0.1:"], &refused[..]].concat());
    let slow: Vec<_> = (0..PEERS)
        .map(|_| begin_request::<SetLoggerLevel>(&graph, "/levels", BUDGET - 1, 1_000_000))
        .collect();
    wait_until("a link closed", || far.budget().given_up > 0 && slow.iter().any(is_closed));
    assert!(!slow.iter().all(is_closed), "those that the budget has room for stay");
    let client = graph.context_on_network();
    let client = client.create_node("client").unwrap().create_client::<SetLoggerLevel>("levels").unwrap();
    client.call(&SetLoggerLevelRequest::default()).unwrap();
}

/// Starts publishers that each send the beginning of a long message. Returns their connections.
fn begin_messages(fakes: &[FakePublisher], announced: usize, part: usize) -> Vec<TcpStream> {
    let bytes = [&(announced as u32).to_le_bytes()[..], &vec![b'x'; part]].concat();
    let begin = |fake: &FakePublisher| {
        let mut stream = fake.accept_and_send("/slow", Text::MD5, &[]);
        let sent = stream.write_all(&bytes);
        assert!(sent.is_ok() || is_end(&sent.unwrap_err()), "only the end of the link may stop it");
        stream
    };
    fakes.iter().map(begin).collect()
}

#[test]
fn images_arrive_while_slow_publishers_fill_the_budget() {
    let _alone = alone();
    let graph = Graph::new();
    const IMAGE: usize = 12_000_000;
    let budget = 5 * IMAGE;
    let far = Spinning::new(graph.options().receive_budget(budget));
    let images = Arc::new(AtomicUsize::new(0));
    let into = Arc::clone(&images);
    let node = far.context.create_node("viewer").unwrap();
    let fakes: Vec<_> =
        (0..PEERS).map(|number| FakePublisher::new(&graph, &format!("/slow{number}"), "/images")).collect();
    let _subscription = node
        .create_subscription("images", 10, move |message: &Text| {
            assert_eq!(message.data.len(), IMAGE);
            into.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
    // From the camera's address, and as long as its images.
    let slow = begin_messages(&fakes, IMAGE, 4_000_000);
    let camera = graph.context_on_network();
    let publisher = camera.create_node("camera").unwrap().create_publisher::<Text>("images", 10).unwrap();
    wait_until("the subscriber", || publisher.subscription_count() == 1);
    for count in 1..=20 {
        publisher.publish(Text { data: "i".repeat(IMAGE) }).unwrap();
        wait_until("the image", || images.load(Ordering::SeqCst) == count);
        far.budget();
    }
    assert_eq!(publisher.subscription_count(), 1, "the camera's link was never closed");
    let given_up = far.budget().given_up;
    assert!(given_up > 0 && slow.iter().any(is_closed));
    assert!(far.budget().in_use > 0, "those that the budget has room for stay");
    wait_logged(&[
        "topic /images: publisher [/slow]",
        "127.0.0.1",
        "of 12000000 bytes",
        "RUNNEL_RECEIVE_BUDGET",
    ]);
}

#[test]
fn refusal_beyond_budget_names_the_variable() {
    let _alone = alone();
    let graph = Graph::new();
    let far = Spinning::new(graph.options());
    let node = far.context.create_node("viewer").unwrap();
    let fake = FakePublisher::new(&graph, "/lidar", "/clouds");
    let _subscription = node.create_subscription("clouds", 10, |_: &Text| {}).unwrap();
    let stream = fake.accept_and_send("/lidar", Text::MD5, &300_000_000u32.to_le_bytes());
    wait_until("the link closed", || is_closed(&stream));
    let refused = ["300000000 bytes", "268435456", "RUNNEL_RECEIVE_BUDGET=300 "];
    wait_logged(&[&["topic /clouds: publisher [/lidar] at 127.0.0.1:"], &refused[..]].concat());
    let service = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let uri = format!("rosrpc://{}", service.local_addr().unwrap());
    graph.ask("registerService", &["/map", "/map", &uri, "http://127.0.0.1:1/"].map(Into::into));
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = service.accept().unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        read_frame(&mut stream).unwrap();
        let header = ConnectionHeader::new([("callerid", "/map"), ("md5sum", SetBool::MD5)]);
        stream.write_all(&header.emit()).unwrap();
        // Unread data would hide the end of the link.
        read_frame(&mut stream).unwrap();
        stream.write_all(&[&[1][..], &300_000_000u32.to_le_bytes()].concat()).unwrap();
        wait_until("the link closed", || is_closed(&stream));
    });
    let client = node.create_client::<SetBool>("map").unwrap();
    let error = client.call(&SetBoolRequest::default()).unwrap_err().to_string();
    for part in [&["/map", "response from 127.0.0.1"], &refused[..]].concat() {
        assert!(error.contains(part), "{part:?} is not in {error:?}");
    }
    answering.join().unwrap();
}

#[test]
fn message_without_progress_is_given_up() {
    let _alone = alone();
    let graph = Graph::new();
    let far = Spinning::new(graph.options().receive_timeout(Duration::from_millis(200)));
    let received = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&received);
    let node = far.context.create_node("impatient").unwrap();
    let fake = FakePublisher::new(&graph, "/stuck", "/texts");
    let receive = move |message: &Text| into.lock().unwrap().push(message.data.clone());
    let _subscription = node.create_subscription("texts", 10, receive).unwrap();
    let text = framed_text("whole");
    let stuck = fake.accept_and_send("/stuck", Text::MD5, &text[..text.len() - 1]);
    wait_until("the link closed", || is_closed(&stuck));
    wait_logged(&["publisher [/stuck]", "message body", "8 of 9 bytes", "0.2 s"]);
    let _stream = fake.accept_and_send("/stuck", Text::MD5, &text);
    wait_until("the message", || *received.lock().unwrap() == ["whole"]);
    assert_eq!((far.budget().in_use, far.budget().given_up), (0, 1));
}

#[test]
fn incomplete_message_is_waited_for() {
    let _alone = alone();
    let graph = Graph::new();
    let far = Spinning::new(graph.options());
    assert_eq!(far.budget().limit, 256 << 20);
    let received = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&received);
    let node = far.context.create_node("patient").unwrap();
    let fake = FakePublisher::new(&graph, "/paused", "/texts");
    let receive = move |message: &Text| into.lock().unwrap().push(message.data.clone());
    let _subscription = node.create_subscription("texts", 10, receive).unwrap();
    let text = framed_text("whole");
    let mut paused = fake.accept_and_send("/paused", Text::MD5, &text[..6]);
    wait_until("the beginning", || far.budget().in_use > 0);
    let others = graph.context_on_network();
    let publisher = others.create_node("others").unwrap().create_publisher::<Text>("texts", 10).unwrap();
    wait_until("the subscriber", || publisher.subscription_count() == 1);
    publisher.publish(Text { data: "other".into() }).unwrap();
    wait_until("the other message", || received.lock().unwrap().len() == 1);
    paused.write_all(&text[6..]).unwrap();
    wait_until("the rest", || *received.lock().unwrap() == ["other", "whole"]);
    assert_eq!((far.budget().in_use, far.budget().given_up), (0, 0));
    assert_eq!(far.budget().timeout, DEFAULT_TIMEOUT, "a peer may pause for longer than this test does");
}
