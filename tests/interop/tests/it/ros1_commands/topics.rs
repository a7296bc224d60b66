//! `rostopic`.

use interop::{Master, Origin, Printed, Ros1Graph, Server, TIMEOUT, ready};
use runnel_testkit::process::{Peer, deadline_in};

use super::{check_same_output, check_same_refusal, nodes};

#[test]
fn topic_types_and_fields_are_printed() {
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
    check_same_output(master.graph(), &lines);
    let unknown = "unknown topic type [/poses/poses/position]";
    check_same_refusal(master.graph(), &[("rostopic type /poses/poses/position", unknown)]);
}

#[test]
fn echoed_messages_match_original_bytes() {
    let master = Master::start(Server::Runnel);
    let graph = master.graph();
    let _nodes = nodes(graph);
    let image =
        ["/image", "--type", "sensor_msgs/Image", "--size", "5", "--latch", "--wait", "0", "--count", "1"];
    let mut camera = graph.node(Origin::Roscpp, "talker", "camera", &image);
    camera.wait_for_line(|line| line == "done", deadline_in(TIMEOUT)).unwrap();
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
    check_same_output(graph, &lines);
    check_times_from_now(graph);
}

/// Offsets to the stamp of 1970 differ only by seconds between the two commands.
fn check_times_from_now(graph: &Ros1Graph) {
    let seconds = |printed: Printed| -> Option<i64> {
        let line = printed.output.lines().find_map(|line| line.strip_prefix("secs: "))?;
        line.parse().ok()
    };
    let line = "rostopic echo --offset -n1 /image/header/stamp";
    let [ours, theirs] = [graph.linked(line), graph.original(line)].map(seconds);
    let (ours, theirs) = (ours.expect("seconds"), theirs.expect("seconds"));
    assert!(ours < -1_000_000_000 && (ours - theirs).abs() < TIMEOUT as i64, "{ours} {theirs}");
}

#[test]
fn missing_topic_is_awaited() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let link = graph.links().join("rostopic");
    let link = link.to_str().expect("a path that is text");
    let mut echo = graph.tool("bash", &["-c", "exec \"$0\" \"$@\"", link, "echo", "-n1", "late/data"]);
    let warning = "WARNING: topic [/late/data] does not appear to be published yet";
    echo.wait_for_line(|line| line == warning, deadline_in(TIMEOUT)).unwrap();
    let _talker = graph.talker(Origin::Rospy, &["/late", "--rate", "10", "--wait", "0"]);
    echo.wait_for_line(|line| line.starts_with("\"hello "), deadline_in(TIMEOUT)).unwrap();
    assert!(echo.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", echo.output());
}

#[test]
fn published_messages_match_original_bytes() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let [mut ours_listener, mut theirs_listener] = ["/ours", "/theirs"].map(|topic| {
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
    let received = |peer: &mut Peer| {
        let is_last = |line: &str| line.starts_with("got ") && line.contains(" len 11 ");
        let deadline = deadline_in(TIMEOUT);
        let mut bodies = Vec::new();
        while !bodies.last().is_some_and(|line: &String| is_last(line)) {
            bodies.push(peer.wait_for_line(|line| line.starts_with("got "), deadline).unwrap());
        }
        bodies.retain(|line| !line.contains(" len 6 "));
        let without_number = |line: &String| line.split(' ').skip(2).collect::<Vec<_>>().join(" ");
        let mut bodies: Vec<String> = bodies.iter().map(without_number).collect();
        // The number of repeated messages depends on timing.
        bodies.dedup_by(|one, other| one == other && one.starts_with("len 12 "));
        bodies
    };
    let (ours, theirs) = (received(&mut ours_listener), received(&mut theirs_listener));
    // On a busy host the original may exit before its last message is sent.
    let mut of_ours = ours.iter();
    let is_part = theirs.iter().all(|body| of_ours.any(|of| of == body));
    assert!(ours.len() == 10 && is_part, "{ours:#?} {theirs:#?}");
}

#[test]
fn rate_output_matches_original() {
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
        let is_same =
            |[ours, theirs]: &[Printed; 2]| figures_out(&ours.output) == figures_out(&theirs.output);
        // On a busy machine either may print that it got no message within a second.
        let mut attempts = Vec::new();
        while !attempts.last().is_some_and(is_same) {
            assert!(attempts.len() < 6, "{line}: {attempts:#?}");
            attempts.push([graph.linked(&measuring), graph.original(&measuring)]);
        }
    }
}

/// The words of a text without figures and the whitespace around them.
fn figures_out(text: &str) -> Vec<String> {
    let is_word = |word: &&str| !word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '='));
    text.split_whitespace().filter(is_word).map(str::to_owned).collect()
}
