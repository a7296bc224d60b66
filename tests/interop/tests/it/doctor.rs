//! `runnel doctor` in graphs of original and Runnel nodes: no findings in a healthy graph, and each fault created for
//! real. Faults of links and registrations are in `doctor_links.rs`.

use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::time::{Duration, Instant};

use interop::doctor::{doctor, expect_findings, expect_no_findings, talker_and_listeners, wait_for_findings};
use interop::{
    Master, Origin, Ros1Graph, Server, Side, TIMEOUT, next_messages, outcome, ready, rosparam_set, wait_until,
};
use runnel_testkit::process::{Signal, deadline_in, free_port};

#[test]
fn healthy_graph_has_no_findings() {
    const ORIGINS: [Origin; 3] = [Origin::Rospy, Origin::Roscpp, Origin::Runnel];
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        let serve = |origin: Origin| {
            ready(graph.node(origin, "server", &format!("{origin}_server"), &[&format!("/power_{origin}")]))
        };
        let _servers = ORIGINS.map(serve);
        let mut listeners = ORIGINS.map(|origin| ready(graph.listener(origin, &["/chatter"])));
        let _talkers = ORIGINS.map(|origin| {
            let talker = graph.talker(origin, &["/chatter", "--rate", "20", "--wait", "3"]);
            listeners
                .iter_mut()
                .for_each(|listener| drop(next_messages(listener, "got", 3, deadline_in(TIMEOUT))));
            talker
        });
        expect_no_findings(graph, &[]);
        expect_no_findings(graph, &["--all", "--stamps"]);
        expect_findings(
            graph,
            &["--report"],
            0,
            &["ROS_IP=127.0.0.1", "/roscpp_talker", "checked 9 nodes", "9 connections"],
        );
        expect_findings(graph, &["--json"], 0, &["{\"findings\":[]", "\"node\":9"]);
    }
}

#[test]
fn killed_node_is_reported_until_cleaned_up() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        let mut nodes = talker_and_listeners(graph, Origin::Roscpp, &[Origin::Rospy, Origin::Runnel]);
        nodes[0].signal(Signal::KILL).unwrap();
        nodes[0].wait_exit(deadline_in(TIMEOUT)).unwrap();
        let dead = [
            "error: /rospy_listener: no process listens at http://127.0.0.1:",
            "-> runnel node cleanup",
            "1 error,",
        ];
        expect_findings(graph, &[], 1, &dead);
        outcome(graph.runnel("runnel", &["node", "cleanup", "--yes"])).success();
        expect_no_findings(graph, &[]);
    }
}

#[test]
fn stopped_node_is_distinguished_from_dead_one() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let nodes = talker_and_listeners(graph, Origin::Rospy, &[Origin::Roscpp]);
    nodes[0].stop(deadline_in(TIMEOUT)).unwrap();
    expect_findings(
        graph,
        &[],
        1,
        &["error: /roscpp_listener: http://127.0.0.1:", "does not answer: it is stopped", "1 error,"],
    );
    nodes[0].signal(Signal::CONT).unwrap();
    expect_no_findings(graph, &[]);
}

#[test]
fn fifty_silent_nodes_take_no_longer_than_one() {
    let master = Master::start(Server::Runnel);
    let graph = master.graph();
    // A listener that never accepts: the kernel completes the connection, but no answer comes.
    let silent: Vec<TcpListener> =
        (0..50).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).collect();
    for (number, listener) in silent.iter().enumerate() {
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let node = format!("/silent_{number}");
        graph.call_master("registerSubscriber", &[&node, "/chatter", "std_msgs/String", &uri]);
    }
    let start = Instant::now();
    expect_findings(graph, &[], 1, &["error: /silent_49: ", "does not answer", "50 errors,"]);
    // Sequential checks would take two and a half minutes.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn mismatched_types_are_reported() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        let _listener = ready(graph.listener(Origin::Runnel, &["/chatter"]));
        let twist = ["/chatter", "--type", "geometry_msgs/Twist", "--rate", "20", "--wait", "0"];
        let _talker = ready(graph.talker(Origin::Rospy, &twist));
        let printed = [
            "error: /chatter: the types differ: /rospy_talker publishes geometry_msgs/Twist;",
            "/runnel_listener subscribes to std_msgs/String",
            "1 error,",
        ];
        expect_findings(graph, &[], 1, &printed);
    }
}

#[test]
fn unknown_host_name_is_reported() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let arguments = ["/chatter", "--wait", "0", "__name:=lost", "__hostname:=robot.invalid"];
    let _talker = ready(graph.rospy("talker.py", &arguments));
    expect_findings(
        graph,
        &[],
        1,
        &["error: /lost: the host name robot.invalid of http://robot.invalid:", "set ROS_IP"],
    );
}

#[test]
fn foreign_address_variable_is_reported() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    expect_findings(
        graph,
        &["__ip:=192.0.2.1"],
        1,
        &["error: __ip: 192.0.2.1 is not an address of this host"],
    );
    expect_findings(
        graph,
        &["__hostname:=robot.invalid"],
        1,
        &["error: __hostname: the host name robot.invalid does not"],
    );
    expect_findings(
        graph,
        &["__master:=robot:11311"],
        1,
        &["error: ROS_MASTER_URI: \"robot:11311\" is not a valid address"],
    );
    expect_findings(
        graph,
        &["__master:=http://127.0.0.1:9"],
        1,
        &["error: master: no process listens", "checked this process"],
    );
    expect_findings(
        graph,
        &["__master:=http://robot.invalid:9"],
        1,
        &["error: master: the host name robot.invalid"],
    );
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let uri = format!("__master:=http://{}", silent.local_addr().unwrap());
    expect_findings(
        graph,
        &[&uri],
        1,
        &["error: master: http://127.0.0.1:", "accepts connections and does not answer"],
    );
}

#[test]
fn loopback_node_with_remote_master_is_reported() {
    const ADDRESS: &str = "10.77.0.1";
    let added = Command::new("ip").args(["addr", "replace", ADDRESS, "dev", "lo"]).status().unwrap();
    assert!(added.success(), "an address of this host beside loopback");
    let port = free_port();
    let graph = Ros1Graph::at(format!("http://{ADDRESS}:{port}"));
    let serve = ["master", "--no-rosout", "--host", ADDRESS, "--port", &port.to_string()];
    let mut master = graph.runnel("runnel", &serve);
    master.wait_for_line(|line| line.starts_with("ROS_MASTER_URI="), deadline_in(TIMEOUT)).unwrap();
    let _talker = ready(graph.talker(Origin::Rospy, &["/chatter", "--wait", "0"]));
    let printed = [
        "warning: /rospy_talker: announces itself at http://127.0.0.1:",
        "no other host",
        "0 errors, 1 warning,",
    ];
    expect_findings(&graph, &[], 0, &printed);
}

/// Two hosts connected by a cable: 10.5.0.1 runs the doctor; 10.5.0.2 has the master and a node that announces
/// loopback. `$0` is `runnel`.
const TWO_HOSTS: &str = r#"
ip link set lo up
unshare -n sleep 120 & other=$!
while [ "$(readlink /proc/$other/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do sleep 0.05; done
there() { nsenter -t $other -n --preserve-credentials "$@"; }
ip link add here type veth peer name there netns $other
ip addr add 10.5.0.1/24 dev here && ip link set here up
there ip link set lo up
there ip addr add 10.5.0.2/24 dev there && there ip link set there up
there "$0" master --no-rosout --host 10.5.0.2 --port 11311 >/dev/null &
until "$0" topic list >/dev/null 2>&1; do sleep 0.1; done
ROS_IP=127.0.0.1 there "$0" topic pub -r 5 /chatter std_msgs/String hello >/dev/null &
until "$0" topic list 2>/dev/null | grep -q chatter; do sleep 0.1; done
echo "NODE"; ROS_IP=10.5.0.1 "$0" doctor 2>/dev/null
echo "OURS"; ROS_IP=127.0.0.1 "$0" doctor 2>/dev/null
there ip link set there down
echo "PULLED"; ROS_IP=10.5.0.1 "$0" doctor 2>/dev/null
kill $other
exit 0
"#;

#[test]
fn loopback_address_across_hosts_is_an_error() {
    let runnel = interop::built("runnel");
    let graph = Ros1Graph::at("http://10.5.0.2:11311");
    let hosts = ["-n", "sh", "-c", TWO_HOSTS, runnel.to_str().unwrap()];
    let mut hosts = graph.tool("unshare", &hosts);
    let status = hosts.wait_exit(deadline_in(TIMEOUT)).unwrap();
    assert!(status.success(), "{}", hosts.output());
    let printed = hosts.lines().join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let (node, rest) = printed.split_once("OURS").expect("what it says for a sound ROS_IP");
    let (ours, pulled) = rest.split_once("PULLED").expect("what it says for loopback");
    let there = "announces itself at http://127.0.0.1:";
    assert!(node.contains(there) && node.contains("1 error, 0 warnings"), "{printed}");
    let here = "error: ROS_IP: 127.0.0.1 is reachable only from this host, but the master is on another";
    assert!(ours.contains(here) && ours.contains(there), "{printed}");
    assert!(pulled.contains("error: master: ") && pulled.contains("checked this process"), "{printed}");
}

#[test]
fn simulated_time_without_publisher_is_an_error() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        let set =
            |value| outcome(graph.runnel("runnel", &["param", "set", "/use_sim_time", value])).success();
        set("true");
        expect_findings(
            graph,
            &[],
            1,
            &["error: /use_sim_time: true, but no node publishes /clock", "1 error,"],
        );
        let clock =
            ["topic", "pub", "-r", "20", "/clock", "rosgraph_msgs/Clock", "clock: {secs: 4711}", "--ros1"];
        let mut publisher = graph.runnel("runnel", &clock);
        wait_until("/clock is published", deadline_in(TIMEOUT), || {
            !graph.nodes_at(Side::Publishers, "/clock").is_empty()
        });
        wait_for_findings(graph, &[], 0, &["no problems found"]);
        set("false");
        expect_findings(graph, &[], 0, &["warning: /clock: published by /runnel_pub", "no node uses it"]);
        publisher.signal(Signal::INT).unwrap();
        publisher.wait_exit(deadline_in(TIMEOUT)).unwrap();
    }
}

#[test]
fn stopped_or_reversed_clock_is_reported() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    rosparam_set(graph, "/use_sim_time", "true");
    let script = "import rospy, itertools\nfrom rosgraph_msgs.msg import Clock\n\
                  rospy.init_node('sim', disable_rostime=True)\n\
                  p = rospy.Publisher('/clock', Clock, queue_size=1)\nprint('ready')\nimport sys, time\n\
                  for n in itertools.count():\n  time.sleep(0.02)\n  \
                  p.publish(Clock(rospy.Time(10 - n % 5))) if len(sys.argv) > 1 else None\n";
    let file = graph.home().join("sim.py");
    std::fs::write(&file, script).unwrap();
    let file = file.to_str().unwrap();
    let silent = ready(graph.tool("python3", &[file]));
    expect_findings(graph, &[], 0, &["warning: /clock: no message from /sim within a second"]);
    drop(silent);
    let _back = ready(graph.tool("python3", &[file, "back"]));
    wait_for_findings(graph, &[], 0, &["warning: /clock: /sim ran back from"]);
}

#[test]
fn misspelt_topic_gets_suggestion() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let _talker = ready(graph.talker(Origin::Roscpp, &["/robot/chatter", "--wait", "0"]));
    let _listener = ready(graph.listener(Origin::Rospy, &["/chatter"]));
    expect_findings(
        graph,
        &[],
        0,
        &["warning: /chatter: /rospy_listener subscribed", "start one with /chatter:=/robot/chatter"],
    );
}

#[test]
fn offset_stamps_are_reported_on_request() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    // The stamps of the test messages are their numbers in seconds.
    let image = ["/camera", "--type", "sensor_msgs/Image", "--rate", "20", "--wait", "0"];
    for origin in [Origin::Rospy, Origin::Roscpp, Origin::Runnel] {
        let mut talker = graph.talker(origin, &image);
        next_messages(&mut talker, "sent", 1, deadline_in(TIMEOUT));
        let printed = format!("warning: /camera: stamps of /{origin}_talker are");
        wait_for_findings(graph, &["--stamps"], 0, &[&printed, "behind this host's clock"]);
        assert!(!doctor(graph, &[], 0).contains("stamps"));
        talker.signal(Signal::INT).unwrap();
        talker.wait_exit(deadline_in(TIMEOUT)).unwrap();
    }
}
