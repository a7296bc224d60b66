//! `runnel doctor` beside originals of ROS 2, other DDS implementations, fake participants and other hosts: each fault
//! created for real.

use std::fs;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use interop::fakes::{announcement_for, discovery_address};
use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::ros2_hosts::Host;
use interop::{TIMEOUT, built, outcome, ready};
use runnel::msgs::rmw_dds_common::msg::ParticipantEntitiesInfo;
use runnel_core::Message;
use runnel_testkit::loopback_participant::LoopbackParticipant;
use runnel_testkit::process::{Peer, deadline_in};
use tempfile::TempDir;

const KILTED: Origin = Origin::Ros2(Distro::Kilted);

/// The output of `runnel doctor` in one line.
fn doctor(graph: &Ros2Graph) -> String {
    let mut command = graph.command(built("runnel"));
    command.arg("doctor");
    let lines = outcome(Peer::spawn("doctor", command).unwrap()).lines;
    lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs the doctor until its output contains all these texts.
fn expect(doctor: impl Fn() -> String, texts: &[&str]) -> String {
    let deadline = deadline_in(TIMEOUT);
    loop {
        let output = doctor();
        if texts.iter().all(|text| output.contains(text)) {
            return output;
        }
        assert!(Instant::now() < deadline, "not all of {texts:#?} in: {output}");
    }
}

#[test]
fn rclpy_ends_with_other_qos_are_named() {
    for distro in [Distro::Kilted, Distro::Jazzy] {
        let (graph, origin) = (Ros2Graph::new(), Origin::Ros2(distro));
        let _listener =
            ready(graph.listener(origin, &["/chatter", "--count", "0", "--reliability", "reliable"]));
        let talker =
            ["/chatter", "--wait", "0", "--count", "0", "--rate", "10", "--reliability", "best_effort"];
        let _talker = graph.talker(origin, &talker);
        let publisher =
            format!("No messages from publisher /{origin}_talker to subscription /{origin}_listener");
        let texts =
            ["error: /chatter: ", &publisher, "reliability BEST_EFFORT is offered, RELIABLE is requested"];
        let output = expect(|| doctor(&graph), &texts);
        assert!(
            output.contains("-p qos_overrides./chatter.subscription.reliability:=best_effort"),
            "{output}"
        );
    }
}

#[test]
fn sound_rclpy_graph_has_no_errors() {
    let graph = Ros2Graph::new();
    let _listener = ready(graph.listener(KILTED, &["/chatter", "--count", "0"]));
    let _talker = graph.talker(KILTED, &["/chatter", "--count", "0", "--rate", "10"]);
    let _server = ready(graph.rclpy(Distro::Kilted, "server.py", "server", &["/power"]));
    expect(|| doctor(&graph), &["3 participants in domain", "3 nodes", "0 errors, 0 warnings"]);
}

#[test]
fn clients_and_servers_of_other_framings_are_named() {
    let graph = Ros2Graph::new();
    let _server = ready(graph.rclpy(Distro::Kilted, "server.py", "server", &["/power"]));
    let _client = graph.cyclone_service(&["/power", "client", "1"]);
    let texts =
        ["error: /power: ", "(Cyclone DDS) gets no response from /server (Fast DDS)", "RMW_IMPLEMENTATION="];
    expect(|| doctor(&graph), &texts);
}

/// A participant that announces a node by ids of 24 bytes, as those before Iron do, until it is dropped.
struct PreIron {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PreIron {
    fn start(domain: u16) -> Self {
        let mut participant = LoopbackParticipant::new(domain, 0x0d, 10, "enclave=/;");
        let graph = participant.create_writer("ros_discovery_info", ParticipantEntitiesInfo::DDS_TYPE, "");
        // The participant's id, and one node `/n` without endpoints.
        let id = [&[0x0d; 16][..], &[0; 8]].concat();
        let name = |text: &[u8; 2]| [&[2, 0, 0, 0], &text[..], &[0, 0]].concat();
        let node = [name(b"/\0"), name(b"n\0"), vec![0; 8]].concat();
        let payload = [vec![0, 1, 0, 0], id, vec![1, 0, 0, 0], node].concat();
        participant.write(graph, payload).expect("it has capacity");
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ends);
        let run = move || {
            while !is_over.load(Ordering::Relaxed) {
                participant.poll_once();
            }
        };
        Self { ends, thread: Some(thread::spawn(run)) }
    }
}

impl Drop for PreIron {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn pre_iron_node_beside_rclpy_is_reported() {
    let graph = Ros2Graph::new();
    let _old = PreIron::start(graph.domain());
    let _new = ready(graph.listener(KILTED, &["/chatter", "--count", "0"]));
    let texts =
        ["warning: /n: from before Iron (such as Humble), in one domain with newer nodes (/kilted_listener)"];
    expect(|| doctor(&graph), &texts);
}

#[test]
fn participant_that_falls_silent_is_reported() {
    let graph = Ros2Graph::new();
    let to = discovery_address(graph.domain());
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            // Announced again for each run of the doctor, and long silent at its end.
            let mut number = 0;
            while !ends.load(Ordering::Relaxed) {
                number += 1;
                let lease = Some(Duration::from_secs(3));
                let address = interop::fakes::address(number);
                socket.send_to(&announcement_for(number, address, lease, None), to).unwrap();
                thread::sleep(Duration::from_millis(700));
            }
        });
        let texts = [
            "its announcements arrive, but it does not answer",
            "nothing was received of it for ",
            "and after 3.0 s all others forget it",
        ];
        expect(|| doctor(&graph), &texts);
        ends.store(true, Ordering::Relaxed);
    });
}

/// The doctor on a host.
fn doctor_on(host: &Host) -> String {
    let line = format!("{} doctor; true", built("runnel").display());
    let output = host.output(&["sh", "-c", &line]);
    output.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A library that sets the clock of a program 25 s back. Ahead, timed waits would not end.
fn clock_behind(folder: &TempDir) -> PathBuf {
    const SOURCE: &str = "#define _GNU_SOURCE
        #include <time.h>
        #include <unistd.h>
        #include <sys/syscall.h>
        int clock_gettime(clockid_t clock, struct timespec *now) {
          long failed = syscall(SYS_clock_gettime, clock, now);
          if (!failed && clock == CLOCK_REALTIME) now->tv_sec -= 25;
          return (int)failed;
        }";
    let (source, library) = (folder.path().join("behind.c"), folder.path().join("behind.so"));
    fs::write(&source, SOURCE).unwrap();
    let mut compiler = Command::new("gcc");
    let status = compiler.args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).status().unwrap();
    assert!(status.success());
    library
}

#[test]
fn clock_of_another_host_is_compared() {
    let [near, far] = Host::two();
    let folder = TempDir::new_in(interop::folder()).unwrap();
    let library = clock_behind(&folder);
    let behind = [("LD_PRELOAD", library.to_str().unwrap())];
    let _listener = ready(far.node(KILTED, "listener", &["/chatter", "--count", "0"], &behind));
    let texts =
        ["warning: host 10.0.0.2: its clock is 2", "s behind the clock of this host, give or take 0."];
    let output = expect(|| doctor_on(&near), &texts);
    let (_, rest) = output.split_once("its clock is ").unwrap();
    let seconds: f64 = rest.split(' ').next().unwrap().parse().unwrap();
    assert!((24.0..26.0).contains(&seconds), "{output}");
}

#[test]
fn process_in_localhost_range_is_reported_beside_another_host() {
    let [near, far] = Host::two();
    let limited = [("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")];
    let _near = ready(near.node(KILTED, "listener", &["/chatter", "--count", "0"], &limited));
    let _far = far.node(KILTED, "talker", &["/chatter", "--wait", "0", "--count", "0", "--rate", "10"], &[]);
    let texts = [
        "was started with ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST: it exchanges nothing with the participants of 10.0.0.2",
        "-> unset ROS_AUTOMATIC_DISCOVERY_RANGE where it is started",
    ];
    expect(|| doctor_on(&near), &texts);
}

#[test]
fn multicast_that_a_firewall_drops_is_reported() {
    let [near, far] = Host::two();
    let _far = ready(far.node(KILTED, "listener", &["/chatter", "--count", "0"], &[]));
    let output = doctor_on(&near);
    assert!(!output.contains("multicast"), "{output}");
    near.set(&["nft", "add", "table", "ip", "wall"]);
    near.set(&["nft", "add", "chain", "ip", "wall", "in", "{ type filter hook input priority 0; }"]);
    near.set(&["nft", "add", "rule", "ip", "wall", "in", "ip", "daddr", "239.255.0.1", "drop"]);
    let texts = [
        "error: cable (10.0.0.1): multicast sent by this interface does not arrive, not even on this host",
        "-> sudo ufw allow in proto udp to 224.0.0.0/4",
    ];
    expect(|| doctor_on(&near), &texts);
}
