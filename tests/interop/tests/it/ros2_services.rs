//! Services in ROS 2 between Runnel and rclpy, in both directions, and of a dual node that both generations call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use interop::capture::Capture;
use interop::ros2::{Distro, Ros2Graph};
use interop::ros2_checks::expect_line;
use interop::spinning::Spinning;
use interop::{Master, Origin, Server, TIMEOUT, is_full, outcome, ready};
use runnel::msgs::std_srvs::srv::{Empty, EmptyResponse, SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Client, Context, Error, Graphs, Node, ServiceServer};
use runnel_testkit::process::{Peer, deadline_in};

const SERVICE: &str = "/power";
const DISTROS: [Distro; 2] = [Distro::Kilted, Distro::Jazzy];
const LONG: Duration = Duration::from_secs(TIMEOUT);

/// Answers like `peers/rclpy/server.py`.
fn server(node: &Node) -> ServiceServer {
    let calls = AtomicUsize::new(0);
    let answer = move |request: &SetBoolRequest| {
        let call = calls.fetch_add(1, Ordering::SeqCst) + 1;
        let message = if request.data { format!("call {call}") } else { "it must stay on".to_owned() };
        Ok::<_, Error>(SetBoolResponse { success: request.data, message })
    };
    node.create_service::<SetBool, _>(SERVICE, answer).unwrap()
}

fn client(node: &Node) -> Client<SetBool> {
    node.create_client(SERVICE).unwrap()
}

fn call(client: &Client<SetBool>, data: bool) -> (bool, String) {
    let response = client.call_timeout(&SetBoolRequest { data }, LONG).unwrap();
    (response.success, response.message)
}

fn expect_exit(mut peer: Peer) {
    let status = peer.wait_exit(deadline_in(TIMEOUT)).unwrap();
    assert!(status.success(), "{}", peer.output());
}

#[test]
fn rclpy_calls_runnel_service() {
    for distro in DISTROS {
        let graph = Ros2Graph::new();
        let near = Spinning::new(graph.context());
        let _server = server(&near.node("server"));
        let printed =
            outcome(graph.rclpy(distro, "caller.py", "caller", &[SERVICE, "--count", "3"])).success();
        let answers: Vec<&String> = printed.iter().filter(|line| line.starts_with("answered")).collect();
        let expected = [
            "answered True call 1",
            "answered True call 2",
            "answered True call 3",
            "answered False it must stay on",
        ];
        assert_eq!(answers, expected, "{distro:?}");
    }
}

#[test]
fn runnel_calls_rclpy_service() {
    for distro in DISTROS {
        let graph = Ros2Graph::new();
        let _server = ready(graph.rclpy(distro, "server.py", "server", &[SERVICE]));
        let context = graph.context();
        let client = client(&context.create_node("client").unwrap());
        assert!(client.wait_for_service(LONG).unwrap());
        for number in 1..=3 {
            assert_eq!(call(&client, true), (true, format!("call {number}")), "{distro:?}");
        }
        assert_eq!(call(&client, false), (false, "it must stay on".to_owned()), "{distro:?}");
    }
}

/// The call begins before the server does.
#[test]
fn runnel_call_waits_for_rclpy_server() {
    let graph = Ros2Graph::new();
    let far = Spinning::new(graph.context());
    let client = client(&far.node("client"));
    let (answered, answer) = std::sync::mpsc::channel();
    let give =
        move |response: Result<SetBoolResponse, Error>| answered.send(response.unwrap().message).unwrap();
    client.call_with(&SetBoolRequest { data: true }, None, give).unwrap();
    let mut server = ready(graph.rclpy(Distro::Kilted, "server.py", "server", &[SERVICE]));
    expect_line(&mut server, "asked 1");
    assert_eq!(answer.recv_timeout(LONG).unwrap(), "call 1");
}

/// Each call has its own deadline: many take longer than a step.
fn expect_answers(mut callers: Peer, count: usize) {
    for number in 0..count {
        expect_line(&mut callers, &format!("answered {number}"));
    }
    outcome(callers).success();
}

#[test]
fn fresh_rclpy_clients_lose_no_reply() {
    let count = if is_full() { 200 } else { 10 };
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let node = near.node("server");
    let _server = server(&node);
    let empties = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&empties);
    let _empty = node.create_service::<Empty, Error>("/empty", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(EmptyResponse::default())
    });
    let arguments = [SERVICE, "--count", &count.to_string(), "--empty", "/empty"];
    expect_answers(graph.rclpy(Distro::Kilted, "fresh_callers.py", "callers", &arguments), count);
    assert_eq!(empties.load(Ordering::SeqCst), 1);
}

/// Fast DDS ends the announcements of one node, and begins those of the next, in the same participant.
#[test]
fn rclpy_clients_of_one_participant_lose_no_reply() {
    let count = if is_full() { 200 } else { 10 };
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let _server = server(&near.node("server"));
    let arguments = [SERVICE, "--count", &count.to_string(), "--one"];
    expect_answers(graph.rclpy(Distro::Kilted, "fresh_callers.py", "callers", &arguments), count);
}

#[test]
fn fresh_runnel_clients_lose_no_reply_of_rclpy() {
    let count = if is_full() { 200 } else { 10 };
    let graph = Ros2Graph::new();
    let _server = ready(graph.rclpy(Distro::Kilted, "server.py", "server", &[SERVICE]));
    for number in 1..=count {
        // Each in a participant of its own.
        let context = graph.context();
        let client = client(&context.create_node("client").unwrap());
        assert_eq!(call(&client, true).1, format!("call {number}"));
    }
}

/// A rclpy client that waits is served by the server that takes the place of the first one.
#[test]
fn restarted_server_serves_waiting_clients() {
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let first = server(&near.node("server"));
    let far = Spinning::new(graph.context());
    let client = client(&far.node("client"));
    assert_eq!(call(&client, true).1, "call 1");
    drop((first, near));
    let mut caller = ready(graph.rclpy(Distro::Kilted, "caller.py", "caller", &[SERVICE]));
    let again = thread::spawn(move || call(&client, true).1);
    let near = Spinning::new(graph.context());
    let _second = server(&near.node("server"));
    assert!(again.join().unwrap().starts_with("call "));
    expect_line(&mut caller, "answered False it must stay on");
    expect_exit(caller);
}

#[test]
fn dual_service_answers_both_generations() {
    let graph = Ros2Graph::new();
    let master = Master::start(Server::Rosmaster);
    let ros1 = master.graph();
    let options =
        graph.options().graphs(Graphs::Both).arguments([format!("__master:={}", ros1.master_uri())]);
    let both = Spinning::new(Context::with_options(options).unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&asked);
    let _server = both.node("robot").create_service::<SetBool, String>(SERVICE, move |request| {
        record.lock().unwrap().push(request.data);
        match request.data {
            true => Ok(SetBoolResponse { success: true, message: "on".to_owned() }),
            false => Ok(SetBoolResponse { success: false, message: "it must stay on".to_owned() }),
        }
    });
    let rclpy = graph.rclpy(Distro::Kilted, "caller.py", "rclpy_caller", &[SERVICE]);
    let printed = outcome(rclpy).success();
    assert!(printed.iter().any(|line| line == "answered True on"), "{printed:#?}");
    let from_rclpy = asked.lock().unwrap().len();
    assert_eq!(from_rclpy, 2);
    let mut rospy = ros1.node(Origin::Rospy, "caller", "rospy_caller", &[SERVICE]);
    rospy.wait_exit(deadline_in(TIMEOUT)).unwrap();
    assert!(rospy.lines().iter().any(|line| line == "answer on"), "{}", rospy.output());
    assert!(asked.lock().unwrap().len() > from_rclpy);
}

/// A dual client calls a service that is only in ROS 2, and one that is only in ROS 1.
#[test]
fn dual_client_calls_service_of_either_generation() {
    let graph = Ros2Graph::new();
    let master = Master::start(Server::Rosmaster);
    let ros1 = master.graph();
    let _rclpy = ready(graph.rclpy(Distro::Jazzy, "server.py", "server2", &["/two"]));
    let _rospy = ready(ros1.node(Origin::Rospy, "server", "server1", &["/one"]));
    let options =
        graph.options().graphs(Graphs::Both).arguments([format!("__master:={}", ros1.master_uri())]);
    let context = Context::with_options(options).unwrap();
    let node = context.create_node("client").unwrap();
    for service in ["/one", "/two"] {
        let client = node.create_client::<SetBool>(service).unwrap();
        assert!(client.wait_for_service(LONG).unwrap(), "{service}");
        assert!(call(&client, true).1.starts_with("call"), "{service}");
    }
}

/// With a program of our own on Cyclone DDS, which frames services as rmw_cyclonedds does.
#[test]
fn cyclone_framing_is_spoken_in_both_directions() {
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let _server = server(&near.node("server"));
    let printed = outcome(graph.cyclone_service(&[SERVICE, "client", "3"])).success();
    let answers: Vec<&String> = printed.iter().filter(|line| line.starts_with("answered")).collect();
    let expected = [
        "answered true call 1",
        "answered true call 2",
        "answered true call 3",
        "answered false it must stay on",
    ];
    assert_eq!(answers, expected);
    let _cyclone = ready(graph.cyclone_service(&["/other", "server"]));
    let far = graph.context();
    let client = far.create_node("client").unwrap().create_client::<SetBool>("/other").unwrap();
    for number in 1..=3 {
        assert_eq!(call(&client, true), (true, format!("call {number}")));
    }
    assert_eq!(call(&client, false), (false, "it must stay on".to_owned()));
}

/// Two clients in one participant of Cyclone DDS, which orders the replies to both in one buffer.
#[test]
fn two_clients_in_one_cyclone_participant_get_all_replies() {
    const CALLS: usize = 300;
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let _server = server(&near.node("server"));
    let printed = outcome(graph.cyclone_service(&[SERVICE, "pair", &CALLS.to_string()])).success();
    let count = |text: &str| printed.iter().filter(|line| line.starts_with(text)).count();
    assert_eq!((count("answered true"), count("answered false")), (2 * CALLS, 2), "{printed:#?}");
}

/// The server has answered long before it can discover the client's reader.
#[test]
fn reply_waits_for_reader_of_client() {
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let _server = server(&near.node("server"));
    let printed = outcome(graph.cyclone_service(&[SERVICE, "late"])).success();
    assert!(printed.iter().any(|line| line == "answered true call 1"), "{printed:#?}");
}

/// Each client of one service is answered in its own framing.
#[test]
fn clients_of_all_framings_share_a_service() {
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let _server = server(&near.node("server"));
    let own = graph.context();
    let client = client(&own.create_node("client").unwrap());
    let rclpy = graph.rclpy(Distro::Kilted, "caller.py", "caller", &[SERVICE, "--count", "5"]);
    let cyclone = graph.cyclone_service(&[SERVICE, "client", "5"]);
    for _ in 0..5 {
        assert!(call(&client, true).0);
    }
    for peer in [rclpy, cyclone] {
        let printed = outcome(peer).success();
        assert!(
            printed.iter().any(|line| line.to_lowercase() == "answered false it must stay on"),
            "{printed:#?}"
        );
    }
}

#[test]
fn service_traffic_is_dissected_without_errors() {
    let capture = Capture::start();
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let _server = server(&near.node("server"));
    let far = graph.context();
    let own = client(&far.create_node("client").unwrap());
    assert!(call(&own, true).0);
    outcome(graph.rclpy(Distro::Kilted, "caller.py", "caller", &[SERVICE])).success();
    let frames = capture.end();
    let unsound = frames.unsound_rtps("rtps.vendorId == 0x0172");
    assert!(unsound.is_empty(), "{unsound:#?}");
    let replies = frames.query("rtps.vendorId == 0x0172 && rtps.param.id == 0x0083", &["frame.number"]);
    assert!(!replies.is_empty(), "no reply with an identity");
}
