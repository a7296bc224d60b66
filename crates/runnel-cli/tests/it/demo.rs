//! `runnel demo` from end to end, with the real program, on loopback only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, Signal, deadline_in};
use rustix::process::{Pid, kill_process};

/// Seconds that a lap with its preparation may take on a busy host.
const LAP: u64 = 150;

/// A folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the test");
        Self(folder)
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the test's folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `runnel demo` with the folder as its current and its temporary folder. The environment names a wrong master and
/// host.
fn demo(folder: &Folder, arguments: &[&str]) -> Peer {
    Peer::spawn("demo", command(folder, arguments)).expect("the demo starts")
}

fn command(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.arg("demo").args(arguments).current_dir(&folder.0).env("TMPDIR", &folder.0);
    command.env("ROS_MASTER_URI", "http://no.such.host:1").env("ROS_HOSTNAME", "no.such.host");
    command.env("ROS_NAMESPACE", "/wrong");
    command
}

/// The processes that `parent` has started.
fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| parent_of(*id) == Some(parent)).collect()
}

fn parent_of(id: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// The name of the node that a process runs, if it is a node of the demo.
fn node_of(id: u32) -> Option<String> {
    let command_line = fs::read_to_string(format!("/proc/{id}/cmdline")).ok()?;
    let mut arguments = command_line.split('\0').skip_while(|argument| *argument != "line-trace");
    arguments.nth(1).map(str::to_owned)
}

/// Waits until the robot follows the line; gives the two nodes' processes.
fn wait_for_mid_lap(demo: &mut Peer) -> Vec<u32> {
    demo.wait_for_line(|line| line.starts_with("lap 1:"), deadline_in(LAP))
        .expect("the robot follows the line");
    let nodes = children(demo.id());
    let mut names: Vec<String> = nodes.iter().filter_map(|id| node_of(*id)).collect();
    names.sort();
    assert_eq!(names, ["control", "tracer"]);
    nodes
}

fn wait_until_gone(nodes: &[u32], deadline: Instant) {
    while nodes.iter().any(|id| node_of(*id).is_some()) {
        assert!(Instant::now() < deadline, "nodes outlive the demo: {nodes:?}");
        std::thread::yield_now();
    }
}

/// The three last numbers of a line: messages, lost, unmatched.
fn counts(line: &str) -> [u64; 3] {
    let numbers: Vec<u64> = line.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let last = numbers.len().checked_sub(3).and_then(|from| numbers.get(from..)).unwrap_or_default();
    last.try_into().unwrap_or_else(|_| panic!("no three numbers in {line:?}"))
}

#[test]
fn lap_is_driven_and_reported_with_its_page() {
    let folder = Folder::new("lap");
    let mut demo = demo(&folder, &[]);
    let status = demo.wait_exit(deadline_in(LAP)).expect("the lap ends");
    assert!(status.success(), "{status}: {}", demo.output());
    let lines = demo.lines();
    let has = |parts: [&str; 2]| lines.iter().any(|line| parts.iter().all(|part| line.contains(part)));
    for parts in
        [["lap 1:", " %, "], ["lap 1:", " mm (max)"], ["tracer ", " MB "], ["  open ", "/line_trace.html"]]
    {
        assert!(has(parts), "no line has {parts:?}: {}", demo.output());
    }
    lost_nothing(&demo);
    assert_eq!(folder.files(), ["line_trace.html"]);
    let page = fs::read_to_string(folder.0.join("line_trace.html")).expect("the page");
    for part in ["One lap of track course", "id=\"light_sensors\"", "id=\"cmd_vel\"", "<td>tracer</td>"] {
        assert!(page.contains(part), "{part}");
    }
}

/// Both tables have many messages, none lost and none unmatched.
#[track_caller]
fn lost_nothing(demo: &Peer) {
    let lines = demo.lines();
    let tables: Vec<[u64; 3]> =
        lines.iter().filter(|line| line.contains(" lost, ")).map(|line| counts(line)).collect();
    assert_eq!(tables.len(), 2, "{}", demo.output());
    for [messages, lost, unmatched] in tables {
        assert!(messages > 300 && lost == 0 && unmatched == 0, "{}", demo.output());
    }
}

#[test]
fn ros_2_lap_shows_its_topics_in_the_domain() {
    const DOMAIN: &str = "98";
    require_private_network();
    let folder = Folder::new("ros2");
    let mut command = command(&folder, &["--ros2", "--headless"]);
    command.env("ROS_DOMAIN_ID", DOMAIN);
    let mut demo = Peer::spawn("demo", command).expect("the demo starts");
    wait_for_mid_lap(&mut demo);
    let mut list = Command::new(env!("CARGO_BIN_EXE_runnel"));
    list.args(["topic", "list", "-t", "--ros2"]).env("ROS_DOMAIN_ID", DOMAIN);
    let listed = list.output().expect("it starts").stdout;
    let listed = String::from_utf8_lossy(&listed);
    for topic in ["/cmd_vel [geometry_msgs/msg/Twist]", "/light_sensors [raspimouse_msgs/msg/LightSensors]"] {
        assert!(listed.lines().any(|line| line == topic), "{listed}");
    }
    let status = demo.wait_exit(deadline_in(LAP)).expect("the lap ends");
    assert!(status.success(), "{status}: {}", demo.output());
    let lines = demo.lines();
    assert!(
        lines.iter().any(|line| line.contains("lap 1:") && line.contains(" mm (max)")),
        "{}",
        demo.output()
    );
    lost_nothing(&demo);
    assert_eq!(folder.files(), ["line_trace.html"]);
}

#[test]
fn json_output_is_one_json_value() {
    let folder = Folder::new("json");
    let drive = || {
        let mut demo = demo(&folder, &["--json"]);
        assert!(demo.wait_exit(deadline_in(LAP)).expect("the lap ends").success(), "{}", demo.output());
        let [line] = &demo.lines()[..] else { panic!("{}", demo.output()) };
        serde_json::from_str::<serde_json::Value>(line).expect("JSON")
    };
    let lap =
        |report: &serde_json::Value, figure: &str| report["laps"][0][figure].as_f64().expect("a figure");
    // On a busy machine the robot drives on while its tracer waits for a processor.
    let mut report = drive();
    for _ in 0..2 {
        if lap(&report, "max_deviation_metres") >= 0.04 {
            report = drive();
        }
    }
    assert_eq!(report["laps"].as_array().expect("laps").len(), 1);
    assert!((5.0..60.0).contains(&lap(&report, "seconds")), "{report}");
    assert!(lap(&report, "max_deviation_metres") < 0.04, "{report}");
    for topic in ["/light_sensors", "/cmd_vel"] {
        let latency = &report["latency"][topic];
        assert!(
            latency["messages"].as_u64() > Some(300) && latency["average_us"].as_f64() > Some(0.0),
            "{report}"
        );
    }
    let processes = report["processes"].as_array().expect("processes");
    assert!(
        processes.len() == 3 && processes.iter().all(|of| of["resident_kb"].as_u64() > Some(500)),
        "{report}"
    );
}

#[test]
fn every_track_is_driven_and_a_user_defined_one() {
    let folder = Folder::new("tracks");
    let own =
        "floor 1 1\ncorner 0.2 0.2 0.15\ncorner 0.8 0.2 0.15\ncorner 0.8 0.8 0.15\ncorner 0.2 0.8 0.15\n";
    fs::write(folder.0.join("own.track"), own).expect("a track");
    let drives = ["oval", "corners", "gap", "crossing", "own.track"].map(|track| {
        let out = format!("{track}.out");
        fs::create_dir(folder.0.join(&out)).expect("a folder for the page");
        // All five run at the same time, so each may need several times as long.
        let words = ["--track", track, "--seed", "7", "--start=1.5", "--json", "--out", &out];
        demo(&folder, &[&words[..], &["--deadline", "500"]].concat())
    });
    for mut drive in drives {
        assert!(drive.wait_exit(deadline_in(4 * LAP)).expect("the lap ends").success(), "{}", drive.output());
    }
}

#[test]
fn interrupt_in_mid_lap_leaves_nothing_behind() {
    let folder = Folder::new("interrupt");
    let mut demo = demo(&folder, &[]);
    let nodes = wait_for_mid_lap(&mut demo);
    demo.signal(Signal::INT).expect("the demo runs");
    let interrupted = Instant::now();
    let status = demo.wait_exit(deadline_in(20)).expect("it ends");
    assert!(interrupted.elapsed() < Duration::from_secs(10), "{:?}", interrupted.elapsed());
    assert_eq!(status.code(), Some(1), "{}", demo.output());
    assert!(demo.output().contains("interrupted (following the line)"), "{}", demo.output());
    // The demo waits for its nodes, so none may be left.
    wait_until_gone(&nodes, Instant::now());
    assert_eq!(folder.files(), [""; 0]);
}

#[test]
fn dead_node_is_named_and_the_other_ended() {
    let folder = Folder::new("death");
    let mut demo = demo(&folder, &[]);
    let nodes = wait_for_mid_lap(&mut demo);
    let tracer = nodes.iter().find(|id| node_of(**id).as_deref() == Some("tracer")).expect("the tracer");
    let tracer = Pid::from_raw(i32::try_from(*tracer).expect("a process id")).expect("a process id");
    kill_process(tracer, Signal::KILL).expect("the tracer runs");
    let status = demo.wait_exit(deadline_in(20)).expect("it ends");
    assert_eq!(status.code(), Some(1), "{}", demo.output());
    assert!(demo.output().contains("node tracer has ended (signal: 9"), "{}", demo.output());
    wait_until_gone(&nodes, Instant::now());
}

#[test]
fn nodes_end_when_the_demo_is_killed() {
    let folder = Folder::new("kill");
    let mut demo = demo(&folder, &[]);
    let nodes = wait_for_mid_lap(&mut demo);
    drop(demo);
    wait_until_gone(&nodes, deadline_in(20));
    assert_eq!(folder.files(), [""; 0]);
}

#[test]
fn lap_timeout_names_the_stage() {
    let folder = Folder::new("deadline");
    let mut demo = demo(&folder, &["--deadline", "4"]);
    let status = demo.wait_exit(deadline_in(30)).expect("it ends");
    assert_eq!(status.code(), Some(1), "{}", demo.output());
    assert!(demo.output().contains("no lap within 4 s: the robot is still "), "{}", demo.output());
    assert_eq!(folder.files(), [""; 0]);
}

#[test]
fn terminal_is_restored_after_drawing() {
    let folder = Folder::new("terminal");
    let mut command = Command::new("script");
    let line =
        format!("stty rows 24 cols 80; stty -a; {} demo --deadline 3; stty -a", env!("CARGO_BIN_EXE_runnel"));
    command
        .args(["-qec", &line, "/dev/null"])
        .current_dir(&folder.0)
        .env("TERM", "xterm")
        .stdin(Stdio::null());
    let output = command.output().expect("script of util-linux");
    let shown = String::from_utf8_lossy(&output.stdout);
    let (before, rest) = shown.split_once("\x1b[?1049h").unwrap_or_else(|| panic!("no screen: {shown}"));
    let (drawn, after) = rest.split_once("\x1b[?1049l").unwrap_or_else(|| panic!("no end: {shown}"));
    assert!(drawn.contains("Line tracer, track course"), "{drawn}");
    assert!(after.contains("error: no lap within 3 s"), "{after}");
    let modes = |text: &str| text[text.find("speed ").expect("what stty says")..].trim().to_owned();
    assert_eq!(modes(before), modes(after));
}

#[test]
fn missing_folder_is_refused_at_once() {
    let folder = Folder::new("none");
    let mut demo = {
        let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
        command.args(["demo", "--out", "missing"]).current_dir(&folder.0);
        Peer::spawn("demo", command).expect("the demo starts")
    };
    let status = demo.wait_exit(deadline_in(20)).expect("it ends");
    assert_eq!(status.code(), Some(1));
    assert!(demo.output().contains("folder missing: "), "{}", demo.output());
}

/// The URI of the demo's master, from the environment of its nodes.
fn master_of(nodes: &[u32]) -> String {
    let environment = fs::read(format!("/proc/{}/environ", nodes[0])).expect("a node runs");
    let environment = String::from_utf8_lossy(&environment);
    let uri = environment.split('\0').find_map(|variable| variable.strip_prefix("ROS_MASTER_URI="));
    uri.expect("the node has the variable").to_owned()
}

/// A command that uses the demo's master.
fn command_at(master: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.args(arguments).arg("--ros1").env("ROS_MASTER_URI", master);
    command
}

#[test]
fn other_publisher_drives_the_robot_until_it_is_silent() {
    let folder = Folder::new("teleop");
    let mut demo = demo(&folder, &["--laps", "0"]);
    let nodes = wait_for_mid_lap(&mut demo);
    let master = master_of(&nodes);
    let turn = ["topic", "pub", "-r", "20", "/cmd_vel", "geometry_msgs/Twist", "{angular: {z: 3}}"];
    let mut teleop = Peer::spawn("teleop", command_at(&master, &turn)).expect("it starts");
    demo.wait_for_line(|line| line.starts_with("driven by /runnel_pub"), deadline_in(LAP))
        .expect("it is driven");
    let transforms =
        command_at(&master, &["topic", "echo", "/tf", "--once"]).output().expect("it starts").stdout;
    let transforms = String::from_utf8_lossy(&transforms);
    for part in ["frame_id: \"odom\"", "child_frame_id: \"base_footprint\""] {
        assert!(transforms.contains(part), "{transforms}");
    }
    teleop.signal(Signal::INT).expect("it runs");
    teleop.wait_exit(deadline_in(20)).expect("it ends");
    let next = demo
        .wait_for_line(|line| !line.starts_with("driven by"), deadline_in(LAP))
        .expect("the tracer has it again");
    // On a busy machine it may not have left the line: then it goes on.
    if !next.starts_with("lap 1:") {
        demo.wait_for_line(|line| line.starts_with("lap 1:"), deadline_in(LAP))
            .expect("it is set down on the line");
    }
    demo.signal(Signal::INT).expect("it runs");
    assert!(demo.wait_exit(deadline_in(20)).expect("it ends").success(), "{}", demo.output());
    assert!(demo.output().contains("no lap was finished"), "{}", demo.output());
    assert_eq!(folder.files(), ["line_trace.html"]);
    let page = fs::read_to_string(folder.0.join("line_trace.html")).expect("the page was written");
    assert!(page.contains("<p>No lap was finished.</p>") && !page.contains("<table id=\"laps\""), "{page}");
}

/// Runs the demo on a terminal and interrupts it when the robot has driven for a moment. Returns the output, with the
/// exit code in the last line.
/// code in the last line.
fn interrupted_on_terminal(folder: &Folder, terminal: &str) -> String {
    let mut command = Command::new("script");
    let line = format!(
        "stty rows 30 cols 90; sh -c \"echo \\$\\$ > pid; exec {} demo\"; echo exit code $?",
        env!("CARGO_BIN_EXE_runnel")
    );
    command.args(["-qec", &line, "/dev/null"]).current_dir(&folder.0).env("TERM", terminal);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let script = command.spawn().expect("script of util-linux");
    let deadline = deadline_in(LAP);
    let demo = loop {
        let written = fs::read_to_string(folder.0.join("pid")).unwrap_or_default();
        if let Ok(id) = written.trim().parse::<u32>()
            && children(id).iter().filter(|node| node_of(**node).is_some()).count() == 2
        {
            break id;
        }
        assert!(Instant::now() < deadline, "no demonstration starts");
        std::thread::yield_now();
    };
    let nodes: Vec<u32> = children(demo).into_iter().filter(|node| node_of(*node).is_some()).collect();
    let master = master_of(&nodes);
    let driven = ["topic", "echo", "/cmd_vel", "-n", "100", "--field", "linear.x"];
    assert!(command_at(&master, &driven).output().expect("it starts").status.success());
    let demo = Pid::from_raw(i32::try_from(demo).expect("a process id")).expect("a process id");
    kill_process(demo, Signal::INT).expect("the demo runs");
    let output = script.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn interrupt_on_a_terminal_ends_the_drive_with_its_figures_and_page() {
    let folder = Folder::new("ctrl-c");
    let shown = interrupted_on_terminal(&folder, "xterm");
    let (_, rest) = shown.split_once("\x1b[?1049h").unwrap_or_else(|| panic!("no screen: {shown}"));
    let (drawn, after) = rest.split_once("\x1b[?1049l").unwrap_or_else(|| panic!("no end: {shown}"));
    assert!(drawn.contains("topic echo /light_sensors") && drawn.contains("/cmd_vel"), "{drawn}");
    for part in ["One-way latency of /light_sensors", "median", "Next:", "line_trace.html", "exit code 0"] {
        assert!(after.contains(part), "{part}: {after}");
    }
    assert!(
        !after.contains("published") && folder.files().contains(&"line_trace.html".to_owned()),
        "{after}"
    );
}

#[test]
fn dumb_terminal_gets_lines() {
    let folder = Folder::new("dumb");
    let shown = interrupted_on_terminal(&folder, "dumb");
    assert!(!shown.contains('\x1b') && shown.contains("exit code 0"), "{shown}");
    assert!(shown.contains("follows a line.") && shown.contains("pressing switch 1"), "{shown}");
}

#[test]
fn existing_bag_is_not_replaced() {
    let folder = Folder::new("bag");
    fs::write(folder.0.join("drive.bag"), "mine").expect("a file");
    let mut refused = demo(&folder, &["--record", "drive.bag"]);
    assert_eq!(refused.wait_exit(deadline_in(20)).expect("it ends").code(), Some(1));
    assert!(refused.output().contains("drive.bag: the file exists"), "{}", refused.output());
    assert_eq!(fs::read_to_string(folder.0.join("drive.bag")).expect("it is there"), "mine");
    let mut refused = demo(&folder, &["--ros2", "--record", "other.bag"]);
    assert_eq!(refused.wait_exit(deadline_in(20)).expect("it ends").code(), Some(2));
    assert!(refused.output().contains("a bag of ROS 1 messages"), "{}", refused.output());
    assert_eq!(folder.files(), ["drive.bag"]);
}
