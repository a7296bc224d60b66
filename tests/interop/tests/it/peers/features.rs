//! Features between Runnel and each other implementation, in both directions.

use std::time::Duration;

use interop::sheet::{Cell, PASS, Row, Sheet};
use interop::{
    Origin, Ros1Graph, Side, TIMEOUT, check_all_received, next_messages, outcome, ready, rosparam_set,
    wait_until,
};
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// Sender and receiver.
type Direction = (Origin, Origin);

/// A feature: its name, the implementations that have it, and its test from one to the other.
type Feature = (&'static str, fn(Direction) -> bool, fn(&Ros1Graph, Direction));

const FEATURES: [Feature; 19] = [
    ("topics: `std_msgs/String`", every_origin, |graph, direction| {
        check_received(graph, direction, "std_msgs/String", "0")
    }),
    ("an array of no bytes", every_origin, |graph, direction| {
        check_received(graph, direction, "std_msgs/UInt8MultiArray", "0")
    }),
    ("an array of 1 MB", every_origin, |graph, direction| {
        check_received(graph, direction, "std_msgs/UInt8MultiArray", "1000000")
    }),
    ("an image with a header", every_origin, |graph, direction| {
        check_received(graph, direction, "sensor_msgs/Image", "640")
    }),
    ("`geometry_msgs/Twist`", every_origin, |graph, direction| {
        check_received(graph, direction, "geometry_msgs/Twist", "0")
    }),
    ("the last message of a latched topic", every_origin, latched),
    ("a publisher that is killed and restarted", every_origin, check_restart),
    ("TCP_NODELAY requested", |(_, to)| to != Origin::Foxglove, nodelay),
    ("datagrams (UDPROS)", |(from, to)| both(from, to, &[Origin::Roscpp]), datagrams),
    (
        "datagrams requested, TCPROS used",
        |(from, to)| to == Origin::Runnel && from != Origin::Roscpp,
        no_datagrams,
    ),
    ("services: one call, persistent, failing", originals, calls),
    ("actions: full client", originals, |graph, direction| {
        goals(graph, direction, "action_client", "action_server")
    }),
    ("actions: simple client", originals, |graph, direction| {
        goals(graph, direction, "simple_action_client", "action_server")
    }),
    ("actions: simple server", originals, |graph, direction| {
        goals(graph, direction, "simple_action_client", "simple_action_server");
    }),
    ("`/rosout`", |(from, to)| both(from, to, &[Origin::Rospy]) || from == Origin::Roscpp, lines),
    ("logger levels set remotely", |(from, to)| both(from, to, &[Origin::Rospy]), levels),
    ("`/clock` followed", |(from, to)| both(from, to, &[Origin::Rospy]) || to == Origin::Roscpp, clock),
    ("`/statistics` published", |(_, to)| to == Origin::Roscpp, statistics),
    (
        "a newer node of the same name takes over",
        |(_, to)| both(to, to, &[Origin::Rospy]),
        check_name_takeover,
    ),
];

fn every_origin(_: Direction) -> bool {
    true
}

/// `@foxglove/ros1` has only topics and parameters.
fn originals((from, to): Direction) -> bool {
    both(from, to, &[Origin::Rospy, Origin::Roscpp])
}

fn both(from: Origin, to: Origin, others: &[Origin]) -> bool {
    let has = |origin| origin == Origin::Runnel || others.contains(&origin);
    has(from) && has(to)
}

pub fn sheet() -> Sheet<Ros1Graph> {
    let directions =
        Origin::OTHERS.into_iter().flat_map(|other| [(other, Origin::Runnel), (Origin::Runnel, other)]);
    let directions: Vec<Direction> = directions.collect();
    let row = |(title, applies, attempt): &Feature| {
        let cell = |direction: &Direction| {
            let (direction, attempt) = (*direction, *attempt);
            let name = format!("{title}, {}", column(direction));
            let attempt = move |graph: &Ros1Graph| {
                attempt(graph, direction);
                PASS.to_owned()
            };
            applies(direction).then(|| Cell { name, attempt: Box::new(attempt) })
        };
        Row { title: (*title).to_owned(), cells: directions.iter().map(cell).collect() }
    };
    Sheet {
        title: "On the wire",
        text: "The program on the left of the arrow publishes, calls, sends goals, sets levels or starts later.\n\nA dash means that one of the two lacks the feature. In the last row: roscpp registers again and so ends the newer\nnode. It does this to other roscpp nodes, too.",
        columns: directions.iter().map(|direction| column(*direction)).collect(),
        rows: FEATURES.iter().map(row).collect(),
    }
}

fn column((from, to): Direction) -> String {
    format!("{} → {}", name(from), name(to))
}

fn name(origin: Origin) -> &'static str {
    match origin {
        Origin::Rospy => "rospy",
        Origin::Roscpp => "roscpp",
        Origin::Foxglove => "@foxglove",
        Origin::Runnel => "Runnel",
    }
}

fn check_received(graph: &Ros1Graph, (from, to): Direction, message_type: &str, size: &str) {
    let listener = graph.listener(to, &["/topic", "--type", message_type, "--count", "5"]);
    let mut talker = graph.talker(from, &["/topic", "--type", message_type, "--size", size, "--count", "5"]);
    check_all_received(&mut talker, &mut [listener], 5);
}

fn latched(graph: &Ros1Graph, (from, to): Direction) {
    let mut talker = graph.talker(from, &["/kept", "--latch", "--wait", "0", "--count", "2"]);
    let sent = next_messages(&mut talker, "sent", 2, deadline_in(TIMEOUT));
    talker.wait_for_line(|line| line == "done", deadline_in(TIMEOUT)).unwrap();
    let mut listener = graph.listener(to, &["/kept", "--count", "1"]);
    let received = next_messages(&mut listener, "got", 1, deadline_in(TIMEOUT));
    assert_eq!(interop::body(&received[0]), interop::body(&sent[1]));
}

fn check_restart(graph: &Ros1Graph, (from, to): Direction) {
    let mut listener = ready(graph.listener(to, &["/topic"]));
    for _ in 0..2 {
        let mut talker = graph.talker(from, &["/topic", "--count", "3"]);
        let sent = next_messages(&mut talker, "sent", 3, deadline_in(TIMEOUT));
        let received = next_messages(&mut listener, "got", 3, deadline_in(TIMEOUT));
        let bodies =
            |lines: &[String]| lines.iter().map(|line| interop::body(line).to_owned()).collect::<Vec<_>>();
        assert_eq!(bodies(&received), bodies(&sent));
        talker.signal(Signal::KILL).unwrap();
        talker.wait_exit(deadline_in(TIMEOUT)).unwrap();
    }
}

fn nodelay(graph: &Ros1Graph, (from, to): Direction) {
    let listener = graph.listener(to, &["/topic", "--nodelay", "--count", "5"]);
    let mut talker = graph.talker(from, &["/topic", "--count", "5"]);
    check_all_received(&mut talker, &mut [listener], 5);
}

/// The link as reported by the listener's node.
fn link(graph: &Ros1Graph, listener: &str) -> String {
    outcome(graph.tool("rosnode", &["info", listener])).success().join("\n")
}

fn check_received_by(transport: &str, graph: &Ros1Graph, (from, to): Direction) {
    let mut listener = graph.listener(to, &["/topic", "--udp"]);
    let mut talker = graph.talker(from, &["/topic", "--rate", "20", "--count", "0", "--size", "1000"]);
    next_messages(&mut talker, "sent", 5, deadline_in(TIMEOUT));
    next_messages(&mut listener, "got", 5, deadline_in(TIMEOUT));
    let link = link(graph, &format!("/{to}_listener"));
    assert!(link.contains(&format!("* transport: {transport}")), "{link}");
}

fn datagrams(graph: &Ros1Graph, direction: Direction) {
    check_received_by("UDPROS", graph, direction);
}

fn no_datagrams(graph: &Ros1Graph, direction: Direction) {
    check_received_by("TCPROS", graph, direction);
}

fn calls(graph: &Ros1Graph, (from, to): Direction) {
    let _server = ready(graph.node(to, "server", &format!("{to}_server"), &["/power"]));
    let mut caller = graph.node(from, "caller", &format!("{from}_caller"), &["/power"]);
    let status = caller.wait_exit(deadline_in(TIMEOUT)).unwrap();
    let printed = caller.lines();
    assert!(status.success(), "{printed:#?}");
    let answers = printed.iter().filter(|line| line.starts_with("answer call ")).count();
    let failures = printed.iter().filter(|line| line.starts_with("failed")).count();
    assert_eq!((answers, failures), (6, 1), "{printed:#?}");
}

fn goals(graph: &Ros1Graph, (from, to): Direction, client: &str, server: &str) {
    let _server = ready(graph.node(to, server, &format!("{to}_server"), &["/test"]));
    let mut client = graph.node(from, client, &format!("{from}_client"), &["/test"]);
    let status = client.wait_exit(deadline_in(2 * TIMEOUT)).unwrap();
    let printed = client.lines();
    assert!(status.success(), "{printed:#?}");
    for line in ["goal 1 SUCCEEDED 1 reached", "goal 2 ABORTED 2 no way", "feedback 4 7", "done"] {
        assert!(printed.contains(&line.to_owned()), "{line} in {printed:#?}");
    }
    assert!(printed.iter().any(|line| line.starts_with("goal 4 PREEMPTED 4")), "{printed:#?}");
}

/// A command that follows log lines: `runnel log` or `rostopic`.
fn lines(graph: &Ros1Graph, (from, to): Direction) {
    let _logger = ready(graph.node(from, "logger", "logger", &[]));
    let mut follower = match to {
        Origin::Runnel => graph.runnel("runnel", &["log", "--level", "warn"]),
        _ => graph.tool("rostopic", &["echo", "/rosout"]),
    };
    follower.wait_for_line(|line| line.contains("/logger warns"), deadline_in(TIMEOUT)).unwrap();
}

fn levels(graph: &Ros1Graph, (from, to): Direction) {
    let _logger = ready(graph.node(to, "logger", "logger", &[]));
    let logger = if to == Origin::Runnel { "ros" } else { "rosout" };
    let mut follower = graph.runnel("runnel", &["log"]);
    match from {
        Origin::Runnel => {
            outcome(graph.runnel("runnel", &["log", "set", "/logger", logger, "debug"])).success()
        }
        _ => outcome(graph.tool("rosservice", &["call", "/logger/set_logger_level", logger, "debug"]))
            .success(),
    };
    follower.wait_for_line(|line| line.contains("/logger details"), deadline_in(TIMEOUT)).unwrap();
}

fn clock(graph: &Ros1Graph, (from, to): Direction) {
    rosparam_set(graph, "/use_sim_time", "true");
    let mut clocked = graph.node(to, "clocked", "clocked", &[]);
    let publish = ["pub", "-r", "20", "/clock", "rosgraph_msgs/Clock", "clock: {secs: 4711}"];
    let _publisher: Peer = match from {
        Origin::Runnel => graph.runnel("runnel", &[&["topic"], &publish[..]].concat()),
        _ => graph.tool("rostopic", &publish),
    };
    clocked.wait_for_line(|line| line == "now 4711", deadline_in(TIMEOUT)).unwrap();
}

fn statistics(graph: &Ros1Graph, (from, to): Direction) {
    rosparam_set(graph, "/enable_statistics", "true");
    let _listener = ready(graph.listener(to, &["/topic"]));
    let _talker = graph.talker(from, &["/topic", "--rate", "100", "--count", "0"]);
    let mut echo = graph.runnel("runnel", &["topic", "echo", "/statistics"]);
    let publisher = format!("node_pub: \"/{from}_talker\"");
    echo.wait_for_line(|line| line == publisher, deadline_in(TIMEOUT)).unwrap();
}

fn check_name_takeover(graph: &Ros1Graph, (from, to): Direction) {
    let mut old = ready(graph.node(to, "listener", "same", &["/topic"]));
    let old_uri = graph.uri_of("/same");
    let mut new = ready(graph.node(from, "listener", "same", &["/topic"]));
    old.wait_exit(deadline_in(TIMEOUT)).unwrap();
    wait_until("the newer is registered alone", deadline_in(TIMEOUT), || {
        graph.uri_of("/same").is_some_and(|uri| Some(uri) != old_uri)
            && graph.nodes_at(Side::Subscribers, "/topic") == ["/same"]
    });
    // The older node stays: a roscpp node that ends may take its name back at the original master.
    assert!(new.wait_exit(deadline_in(0) + Duration::from_millis(500)).is_err());
    new.signal(Signal::INT).unwrap();
}
