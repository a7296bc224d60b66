//! `runnel service` in ROS 2 and in both graphs: with servers of rclpy, of Runnel, and of a dual node.

use interop::ros2::{Distro, Ros2Graph};
use interop::spinning::Spinning;
use interop::{Master, Server, checkout, ready};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolResponse};
use runnel::{Context, Error, Graphs, Node, ServiceServer};

const SERVICE: &str = "/power";
const BASIC: &str = "/basic";

/// Provides [`SERVICE`].
fn server(node: &Node) -> ServiceServer {
    let answer = |request: &runnel::msgs::std_srvs::srv::SetBoolRequest| {
        Ok::<_, Error>(SetBoolResponse { success: request.data, message: "it's".to_owned() })
    };
    node.create_service::<SetBool, _>(SERVICE, answer).unwrap()
}

#[test]
fn services_of_rclpy_and_runnel_are_shown() {
    let graph = Ros2Graph::new();
    let _rclpy = ready(graph.rclpy(Distro::Kilted, "server.py", "theirs", &["/their_power"]));
    let near = Spinning::new(graph.context());
    let _server = server(&near.node("ours"));
    let own = |text: String| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains("power"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(own(graph.answer(&["service", "list", "--wait", "2"])), ["/power", "/their_power"]);
    let typed = ["/power [std_srvs/srv/SetBool]", "/their_power [std_srvs/srv/SetBool]"];
    assert_eq!(own(graph.answer(&["service", "list", "-t", "--wait", "2"])), typed);
    let nodes = ["/power /ours", "/their_power /theirs"];
    assert_eq!(own(graph.answer(&["service", "list", "-n", "--wait", "2"])), nodes);
    assert_eq!(graph.answer(&["service", "type", SERVICE, "--wait", "2"]), "std_srvs/srv/SetBool\n");
    let found = "/power\n/their_power\n";
    assert_eq!(graph.answer(&["service", "find", "std_srvs/srv/SetBool", "--wait", "2"]), found);
    assert_eq!(graph.answer(&["service", "find", "std_srvs/SetBool", "-c", "--wait", "2"]), "2\n");
    for service in ["/power", "/their_power"] {
        let info = "Type: std_srvs/srv/SetBool\nClients count: 0\nServices count: 1\n";
        assert_eq!(graph.answer(&["service", "info", service, "--wait", "2"]), info);
    }
    let info = graph.answer(&["service", "info", "-v", "/their_power", "--wait", "2"]);
    for line in ["Node name: theirs", "Endpoint type: SERVER", "      Reliability: RELIABLE"] {
        assert!(info.lines().any(|printed| printed == line), "{line}: {info}");
    }
    let unknown = graph.ran(&["service", "type", "/nothing"]);
    let text = "error: no service /nothing (see 'runnel service list')\n";
    assert_eq!((unknown.code, unknown.error.as_str()), (Some(1), text));
}

#[test]
fn services_of_rclpy_and_runnel_are_called() {
    let graph = Ros2Graph::new();
    let _rclpy = ready(graph.rclpy(Distro::Kilted, "server.py", "theirs", &["/their_power"]));
    let near = Spinning::new(graph.context());
    let _server = server(&near.node("ours"));
    let requested = "requester: making request: std_srvs.srv.SetBool_Request(data=True)\n\nresponse:\n";
    let ours = format!("{requested}std_srvs.srv.SetBool_Response(success=True, message=\"it's\")\n\n");
    let theirs = format!("{requested}std_srvs.srv.SetBool_Response(success=True, message='call 1')\n\n");
    assert_eq!(graph.answer(&["service", "call", SERVICE, "std_srvs/srv/SetBool", "{data: true}"]), ours);
    assert_eq!(graph.answer(&["service", "call", SERVICE, "true"]), ours);
    assert_eq!(
        graph.answer(&["service", "call", "/their_power", "std_srvs/SetBool", "{data: true}"]),
        theirs
    );
    let json = graph.answer(&["service", "call", SERVICE, "{data: true}", "--json"]);
    assert_eq!(json, "{\"success\":true,\"message\":\"it's\"}\n");
    let other = graph.ran(&["service", "call", SERVICE, "std_srvs/srv/Empty"]);
    let text = "error: service /power is of type std_srvs/srv/SetBool, not std_srvs/Empty\n";
    assert_eq!((other.code, other.error.as_str()), (Some(1), text));
    assert_eq!(graph.ran(&["service", "call", SERVICE, "{data: 3}"]).code, Some(2));
    let missing = graph.ran(&["service", "call", "/nothing", "std_srvs/srv/Empty"]);
    assert!(missing.code == Some(1) && missing.error.contains("/nothing"), "{}", missing.error);
}

/// The type is in no folder that the command knows: its definition comes from a folder, or from the events.
#[test]
fn unknown_type_is_learned_from_its_events() {
    let folder = checkout().join("target/tools/ros2-kilted/share/test_msgs");
    for distro in Distro::ALL {
        let graph = Ros2Graph::new();
        let call = ["service", "call", BASIC, "{string_value: a, int32_value: 7}"];
        let answered = |text: &str| text.contains("int32_value=7") && text.contains("string_value='a'");
        {
            let _server = ready(graph.rclpy(distro, "introspected.py", "server", &[BASIC, "--no-events"]));
            let unknown = graph.ran(&call);
            assert_eq!(unknown.code, Some(1), "{distro:?}: {}", unknown.error);
            assert!(unknown.error.contains("Type not currently in use by this node"), "{}", unknown.error);
            let known = [&call[..], &["--interfaces", folder.to_str().unwrap()]].concat();
            let text = graph.answer(&known);
            assert!(answered(&text), "{distro:?}: {text}");
        }
        let graph = Ros2Graph::new();
        let _server = ready(graph.rclpy(distro, "introspected.py", "server", &[BASIC]));
        let text = graph.answer(&call);
        assert!(answered(&text), "{distro:?}: {text}");
    }
}

/// Nodes of Runnel describe requests and responses by the hashes that they announce.
#[test]
fn unknown_type_is_learned_from_runnel_server() {
    use interop::test_msgs::srv::{Learned, LearnedRequest, LearnedResponse};
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let answer = |request: &LearnedRequest| {
        let sum = request.points.iter().map(|point| point.x).sum();
        Ok::<_, Error>(LearnedResponse { sum, name: request.name.clone() })
    };
    let _server = near.node("server").create_service::<Learned, _>("/learned", answer).unwrap();
    let text = graph.answer(&["service", "call", "/learned", "{name: n, points: [{x: 1}, {x: 2.5}]}"]);
    assert!(text.ends_with("response:\ntest_msgs.srv.Learned_Response(sum=3.5, name='n')\n\n"), "{text}");
}

#[test]
fn events_of_rclpy_are_echoed() {
    for distro in Distro::ALL {
        let graph = Ros2Graph::new();
        let server = ready(graph.rclpy(distro, "introspected.py", "server", &[BASIC]));
        let mut echo = graph.running(&["service", "echo", BASIC, "--wait", "3"]);
        let call = ["service", "call", BASIC, "{string_value: echoed}", "--rate", "5", "--wait"];
        let mut call = graph.running(&call);
        let deadline = || runnel_testkit::process::deadline_in(interop::TIMEOUT);
        for line in [
            "  event_type: REQUEST_RECEIVED",
            "  string_value: echoed",
            "response: []",
            "---",
            "  event_type: RESPONSE_SENT",
            "request: []",
            "---",
        ] {
            let found = echo.wait_for_line(|printed| printed == line, deadline());
            found.unwrap_or_else(|error| panic!("{line}: {error}\n{}\n{}", echo.output(), server.output()));
        }
        call.signal(runnel_testkit::process::Signal::INT).unwrap();
        assert_eq!(call.wait_exit(deadline()).unwrap().code(), Some(0), "{}", call.output());
        server.signal(runnel_testkit::process::Signal::INT).unwrap();
    }
}

#[test]
fn dual_service_is_shown_and_called_in_both_graphs() {
    let master = Master::start(Server::Rosmaster);
    let ros1 = master.graph();
    let graph = Ros2Graph::new().with_master(ros1);
    let options =
        graph.options().graphs(Graphs::Both).arguments([format!("__master:={}", ros1.master_uri())]);
    let both = Spinning::new(Context::with_options(options).unwrap());
    let _server = server(&both.node("robot"));
    // Without ROS 2, whose discovery takes longer on a busy machine, the answers would be others.
    let list = graph.answer(&["service", "list", "-t", SERVICE, "--wait", "2"]);
    assert_eq!(list, "/power [std_srvs/srv/SetBool]  ROS 1, ROS 2\n");
    let dual = graph.answer(&["service", "type", SERVICE, "--wait", "2"]);
    assert_eq!(dual, "std_srvs/srv/SetBool\n");
    assert_eq!(graph.answer(&["service", "type", SERVICE, "--ros1"]), "std_srvs/SetBool\n");
    let info = graph.answer(&["service", "info", SERVICE, "--wait", "2"]);
    assert!(
        info.starts_with("ROS 1\nNode: /robot\n") && info.contains("\nROS 2\nType: std_srvs/srv/"),
        "{info}"
    );
    let ros1 = "success: True\nmessage: \"it's\"\n";
    assert_eq!(graph.answer(&["service", "call", SERVICE, "true", "--ros1"]), ros1);
    for words in [vec!["--spin-time", "2"], vec!["--ros2"]] {
        let text = graph.answer(&[&["service", "call", SERVICE, "true"], words.as_slice()].concat());
        assert!(text.ends_with("SetBool_Response(success=True, message=\"it's\")\n\n"), "{text}");
    }
}
