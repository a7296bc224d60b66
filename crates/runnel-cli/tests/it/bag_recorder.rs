//! A recorder that is controlled while it runs: by the services of rosbag2 and of ROS 1, and by topics.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, deadline_in};
use tempfile::TempDir;

/// Seconds that a step may take on a busy host.
const STEP: u64 = 30;

/// A domain for each test.
const SERVICES: u16 = 140;
const SNAPSHOTS: u16 = 141;
const TRIGGERS: u16 = 142;

/// A graph with a talker on `/chatter`, and the folder of the recording.
struct Scene {
    folder: TempDir,
    domain: u16,
    master_uri: Option<String>,
    _peers: Vec<Peer>,
}

impl Scene {
    /// A talker in ROS 2.
    fn ros2(domain: u16) -> Self {
        let scene = Self::empty(domain);
        let talker = scene.peer("topic pub --ros2 -r 50 /chatter std_msgs/String hello");
        Self { _peers: vec![talker], ..scene }
    }

    /// A master, and a talker in ROS 1.
    fn ros1(domain: u16) -> Self {
        let scene = Self::empty(domain);
        let mut master = scene.peer("master --no-rosout --port 0");
        let line = master.wait_for_line(|line| line.starts_with("ROS_MASTER_URI="), deadline_in(STEP));
        let uri = line.expect("the master prints its URI").replace("ROS_MASTER_URI=", "");
        let scene = Self { master_uri: Some(uri), ..scene };
        let talker = scene.peer("topic pub --ros1 -r 50 /chatter std_msgs/String hello");
        Self { _peers: vec![master, talker], ..scene }
    }

    fn empty(domain: u16) -> Self {
        require_private_network();
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder, domain, master_uri: None, _peers: Vec::new() }
    }

    fn runnel(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
        command.args(line.split(' ')).stdin(Stdio::null()).current_dir(self.folder.path());
        for variable in ["ROS_MASTER_URI", "ROS_IP", "ROS_HOSTNAME", "ROS_NAMESPACE", "RUNNEL_LOG"] {
            command.env_remove(variable);
        }
        command.envs(self.master_uri.as_ref().map(|uri| ("ROS_MASTER_URI", uri)));
        command.env("ROS_DOMAIN_ID", self.domain.to_string());
        command
    }

    fn peer(&self, line: &str) -> Peer {
        Peer::spawn("peer", self.runnel(line)).expect("it starts")
    }

    /// Starts a recorder, and waits until it says so.
    fn recorder(&self, line: &str) -> Peer {
        let mut recorder = self.peer(line);
        let begins = |line: &str| line.starts_with("recording into ");
        recorder.wait_for_line(begins, deadline_in(STEP)).expect("it records");
        recorder
    }

    /// Calls a service of the recorder. Returns the response.
    fn call(&self, words: &str) -> String {
        let output = self.runnel(&format!("service call --wait {words}")).output().expect("it starts");
        assert!(output.status.success(), "{words}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Calls a service until its response has this text.
    fn call_until(&self, words: &str, expected: &str) {
        let deadline = deadline_in(STEP);
        loop {
            let response = self.call(words);
            if response.contains(expected) {
                return;
            }
            assert!(Instant::now() < deadline, "{words}: {response}");
        }
    }

    /// The files of a folder, sorted.
    fn files(&self, of: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.folder.path().join(of)) else { return Vec::new() };
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.map(|entry| name(entry.expect("a file"))).collect();
        names.sort();
        names
    }

    /// The number of messages that `bag info` finds.
    fn messages(&self, bag: &str) -> u64 {
        let output = self.runnel(&format!("--json bag info {bag}")).output().expect("it starts");
        assert!(output.status.success(), "{bag}: {output:?}");
        let info: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        info["messages"].as_u64().expect("a number")
    }

    fn wait_until(&self, what: &str, is_true: impl Fn() -> bool) {
        let deadline = deadline_in(STEP);
        while !is_true() {
            assert!(Instant::now() < deadline, "{what}: {:?}", self.files("."));
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn end(mut recorder: Peer) {
    let status = recorder.wait_exit(deadline_in(STEP)).expect("it ends");
    assert!(status.success(), "{}", recorder.output());
}

#[test]
fn recorder_has_the_services_of_rosbag2() {
    let scene = Scene::ros2(SERVICES);
    let recorder = scene.recorder("ros2 bag record /chatter -o run");
    let call = |name: &str| scene.call(&format!("/rosbag2_recorder/{name}"));
    assert!(call("is_paused").contains("paused=False"));
    call("pause");
    assert!(call("is_paused").contains("paused=True"));
    call("resume");
    assert!(call("is_paused").contains("paused=False"));
    assert!(call("snapshot").contains("success=False"), "it is not in snapshot mode");
    assert!(call("start_discovery").contains("return_code=1"), "it is running");
    assert!(call("stop_discovery").contains("return_code=0"));
    assert!(call("is_discovery_running").contains("running=False"));
    let mut events =
        scene.peer("topic echo --once /events/write_split rosbag2_interfaces/msg/WriteSplitEvent");
    // The first splits may come before the subscription.
    let deadline = deadline_in(STEP);
    while !events.output().contains("opened_file") {
        assert!(Instant::now() < deadline, "{}", events.output());
        call("split_bagfile");
    }
    let text = events.output();
    let folder = scene.folder.path().canonicalize().expect("a folder").join("run");
    assert!(text.contains(&format!("closed_file: \"{}/run_", folder.display())), "{text}");
    assert!(text.contains("node_name: \"/rosbag2_recorder\""), "{text}");
    events.wait_exit(deadline_in(STEP)).expect("it ends");
    call("stop");
    end(recorder);
    let files = scene.files("run");
    assert!(files.len() >= 3 && files[0] == "metadata.yaml" && files[1] == "run_0.mcap", "{files:?}");
    assert!(scene.messages("run") > 0);
}

#[test]
fn snapshots_are_written_by_service_and_topic() {
    let scene = Scene::ros2(SNAPSHOTS);
    let line = "bag record --ros2 /chatter --snapshot-mode --snapshot-duration 1000 --snapshot-topic /save -O last.mcap";
    let recorder = scene.recorder(line);
    scene.call_until("/rosbag2_recorder/snapshot", "success=True");
    assert_eq!(scene.files("."), ["last_0.mcap"]);
    assert!(scene.messages("last_0.mcap") > 0);
    let request = scene.peer("topic pub --ros2 -r 5 /save std_msgs/Empty");
    scene.wait_until("the topic requests another", || scene.files(".").len() > 1);
    drop(request);
    scene.call("/rosbag2_recorder/stop");
    end(recorder);
    assert!(scene.messages("last_1.mcap") > 0);
}

#[test]
fn recorder_has_services_in_ros1() {
    let scene = Scene::ros1(TRIGGERS);
    let recorder = scene.recorder("bag record --ros1 /chatter -O run.bag --node-name recorder");
    scene.call("--ros1 /recorder/pause");
    assert!(scene.call("--ros1 /recorder/is_paused").contains("paused"));
    scene.call("--ros1 /recorder/resume");
    assert!(scene.call("--ros1 /recorder/is_paused").contains("recording"));
    scene.call("--ros1 /recorder/split");
    scene.call("--ros1 /recorder/stop");
    end(recorder);
    assert_eq!(scene.files("."), ["run.bag", "run_1.bag"]);
}
