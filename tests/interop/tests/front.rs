//! `runnel` under the names of the original commands, beside these: the same command line gives the same standard
//! output to the byte and the same exit code.

use interop::{Master, Origin, PATIENCE, Printed, Ros1Graph, Server, Side, ready, wait_until};
use runnel_testkit::process::{Peer, Signal, free_port, within};

/// A node with a little of everything, and a listener of one of its topics.
fn nodes(graph: &Ros1Graph) -> [Peer; 2] {
    let front = ready(graph.rospy("front.py", &["__name:=front"]));
    let listener = ready(graph.node(Origin::Rospy, "listener", "a_listener", &["/zebra"]));
    let is_listed = || graph.nodes_at(Side::Subscribers, "/zebra") == ["/a_listener"];
    wait_until("the listener is registered", within(PATIENCE), is_listed);
    [front, listener]
}

/// Runs each line with both, and compares.
fn run_alike(graph: &Ros1Graph, lines: &[&str]) {
    for line in lines {
        let [ours, theirs] = [graph.linked(line), graph.original(line)].map(comparable);
        assert_eq!((ours.code, &ours.output), (theirs.code, &theirs.output), "{line}: {ours:#?} {theirs:#?}");
        assert_eq!(ours.error.is_empty(), theirs.error.is_empty(), "{line}: {ours:#?} {theirs:#?}");
    }
}

/// Without what differs from run to run: how long a ping took, when a message came.
fn comparable(mut printed: Printed) -> Printed {
    let since = |line: &str, word: &str| line.find(word).map(|at| format!("{}{word}", &line[..at]));
    let line = |line: &str| {
        let shortened = since(line, "\ttime=").or_else(|| since(line, "ping average: "));
        let arrival =
            line.split_once(',').filter(|(first, _)| first.len() == 19 && first.parse::<u64>().is_ok());
        shortened
            .or_else(|| arrival.map(|(_, rest)| format!("TIME,{rest}")))
            .unwrap_or_else(|| line.to_owned())
    };
    printed.output = printed.output.split('\n').map(line).collect::<Vec<_>>().join("\n");
    printed
}

/// Runs lines that the original refuses, and sees that ours does with the same code and says so in words.
fn refused_alike(graph: &Ros1Graph, lines: &[(&str, &str)]) {
    for (line, told) in lines {
        let [ours, theirs] = [graph.linked(line), graph.original(line)];
        assert_eq!((ours.code, &ours.output), (theirs.code, &theirs.output), "{line}: {ours:#?} {theirs:#?}");
        assert!(ours.error.contains(told), "{line}: {ours:#?}");
        assert!(!ours.error.contains("panicked"), "{line}: {ours:#?}");
    }
}

#[test]
fn topics_nodes_and_services_are_shown_to_the_byte_at_both_masters() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        run_alike(graph, &["rostopic list", "rosservice list", "rosparam list", "rosparam get /"]);
        let _nodes = nodes(graph);
        let lines = [
            "rostopic list",
            "rostopic list -v",
            "rostopic list -v -p",
            "rostopic list -v -s",
            "rostopic list -s",
            "rostopic list -p /twist",
            "rostopic list /twist/",
            "rosnode list /front/",
            "rosservice list /front/",
            "rosservice list /switch/",
            "rostopic list /none",
            "rostopic list --host",
            "rostopic list --verb --host",
            "rostopic info /zebra",
            "rostopic info wanted",
            "rostopic list not-a-name",
            "rostopic find std_msgs/String",
            "rostopic find no/Such",
            "rosnode list",
            "rosnode list -a",
            "rosnode list -u /front",
            "rosnode list /none",
            "rosnode info -q /front",
            "rosnode machine",
            "rosnode machine 127.0.0.1",
            "rosservice list",
            "rosservice list -n /front",
            "rosservice list /none",
            "rosservice find std_srvs/SetBool",
            "rosservice find no/Such",
        ];
        run_alike(graph, &lines);
    }
}

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
fn nodes_are_described_and_pinged() {
    let master = Master::start(Server::Rosmaster);
    let _nodes = nodes(master.graph());
    let lines = [
        "rosnode info /front a_listener",
        "rosnode info /none",
        "rosnode ping -c 2 front",
        "rosnode ping -c1 /none",
        "rosnode cleanup",
    ];
    run_alike(master.graph(), &lines);
    let ours = master.graph().linked("rosnode ping -a");
    assert_eq!(ours.code, Some(0), "{ours:#?}");
    let replies = ours.output.lines().filter(|line| line.starts_with("xmlrpc reply from "));
    assert_eq!(replies.count(), 2, "{ours:#?}");
}

#[test]
fn nodes_are_killed_and_dead_ones_cleaned_up() {
    let printed = Server::BOTH.map(|server| {
        let master = Master::start(server);
        let graph = master.graph();
        let [mut front, mut listener] = nodes(graph);
        let run = |line: &str| match server {
            Server::Runnel => graph.linked(line),
            Server::Rosmaster => graph.original(line),
        };
        // The listener is the first of the list, and the node the second.
        let killed = run("printf 'x\n2\n' | rosnode kill");
        assert!(front.wait_exit(within(PATIENCE)).is_ok(), "{killed:#?}");
        wait_until("it has left", within(PATIENCE), || graph.nodes_at(Side::Publishers, "/zebra").is_empty());
        listener.signal(Signal::KILL).unwrap();
        listener.wait_exit(within(PATIENCE)).unwrap();
        let kept = run("rosnode cleanup <<< n");
        assert!(kept.output.contains(" * /a_listener\n") && kept.output.ends_with("aborting\n"), "{kept:#?}");
        let cleaned = run("rosnode cleanup <<< y");
        assert!(cleaned.output.ends_with("Unregistering /a_listener\ndone\n"), "{cleaned:#?}");
        [killed, run("rosnode list"), run("rosnode kill")]
    });
    let [theirs, ours] = printed;
    assert_eq!(ours, theirs, "ours is left, the original right");
}

#[test]
fn messages_and_their_fields_are_echoed_to_the_byte() {
    let master = Master::start(Server::Runnel);
    let graph = master.graph();
    let _nodes = nodes(graph);
    let image =
        ["/image", "--type", "sensor_msgs/Image", "--size", "5", "--latch", "--wait", "0", "--count", "1"];
    let mut camera = graph.node(Origin::Roscpp, "talker", "camera", &image);
    camera.wait_for_line(|line| line == "done", within(PATIENCE)).unwrap();
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
    echo.wait_for_line(|line| line == told, within(PATIENCE)).unwrap();
    let _talker = graph.talker(Origin::Rospy, &["/late", "--rate", "10", "--wait", "0"]);
    echo.wait_for_line(|line| line.starts_with("\"hello "), within(PATIENCE)).unwrap();
    assert!(echo.wait_exit(within(PATIENCE)).unwrap().success(), "{}", echo.output());
}

#[test]
fn services_are_described_and_called() {
    let master = Master::start(Server::Rosmaster);
    let _nodes = nodes(master.graph());
    let lines = [
        "rosservice info /switch",
        "rosservice info camera",
        "rosservice type /switch",
        "rosservice node /front/empty",
        "rosservice uri /switch",
        "rosservice args /camera",
        "rosservice args /front/empty",
        "rosservice call /switch true",
        "rosservice call switch 'data: false'",
        "rosservice call --wait /switch '{data: true}'",
        "rosservice call -v /switch true",
        "rosservice call /front/empty",
        "printf 'true\n---\n{data: false}\n---\n' | rosservice call /switch",
    ];
    run_alike(master.graph(), &lines);
    let refused = [
        ("rosservice call /fail", "it cannot be done"),
        ("rosservice call /none 1", "[/none] is not available"),
        ("rosservice call /switch 1 2", "2 values"),
        ("rosservice call /switch 'x: 1'", "x: no such field"),
        ("rosservice args /none", "[/none] is not available"),
        ("rosservice info /none", "unknown service"),
        ("rosservice type /none", "Unknown service [/none]"),
        ("rosservice node /none", "Unknown service: /none"),
        ("rosservice uri /none", "Unknown service: /none"),
        ("rosservice type", "SERVICE"),
    ];
    refused_alike(master.graph(), &refused);
}

/// A tree of parameters set, changed, shown and removed in every way, each line after the one before.
const PARAMETERS: [&str; 37] = [
    "rosparam set /whole 5; rosparam get /whole",
    "rosparam set whole -5; rosparam get whole",
    "rosparam set /text hello; rosparam get /text",
    "rosparam set /text \"'5'\"; rosparam get /text; rosparam get -p /text",
    "rosparam set /text ''; rosparam get /text",
    "rosparam set /text 'é: x'; rosparam get /text",
    "rosparam set /long 'words that go on and on past the end of the line of eighty columns and on and on'",
    "rosparam get /long; rosparam get -p /long",
    "rosparam set /number 0.1; rosparam get /number",
    "rosparam set /number 1.0e+16; rosparam get /number",
    "rosparam set /number .inf; rosparam get /number",
    "rosparam set /angle 'deg(90)'; rosparam get /angle",
    "rosparam set /angle '!radians pi/4'; rosparam get /angle",
    "rosparam set /truth yes; rosparam get /truth",
    "rosparam set /truth '\"yes\"'; rosparam get /truth",
    "rosparam set /list '[1, 2.5, on, text, [a, \"b c\"], {k: v, m: [1, {n: 2}]}]'; rosparam get /list",
    "rosparam get -p /list",
    "rosparam set /tree '{a: 1, b: {c: \"5\", d: [1, 2], e: off, f: [], g: \"x\\ny\"}}'; rosparam get /tree",
    "rosparam get -p /tree",
    "rosparam get /tree/b; rosparam get tree/b/c; rosparam get /tree/",
    "rosparam get -v /tree/a",
    "rosparam set /tree/b '{c: 6}'; rosparam get /tree",
    "rosparam set -v /tree '{x: {y: [a, 1.5, true]}}'; rosparam set /tree/z 'some text' -v",
    "rosparam list; rosparam list /tree; rosparam list tree/b; rosparam list /none",
    "printf 'of a file' > text; rosparam set -t text /text; rosparam set --textfile text /other; rosparam get /other",
    "printf '\\1\\377' > bytes; rosparam set -b bytes /bytes; rosparam list",
    "rosparam delete /bytes; rosparam get /",
    "printf 'a: 1\\nb: {c: no, d: \"no\"}\\n---\\n_ns: inner\\nx: deg(90)\\n' > file; rosparam load file; rosparam get /",
    "rosparam load file /below; rosparam get /below; rosparam load - / < file",
    "rosparam dump; rosparam dump out /below; cat out; rosparam dump out; cat out",
    "rosparam dump -v out /below/b; rosparam load -v file /verbose",
    "ROS_NAMESPACE=/below rosparam get b; ROS_NAMESPACE=below rosparam set new 1; rosparam get /below/new",
    "rosparam delete -v /below; rosparam list",
    "rosparam set / '{q: 1}'; rosparam get /q",
    "rosparam set /empty '{}'; rosparam get /",
    "rosparam set /none:=x 1; rosparam list",
    "rosparam delete -v /; rosparam list; rosparam get /",
];

#[test]
fn parameters_are_set_and_shown_to_the_byte_at_both_masters() {
    for server in Server::BOTH {
        let [theirs, ours] = [Master::start(server), Master::start(server)];
        for line in PARAMETERS {
            let [ours, theirs] = [ours.graph().linked(line), theirs.graph().original(line)];
            let both = format!("{server:?}: {line}: {ours:#?} {theirs:#?}");
            assert_eq!((ours.code, &ours.output), (theirs.code, &theirs.output), "{both}");
            assert_eq!(ours.error, "", "{server:?}: {line}");
        }
    }
}

#[test]
fn what_cannot_be_a_parameter_is_refused() {
    let master = Master::start(Server::Rosmaster);
    let refused = [
        ("rosparam get /none", "[/none] is not set"),
        ("rosparam dump out /none", "[/none] is not set"),
        ("rosparam delete /none", "[/none] is not set"),
        ("rosparam set / 5", "dictionary"),
        ("rosparam set /x null", "cannot be null"),
        ("rosparam set /x 3000000000", "3000000000"),
        ("rosparam set /x '['", "YAML"),
        ("rosparam set /x", "VALUE"),
        ("rosparam set /x 1 2", "too many arguments: 2"),
        ("rosparam set -t none /x", "none"),
        ("rosparam load none", "none"),
        ("rosparam delete", "NAME"),
        ("rosparam get -x /x", "no such option: -x"),
    ];
    refused_alike(master.graph(), &refused);
}

#[test]
fn types_are_shown_to_the_byte() {
    // Nothing is asked of a master.
    let graph = Ros1Graph::at("http://127.0.0.1:9");
    let lines = [
        "rosmsg show std_msgs/String",
        "rosmsg info geometry_msgs/PoseStamped",
        "rosmsg show PoseStamped",
        "rosmsg show std_msgs/String.msg",
        "rosmsg md5 std_msgs/String",
        "rosmsg md5 PoseStamped",
        "rosmsg package std_msgs",
        "rosmsg package -s sensor_msgs",
        "echo std_msgs/Int8 | rosmsg show",
        "rossrv show std_srvs/SetBool",
        "rossrv show SetBool",
        "rossrv md5 std_srvs/SetBool",
        "rossrv package std_srvs",
        "rossrv packages",
        "rossrv list",
        "rosmsg md5 std_msgs/NoSuch",
        "rosmsg md5 NoSuch",
    ];
    run_alike(&graph, &lines);
    let refused = [
        ("rosmsg show std_msgs/NoSuch", "std_msgs/NoSuch"),
        ("rosmsg show NoSuch", "'NoSuch'"),
        ("rosmsg show std_msgs.String", "std_msgs.String"),
        ("rosmsg package no_such", "no_such"),
        ("rossrv show std_msgs/String", "std_msgs/String"),
        ("rosmsg show a/B c", "c"),
    ];
    refused_alike(&graph, &refused);
    let [ours, theirs] = [graph.linked("rosmsg list"), graph.original("rosmsg list")];
    let missing = theirs.output.lines().find(|name| !ours.output.lines().any(|ours| ours == *name));
    assert_eq!(missing, None);
}

#[test]
fn wrong_topics_and_arguments_are_refused() {
    let master = Master::start(Server::Rosmaster);
    let refused = [
        ("rostopic info /none", "/none"),
        ("rostopic info not-a-name", "/not-a-name"),
        ("rostopic type /none", "[/none]"),
        ("rostopic list -p -s", "-s"),
        ("rostopic list a b", "b"),
        ("rostopic echo", "TOPIC"),
        ("rostopic echo -n x /t", "x"),
        ("rostopic hz", "TOPIC"),
        ("rostopic hz -w x /t", "x"),
        ("rostopic pub /t", "TYPE"),
        ("rostopic pub -1 /t std_msgs/NoSuch 1", "std_msgs/NoSuch"),
        ("rostopic pub -1 /t geometry_msgs/Point 1 2", "2 values"),
        ("rostopic pub -1 -r 1 /t std_msgs/Int8 1", "--rate"),
        ("rostopic pub -r 0 /t std_msgs/Int8 1", "greater than 0"),
        ("rostopic pub -f file /t std_msgs/Int8 1", "--file"),
        ("rostopic pub -f none /t std_msgs/Int8", "none"),
        ("rosnode info", "NODE"),
        ("rosnode ping", "NODE"),
        ("rosnode kill /none", " * /none"),
        ("rosnode kill -a x", "--all"),
        ("rosnode machine no.host.invalid", "no.host.invalid"),
    ];
    refused_alike(master.graph(), &refused);
    // What the originals take and Runnel does not.
    for line in ["rostopic echo --filter True /t", "rostopic list -b x.bag", "rosmsg show -b x.bag a/B"] {
        let ours = master.graph().linked(line);
        assert_eq!((ours.code, ours.output.as_str()), (Some(2), ""), "{line}");
        assert!(ours.error.lines().count() == 1 && ours.error.contains("no such option: -"), "{ours:#?}");
    }
}

#[test]
fn without_a_master_every_command_fails_alike() {
    let graph = Ros1Graph::at("http://127.0.0.1:9");
    let unreachable = "cannot reach the master";
    let lines = [
        "rostopic list",
        "rostopic info /t",
        "rostopic hz /t",
        "rosnode list",
        "rosservice list",
        "rosparam list",
    ];
    refused_alike(&graph, &lines.map(|line| (line, unreachable)));
}

#[test]
fn no_command_ends_with_the_code_of_the_original() {
    let graph = Ros1Graph::at("http://127.0.0.1:9");
    for program in ["rostopic", "rosnode", "rosservice", "rosparam", "rosmsg", "rossrv"] {
        for argument in ["", "--help", "-h", "nonsense"] {
            let line = format!("{program} {argument}");
            let [ours, theirs] = [graph.linked(&line), graph.original(&line)];
            assert_eq!((ours.code, &ours.error), (theirs.code, &theirs.error), "{line}");
            assert!(ours.output.contains(&format!("Usage: {program}")), "{line}: {ours:#?}");
        }
        let help = graph.linked(&format!("{program} list -h"));
        assert!(help.code == Some(0) && help.output.contains(&format!("Usage: {program} list")), "{help:#?}");
    }
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
        "timeout -s INT 3 rostopic pub -v -r 2 TOPIC std_msgs/String hi | head -n 4",
        "printf 'one more\n' > file; timeout -s INT 4 rostopic pub -r 1 -f file TOPIC std_msgs/String | head -n 1",
        "timeout -s INT 4 rostopic pub TOPIC std_msgs/String latched",
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
        let deadline = within(PATIENCE);
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
    assert_eq!(heard(&mut hears_ours), heard(&mut hears_theirs));
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
        let measuring = format!("timeout -s INT 8 {line} | head -n 5");
        let [ours, theirs] = [graph.linked(&measuring), graph.original(&measuring)];
        assert_eq!(figures_out(&ours.output), figures_out(&theirs.output), "{line}: {ours:#?} {theirs:#?}");
    }
}

/// The words without the figures, and without the spaces and lines that stand around these.
fn figures_out(text: &str) -> Vec<String> {
    let is_word = |word: &&str| !word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '='));
    text.split_whitespace().filter(is_word).map(str::to_owned).collect()
}

#[test]
fn a_roscore_link_serves_the_originals() {
    for (program, options) in [("roscore", vec!["-v"]), ("rosmaster", vec!["--core", "-w", "3", "-t", "5"])] {
        let port = free_port().to_string();
        let graph = Ros1Graph::at(format!("http://127.0.0.1:{port}"));
        let link = graph.links().join(program);
        let link = link.to_str().expect("a path that is text");
        let arguments = [&["-c", "exec \"$0\" \"$@\"", link, "-p", &port], options.as_slice()].concat();
        let mut master = graph.tool("bash", &arguments);
        master
            .wait_for_line(
                |line| line == format!("ROS_MASTER_URI=http://localhost:{port}/"),
                within(PATIENCE),
            )
            .unwrap();
        let set = graph.original("rosparam set /x 1; rosparam get /x");
        assert_eq!((set.code, set.output.as_str()), (Some(0), "1\n"), "{set:#?}");
        master.signal(Signal::INT).unwrap();
        assert!(master.wait_exit(within(PATIENCE)).unwrap().success(), "{}", master.output());
    }
}
