//! Proof of the test harness without Runnel: the originals of ROS 2 and other DDS exchange messages within their
//! known limits.
//!
//! The exchanges run only on request, after `./test` has installed the originals: when a test of Runnel with one of
//! them fails, they show whether Runnel is at fault. On a busy machine Kilted and Cyclone DDS 0.10 do not always
//! match.

use interop::capture::Capture;
use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::ros2_checks::{Pair, STRINGS, check_exchange, expect_line};
use interop::{TIMEOUT, check_all_received, ready};
use runnel_testkit::process::deadline_in;

const KILTED: Origin = Origin::Ros2(Distro::Kilted);
const JAZZY: Origin = Origin::Ros2(Distro::Jazzy);

/// rclpy takes a negative timeout for none: a talker that is late for its next message would wait for ever.
#[test]
fn rclpy_peer_returns_from_overdue_wait() {
    for distro in [Distro::Kilted, Distro::Jazzy] {
        let graph = Ros2Graph::new();
        let mut peer = graph.rclpy(distro, "overdue.py", "overdue", &[]);
        peer.wait_for_line(|line| line == "spun", deadline_in(TIMEOUT)).unwrap();
    }
}

/// Checks that texts and bytes of 100 kB arrive byte for byte in both directions.
fn check_both_directions(one: Origin, other: Origin) {
    check_exchange(one, other, "100000");
    check_exchange(other, one, "100000");
}

#[test]
#[ignore = "of the originals alone"]
fn kilted_and_jazzy_exchange_messages() {
    check_both_directions(KILTED, JAZZY);
}

#[test]
#[ignore = "of the originals alone"]
fn kilted_and_cyclone_exchange_messages() {
    check_both_directions(KILTED, Origin::Cyclone);
}

#[test]
#[ignore = "of the originals alone"]
fn kilted_and_fast_dds_exchange_messages() {
    check_both_directions(KILTED, Origin::FastDds);
}

#[test]
#[ignore = "of the originals alone"]
fn kilted_and_rustdds_exchange_messages() {
    check_both_directions(KILTED, Origin::RustDds);
}

/// One datagram each: dust_dds corrupts fragmented messages on a busy machine.
#[test]
#[ignore = "of the originals alone"]
fn cyclone_and_dust_dds_exchange_messages() {
    check_exchange(Origin::Cyclone, Origin::DustDds, "1000");
    check_exchange(Origin::DustDds, Origin::Cyclone, "1000");
}

#[test]
#[ignore = "of the originals alone"]
fn jazzy_and_cyclone_11_exchange_messages() {
    check_both_directions(JAZZY, Origin::Cyclone11);
}

/// For types with a sequence, each rejects the other's type description, and they never match.
#[test]
#[ignore = "of the originals alone"]
fn kilted_and_cyclone_11_exchange_texts() {
    for (talker, listener) in [(KILTED, Origin::Cyclone11), (Origin::Cyclone11, KILTED)] {
        Pair::start(talker, listener, STRINGS, &["--size", "100000"]).exchange(5);
    }
}

#[test]
#[ignore = "of the originals alone"]
fn both_originals_report_incompatible_policy() {
    let graph = Ros2Graph::new();
    let cases: [(&str, &[&str], &[&str]); 4] = [
        ("reliability", &["--reliability", "best_effort"], &[]),
        ("durability", &[], &["--durability", "transient_local"]),
        ("deadline", &[], &["--deadline", "0.5"]),
        ("liveliness", &[], &["--liveliness", "manual_by_topic"]),
    ];
    for (policy, offered, requested) in cases {
        let topic = format!("/{policy}");
        let mut talker = graph.talker(KILTED, &[&[topic.as_str()], offered].concat());
        let mut listener = graph.listener(JAZZY, &[&[topic.as_str()], requested].concat());
        for peer in [&mut talker, &mut listener] {
            expect_line(peer, &format!("incompatible {policy} 1"));
        }
    }
}

#[test]
#[ignore = "of the originals alone"]
fn silent_talker_misses_deadline_and_liveliness() {
    let graph = Ros2Graph::new();
    let timely = ["/timely", "--deadline", "0.3", "--liveliness", "manual_by_topic", "--lease", "0.5"];
    let mut listener = ready(graph.listener(KILTED, &timely));
    let mut talker = graph.talker(JAZZY, &[&timely[..], &["--count", "3"]].concat());
    expect_line(&mut listener, "liveliness 1 0");
    expect_line(&mut listener, "deadline missed 1");
    expect_line(&mut talker, "liveliness lost 1");
    listener.wait_for_line(|line| line.starts_with("liveliness 0 "), deadline_in(TIMEOUT)).unwrap();
}

#[test]
#[ignore = "of the originals alone"]
fn services_are_called_across_releases() {
    for (asked, master_queries) in [(Distro::Kilted, Distro::Jazzy), (Distro::Jazzy, Distro::Kilted)] {
        let graph = Ros2Graph::new();
        let _server = ready(graph.rclpy(asked, "server.py", "server", &["/motor_power"]));
        let mut caller =
            graph.rclpy(master_queries, "caller.py", "caller", &["/motor_power", "--count", "2"]);
        for line in ["answered True call 1", "answered True call 2", "answered False it must stay on", "done"]
        {
            expect_line(&mut caller, line);
        }
    }
}

#[test]
#[ignore = "of the originals alone"]
fn late_listener_gets_transient_local_messages() {
    let graph = Ros2Graph::new();
    let transient = ["/kept", "--durability", "transient_local", "--depth", "3"];
    let mut talker = graph.talker(JAZZY, &[&transient[..], &["--count", "5", "--wait", "0"]].concat());
    expect_line(&mut talker, "done");
    let mut listener = graph.listener(KILTED, &[&transient[..], &["--count", "3", "--show"]].concat());
    for (number, message) in [(1, 3), (2, 4), (3, 5)] {
        expect_line(&mut listener, &format!("got {number} {{\"data\":\"hello {message}\"}}"));
    }
}

#[test]
#[ignore = "of the originals alone"]
fn graph_reports_types_hashes_and_qos() {
    let graph = Ros2Graph::new();
    let mut view = ready(graph.rclpy(Distro::Kilted, "graph.py", "view", &[]));
    let mut talker =
        ready(graph.talker(JAZZY, &["/chatter", "--deadline", "0.5", "--reliability", "best_effort"]));
    let publisher = view.wait_for_line(
        |line| line.starts_with("+ publisher /chatter of /jazzy_talker"),
        deadline_in(TIMEOUT),
    );
    let publisher = publisher.unwrap();
    let hash = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
    for word in ["std_msgs/msg/String", hash, "BEST_EFFORT", "VOLATILE", "deadline 500000000"] {
        assert!(publisher.contains(word), "{word} is lacking: {publisher}");
    }
    talker.signal(runnel_testkit::process::Signal::INT).unwrap();
    assert!(talker.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", talker.output());
    expect_line(&mut view, "- node /jazzy_talker");
}

#[test]
#[ignore = "of the originals alone"]
fn any_type_round_trips_between_releases() {
    let graph = Ros2Graph::new();
    for name in [
        "sensor_msgs/msg/PointCloud2",
        "test_msgs/msg/UnboundedSequences",
        "test_msgs/msg/WStrings",
        "std_msgs/msg/Empty",
    ] {
        let mut echo = graph.rclpy(Distro::Jazzy, "echo.py", "echo", &[name]);
        echo.wait_for_line(|line| line == "ready", deadline_in(TIMEOUT)).unwrap();
        let place = name.replace("/msg/", "/");
        let words =
            |topic| [format!("/{topic}/{place}"), "--type".into(), name.into(), "--count".into(), "1".into()];
        let (back, there) = (words("back"), words("there"));
        let listener = ready(graph.listener(KILTED, &back.each_ref().map(String::as_str)));
        let mut talker = graph.talker(KILTED, &there.each_ref().map(String::as_str));
        check_all_received(&mut talker, &mut [listener], 1);
    }
}

#[test]
#[ignore = "of the originals alone"]
fn peer_traffic_is_dissected_without_errors() {
    let capture = Capture::start();
    let graph = Ros2Graph::new();
    let words = ["/dissected", "--count", "3", "--type", "std_msgs/msg/UInt8MultiArray"];
    let listener = ready(graph.listener(JAZZY, &words));
    let mut talker = graph.talker(Origin::Cyclone, &[&words[..], &["--size", "100000"]].concat());
    check_all_received(&mut talker, &mut [listener], 3);
    let frames = capture.end();
    // Cyclone DDS sends itself a byte when it ends.
    let unsound = frames.unsound_rtps("udp.length != 9");
    assert!(unsound.is_empty(), "{unsound:#?}");
    let fragments = frames.query("rtps.vendorId == 0x0110 && rtps.sm.id == 0x16", &["rtps.sm.wrEntityId"]);
    assert!(fragments.len() >= 3, "{fragments:?}");
}
