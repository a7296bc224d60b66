//! Services in ROS 2 between two participants on real sockets, and within one process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::{LONG, block_on};
use crate::ros2_pair::{context, new_domain};
use crate::spinning::Spinning;
use runnel::msgs::std_srvs::srv::{
    Empty, EmptyRequest, EmptyResponse, SetBool, SetBoolRequest, SetBoolResponse,
};
use runnel::{Client, Context, Error, Node, ServiceError, ServiceServer};

const SHORT: Duration = Duration::from_millis(200);

fn ask(data: bool) -> SetBoolRequest {
    SetBoolRequest { data }
}

fn answer(request: &SetBoolRequest) -> Result<SetBoolResponse, String> {
    match request.data {
        true => Ok(SetBoolResponse { success: true, message: "on".into() }),
        false => Err("it must stay on".into()),
    }
}

fn server(node: &Node, name: &str) -> ServiceServer {
    node.create_service::<SetBool, _>(name, answer).unwrap()
}

fn scene() -> (Spinning, ServiceServer, Context, Client<SetBool>) {
    let domain = new_domain();
    let near = Spinning::new(domain);
    let server = server(&near.node("server"), "power");
    let far = context(domain, false);
    let client = far.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    (near, server, far, client)
}

#[test]
fn call_returns_response_or_error_text() {
    let (_near, _server, _far, client) = scene();
    assert!(client.wait_for_service(LONG).unwrap());
    assert!(client.service_is_ready().unwrap());
    for _ in 0..20 {
        let response = client.call_timeout(&ask(true), LONG).unwrap();
        assert_eq!((response.success, &*response.message), (true, "on"));
    }
    let failed = client.call_timeout(&ask(false), LONG).unwrap_err();
    let Error::Service { why: ServiceError::Failed(why), .. } = failed else { panic!("{failed}") };
    assert_eq!(why, "it must stay on");
}

#[test]
fn empty_request_and_response_travel() {
    let domain = new_domain();
    let near = Spinning::new(domain);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let _server = near.node("server").create_service::<Empty, Error>("reset", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(EmptyResponse::default())
    });
    let far = context(domain, false);
    let client = far.create_node("client").unwrap().create_client::<Empty>("reset").unwrap();
    client.call_timeout(&EmptyRequest::default(), LONG).unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

/// The call waits for the server, which starts later.
#[test]
fn call_before_server_starts_is_answered() {
    let domain = new_domain();
    let far = Spinning::new(domain);
    let client = far.node("client").create_client::<SetBool>("power").unwrap();
    let early = client.call_timeout(&ask(true), SHORT).unwrap_err();
    assert!(early.to_string().contains("a node that provides it in ROS 2"), "{early}");
    assert!(!client.wait_for_service(SHORT).unwrap());
    let (answered, answer) = channel();
    client.call_with(&ask(true), None, move |response| answered.send(response).unwrap()).unwrap();
    let near = Spinning::new(domain);
    let _server = server(&near.node("server"), "power");
    assert!(answer.recv_timeout(LONG).unwrap().unwrap().success);
}

/// The call is sent to the server that takes the place of one that has ended.
#[test]
fn pending_call_is_answered_by_restarted_server() {
    let domain = new_domain();
    let mute = Spinning::new(domain);
    let (asked, has_asked) = channel();
    let kept = Mutex::new(Vec::new());
    let node = mute.node("server");
    let first = node.create_deferred_service::<SetBool>("power", move |_, responder| {
        kept.lock().unwrap().push(responder);
        asked.send(()).unwrap();
    });
    let far = Spinning::new(domain);
    let client = far.node("client").create_client::<SetBool>("power").unwrap();
    let (answered, answer_of) = channel();
    client.call_with(&ask(true), None, move |response| answered.send(response).unwrap()).unwrap();
    has_asked.recv_timeout(LONG).unwrap();
    mute.context.shutdown();
    drop((first, node, mute));
    let near = Spinning::new(domain);
    let _server = server(&near.node("server"), "power");
    assert!(answer_of.recv_timeout(LONG).unwrap().unwrap().success);
}

#[test]
fn many_fresh_clients_each_get_their_response() {
    let domain = new_domain();
    let near = Spinning::new(domain);
    let _server = server(&near.node("server"), "power");
    let far = Spinning::new(domain);
    let node = far.node("client");
    for _ in 0..100 {
        let client = node.create_client::<SetBool>("power").unwrap();
        assert!(client.call_timeout(&ask(true), LONG).unwrap().success);
    }
}

#[test]
fn deferred_responses_come_in_any_order() {
    let domain = new_domain();
    let near = Spinning::new(domain);
    let kept = Mutex::new(Vec::new());
    let _server =
        near.node("server").create_deferred_service::<SetBool>("power", move |request, responder| {
            let mut kept = kept.lock().unwrap();
            kept.push((request.data, responder));
            if kept.len() == 2 {
                while let Some((data, responder)) = kept.pop() {
                    responder.respond(&SetBoolResponse { success: data, message: String::new() });
                }
            }
        });
    let far = Spinning::new(domain);
    let client = far.node("client").create_client::<SetBool>("power").unwrap();
    let (answered, answers) = channel();
    for data in [true, false] {
        let answered = answered.clone();
        let give = move |response: Result<SetBoolResponse, Error>| {
            answered.send((data, response.unwrap().success)).unwrap();
        };
        client.call_with(&ask(data), Some(LONG), give).unwrap();
    }
    let mut both = [answers.recv_timeout(LONG).unwrap(), answers.recv_timeout(LONG).unwrap()];
    both.sort_unstable();
    assert_eq!(both, [(false, false), (true, true)]);
}

#[test]
fn services_of_own_process_are_called() {
    let near = Spinning::new(new_domain());
    let node = near.node("robot");
    let _direct = server(&node, "power");
    let _deferred = node.create_deferred_service::<SetBool>("later", |request, responder| {
        thread::spawn(move || {
            responder.respond(&SetBoolResponse { success: request.data, message: "later".into() });
        });
    });
    for (service, expected) in [("power", "on"), ("later", "later")] {
        let client = node.create_client::<SetBool>(service).unwrap();
        assert!(client.wait_for_service(Duration::ZERO).unwrap());
        assert_eq!(client.call_timeout(&ask(true), LONG).unwrap().message, expected);
        let pending = client.call_async(&ask(true));
        assert_eq!(block_on(pending).unwrap().message, expected);
    }
    let twice = node.create_service::<SetBool, _>("power", answer).unwrap_err();
    assert!(twice.to_string().contains("already provides"), "{twice}");
}

#[test]
fn removed_service_is_no_longer_ready() {
    let (_near, server, _far, client) = scene();
    assert!(client.wait_for_service(LONG).unwrap());
    drop(server);
    let until = std::time::Instant::now() + LONG;
    while client.service_is_ready().unwrap() {
        assert!(std::time::Instant::now() < until, "it is still ready");
        assert!(client.call_timeout(&ask(true), SHORT / 10).is_err());
    }
}

#[test]
fn untyped_wait_finds_service_by_name() {
    let (_near, _server, far, client) = scene();
    let node = far.create_node("other").unwrap();
    assert!(node.wait_for_service("power", LONG).unwrap());
    assert!(!node.wait_for_service("other", Duration::ZERO).unwrap());
    drop(client);
}

#[test]
fn graph_lists_services_with_types_and_counts() {
    let (near, _server, far, client) = scene();
    assert!(client.wait_for_service(LONG).unwrap());
    let listed = far
        .wait_for_ros2_graph(LONG, |graph| {
            let types = graph.service_names_and_types().remove("/power").unwrap_or_default();
            let is_listed = types.len() == 1 && types.contains("std_srvs/srv/SetBool");
            is_listed && (graph.count_services("/power"), graph.count_clients("/power")) == (1, 1)
        })
        .unwrap();
    assert!(listed, "{:?}", far.ros2_graph());
    let names_server = |graph: &runnel::Ros2Graph| {
        let of_service = graph.endpoints.iter().filter(|endpoint| endpoint.dds_topic.contains("/power"));
        of_service.filter(|endpoint| endpoint.node.as_deref() == Some("/server")).count() == 2
    };
    assert!(far.wait_for_ros2_graph(LONG, names_server).unwrap(), "{:?}", far.ros2_graph());
    drop(near);
}

/// The gid of the endpoint that reads a DDS topic.
fn reader_of(context: &Context, dds_topic: &str) -> Option<runnel::Gid> {
    let graph = context.ros2_graph().unwrap().unwrap();
    let is_it = |endpoint: &&runnel::EndpointInfo| {
        endpoint.dds_topic == dds_topic && endpoint.endpoint_type == runnel::EndpointType::Subscription
    };
    graph.endpoints.iter().find(is_it).map(|endpoint| endpoint.gid)
}

/// Whether the reader of a DDS topic in another process gets messages by shared memory.
fn is_in_memory(context: &Context, dds_topic: &str) -> bool {
    let links = reader_of(context, dds_topic).and_then(|gid| context.ros2_links(gid, SHORT).unwrap());
    links.is_some_and(|links| !links.in_memory.is_empty())
}

#[test]
fn service_of_same_host_switches_to_shared_memory() {
    let domain = new_domain();
    let (near, far) = (Spinning::with(context(domain, true)), Spinning::with(context(domain, true)));
    let _server = long_server(&near.node("server"));
    let client = far.node("client").create_client::<SetBool>("power").unwrap();
    let until = std::time::Instant::now() + LONG;
    let mut calls = 0;
    while !(is_in_memory(&far.context, "rq/powerRequest") && is_in_memory(&near.context, "rr/powerReply")) {
        assert!(std::time::Instant::now() < until, "not in memory after {calls} calls");
        assert!(client.call_timeout(&ask(true), LONG).unwrap().success);
        calls += 1;
    }
    for number in 0..200 {
        let response = client.call_timeout(&ask(number % 2 == 0), LONG).unwrap();
        assert_eq!(response.message.len(), if number % 2 == 0 { LONG_TEXT } else { 0 });
    }
}

/// Length of a response that does not fit a record of the ring.
const LONG_TEXT: usize = 300_000;

fn long_server(node: &Node) -> ServiceServer {
    let answer = |request: &SetBoolRequest| {
        let message = "x".repeat(if request.data { LONG_TEXT } else { 0 });
        Ok::<_, Error>(SetBoolResponse { success: request.data, message })
    };
    node.create_service::<SetBool, _>("power", answer).unwrap()
}

/// Requests of several clients interleave: each misses the numbers of the others.
#[test]
fn clients_by_memory_and_by_network_share_a_service() {
    let domain = new_domain();
    let near = Spinning::with(context(domain, true));
    let _server = long_server(&near.node("server"));
    thread::scope(|scope| {
        for ipc in [true, true, true, false] {
            scope.spawn(move || {
                let far = context(domain, ipc);
                let client = far.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
                for number in 0..100 {
                    let data = number % 10 == 0;
                    assert_eq!(client.call_timeout(&ask(data), LONG).unwrap().success, data);
                }
            });
        }
    });
}

/// A client, and the result of a thread that waits for its service as a task.
fn waiting(node: &Node, name: &str) -> (Client<SetBool>, Receiver<Result<(), Error>>) {
    let client = node.create_client::<SetBool>(name).unwrap();
    let waiting = client.wait_for_service_async();
    let (waited, result) = channel();
    thread::spawn(move || waited.send(block_on(waiting)));
    (client, result)
}

#[test]
fn task_waits_for_service_of_other_process_and_of_own() {
    let domain = new_domain();
    let (far, near) = (Spinning::new(domain), Spinning::new(domain));
    let node = near.node("asker");
    let (client, result) = waiting(&node, "far");
    let ended = client.wait_for_service_async();
    drop(ended);
    let _far = server(&far.node("far"), "far");
    result.recv_timeout(LONG).unwrap().unwrap();
    assert!(client.call_timeout(&ask(true), LONG).unwrap().success);
    let (_client, result) = waiting(&node, "near");
    let _near = server(&near.node("near"), "near");
    result.recv_timeout(LONG).unwrap().unwrap();
}

/// One client sends far more requests than a service holds for it. It gets errors, and others are served.
#[test]
fn flood_of_requests_is_bounded_and_others_are_served() {
    const FLOOD: usize = 600;
    const MOST: usize = 250;
    let domain = new_domain();
    let near = Spinning::new(domain);
    let kept = Mutex::new(Vec::new());
    let _server =
        near.node("server").create_deferred_service::<SetBool>("power", move |request, responder| {
            match request.data {
                true => responder.respond(&SetBoolResponse { success: true, message: String::new() }),
                false => kept.lock().unwrap().push(responder),
            }
        });
    let far = Spinning::new(domain);
    let flooding = far.node("flooding").create_client::<SetBool>("power").unwrap();
    let (failed, failures) = channel();
    for _ in 0..FLOOD {
        let failed = failed.clone();
        flooding.call_with(&ask(false), None, move |response| failed.send(response).unwrap()).unwrap();
    }
    for _ in MOST..FLOOD {
        let failure = failures.recv_timeout(LONG).unwrap().unwrap_err();
        assert!(failure.to_string().contains("250 requests of participant"), "{failure}");
    }
    let others = Spinning::new(domain);
    let other = others.node("other").create_client::<SetBool>("power").unwrap();
    assert!(other.call_timeout(&ask(true), LONG).unwrap().success);
    assert!(failures.try_recv().is_err());
}

/// The callback of a pending call owns the last handle of a publisher, whose end locks the driver.
#[test]
fn client_with_pending_call_is_dropped() {
    let spinning = Spinning::new(new_domain());
    let node = spinning.node("asker");
    let publisher = node.create_publisher::<runnel::msgs::std_msgs::msg::Empty>("ended", 1).unwrap();
    let client = node.create_client::<SetBool>("nowhere").unwrap();
    client.call_with(&ask(true), None, move |_| drop(publisher)).unwrap();
    let (dropped, drops) = channel();
    thread::spawn(move || {
        drop(client);
        dropped.send(()).unwrap();
    });
    drops.recv_timeout(LONG).expect("no thread waits for itself");
}
