//! Runnel's commands in a ROS 2 graph of originals, without a master.

use std::net::UdpSocket;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use interop::fakes;
use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{Printed, TIMEOUT, built, ready, wait_until};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const KILTED: Origin = Origin::Ros2(Distro::Kilted);
const STRING_HASH: &str = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

fn runnel(graph: &Ros2Graph, words: &[&str]) -> Printed {
    let mut command = graph.command("timeout");
    command.args(["--kill-after=5", &TIMEOUT.to_string()]).arg(built("runnel")).args(words);
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Printed { code: output.status.code(), output: text(&output.stdout), error: text(&output.stderr) }
}

/// Output of a command that succeeds without errors.
fn answer(graph: &Ros2Graph, words: &[&str]) -> String {
    let printed = runnel(graph, words);
    assert_eq!((printed.code, printed.error.as_str()), (Some(0), ""), "{words:?}: {}", printed.output);
    printed.output
}

fn json(graph: &Ros2Graph, words: &[&str]) -> serde_json::Value {
    serde_json::from_str(&answer(graph, &[words, &["--json"]].concat())).expect("it is JSON")
}

/// Starts a command that keeps running.
fn running(graph: &Ros2Graph, words: &[&str]) -> Peer {
    let mut command = graph.command(built("runnel"));
    Peer::spawn("runnel", {
        command.args(words);
        command
    })
    .expect("it starts")
}

fn expect_line(peer: &mut Peer, line: &str) {
    peer.wait_for_line(|printed| printed == line, deadline_in(TIMEOUT)).unwrap();
}

#[test]
fn topics_and_nodes_of_all_vendors_are_listed() {
    let graph = Ros2Graph::new();
    let _talker = ready(graph.talker(KILTED, &["/text", "--wait", "9"]));
    let _cyclone =
        ready(graph.talker(Origin::Cyclone, &["/kept", "--wait", "9", "--durability", "transient_local"]));
    let _fast_dds = ready(graph.listener(Origin::FastDds, &["/text"]));
    let listed = answer(&graph, &["topic", "list", "-t"]);
    for topic in ["/text", "/kept"] {
        let line = format!("{topic} [std_msgs/msg/String]");
        assert!(listed.lines().any(|listed| listed == line), "{listed}");
    }
    assert_eq!(answer(&graph, &["topic", "find", "std_msgs/String"]), "/kept\n/text\n");
    assert_eq!(answer(&graph, &["topic", "find", "std_msgs/msg/String", "--ros2"]), "/kept\n/text\n");
    assert_eq!(answer(&graph, &["topic", "type", "/text"]), "std_msgs/msg/String\n");
    assert_eq!(
        answer(&graph, &["topic", "info", "/text"]),
        "Type: std_msgs/msg/String\nPublisher count: 1\nSubscription count: 1\n"
    );
    let info = answer(&graph, &["topic", "info", "-v", "/text"]);
    for line in [
        "Node name: kilted_talker",
        &format!("Topic type hash: {STRING_HASH}"),
        "Endpoint type: SUBSCRIPTION",
        "  Reliability: RELIABLE",
        "  Liveliness lease duration: Infinite",
    ] {
        assert!(info.lines().any(|printed| printed == line), "{line} is not in {info}");
    }
    assert!(info.contains("Participant: Fast DDS at "), "{info}");
    let unexpected =
        ["Messages: unknown, Fast DDS does not report them", "Link from /kilted_talker: unknown"];
    assert!(unexpected.iter().all(|line| info.lines().any(|printed| printed == *line)), "{info}");
    let kept = json(&graph, &["topic", "info", "/kept"]);
    let publisher = &kept["ros2"]["publishers"][0];
    assert_eq!(
        (&publisher["qos"]["durability"], &publisher["participant"]["vendor"]),
        (&"TRANSIENT_LOCAL".into(), &"Cyclone DDS".into())
    );
    assert_eq!(answer(&graph, &["node", "list"]), "/kilted_talker\n");
    let node = answer(&graph, &["node", "info", "/kilted_talker"]);
    assert!(node.contains("  Publishers:\n") && node.contains("    /text: std_msgs/msg/String\n"), "{node}");
}

#[test]
fn listing_takes_little_longer_than_discovery() {
    let graph = Ros2Graph::new();
    let _talkers: Vec<Peer> = [KILTED, Origin::Cyclone, Origin::FastDds]
        .into_iter()
        .map(|origin| ready(graph.talker(origin, &["/text", "--wait", "9"])))
        .collect();
    answer(&graph, &["topic", "list"]);
    // On a busy machine most attempts are slower: one of them must not be.
    let takes = |words: &[&str], least: u64, most: u64| {
        let mut all = Vec::new();
        while all.last().is_none_or(|took| *took >= Duration::from_millis(most)) {
            assert!(all.len() < 20, "{words:?}: {all:?}");
            let start = Instant::now();
            answer(&graph, words);
            all.push(start.elapsed());
        }
        assert!(all.iter().all(|took| *took >= Duration::from_millis(least)), "{words:?}: {all:?}");
    };
    takes(&["topic", "list"], 200, 500);
    takes(&["topic", "list", "--wait", "1.5"], 1500, 3000);
}

#[test]
fn silent_participant_is_awaited_and_named() {
    let graph = Ros2Graph::new();
    let _talker = ready(graph.talker(KILTED, &["/text", "--wait", "9"]));
    // A busy machine is sometimes slower.
    let mut attempts = (0..5).map(|_| list_with_fake(&graph));
    let most = Duration::from_secs(4);
    let (listed, took) = attempts.find(|(_, took)| *took < most).expect("one that takes no longer");
    assert!(took >= Duration::from_secs(2), "{took:?}");
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.output.contains("/text [std_msgs/msg/String]\n"), "{listed:?}");
    let silent = format!("at {}:{} does not answer (see --wait)", fakes::address(1), fakes::PORT);
    assert!(listed.error.lines().count() == 1 && listed.error.trim_end().ends_with(&silent), "{listed:?}");
}

/// Output and duration of a listing while a participant that never answers announces itself.
fn list_with_fake(graph: &Ros2Graph) -> (Printed, Duration) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let socket = UdpSocket::bind((fakes::address(1), 0)).unwrap();
            while !over.load(Ordering::Relaxed) {
                socket.send_to(&fakes::announcement(1), fakes::discovery_address(graph.domain())).unwrap();
                // Announcement period of a starting participant.
                thread::sleep(Duration::from_millis(50));
            }
        });
        let start = Instant::now();
        let listed = runnel(graph, &["topic", "list", "-t"]);
        over.store(true, Ordering::Relaxed);
        (listed, start.elapsed())
    })
}

#[test]
fn messages_of_any_qos_are_echoed() {
    for (origin, reliability) in
        [(KILTED, "best_effort"), (Origin::Cyclone, "reliable"), (Origin::FastDds, "best_effort")]
    {
        let graph = Ros2Graph::new();
        let words = ["/text", "--wait", "1", "--rate", "20", "--reliability", reliability, "--size", "5"];
        let _talker = ready(graph.talker(origin, &words));
        let echoed = answer(&graph, &["topic", "echo", "/text", "-n", "2"]);
        let lines: Vec<&str> = echoed.lines().collect();
        assert!(
            lines.len() == 4 && lines[0].starts_with("data: ") && lines[1] == "---",
            "{origin}: {echoed}"
        );
    }
}

#[test]
fn nested_message_is_echoed_and_measured() {
    let graph = Ros2Graph::new();
    let value =
        r#"{"header":{"stamp":{"sec":5,"nanosec":6},"frame_id":"map"},"pose":{"position":{"x":1.5}}}"#;
    let words = ["/pose", "--type", "geometry_msgs/msg/PoseStamped", "--value", value, "--rate", "20"];
    let _talker = ready(graph.talker(KILTED, &words));
    let echoed = answer(&graph, &["topic", "echo", "/pose", "--once"]);
    let expected = "header: \n  stamp: \n    sec: 5\n    nanosec: 6\n  frame_id: \"map\"\npose: \n  \
                    position: \n    x: 1.5\n";
    assert!(echoed.starts_with(expected), "{echoed}");
    assert_eq!(answer(&graph, &["topic", "echo", "/pose/pose/position/x", "--once"]), "1.5\n---\n");
    assert_eq!(
        answer(&graph, &["topic", "echo", "/pose", "--field", "header.stamp.sec", "--once"]),
        "5\n---\n"
    );
    assert_eq!(answer(&graph, &["topic", "echo", "/pose/header/stamp/nanosec", "--csv", "--once"]), "6\n");
    let stamp = json(&graph, &["topic", "echo", "/pose", "--once"])["header"]["stamp"].to_string();
    assert_eq!(stamp, r#"{"sec":5,"nanosec":6}"#);
    let typed = answer(&graph, &["topic", "echo", "/pose", "geometry_msgs/PoseStamped", "--once"]);
    assert_eq!(typed, echoed);
    for (command, begins) in [("hz", "average rate: "), ("bw", "average: "), ("delay", "average delay: ")] {
        let mut measuring = running(&graph, &["topic", command, "/pose"]);
        measuring.wait_for_line(|line| line.starts_with(begins), deadline_in(TIMEOUT)).unwrap();
        measuring.signal(Signal::INT).unwrap();
        measuring.wait_exit(deadline_in(TIMEOUT)).unwrap();
    }
}

#[test]
fn transient_local_message_is_echoed() {
    let graph = Ros2Graph::new();
    let words = ["/kept", "--durability", "transient_local", "--depth", "1", "--wait", "0", "--count", "1"];
    let mut talker = graph.talker(KILTED, &words);
    expect_line(&mut talker, "done");
    assert!(answer(&graph, &["topic", "echo", "/kept", "--once"]).starts_with("data: "));
}

#[test]
fn published_message_reaches_all_vendors() {
    for origin in [KILTED, Origin::Cyclone, Origin::FastDds] {
        let graph = Ros2Graph::new();
        let mut listener = ready(graph.listener(origin, &["/text", "--count", "3"]));
        answer(&graph, &["topic", "pub", "-n", "3", "-r", "50", "/text", "std_msgs/msg/String", "hello"]);
        expect_line(&mut listener, "done");
        let received: Vec<String> =
            listener.lines().iter().filter(|line| line.starts_with("got ")).cloned().collect();
        assert!(received.len() == 3 && received[0].contains(" len 10 "), "{origin}: {received:?}");
    }
    let graph = Ros2Graph::new();
    let mut listener = ready(graph.listener(KILTED, &["/text", "--count", "1", "--show"]));
    let published = runnel(&graph, &["topic", "pub", "-1", "/text", "std_msgs/String", "data: once"]);
    assert_eq!(published.code, Some(0), "{published:?}");
    expect_line(&mut listener, r#"got 1 {"data":"once"}"#);
}

#[test]
fn single_message_reaches_best_effort_listener() {
    let graph = Ros2Graph::new();
    let mut listener = ready(graph.listener(KILTED, &["/text", "--show", "--reliability", "best_effort"]));
    let mut is_received = |number: &u32| {
        let text = format!("message {number}");
        let published =
            runnel(&graph, &["topic", "pub", "-1", "-k", "0.1", "/text", "std_msgs/String", &text]);
        assert_eq!(published.code, Some(0), "{published:?}");
        let end = format!(r#" {{"data":"{text}"}}"#);
        listener.wait_for_line(|line| line.ends_with(&end), deadline_in(5)).is_ok()
    };
    // A listener on a busy machine may match the publisher only after the pause before its message.
    let received = (1..=20).filter(&mut is_received).count();
    assert!(received >= 18, "{received} of 20: {}", listener.output());
}

#[test]
fn single_message_waits_for_subscriptions() {
    let listening = ["/text", "--show", "--count", "1", "--reliability", "best_effort"];
    for (waiting, listeners) in [(&["-k", "30"][..], 1), (&["-w", "2"], 2)] {
        let graph = Ros2Graph::new();
        let words = [&["topic", "pub", "-1", "/text", "std_msgs/String", "late"], waiting].concat();
        let mut publisher = running(&graph, &words);
        publisher.wait_for_line(|line| line.starts_with("waiting for "), deadline_in(TIMEOUT)).unwrap();
        let names = (0..listeners).map(|number| format!("listener{number}"));
        let listeners: Vec<Peer> =
            names.map(|name| graph.node(KILTED, "listener", &name, &listening)).collect();
        for mut listener in listeners {
            expect_line(&mut listener, r#"got 1 {"data":"late"}"#);
        }
    }
}

#[test]
fn piped_messages_reach_matched_listeners() {
    let graph = Ros2Graph::new();
    let mut listener = ready(graph.listener(KILTED, &["/text", "--show", "--count", "2"]));
    let mut command = graph.command("sh");
    let runnel = built("runnel").display().to_string();
    command.args([
        "-c",
        r"printf 'data: a\n---\ndata: b\n---\n' | $0 topic pub --stdin /text std_msgs/String",
        &runnel,
    ]);
    let mut publisher = Peer::spawn("runnel", command).expect("it starts");
    assert!(publisher.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", publisher.output());
    for line in [r#"got 1 {"data":"a"}"#, r#"got 2 {"data":"b"}"#] {
        expect_line(&mut listener, line);
    }
}

#[test]
fn times_are_accepted_in_both_spellings() {
    for stamp in ["{sec: 1, nanosec: 2}", "{secs: 1, nsecs: 2}", "[1, 2]"] {
        let graph = Ros2Graph::new();
        let words = ["/header", "--type", "std_msgs/msg/Header", "--count", "1", "--show"];
        let mut listener = ready(graph.listener(KILTED, &words));
        let value = format!("{{stamp: {stamp}, frame_id: map}}");
        let typed = ["topic", "pub", "-n", "1", "-v", "/header", "std_msgs/Header", &value];
        let expected = "publishing:\nstamp: \n  sec: 1\n  nanosec: 2\nframe_id: \"map\"\n";
        assert_eq!(answer(&graph, &typed), expected);
        expect_line(&mut listener, r#"got 1 {"stamp":{"sec":1,"nanosec":2},"frame_id":"map"}"#);
    }
}

#[test]
fn incompatible_subscription_is_reported_by_info() {
    let graph = Ros2Graph::new();
    let _talker = ready(graph.talker(KILTED, &["/text", "--wait", "9", "--reliability", "best_effort"]));
    let _listener = ready(graph.listener(KILTED, &["/text"]));
    let info = answer(&graph, &["topic", "info", "/text"]);
    let expected = "No messages from publisher /kilted_talker to subscription /kilted_listener: incompatible QoS: \
                    reliability BEST_EFFORT is offered, RELIABLE is requested. Try: best effort at /kilted_listener, or \
                    reliable at /kilted_talker\n";
    assert!(info.ends_with(expected), "{info}");
}

#[test]
fn reader_of_other_encoding_is_reported() {
    let graph = Ros2Graph::new();
    let _talker = ready(graph.talker(KILTED, &["/text", "--wait", "9"]));
    let _listener = ready(graph.listener(Origin::Cyclone11, &["/text", "--xcdr2"]));
    let info = answer(&graph, &["topic", "info", "-v", "/text"]);
    for line in ["Data representation: XCDR1", "Data representation: XCDR2"] {
        assert!(info.lines().any(|printed| printed == line), "{line} is not in {info}");
    }
    let expected = "incompatible QoS: data representation XCDR1 is offered, XCDR2 is requested. Try: ";
    assert!(info.contains("No messages from publisher /kilted_talker") && info.contains(expected), "{info}");
}

/// QoS options of the user are requested also by commands that only count messages.
#[test]
fn measured_messages_match_requested_qos() {
    let graph = Ros2Graph::new();
    let words = ["/text", "--wait", "0", "--rate", "20", "--reliability", "best_effort"];
    let _talker = ready(graph.talker(KILTED, &words));
    for command in ["hz", "bw"] {
        let words = ["topic", command, "/text", "--qos-reliability"];
        let mut strict = running(&graph, &[&words[..], &["reliable"]].concat());
        let mut lenient = running(&graph, &[&words[..], &["best_effort"]].concat());
        lenient.wait_for_line(|line| line.starts_with("average"), deadline_in(TIMEOUT)).unwrap();
        strict.wait_for_line(|line| line.contains("reliability"), deadline_in(TIMEOUT)).unwrap();
        assert!(!strict.output().contains("average"), "{}", strict.output());
    }
}

#[test]
fn ros1_without_master_is_skipped_unless_requested() {
    let graph = Ros2Graph::new();
    let listed = runnel(&graph, &["topic", "list"]);
    assert_eq!((listed.code, listed.output.as_str()), (Some(1), ""));
    assert!(
        listed.error.starts_with("no graph found: no master answers at http://localhost:11311/, and "),
        "{listed:?}"
    );
    let refused = runnel(&graph, &["topic", "list", "--ros1"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.error.starts_with("error: cannot reach the master at http://localhost:11311/"),
        "{refused:?}"
    );
}

#[test]
fn shell_completes_ros2_names() {
    let graph = Ros2Graph::new();
    let _talker = ready(graph.talker(KILTED, &["/text", "--wait", "9"]));
    answer(&graph, &["topic", "list"]);
    let offered = |line: &[&str]| {
        let mut command = graph.command(built("runnel"));
        command.args(["--", "runnel"]).args(line).stdin(Stdio::null());
        command.env("RUNNEL_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", line.len().to_string());
        command.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_IFS", " ");
        String::from_utf8_lossy(&command.output().expect("it starts").stdout).into_owned()
    };
    // The shell waits only 300 ms, in which the talker may not answer on a busy host.
    let is_offered = |line: &[&str], expected: &str| {
        wait_until(expected, deadline_in(TIMEOUT), || offered(line) == expected);
    };
    is_offered(&["topic", "echo", "/t"], "/text");
    assert_eq!(offered(&["topic", "echo", "--ros1", "/t"]), "");
    is_offered(&["node", "info", "/k"], "/kilted_talker");
    is_offered(&["topic", "pub", "/text", "std_msgs/"], "std_msgs/msg/String");
    assert_eq!(offered(&["topic", "find", "builtin_interfaces/msg/T"]), "builtin_interfaces/msg/Time");
}
