//! What goes over the wire, between Runnel and each other implementation, in both directions.

use std::time::Duration;

use interop::sheet::{Cell, PASS, Row, Sheet};
use interop::{Origin, PATIENCE, Ros1Graph, Side, hear_out, outcome, ready, told, wait_until};
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// From whom to whom.
type Way = (Origin, Origin);

/// A feature: what it is called, who has it besides Runnel, and how it is tried from the one to the other.
type Feature = (&'static str, fn(Way) -> bool, fn(&Ros1Graph, Way));

const FEATURES: [Feature; 19] = [
    ("topics: `std_msgs/String`", everybody, |graph, way| is_heard(graph, way, "std_msgs/String", "0")),
    ("an array of no bytes", everybody, |graph, way| is_heard(graph, way, "std_msgs/UInt8MultiArray", "0")),
    ("an array of 1 MB", everybody, |graph, way| is_heard(graph, way, "std_msgs/UInt8MultiArray", "1000000")),
    ("an image with a header", everybody, |graph, way| is_heard(graph, way, "sensor_msgs/Image", "640")),
    ("`geometry_msgs/Twist`", everybody, |graph, way| is_heard(graph, way, "geometry_msgs/Twist", "0")),
    ("the last message of a latched topic", everybody, latched),
    ("a publisher that is killed and restarted", everybody, comes_again),
    ("TCP_NODELAY requested", |(_, to)| to != Origin::Foxglove, nodelay),
    ("datagrams (UDPROS)", |(from, to)| both(from, to, &[Origin::Roscpp]), datagrams),
    (
        "datagrams requested, TCPROS used",
        |(from, to)| to == Origin::Runnel && from != Origin::Roscpp,
        no_datagrams,
    ),
    ("services: one call, persistent, failing", originals, calls),
    ("actions: full client", originals, |graph, way| goals(graph, way, "action_client", "action_server")),
    ("actions: simple client", originals, |graph, way| {
        goals(graph, way, "simple_action_client", "action_server")
    }),
    ("actions: simple server", originals, |graph, way| {
        goals(graph, way, "simple_action_client", "simple_action_server");
    }),
    ("`/rosout`", |(from, to)| both(from, to, &[Origin::Rospy]) || from == Origin::Roscpp, lines),
    ("logger levels set remotely", |(from, to)| both(from, to, &[Origin::Rospy]), levels),
    ("`/clock` followed", |(from, to)| both(from, to, &[Origin::Rospy]) || to == Origin::Roscpp, clock),
    ("`/statistics` published", |(_, to)| to == Origin::Roscpp, statistics),
    ("a newer node of the same name takes over", |(_, to)| both(to, to, &[Origin::Rospy]), takes_over),
];

fn everybody(_: Way) -> bool {
    true
}

/// `@foxglove/ros1` has topics and parameters alone.
fn originals((from, to): Way) -> bool {
    both(from, to, &[Origin::Rospy, Origin::Roscpp])
}

fn both(from: Origin, to: Origin, others: &[Origin]) -> bool {
    let has = |origin| origin == Origin::Runnel || others.contains(&origin);
    has(from) && has(to)
}

pub fn sheet() -> Sheet<Ros1Graph> {
    let ways =
        Origin::OTHERS.into_iter().flat_map(|other| [(other, Origin::Runnel), (Origin::Runnel, other)]);
    let ways: Vec<Way> = ways.collect();
    let row = |(title, applies, attempt): &Feature| {
        let cell = |way: &Way| {
            let (way, attempt) = (*way, *attempt);
            let name = format!("{title}, {}", column(way));
            let attempt = move |graph: &Ros1Graph| {
                attempt(graph, way);
                PASS.to_owned()
            };
            applies(way).then(|| Cell { name, attempt: Box::new(attempt) })
        };
        Row { title: (*title).to_owned(), cells: ways.iter().map(cell).collect() }
    };
    Sheet {
        title: "On the wire",
        text: "The program on the left of the arrow publishes, calls, sends goals, sets levels or starts later.\n\nA dash means that one of the two lacks the feature. In the last row it means that roscpp takes its name back from a newer\nnode, also from another roscpp node.",
        columns: ways.iter().map(|way| column(*way)).collect(),
        rows: FEATURES.iter().map(row).collect(),
    }
}

fn column((from, to): Way) -> String {
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

fn is_heard(graph: &Ros1Graph, (from, to): Way, message_type: &str, size: &str) {
    let listener = graph.listener(to, &["/topic", "--type", message_type, "--count", "5"]);
    let mut talker = graph.talker(from, &["/topic", "--type", message_type, "--size", size, "--count", "5"]);
    hear_out(&mut talker, &mut [listener], 5);
}

fn latched(graph: &Ros1Graph, (from, to): Way) {
    let mut talker = graph.talker(from, &["/kept", "--latch", "--wait", "0", "--count", "2"]);
    let sent = told(&mut talker, "sent", 2, deadline_in(PATIENCE));
    talker.wait_for_line(|line| line == "done", deadline_in(PATIENCE)).unwrap();
    let mut listener = graph.listener(to, &["/kept", "--count", "1"]);
    let heard = told(&mut listener, "got", 1, deadline_in(PATIENCE));
    assert_eq!(interop::body(&heard[0]), interop::body(&sent[1]));
}

fn comes_again(graph: &Ros1Graph, (from, to): Way) {
    let mut listener = ready(graph.listener(to, &["/topic"]));
    for _ in 0..2 {
        let mut talker = graph.talker(from, &["/topic", "--count", "3"]);
        let sent = told(&mut talker, "sent", 3, deadline_in(PATIENCE));
        let heard = told(&mut listener, "got", 3, deadline_in(PATIENCE));
        let bodies =
            |lines: &[String]| lines.iter().map(|line| interop::body(line).to_owned()).collect::<Vec<_>>();
        assert_eq!(bodies(&heard), bodies(&sent));
        talker.signal(Signal::KILL).unwrap();
        talker.wait_exit(deadline_in(PATIENCE)).unwrap();
    }
}

fn nodelay(graph: &Ros1Graph, (from, to): Way) {
    let listener = graph.listener(to, &["/topic", "--nodelay", "--count", "5"]);
    let mut talker = graph.talker(from, &["/topic", "--count", "5"]);
    hear_out(&mut talker, &mut [listener], 5);
}

/// What the listener's node says of its link.
fn link(graph: &Ros1Graph, listener: &str) -> String {
    outcome(graph.tool("rosnode", &["info", listener])).success().join("\n")
}

fn is_heard_by(transport: &str, graph: &Ros1Graph, (from, to): Way) {
    let mut listener = graph.listener(to, &["/topic", "--udp"]);
    let mut talker = graph.talker(from, &["/topic", "--rate", "20", "--count", "0", "--size", "1000"]);
    told(&mut talker, "sent", 5, deadline_in(PATIENCE));
    told(&mut listener, "got", 5, deadline_in(PATIENCE));
    let link = link(graph, &format!("/{to}_listener"));
    assert!(link.contains(&format!("* transport: {transport}")), "{link}");
}

fn datagrams(graph: &Ros1Graph, way: Way) {
    is_heard_by("UDPROS", graph, way);
}

fn no_datagrams(graph: &Ros1Graph, way: Way) {
    is_heard_by("TCPROS", graph, way);
}

fn calls(graph: &Ros1Graph, (from, to): Way) {
    let _server = ready(graph.node(to, "server", &format!("{to}_server"), &["/power"]));
    let mut caller = graph.node(from, "caller", &format!("{from}_caller"), &["/power"]);
    let status = caller.wait_exit(deadline_in(PATIENCE)).unwrap();
    let said = caller.lines();
    assert!(status.success(), "{said:#?}");
    let answers = said.iter().filter(|line| line.starts_with("answer call ")).count();
    let failures = said.iter().filter(|line| line.starts_with("failed")).count();
    assert_eq!((answers, failures), (6, 1), "{said:#?}");
}

fn goals(graph: &Ros1Graph, (from, to): Way, client: &str, server: &str) {
    let _server = ready(graph.node(to, server, &format!("{to}_server"), &["/test"]));
    let mut client = graph.node(from, client, &format!("{from}_client"), &["/test"]);
    let status = client.wait_exit(deadline_in(2 * PATIENCE)).unwrap();
    let said = client.lines();
    assert!(status.success(), "{said:#?}");
    for line in ["goal 1 SUCCEEDED 1 reached", "goal 2 ABORTED 2 no way", "feedback 4 7", "done"] {
        assert!(said.contains(&line.to_owned()), "{line} in {said:#?}");
    }
    assert!(said.iter().any(|line| line.starts_with("goal 4 PREEMPTED 4")), "{said:#?}");
}

/// A command that follows lines: Runnel's or, for the others, `rostopic`.
fn lines(graph: &Ros1Graph, (from, to): Way) {
    let _logger = ready(graph.node(from, "logger", "logger", &[]));
    let mut follower = match to {
        Origin::Runnel => graph.runnel("runnel", &["log", "--level", "warn"]),
        _ => graph.tool("rostopic", &["echo", "/rosout"]),
    };
    follower.wait_for_line(|line| line.contains("/logger warns"), deadline_in(PATIENCE)).unwrap();
}

fn levels(graph: &Ros1Graph, (from, to): Way) {
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
    follower.wait_for_line(|line| line.contains("/logger details"), deadline_in(PATIENCE)).unwrap();
}

fn clock(graph: &Ros1Graph, (from, to): Way) {
    outcome(graph.tool("rosparam", &["set", "/use_sim_time", "true"])).success();
    let mut clocked = graph.node(to, "clocked", "clocked", &[]);
    let tell = ["pub", "-r", "20", "/clock", "rosgraph_msgs/Clock", "clock: {secs: 4711}"];
    let _teller: Peer = match from {
        Origin::Runnel => graph.runnel("runnel", &[&["topic"], &tell[..]].concat()),
        _ => graph.tool("rostopic", &tell),
    };
    clocked.wait_for_line(|line| line == "now 4711", deadline_in(PATIENCE)).unwrap();
}

fn statistics(graph: &Ros1Graph, (from, to): Way) {
    outcome(graph.tool("rosparam", &["set", "/enable_statistics", "true"])).success();
    let _listener = ready(graph.listener(to, &["/topic"]));
    let _talker = graph.talker(from, &["/topic", "--rate", "100", "--count", "0"]);
    let mut echo = graph.runnel("runnel", &["topic", "echo", "/statistics"]);
    let publisher = format!("node_pub: \"/{from}_talker\"");
    echo.wait_for_line(|line| line == publisher, deadline_in(PATIENCE)).unwrap();
}

fn takes_over(graph: &Ros1Graph, (from, to): Way) {
    let mut old = ready(graph.node(to, "listener", "same", &["/topic"]));
    let old_uri = graph.uri_of("/same");
    let mut new = ready(graph.node(from, "listener", "same", &["/topic"]));
    old.wait_exit(deadline_in(PATIENCE)).unwrap();
    wait_until("the newer is registered alone", deadline_in(PATIENCE), || {
        graph.uri_of("/same").is_some_and(|uri| Some(uri) != old_uri)
            && graph.nodes_at(Side::Subscribers, "/topic") == ["/same"]
    });
    // It stays: a roscpp node that ends may take its name back at the original master.
    assert!(new.wait_exit(deadline_in(0) + Duration::from_millis(500)).is_err());
    new.signal(Signal::INT).unwrap();
}
