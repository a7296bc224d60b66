//! The line tracer with one node replaced by an implementation in rospy or roscpp, at both masters; several robots at
//! one master; nodes on two hosts; and its bag, read by rosbag.

use std::fs;

use interop::containers::{Container, Network};
use interop::mouse::Mouse;
use interop::{Master, Ros1Graph, Server, TIMEOUT, is_full, outcome, ready, wait_until};
use runnel_testkit::process::{Peer, deadline_in};

/// Time limit of a lap with its preparation on a busy host, in seconds.
const LAP: u64 = 120;

/// Waits until the robot of a graph has completed a lap, as seen from outside.
fn drives_a_lap(graph: &Ros1Graph) {
    let mut watch = graph.runnel("line_trace", &["watch"]);
    watch.wait_for_line(|line| line.starts_with("lap 1:"), deadline_in(LAP)).expect("a lap");
}

/// Both masters in a full run, otherwise Runnel's.
fn masters() -> Vec<Server> {
    if is_full() { Server::BOTH.to_vec() } else { vec![Server::Runnel] }
}

fn control(graph: &Ros1Graph) -> Peer {
    graph.runnel("line_trace", &["control", "--simulate"])
}

fn tracer(graph: &Ros1Graph) -> Peer {
    graph.runnel("line_trace", &["tracer"])
}

#[test]
fn rospy_tracer_drives_our_robot_at_both_masters() {
    for server in masters() {
        let master = Master::start(server);
        let _control = control(master.graph());
        let _tracer = ready(master.graph().rospy("mouse_tracer.py", &[]));
        drives_a_lap(master.graph());
    }
}

#[test]
#[ignore = "in ./test --full"]
fn roscpp_tracer_drives_our_robot_at_both_masters() {
    for server in masters() {
        let master = Master::start(server);
        let _control = control(master.graph());
        let _tracer = ready(master.graph().roscpp("mouse_tracer", &[]));
        drives_a_lap(master.graph());
    }
}

#[test]
#[ignore = "in ./test --full"]
fn our_tracer_drives_rospy_robot_at_both_masters() {
    for server in masters() {
        let master = Master::start(server);
        let mouse = Mouse::start();
        let folder = mouse.folder().to_str().expect("a name in UTF-8");
        let _control = ready(master.graph().rospy("mouse_control.py", &[folder]));
        let _tracer = tracer(master.graph());
        wait_until("a lap", deadline_in(LAP), || mouse.laps() > 0);
    }
}

#[test]
#[ignore = "in ./test --full"]
fn control_node_drives_robot_by_device_files() {
    let master = Master::start(Server::Runnel);
    let mouse = Mouse::start();
    let folder = mouse.folder().to_str().expect("a name in UTF-8");
    let mut robot = master.graph().runnel("line_trace", &["robot", "--devices", folder]);
    wait_until("a lap", deadline_in(LAP), || mouse.laps() > 0);
    robot.signal(runnel_testkit::process::Signal::INT).expect("it runs");
    assert!(robot.wait_exit(deadline_in(TIMEOUT)).expect("it ends").success(), "{}", robot.output());
    let off = |name: &str| fs::read_to_string(mouse.folder().join(name)).expect("a file of the driver");
    assert_eq!(["rtmotoren0", "rtmotor_raw_l0", "rtmotor_raw_r0", "rtbuzzer0"].map(off), ["0"; 4]);
}

#[test]
fn robot_failure_is_logged_and_recovered() {
    let master = Master::start(Server::Runnel);
    let mouse = Mouse::start();
    let folder = mouse.folder().to_str().expect("a name in UTF-8");
    let robot = master.graph().runnel("line_trace", &["robot", "--devices", folder]);
    let moved = mouse.folder().join("moved");
    let power = mouse.folder().join("rtmotoren0");
    let is_off = || fs::read_to_string(&power).is_ok_and(|text| text == "0");
    wait_until("the motors have no power", deadline_in(LAP), is_off);
    fs::rename(&power, &moved).expect("the driver's file");
    for error in ["robot failed: ", "the motors cannot be switched: "] {
        let is_logged = |line: &str| line.contains(error) && line.contains("rtmotoren0: No such file");
        wait_until(error, deadline_in(LAP), || robot.lines().iter().any(|line| is_logged(line)));
    }
    fs::rename(&moved, &power).expect("the driver's file");
    wait_until("a lap", deadline_in(LAP), || mouse.laps() > 0);
}

#[test]
#[ignore = "in ./test --full"]
fn robots_in_namespaces_do_not_disturb_each_other() {
    let master = Master::start(Server::Rosmaster);
    let graphs = ["/one", "/two", "/three"]
        .map(|name| Ros1Graph::at(master.graph().master_uri()).with("ROS_NAMESPACE", name));
    let _nodes = graphs.each_ref().map(|graph| [control(graph), tracer(graph)]);
    graphs.iter().for_each(drives_a_lap);
}

#[test]
#[ignore = "in ./test --full"]
fn control_and_tracer_on_two_hosts_drive_a_lap() {
    let addresses = ["10.78.0.1", "10.78.0.2"];
    let [robot, server] = addresses.map(|address| {
        let uri = format!("http://{}:11311", addresses[1]);
        Container::start(Network::Own, &[]).with("ROS_IP", address).with("ROS_MASTER_URI", uri)
    });
    Container::join(&robot, &server, addresses);
    let _master = server.runnel("runnel", &["master", "--no-rosout", "--host", addresses[1]]);
    wait_until("the master answers", deadline_in(TIMEOUT), || {
        outcome(robot.runnel("runnel", &["node", "list", "--ros1"])).code == Some(0)
    });
    let _control = robot.runnel("line_trace", &["control", "--simulate"]);
    let _tracer = server.runnel("line_trace", &["tracer"]);
    let mut watch = server.runnel("line_trace", &["watch"]);
    watch.wait_for_line(|line| line.starts_with("lap 1:"), deadline_in(LAP)).expect("a lap");
}

#[test]
fn recorded_bag_is_read_by_rosbag() {
    let master = Master::start(Server::Runnel);
    let graph = master.graph();
    let bag = graph.home().join("drive.bag");
    let bag = bag.to_str().expect("a name in UTF-8");
    let mut drive = graph.runnel("runnel", &["demo", "--json", "--record", bag]);
    assert!(drive.wait_exit(deadline_in(LAP)).expect("it ends").success(), "{}", drive.output());
    let printed = drive.lines();
    assert!(printed[0].contains("\"lost\":0}"), "{printed:#?}");
    let listing = outcome(graph.rospy("bag.py", &[bag]));
    assert_eq!(listing.code, Some(0), "{:#?}", listing.lines);
    let count = |topic: &str| {
        let line = listing.lines.iter().find(|line| line.split(' ').next() == Some(topic));
        let words: Vec<&str> =
            line.unwrap_or_else(|| panic!("{topic}: {:#?}", listing.lines)).split(' ').collect();
        (words[1].to_owned(), words[2].parse::<u32>().expect("a number"))
    };
    let (kind, sensors) = count("/light_sensors");
    assert!(kind == "raspimouse_msgs/LightSensors" && sensors > 300, "{:#?}", listing.lines);
    for (topic, kind) in [
        ("/cmd_vel", "geometry_msgs/Twist"),
        ("/odom", "nav_msgs/Odometry"),
        ("/leds", "raspimouse_msgs/Leds"),
        ("/switches", "raspimouse_msgs/Switches"),
        ("/buzzer", "std_msgs/Int16"),
    ] {
        let (found, messages) = count(topic);
        assert!(found == kind && messages > 0, "{topic}: {:#?}", listing.lines);
    }
}
