//! `rostopic`.

use interop::{Master, Origin, PATIENCE, Printed, Ros1Graph, Server, ready};
use runnel_testkit::process::{Peer, deadline_in};

use super::{nodes, refused_alike, run_alike};

#[test]
fn types_and_fields_of_topics_are_told() {
    let master = Master::start(Server::Runnel);
    let _nodes = nodes(master.graph());
    let lines = [
        "rostopic type /zebra",
        "rostopic type /poses/header",
        "rostopic type /twist/linear",
        "rostopic type /twist/linear/data",
        "rostopic type /twist/angular/x",
        "rostopic type /poses/poses",
    ];
    run_alike(master.graph(), &lines);
    let unknown = "unknown topic type [/poses/poses/position]";
    refused_alike(master.graph(), &[("rostopic type /poses/poses/position", unknown)]);
}

#[test]
fn messages_and_their_fields_are_echoed_to_the_byte() {
    let master = Master::start(Server::Runnel);
    let graph = master.graph();
    let _nodes = nodes(graph);
    let image =
        ["/image", "--type", "sensor_msgs/Image", "--size", "5", "--latch", "--wait", "0", "--count", "1"];
    let mut camera = graph.node(Origin::Roscpp, "talker", "camera", &image);
    camera.wait_for_line(|line| line == "done", deadline_in(PATIENCE)).unwrap();
    let lines = [
        "rostopic echo -n1 /zebra",
        "rostopic echo -n 1 /zebra/data",
        "rostopic echo -n1 --nostr /zebra",
        "rostopic echo -n1 --nostr /zebra/data",
        "rostopic echo -c -n1 /twist",
        "rostopic echo -n1 /twist/linear",
        "rostopic echo -n1 /twist/angular",
        "rostopic echo -n1 -p /twist",
        "rostopic echo -n1 -p /twist/angular/z",
        "rostopic echo -n1 /poses/poses",
        "rostopic echo -n1 --noarr /poses/poses",
        "rostopic echo -n1 /poses/poses[1]/position",
        "rostopic echo -n1 /poses/poses[-1]",
        "rostopic echo -n1 /poses/poses[1:]",
        "rostopic echo -n1 /poses/poses[::2]/position/x",
        "rostopic echo -n1 /poses/poses[:2]/orientation",
        "rostopic echo -n1 /poses/header/frame_id",
        "rostopic echo -n1 /image",
        "rostopic echo -n1 --noarr /image",
        "rostopic echo -n1 -p --noarr --nostr /image",
        "rostopic echo -n1 /image/header/stamp",
        "rostopic echo -n1 -w 6 /image",
        "rostopic echo -n1 -w 4 /twist",
        "rostopic echo -n1 -w 3 /poses/poses[:]/position/x",
        "rostopic echo -n1 -w 12 /image/header/stamp",
        "rostopic echo -n1 /image/encoding",
    ];
    run_alike(graph, &lines);
    times_from_now_are_alike(graph);
}

/// What lies between the stamp of 1970 and the two moments at which the commands run is alike but for seconds.
fn times_from_now_are_alike(graph: &Ros1Graph) {
    let seconds = |printed: Printed| -> Option<i64> {
        let line = printed.output.lines().find_map(|line| line.strip_prefix("secs: "))?;
        line.parse().ok()
    };
    let line = "rostopic echo --offset -n1 /image/header/stamp";
    let [ours, theirs] = [graph.linked(line), graph.original(line)].map(seconds);
    let (ours, theirs) = (ours.expect("seconds"), theirs.expect("seconds"));
    assert!(ours < -1_000_000_000 && (ours - theirs).abs() < PATIENCE as i64, "{ours} {theirs}");
}

#[test]
fn a_topic_that_is_not_there_yet_is_waited_for() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let link = graph.links().join("rostopic");
    let link = link.to_str().expect("a path that is text");
    let mut echo = graph.tool("bash", &["-c", "exec \"$0\" \"$@\"", link, "echo", "-n1", "late/data"]);
    let told = "WARNING: topic [/late/data] does not appear to be published yet";
    echo.wait_for_line(|line| line == told, deadline_in(PATIENCE)).unwrap();
    let _talker = graph.talker(Origin::Rospy, &["/late", "--rate", "10", "--wait", "0"]);
    echo.wait_for_line(|line| line.starts_with("\"hello "), deadline_in(PATIENCE)).unwrap();
    assert!(echo.wait_exit(deadline_in(PATIENCE)).unwrap().success(), "{}", echo.output());
}

#[test]
fn published_messages_are_announced_to_the_byte_and_heard() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let [mut hears_ours, mut hears_theirs] = ["/ours", "/theirs"].map(|topic| {
        ready(graph.node(Origin::Rospy, "listener", &format!("at{}", topic.replace('/', "_")), &[topic]))
    });
    let lines = [
        "rostopic pub -1 TOPIC std_msgs/String hello",
        "rostopic pub TOPIC std_msgs/String --once -v 'data: hello'",
        "rostopic pub -1 TOPIC std_msgs/String -- -hello",
        "printf 'data: one\n---\ntwo\n---\n' | rostopic pub -r 20 TOPIC std_msgs/String",
        "printf 'data: one\n---\ndata: two\n' > file; rostopic pub -f file TOPIC std_msgs/String",
        "rostopic pub -1 -f file TOPIC std_msgs/String",
        "timeout -s INT 30 rostopic pub -v -r 10 TOPIC std_msgs/String hi | head -n 4",
        "printf 'one more\n' > file; timeout -s INT 12 rostopic pub -r 1 -f file TOPIC std_msgs/String | head -n 1",
        "timeout -s INT 12 rostopic pub TOPIC std_msgs/String latched",
    ];
    for line in lines {
        let [ours, theirs] = [
            graph.linked(&line.replace("TOPIC", "/ours")),
            graph.original(&line.replace("TOPIC", "/theirs")),
        ];
        assert_eq!((ours.code, &ours.output), (theirs.code, &theirs.output), "{line}: {ours:#?} {theirs:#?}");
    }
    let heard = |peer: &mut Peer| {
        let is_last = |line: &str| line.starts_with("got ") && line.contains(" len 11 ");
        let deadline = deadline_in(PATIENCE);
        let mut bodies = Vec::new();
        while !bodies.last().is_some_and(|line: &String| is_last(line)) {
            bodies.push(peer.wait_for_line(|line| line.starts_with("got "), deadline).unwrap());
        }
        bodies.retain(|line| !line.contains(" len 6 "));
        let without_number = |line: &String| line.split(' ').skip(2).collect::<Vec<_>>().join(" ");
        let mut bodies: Vec<String> = bodies.iter().map(without_number).collect();
        // What is published again and again is heard as often as time allows.
        bodies.dedup_by(|one, other| one == other && one.starts_with("len 12 "));
        bodies
    };
    let (ours, theirs) = (heard(&mut hears_ours), heard(&mut hears_theirs));
    // The original may end on a busy host before its last message has left.
    let mut of_ours = ours.iter();
    let is_part = theirs.iter().all(|body| of_ours.any(|of| of == body));
    assert!(ours.len() == 10 && is_part, "{ours:#?} {theirs:#?}");
}

#[test]
fn rates_are_measured_in_the_originals_words() {
    let master = Master::start(Server::Runnel);
    let graph = master.graph();
    let camera = ["/camera", "--type", "sensor_msgs/Image", "--rate", "20", "--size", "443"];
    let _camera = ready(graph.talker(Origin::Roscpp, &camera));
    let _other =
        ready(graph.node(Origin::Rospy, "talker", "other", &["/other", "--rate", "20", "--wait", "0"]));
    for line in [
        "rostopic hz -w 10 /camera",
        "rostopic hz --wall-time /camera /other",
        "rostopic bw /camera",
        "rostopic delay --window=5 /camera",
    ] {
        let measuring = format!("timeout -s INT 40 {line} | head -n 5");
        let [ours, theirs] = [graph.linked(&measuring), graph.original(&measuring)];
        assert_eq!(figures_out(&ours.output), figures_out(&theirs.output), "{line}: {ours:#?} {theirs:#?}");
    }
}

/// The words without the figures, and without the spaces and lines that stand around these.
fn figures_out(text: &str) -> Vec<String> {
    let is_word = |word: &&str| !word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '='));
    text.split_whitespace().filter(is_word).map(str::to_owned).collect()
}
