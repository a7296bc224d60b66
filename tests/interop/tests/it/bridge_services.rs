//! Services that `runnel bridge` carries, between rospy and rclpy, and of Runnel nodes.

use std::sync::mpsc::channel;
use std::time::Duration;

use interop::ros2::Distro;
use interop::ros2_checks::expect_line;
use interop::{Server, TIMEOUT, ready, wait_until};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse, Trigger, TriggerResponse};
use runnel::{Client, Error, Graphs};
use runnel_testkit::process::{Signal, deadline_in};

use crate::bridge_scene::{End, TwoGraphs};

const SERVICE: &str = "/power";
const LONG: Duration = Duration::from_secs(TIMEOUT);

fn client(end: &End) -> Client<SetBool> {
    end.node.create_client(SERVICE).unwrap()
}

fn call(client: &Client<SetBool>) -> Result<String, Error> {
    client.call_timeout(&SetBoolRequest { data: true }, LONG).map(|response| response.message)
}

#[test]
fn rospy_calls_rclpy_service() {
    for distro in [Distro::Kilted, Distro::Jazzy] {
        let graphs = TwoGraphs::new(Server::Rosmaster);
        let _bridge = graphs.bridge();
        let _server = ready(graphs.ros2.rclpy(distro, "server.py", "server", &[SERVICE]));
        let mut caller = graphs.master.graph().rospy("caller.py", &[SERVICE, "--count", "2"]);
        for line in [
            "answer call 1",
            "answer call 2",
            "answer it must stay on",
            "answer call 4",
            "answer call 5",
            "done",
        ] {
            expect_line(&mut caller, line);
        }
    }
}

#[test]
fn rclpy_calls_rospy_service() {
    let graphs = TwoGraphs::new(Server::Rosmaster);
    let mut bridge = graphs.bridge();
    let _server = ready(graphs.master.graph().rospy("server.py", &[SERVICE]));
    let mut caller = graphs.ros2.rclpy(Distro::Kilted, "caller.py", "caller", &[SERVICE, "--count", "3"]);
    for line in ["answered True call 1", "answered True call 2", "answered True call 3"] {
        expect_line(&mut caller, line);
    }
    // The fourth call fails, which a reply in ROS 2 cannot say.
    let is_reason =
        |line: &str| line.contains("service /power: a call failed") && line.contains("it must stay on");
    bridge.wait_for_line(is_reason, deadline_in(TIMEOUT)).unwrap();
    let rows = graphs.reported("services");
    let (_, row) = rows.iter().find(|(_, row)| row["service"] == SERVICE).expect("a row");
    assert_eq!(
        (&row["state"], &row["to"], &row["ros1_type"]),
        (&"carried".into(), &"ros2".into(), &"std_srvs/SetBool".into())
    );
}

#[test]
fn service_is_offered_while_its_server_exists() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    for (of, to) in [(Graphs::Ros1, Graphs::Ros2), (Graphs::Ros2, Graphs::Ros1)] {
        let (near, far) = (graphs.end(of, "near"), graphs.end(to, "far"));
        let client = client(&far);
        for round in ["first", "second"] {
            let answer = move |_: &SetBoolRequest| {
                Ok::<_, Error>(SetBoolResponse { success: true, message: round.to_owned() })
            };
            let server = near.node.create_service::<SetBool, _>(SERVICE, answer).unwrap();
            assert!(client.wait_for_service(LONG).unwrap());
            assert_eq!(call(&client).unwrap(), round);
            drop(server);
            wait_until("the service is gone", deadline_in(TIMEOUT), || !client.service_is_ready().unwrap());
        }
    }
}

#[test]
fn open_calls_fail_when_the_server_ends() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    let (near, far) = (graphs.end(Graphs::Ros2, "near"), graphs.end(Graphs::Ros1, "far"));
    let (keep, kept) = channel();
    let server = near.node.create_deferred_service::<SetBool>(SERVICE, move |_, responder| {
        keep.send(responder).unwrap();
    });
    let (server, client) = (server.unwrap(), client(&far));
    assert!(client.wait_for_service(LONG).unwrap());
    let (answered, answer) = channel();
    let give = move |response: Result<SetBoolResponse, Error>| answered.send(response).unwrap();
    client.call_with(&SetBoolRequest { data: true }, None, give).unwrap();
    let responder = kept.recv_timeout(LONG).unwrap();
    drop(server);
    let error = answer.recv_timeout(LONG).unwrap().unwrap_err().to_string();
    assert!(error.contains("the server of /power in ROS 2 has ended"), "{error}");
    drop(responder);
}

#[test]
fn calls_beyond_the_limit_are_refused() {
    const CALLS: usize = 400;
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    let (near, far) = (graphs.end(Graphs::Ros2, "near"), graphs.end(Graphs::Ros1, "far"));
    let (keep, kept) = channel();
    let _server = near.node.create_deferred_service::<SetBool>(SERVICE, move |_, responder| {
        // The test may be over.
        let _ = keep.send(responder);
    });
    let client = client(&far);
    assert!(client.wait_for_service(LONG).unwrap());
    let (answered, answers) = channel();
    for _ in 0..CALLS {
        let answered = answered.clone();
        let give = move |response: Result<SetBoolResponse, Error>| answered.send(response.is_ok()).unwrap();
        client.call_with(&SetBoolRequest { data: true }, None, give).unwrap();
    }
    // 64 calls are in flight, and 256 wait.
    for _ in 0..CALLS - 320 {
        assert!(!answers.recv_timeout(LONG).unwrap());
    }
    for _ in 0..320 {
        let responder = kept.recv_timeout(LONG).unwrap();
        responder.respond(&SetBoolResponse { success: true, message: String::new() });
        assert!(answers.recv_timeout(LONG).unwrap());
    }
}

#[test]
fn two_bridges_offer_a_service_once() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let mut bridges = [graphs.bridge(), graphs.bridge()];
    for (of, to) in [(Graphs::Ros1, Graphs::Ros2), (Graphs::Ros2, Graphs::Ros1)] {
        let (near, far) = (graphs.end(of, "near"), graphs.end(to, "far"));
        let answer =
            |_: &SetBoolRequest| Ok::<_, Error>(SetBoolResponse { success: true, message: "once".into() });
        let _server = near.node.create_service::<SetBool, _>(SERVICE, answer).unwrap();
        wait_until("one bridge carries it", deadline_in(TIMEOUT), || {
            let rows = graphs.reported("services");
            let count = |state: &str| rows.iter().filter(|(_, row)| row["state"] == state).count();
            (count("carried"), count("other_bridge")) == (1, 1)
        });
        let client = client(&far);
        assert!(client.wait_for_service(LONG).unwrap());
        assert_eq!(call(&client).unwrap(), "once");
    }
    for bridge in &mut bridges {
        bridge.signal(Signal::INT).unwrap();
        assert!(bridge.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", bridge.output());
    }
}

/// The dual node serves both graphs itself.
#[test]
fn service_of_a_dual_node_is_not_carried() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    let both = graphs.end(Graphs::Both, "both");
    let answer =
        |_: &SetBoolRequest| Ok::<_, Error>(SetBoolResponse { success: true, message: "both".into() });
    let _server = both.node.create_service::<SetBool, _>(SERVICE, answer).unwrap();
    let one = graphs.end(Graphs::Ros1, "one");
    let _single = one.node.create_service::<Trigger, Error>("/single", |_| Ok(TriggerResponse::default()));
    let row = |name: &str| graphs.reported("services").into_iter().find(|(_, row)| row["service"] == name);
    wait_until("the other service is carried", deadline_in(TIMEOUT), || row("/single").is_some());
    assert_eq!(row(SERVICE), None);
}
