//! Tests of services over real sockets and within a process.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::common::{Graph, LONG, block_on, spin_until, wait_until};
use crate::logged::{keep_log, wait_logged};
use runnel::core::dynamic::{DynamicMessage, ValueRef};
use runnel::core::message::Service;
use runnel::core::schema::{Kind, Library, TypeName};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse, Trigger, TriggerRequest};
use runnel::{Client, Context, Error, ServiceError, ServiceServer};
use runnel_ros1::header::ConnectionHeader;
use runnel_ros1::node::ServiceFailure;
use runnel_ros1::rpc::Uri;
use runnel_ros1::xmlrpc::Value;
use rustix::time::{ClockId, clock_gettime};

fn ask(data: bool) -> SetBoolRequest {
    SetBoolRequest { data }
}

/// The response of the service in [`Scene`].
fn answer(request: &SetBoolRequest) -> Result<SetBoolResponse, String> {
    match request.data {
        true => Ok(SetBoolResponse { success: true, message: "on".into() }),
        false => Err("it must stay on".into()),
    }
}

/// A service in a context that spins on its own thread, and a client's context that does not spin.
struct Scene {
    graph: Graph,
    near: Context,
    server: Option<ServiceServer>,
    spinning: Option<JoinHandle<()>>,
    far: Context,
}

impl Scene {
    fn new(name: &str) -> Self {
        let graph = Graph::new();
        let (near, far) = (graph.context(), graph.context());
        let node = near.create_node(name).unwrap();
        let server = Some(node.create_service::<SetBool, _>("power", answer).unwrap());
        let spinning = near.clone();
        let spinning = Some(thread::spawn(move || spinning.spin().unwrap()));
        Self { graph, near, server, spinning, far }
    }

    fn client(&self) -> Client<SetBool> {
        self.far.create_node("client").unwrap().create_client("power").unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.near.shutdown();
        self.spinning.take().map(JoinHandle::join);
    }
}

fn why(error: Error) -> ServiceError {
    match error {
        Error::Service { service, why } if service == "/power" => why,
        other => panic!("{other}"),
    }
}

#[test]
fn call_returns_response_or_error() {
    let scene = Scene::new("server");
    let client = scene.client();
    assert!(client.wait_for_service(LONG).unwrap());
    for _ in 0..3 {
        assert_eq!(client.call(&ask(true)).unwrap().message, "on");
        let error = why(client.call_timeout(&ask(false), LONG).unwrap_err());
        assert_eq!(error, ServiceError::Failed("it must stay on".into()));
    }
}

#[test]
fn persistent_client_reconnects_after_end() {
    let mut scene = Scene::new("server");
    let node = scene.far.create_node("client").unwrap();
    let client = node.create_persistent_client::<SetBool>("power").unwrap();
    for _ in 0..50 {
        assert_eq!(client.call(&ask(true)).unwrap().message, "on");
        assert!(client.call(&ask(false)).is_err());
    }
    drop(scene.server.take());
    let error = why(client.call(&ask(true)).unwrap_err());
    assert!(matches!(error, ServiceError::NoAnswer(_)), "{error}");
    let other = scene.near.create_node("other").unwrap();
    let _server = other.create_service::<SetBool, _>("power", answer).unwrap();
    wait_until("the new service answers", || client.call(&ask(true)).is_ok());
}

#[test]
fn local_service_runs_on_the_calling_thread() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("both").unwrap();
    let here = thread::current().id();
    let _server = node
        .create_service::<SetBool, _>("power", move |request| {
            assert_eq!(thread::current().id(), here);
            answer(request)
        })
        .unwrap();
    let client = node.create_client::<SetBool>("power").unwrap();
    assert_eq!(client.call(&ask(true)).unwrap().message, "on");
    assert_eq!(why(client.call(&ask(false)).unwrap_err()), ServiceError::Failed("it must stay on".into()));
    let other = node.create_client::<Trigger>("power").unwrap();
    let error = why(other.call(&TriggerRequest::default()).unwrap_err()).to_string();
    assert!(error.contains(SetBool::MD5) && error.contains(Trigger::MD5), "{error}");
}

#[test]
fn recursive_service_call_is_an_error() {
    let scene = Scene::new("server");
    let context = scene.graph.context();
    let node = context.create_node("relay").unwrap();
    let (onward, itself) =
        (node.create_client::<SetBool>("power").unwrap(), node.create_client::<Trigger>("relay").unwrap());
    let results = Arc::new(Mutex::new(None));
    let into = Arc::clone(&results);
    let relay = node.create_service::<Trigger, _>("relay", move |_| {
        let busy = itself.call_timeout(&TriggerRequest::default(), Duration::from_millis(50));
        *into.lock().unwrap() = busy.err();
        let SetBoolResponse { success, message } = onward.call(&ask(true))?;
        Ok::<_, Error>(runnel::msgs::std_srvs::srv::TriggerResponse { success, message })
    });
    let _relay = relay.unwrap();
    let client = scene.far.create_node("client").unwrap().create_client::<Trigger>("relay").unwrap();
    let spinning = context.clone();
    let spinning = thread::spawn(move || spinning.spin().unwrap());
    assert_eq!(client.call(&TriggerRequest::default()).unwrap().message, "on");
    context.shutdown();
    spinning.join().unwrap();
    let results = results.lock().unwrap().take().unwrap();
    assert!(matches!(&results, Error::Service { why: ServiceError::Busy, .. }), "{results}");
}

#[test]
fn asynchronous_call_completes_on_spinning_thread() {
    let scene = Scene::new("server");
    let client = scene.client();
    let received = Arc::new(Mutex::new(Vec::new()));
    for data in [true, false] {
        let into = Arc::clone(&received);
        let here = thread::current().id();
        let note = move |result: Result<SetBoolResponse, Error>| {
            assert_eq!(thread::current().id(), here);
            into.lock().unwrap().push(result.map(|response| response.message).map_err(why));
        };
        client.call_with(&ask(data), Some(LONG), note).unwrap();
    }
    spin_until(&scene.far, "both calls answered", || received.lock().unwrap().len() == 2);
    let received = received.lock().unwrap();
    assert!(received.contains(&Ok("on".to_owned())), "{received:?}");
    assert!(received.contains(&Err(ServiceError::Failed("it must stay on".into()))), "{received:?}");
}

#[test]
fn response_survives_close_behind_it() {
    let scene = Scene::new("server");
    let client = scene.client();
    let spinning = scene.far.clone();
    let spinning = thread::spawn(move || spinning.spin().unwrap());
    for _ in 0..300 {
        assert_eq!(client.call(&ask(true)).unwrap().message, "on");
    }
    scene.far.shutdown();
    spinning.join().unwrap();
}

#[test]
fn response_and_close_may_arrive_together() {
    let graph = Graph::new();
    let context = graph.context();
    let scripted = FakeService::new(&graph);
    let client = context.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    let (sender, results) = channel();
    let note = move |result: Result<SetBoolResponse, Error>| sender.send(result.map_err(why)).unwrap();
    client.call_with(&ask(true), Some(LONG), note).unwrap();
    let serving = thread::spawn(move || scripted.accept_request());
    spin_until(&context, "the request has come", || serving.is_finished());
    let mut stream = serving.join().unwrap();
    stream.write_all(&[1, 7, 0, 0, 0, 1, 2, 0, 0, 0, b'o', b'n']).unwrap();
    drop(stream);
    let mut received = None;
    // Takes everything that has arrived before it runs a callback.
    wait_until("the response arrives", || {
        context.spin_some().unwrap();
        received = results.try_recv().ok();
        received.is_some()
    });
    assert_eq!(received.unwrap().unwrap().message, "on");
}

#[test]
fn departed_client_causes_no_busy_loop() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let node = near.create_node("busy").unwrap();
    // No thread spins there, so the request waits.
    let _server = node.create_service::<SetBool, _>("power", answer).unwrap();
    let client = far.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    assert!(client.call_timeout(&ask(true), Duration::from_millis(50)).is_err());
    let spent = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let before = spent();
    near.sleep(Duration::from_millis(500)).unwrap();
    let spent = spent() - before;
    assert!(spent < Duration::from_millis(250), "{spent:?} of 500 ms of sleep");
}

#[test]
fn pending_call_does_not_keep_node_alive() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let server = near.create_node("mute").unwrap();
    let _server = server.create_service::<SetBool, _>("power", answer).unwrap();
    let held = Arc::new(());
    let holding = Arc::clone(&held);
    let node = far.create_node("client").unwrap();
    let client = node.create_client::<SetBool>("power").unwrap();
    client.call_with(&ask(true), None, move |_| drop(holding)).unwrap();
    drop((client, node));
    assert_eq!(Arc::strong_count(&held), 1, "the callback is gone with the node");
}

#[test]
fn service_callbacks_are_mutually_exclusive() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let node = near.create_node("server").unwrap();
    let _server = node.create_service::<SetBool, _>("power", answer).unwrap();
    let spinning = near.clone();
    let spinning = thread::spawn(move || spinning.executor().threads(3).spin().unwrap());
    let client = far.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    let own = node.create_client::<SetBool>("power").unwrap();
    thread::scope(|scope| {
        for client in [&client, &client, &own] {
            scope.spawn(move || {
                for _ in 0..200 {
                    assert_eq!(client.call_timeout(&ask(true), LONG).unwrap().message, "on");
                }
            });
        }
    });
    near.shutdown();
    spinning.join().unwrap();
}

#[test]
fn call_to_silent_service_times_out() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let node = near.create_node("mute").unwrap();
    // No thread spins there.
    let _server = node.create_service::<SetBool, _>("power", answer).unwrap();
    let client = far.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    ends_waiting_for_the_answer(|timeout| client.call_timeout(&ask(true), timeout).unwrap_err());
    ends_waiting_for_the_answer(|timeout| {
        let (sender, results) = channel();
        client.call_with(&ask(true), Some(timeout), move |result| sender.send(result).unwrap()).unwrap();
        let mut received = None;
        spin_until(&far, "the time-out is reported", || {
            received = results.try_recv().ok();
            received.is_some()
        });
        received.unwrap().unwrap_err()
    });
}

/// A call that times out while it waits for the response. On a busy machine a short time-out may pass before the
/// service is reached.
#[track_caller]
fn ends_waiting_for_the_answer(call: impl Fn(Duration) -> Error) {
    let mut timeout = Duration::from_millis(100);
    loop {
        match why(call(timeout)) {
            ServiceError::NoAnswer(ServiceFailure::TimedOut { waiting_for: "the answer" }) => return,
            ServiceError::NoAnswer(ServiceFailure::TimedOut { .. }) if timeout < LONG => timeout *= 2,
            other => panic!("{other}"),
        }
    }
}

#[test]
fn dropped_service_is_reported_to_the_client() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let node = near.create_node("server").unwrap();
    let (begin, begun) = channel();
    let (go, wait) = channel();
    let callback = move |request: &SetBoolRequest| {
        begin.send(()).unwrap();
        wait.recv().unwrap();
        answer(request)
    };
    let server = node.create_service::<SetBool, _>("power", callback).unwrap();
    let spinning = near.clone();
    let spinning = thread::spawn(move || spinning.spin().unwrap());
    let client = far.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    let calling = thread::spawn(move || client.call_timeout(&ask(true), LONG).map_err(why));
    begun.recv().unwrap();
    drop(server);
    let error = calling.join().unwrap().unwrap_err();
    assert!(matches!(error, ServiceError::NoAnswer(ServiceFailure::Lost { .. })), "{error}");
    go.send(()).unwrap();
    near.shutdown();
    spinning.join().unwrap();
}

#[test]
fn missing_service_is_an_error_and_can_be_awaited() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let client = far.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    assert_eq!(
        why(client.call(&ask(true)).unwrap_err()),
        ServiceError::NoAnswer(ServiceFailure::NotProvided)
    );
    assert!(!client.wait_for_service(Duration::from_millis(20)).unwrap());
    let waiting = thread::spawn(move || client.wait_for_service(LONG).unwrap());
    let node = near.create_node("late").unwrap();
    let _server = node.create_service::<SetBool, _>("power", answer).unwrap();
    assert!(waiting.join().unwrap());
    assert!(node.create_service::<SetBool, _>("power", answer).is_err(), "once in a node");
}

#[test]
fn panic_in_service_is_reported_and_next_call_served() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let node = near.create_node("server").unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let _server = node
        .create_service::<SetBool, _>("power", move |request| {
            assert!(count.fetch_add(1, Ordering::SeqCst) > 0, "on purpose");
            answer(request)
        })
        .unwrap();
    let ended = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&ended);
    let spinning = thread::spawn(move || {
        while !end.load(Ordering::SeqCst) {
            let spin = || near.spin_once(Duration::from_millis(10)).unwrap();
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(spin));
        }
    });
    let client = far.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    let error = why(client.call(&ask(true)).unwrap_err()).to_string();
    assert!(error.contains("panicked"), "{error}");
    assert_eq!(client.call(&ask(true)).unwrap().message, "on");
    ended.store(true, Ordering::SeqCst);
    spinning.join().unwrap();
}

#[test]
fn service_type_can_be_queried_and_used() {
    let scene = Scene::new("server");
    let (mut library, name) = (Library::new(), TypeName::parse(SetBool::TYPE).unwrap());
    let text = "bool data\n---\nbool success\nstring message";
    library.add_text(Kind::Service, name.clone(), text, "SetBool.srv");
    let schema = Arc::new(library.service(&name).unwrap());
    // From another process and within the same one.
    for context in [&scene.far, &scene.near] {
        let node = context.create_node("asker").unwrap();
        let info = node.service_info("power", LONG).unwrap();
        let known = (info.node.as_str(), info.type_name.as_str(), info.md5.as_str());
        assert_eq!(known, ("/server", SetBool::TYPE, SetBool::MD5));
        let client = node.create_dynamic_client("power", &schema).unwrap();
        let mut request = DynamicMessage::default_of(&schema.request).unwrap();
        let error = why(client.call_timeout(&request, LONG).unwrap_err());
        assert_eq!(error, ServiceError::Failed("it must stay on".into()));
        request.set("data", true).unwrap();
        let response = client.call_timeout(&request, LONG).unwrap();
        assert_eq!(response.get("message"), Ok(ValueRef::String("on")));
        let error = node.service_info("nothing", LONG).unwrap_err();
        assert!(error.to_string().contains("/nothing"), "{error}");
    }
}

#[test]
fn dynamic_client_has_the_calls_of_a_typed_one() {
    let scene = Scene::new("server");
    let name = TypeName::parse("std_srvs/SetBool").unwrap();
    let schema = Arc::new(runnel::msgs::library().service(&name).unwrap());
    let client = scene.far.create_node("client").unwrap().create_dynamic_client("power", &schema).unwrap();
    assert!(client.wait_for_service(LONG).unwrap() && client.service_is_ready().unwrap());
    block_on(client.wait_for_service_async()).unwrap();
    let mut request = DynamicMessage::default_of(&schema.request).unwrap();
    let refused = block_on(client.clone().call_async(&request)).unwrap_err();
    assert_eq!(why(refused), ServiceError::Failed("it must stay on".into()));
    request.set("data", true).unwrap();
    let response = block_on(client.call_async(&request)).unwrap();
    assert_eq!(response.get("message"), Ok(ValueRef::String("on")));
    let (sender, responses) = channel();
    client.call_with(&request, Some(LONG), move |response| sender.send(response).unwrap()).unwrap();
    let mut response = None;
    spin_until(&scene.far, "the response arrives", || {
        response = responses.try_recv().ok();
        response.is_some()
    });
    assert_eq!(response.unwrap().unwrap().get("message"), Ok(ValueRef::String("on")));
}

#[test]
fn wait_for_service_fails_when_the_context_ends() {
    let graph = Graph::new();
    let context = graph.context();
    let client = context.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    let waiting = thread::spawn(move || client.wait_for_service(LONG * 10));
    context.shutdown();
    assert!(matches!(waiting.join().unwrap(), Err(Error::ShuttingDown)));
}

/// A length-prefixed frame.
fn read_frame(stream: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut frame = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut frame).unwrap();
    frame
}

/// A fake service.
struct FakeService(TcpListener);

impl FakeService {
    fn new(graph: &Graph) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("rosrpc://{}", listener.local_addr().unwrap());
        let registration = ["/scripted", "/power", &uri, "http://127.0.0.1:1/"].map(Value::from);
        graph.ask("registerService", &registration);
        Self(listener)
    }

    /// Accepts a client and reads its request.
    fn accept_request(&self) -> TcpStream {
        let (mut stream, _) = self.0.accept().unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        read_frame(&mut stream);
        let header = ConnectionHeader::new([("callerid", "/scripted"), ("md5sum", SetBool::MD5)]);
        stream.write_all(&header.emit()).unwrap();
        assert_eq!(read_frame(&mut stream), [1]);
        stream
    }
}

/// Connects to the service as a fake client.
fn dial(scene: &Scene) -> TcpStream {
    dial_as(scene, "/by_hand")
}

fn dial_as(scene: &Scene, name: &str) -> TcpStream {
    dial_with(scene, name, "1")
}

fn dial_with(scene: &Scene, name: &str, persistent: &str) -> TcpStream {
    let uri = scene.graph.ask("lookupService", &["/test".into(), "/power".into()]);
    let uri = Uri::parse_scheme("rosrpc", uri.as_str().unwrap()).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", uri.endpoint.port)).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let header = ConnectionHeader::new([
        ("callerid", name),
        ("md5sum", SetBool::MD5),
        ("persistent", persistent),
        ("service", "/power"),
    ]);
    stream.write_all(&header.emit()).unwrap();
    let header = ConnectionHeader::parse(&read_frame(&mut stream)).unwrap();
    assert_eq!(header.get("type"), Some("std_srvs/SetBool"));
    stream
}

#[test]
fn non_persistent_connection_gets_one_response() {
    let scene = Scene::new("server");
    let mut stream = dial_with(&scene, "/hasty", "0");
    stream.write_all(&[1, 0, 0, 0, 1].repeat(3)).unwrap();
    let mut answered = [0; 1];
    stream.read_exact(&mut answered).unwrap();
    assert_eq!((answered, read_frame(&mut stream).len()), ([1], 7));
    assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0, "one answer, then the end");
}

#[test]
fn invalid_or_excess_requests_close_only_their_client() {
    let scene = Scene::new("server");
    let mut long = dial(&scene);
    long.write_all(&[3, 0, 0, 0, 1, 2, 3]).unwrap();
    assert_eq!(long.read(&mut [0; 1]).unwrap_or(0), 0, "every request of the type has one byte");
    let mut odd = dial(&scene);
    odd.write_all(&[1, 0, 0, 0, 7]).unwrap();
    let mut failed = [1; 1];
    odd.read_exact(&mut failed).unwrap();
    assert_eq!(failed, [0]);
    let text = String::from_utf8(read_frame(&mut odd)).unwrap();
    assert!(text.contains("cannot be read: field data: a bool is 7"), "{text}");
    odd.write_all(&[0xff; 4]).unwrap();
    assert_eq!(odd.read(&mut [0; 1]).unwrap_or(0), 0, "a length beyond all limits");
    let mut hasty = dial(&scene);
    // More than the service can have answered in time to stay below its limit.
    let request = [1, 0, 0, 0, 1].repeat(100_000);
    let _ = hasty.write_all(&request);
    let mut rest = Vec::new();
    let end = hasty.read_to_end(&mut rest).map_err(|error| error.kind());
    assert!(!matches!(end, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)), "it is closed");
    assert!(rest.len() < 12 * 100_000, "not all are answered");
    assert_eq!(scene.client().call(&ask(true)).unwrap().message, "on");
}

#[test]
fn client_name_is_sanitized_in_the_log() {
    keep_log();
    let scene = Scene::new("server");
    let mut forger = dial_as(&scene, "/forger\n[ERROR] all is lost\u{1b}[2J");
    forger.write_all(&[0xff; 4]).unwrap();
    wait_logged(&["service /power: client [/forger\\n[ERROR] all is lost\\x1b[2J]"]);
}
