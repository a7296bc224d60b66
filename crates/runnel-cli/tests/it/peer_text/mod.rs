//! No command passes control characters of peers on to its output.

mod hostile_ros1;

mod hostile_ros2;

use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use hostile_ros1::HostileRos1;
use runnel::core::sanitize::is_unsafe;
use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::deadline_in;
use serde_json::Value as Json;

/// A domain that no other test uses.
const DOMAIN: u16 = 93;

/// The domain of the test whose only hostile ROS 2 peer is found by its values.
const VALUES_DOMAIN: u16 = 94;

/// Start of a line that a peer tries to forge.
const FORGED: &str = "[ERROR] forged";

/// Seconds after which a command that runs until Ctrl-C is interrupted.
const TIME: &str = "6";

/// Seconds after which a command that ends by itself is interrupted: longer than any needs on a busy machine.
const LONG_TIME: &str = "60";

/// Commands that run until Ctrl-C. `topic echo` also does without a count.
const ENDLESS: &[&str] = &[
    "action echo",
    "bag record",
    "bridge",
    "master",
    "service echo",
    "topic bw",
    "topic delay",
    "topic hz",
    "tf echo",
    "tf static",
    "ros1 rosbag record",
    "ros1 roscore",
    "ros1 rosmaster",
    "ros1 rostopic bw",
    "ros1 rostopic delay",
    "ros1 rostopic hz",
    "ros2 bag record",
    "ros2 topic bw",
    "ros2 topic delay",
    "ros2 topic hz",
];

/// Each command, with the command lines that contact the hostile peers. Commands without lines show no text of peers:
/// only texts of this program, files of the user, or output of processes that they start.
const LINES: &[(&str, &[&str])] = &[
    ("demo", &[]),
    ("bench", &[]),
    ("line-trace control", &[]),
    ("line-trace tracer", &[]),
    ("completion", &[]),
    ("bag burst", &[]),
    ("bag check", &[]),
    ("bag convert", &[]),
    ("bag cut", &[]),
    ("bag filter", &[]),
    ("bag info", &[]),
    ("bag merge", &[]),
    ("bag play", &[]),
    ("bag reindex", &[]),
    ("ros1 rosbag check", &[]),
    ("ros1 rosbag compress", &[]),
    ("ros1 rosbag decompress", &[]),
    ("ros1 rosbag filter", &[]),
    ("ros1 rosbag info", &[]),
    ("ros1 rosbag play", &[]),
    ("ros1 rosbag reindex", &[]),
    ("ros2 bag burst", &[]),
    ("ros2 bag convert", &[]),
    ("ros2 bag info", &[]),
    ("ros2 bag list", &[]),
    ("ros2 bag play", &[]),
    ("ros2 bag reindex", &[]),
    ("migrate", &[]),
    ("place", &[]),
    ("wasm certificate", &[]),
    ("wasm checkpoint", &[]),
    ("wasm compile", &[]),
    ("wasm restore", &[]),
    ("wasm run", &[]),
    ("wasm serve", &[]),
    ("wasm trust", &[]),
    ("interface find", &[]),
    ("interface list", &[]),
    ("interface md5", &[]),
    ("interface package", &[]),
    ("interface packages", &[]),
    ("interface proto", &[]),
    ("interface show", &[]),
    ("ros1 link", &[]),
    ("ros2 daemon start", &[]),
    ("ros2 daemon status", &[]),
    ("ros2 daemon stop", &[]),
    ("ros2 interface list", &[]),
    ("ros2 interface package", &[]),
    ("ros2 interface packages", &[]),
    ("ros2 interface proto", &[]),
    ("ros2 interface show", &[]),
    ("ros2 link", &[]),
    ("ros2 run", &[]),
    ("ros1 rosmsg show", &[]),
    ("ros1 rosmsg list", &[]),
    ("ros1 rosmsg md5", &[]),
    ("ros1 rosmsg package", &[]),
    ("ros1 rosmsg packages", &[]),
    ("ros1 rossrv show", &[]),
    ("ros1 rossrv list", &[]),
    ("ros1 rossrv md5", &[]),
    ("ros1 rossrv package", &[]),
    ("ros1 rossrv packages", &[]),
    ("action echo", &["/a"]),
    ("action find", &["x/Y"]),
    ("action info", &["/a", "-t /a"]),
    ("action list", &["", "-t"]),
    ("action send_goal", &["/a actionlib/TwoInts --timeout 1"]),
    ("action type", &["/a"]),
    ("bag record", &["-a -o FILE", "/t /u /v -o FILE"]),
    ("bridge", &["", "--status"]),
    ("doctor", &["", "--report"]),
    ("lifecycle get", &["", "/n"]),
    ("lifecycle list", &["/n"]),
    ("lifecycle nodes", &[""]),
    ("lifecycle set", &["/n configure"]),
    ("log", &["-n 3", "-n 3 -p"]),
    ("log get", &["/n"]),
    ("log list", &["/n"]),
    ("log set", &["/n ros debug"]),
    ("master", &["--port 0"]),
    ("node cleanup", &["", "--yes"]),
    ("node info", &["/n", "/n --ros2", "/nowhere"]),
    ("node kill", &["/n", "--all"]),
    ("node list", &["", "-a", "-u", "--ros2 -a"]),
    ("node ping", &["/n -c 1", "--all"]),
    ("param delete", &["/p"]),
    ("param describe", &["/p a"]),
    ("param dump", &[""]),
    ("param get", &["/p"]),
    ("param list", &[""]),
    ("param load", &["FILE"]),
    ("param set", &["/p 1"]),
    ("service call", &["/s", "/s2"]),
    ("service echo", &["/s"]),
    ("service find", &["std_srvs/Empty"]),
    ("service info", &["/s", "/s2"]),
    ("service list", &["", "-t", "-n"]),
    ("service type", &["/s", "/s2"]),
    ("tf echo", &["map base -n 1"]),
    ("tf monitor", &["-n 2"]),
    ("tf static", &["0 0 0 0 0 0 map camera"]),
    ("tf view_frames", &["--time 2 --text"]),
    ("topic bw", &["/t"]),
    ("topic delay", &["/t", "/rosout"]),
    (
        "topic echo",
        &[
            "/t -n 2",
            "/t -n 2 --csv",
            "/t -n 2 --field data",
            "/t -n 2 --plot",
            "/rosout -n 2 --ros1",
            "/u",
            "/v",
        ],
    ),
    ("topic find", &["std_msgs/String"]),
    ("topic hz", &["/t", "/t /rosout --ros1"]),
    ("topic info", &["/t", "-v /t", "/u -v", "/v"]),
    ("topic list", &["", "-t", "-v", "-a"]),
    ("topic pub", &["/t std_msgs/String x -1", "/u std_msgs/String x -1 --ros2"]),
    ("topic type", &["/t", "/u", "/v"]),
    ("ros1 rosbag record", &["-a -o FILE"]),
    ("ros1 roscore", &["-p 0"]),
    ("ros1 rosmaster", &["-p 0"]),
    ("ros1 rosnode cleanup", &[""]),
    ("ros1 rosnode info", &["/n", "/nowhere"]),
    ("ros1 rosnode kill", &["/n", "", "-a"]),
    ("ros1 rosnode list", &["", "-a", "-u"]),
    ("ros1 rosnode machine", &["", "127.0.0.1"]),
    ("ros1 rosnode ping", &["-c 1 /n", "-a"]),
    ("ros1 rosparam delete", &["/p"]),
    ("ros1 rosparam dump", &["", "-v"]),
    ("ros1 rosparam get", &["/p", "-p /p", "/"]),
    ("ros1 rosparam list", &[""]),
    ("ros1 rosparam load", &["FILE", "-v FILE"]),
    ("ros1 rosparam set", &["/p 1", "-v /p 1"]),
    ("ros1 rosservice args", &["/s", "/s2"]),
    ("ros1 rosservice call", &["/s", "/s2"]),
    ("ros1 rosservice find", &["std_srvs/Empty"]),
    ("ros1 rosservice info", &["/s", "/s2"]),
    ("ros1 rosservice list", &["", "-n"]),
    ("ros1 rosservice node", &["/s"]),
    ("ros1 rosservice type", &["/s", "/s2"]),
    ("ros1 rosservice uri", &["/s"]),
    ("ros1 rostopic bw", &["/t"]),
    ("ros1 rostopic delay", &["/t", "/rosout"]),
    ("ros1 rostopic echo", &["-n 2 /t", "-n 2 -p /t", "-n 2 -c /rosout"]),
    ("ros1 rostopic find", &["std_msgs/String"]),
    ("ros1 rostopic hz", &["/t"]),
    ("ros1 rostopic info", &["/t"]),
    ("ros1 rostopic list", &["", "-v", "--host"]),
    ("ros1 rostopic pub", &["-1 /t std_msgs/String x", "-v -1 /t std_msgs/String x"]),
    ("ros1 rostopic type", &["/t"]),
    ("ros2 bag record", &["-a -o FILE.bag"]),
    ("ros2 node info", &["/n", "/nowhere"]),
    ("ros2 node list", &["", "-a"]),
    ("ros2 topic bw", &["/t"]),
    ("ros2 topic delay", &["/t"]),
    (
        "ros2 topic echo",
        &[
            "/t --once",
            "/t --once --csv -i",
            "/t --once --field data",
            "/t --once --flow-style --clear",
            "/t --once --raw",
            "/u --timeout 2",
            "/v --timeout 2",
        ],
    ),
    ("ros2 topic find", &["std_msgs/msg/String"]),
    ("ros2 topic hz", &["/t", "/t /u"]),
    ("ros2 topic info", &["/t", "-v /t", "/u -v", "/v"]),
    ("ros2 topic list", &["", "-t", "-v"]),
    ("ros2 topic pub", &["-1 -w 0 /t std_msgs/String", "-1 -w 0 /v x/Y"]),
    ("ros2 topic type", &["/t", "/u", "/v"]),
];

/// All characters that a terminal could interpret, on both sides of a forged line. With `raw`, also the characters
/// that XML forbids.
fn evil(raw: bool) -> String {
    let allowed = |character: &char| {
        raw || !matches!(character, '\0'..='\x1f') || matches!(character, '\t' | '\n' | '\r')
    };
    let all: String = ('\0'..='\u{2100}').filter(|character| is_unsafe(*character)).filter(allowed).collect();
    format!("Q{all}\n{FORGED}\r{FORGED}\u{2028}{FORGED}\u{1f600}")
}

#[test]
fn every_command_has_test_lines() {
    // `bench` starts these, and they talk only to it.
    let of_bench = |path: &String| path.starts_with("bench-peer ");
    let paths = runnel_commands::command_paths().into_iter().filter(|path| !of_bench(path));
    let paths: BTreeSet<String> = paths.collect();
    let here: BTreeSet<String> = LINES.iter().map(|(path, _)| (*path).to_owned()).collect();
    let missing: Vec<_> = paths.difference(&here).collect();
    let gone: Vec<_> = here.difference(&paths).collect();
    assert!(missing.is_empty() && gone.is_empty(), "without lines: {missing:?}; no commands: {gone:?}");
}

#[test]
fn commands_pass_on_no_control_characters() {
    require_private_network();
    let peers = [evil(false), evil(true)].map(|evil| HostileRos1::start(&evil));
    hostile_ros2::start(DOMAIN, &evil(true).replace('\0', ""));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("params.yaml");
    std::fs::write(&file, "a: {b: 1}\n").expect("a file");
    let file = file.to_str().expect("it is UTF-8");
    let mut runs = Vec::new();
    for (path, lines) in LINES {
        for line in *lines {
            let whole = format!("{path} {line} -v").replace("FILE", file);
            let words: Vec<String> = whole.split_whitespace().map(str::to_owned).collect();
            for (index, peer) in peers.iter().enumerate() {
                let plain: Vec<String> = words[..words.len() - 1].to_vec();
                runs.push((plain.clone(), peer.uri.clone()));
                if !path.starts_with("ros1 ") && !path.starts_with("ros2 ") && index == 0 {
                    runs.push(([&plain[..], &["--json".to_owned()]].concat(), peer.uri.clone()));
                    runs.push(([&["-vv".to_owned()][..], &plain].concat(), peer.uri.clone()));
                }
            }
        }
    }
    let (runs, leaks, shown) = (Mutex::new(runs), Mutex::new(Vec::new()), Mutex::new(BTreeSet::new()));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some((words, uri)) = { runs.lock().expect("no panic").pop() } {
                    let (leak, is_shown) = run(&words, &uri);
                    leaks.lock().expect("no panic").extend(leak);
                    if is_shown {
                        shown.lock().expect("no panic").insert(words.join(" "));
                    }
                }
            });
        }
    });
    let leaks = leaks.into_inner().expect("no panic");
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
    // The peers were reached at all: each of these commands shows their text as escapes.
    let shown = shown.into_inner().expect("no panic");
    for line in [
        "topic echo /t -n 2 --csv",
        "log -n 3",
        "node list",
        "node info /n",
        "param list",
        "topic list --json",
        "ros1 rostopic list",
    ] {
        assert!(shown.contains(line), "{line} shows nothing of its peers");
    }
}

#[test]
fn json_and_csv_decode_to_the_peers_text() {
    require_private_network();
    let evil = evil(false);
    let peer = HostileRos1::start(&evil);
    let answer = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        String::from_utf8(output_of(&words, &peer.uri, DOMAIN).stdout).expect("it is UTF-8")
    };
    let json: Json = serde_json::from_str(&answer("param get /p --json")).expect("it is JSON");
    assert_eq!(json["plain"], evil.as_str());
    let json: Json = serde_json::from_str(&answer("topic echo /t -n 1 --ros1 --json")).expect("it is JSON");
    assert_eq!(json["data"], evil.as_str());
    let cell = answer("topic echo /t -n 1 --csv --full-length --ros1");
    let cell = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix("\"\n")).expect("it is quoted");
    let text: String = serde_json::from_str(&cell.replace("\"\"", "\"")).expect("the cell is JSON");
    assert_eq!(text, evil);
}

#[test]
fn json_decodes_to_names_of_ros2_peers() {
    require_private_network();
    let evil = evil(true).replace('\0', "");
    hostile_ros2::start(VALUES_DOMAIN, &evil);
    // Without JSON if the command has found nothing.
    let answer = |line: &str| -> Json {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        // No master runs.
        let output = output_of(&words, "http://127.0.0.1:9", VALUES_DOMAIN);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| format!("{output:?}").into())
    };
    // On a busy host a command may listen too briefly.
    let answer_with = |line: &str, is_there: &dyn Fn(&Json) -> bool| {
        let deadline = deadline_in(60);
        let answers = std::iter::repeat_with(|| answer(line));
        let there = answers.take_while(|_| Instant::now() < deadline).find(is_there);
        there.unwrap_or_else(|| panic!("{line}: {evil:?} is not in {}", answer(line)))
    };
    let name = format!("/{evil}/m{evil}");
    let is_listed = |found: &Json, value: &str, field: &str| {
        let mut found = found.as_array().into_iter().flatten();
        found.any(|one| *one == value || one[field] == value)
    };
    answer_with("node list --json --ros2 -a", &|nodes| is_listed(nodes, &name, "node"));
    let info =
        answer_with("topic info /v -v --json --ros2", &|info| !info["ros2"]["publishers"][0].is_null());
    let publisher = &info["ros2"]["publishers"][0];
    let said = [&publisher["node"], &publisher["type"], &publisher["participant"]["enclave"]];
    assert_eq!(said, [name.as_str(), evil.as_str(), &format!("/{evil}")]);
    let topic = format!("/t{evil}");
    answer_with("topic list --json --ros2", &|topics| is_listed(topics, &topic, "name"));
}

/// Text that a command passes on unsanitized, if any, and whether it shows text of its peers.
fn run(words: &[String], master: &str) -> (Option<String>, bool) {
    let output = output_of(words, master, DOMAIN);
    let streams = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let clears =
        words.iter().any(|word| word == "-c" || word == "--clear") && words.iter().any(|word| word == "echo");
    let leak = streams.iter().find_map(|text| {
        // The escape sequence that clears the screen, at the user's request.
        let text = if clears { text.replace("\x1b[2J\x1b[;H", "") } else { text.clone() };
        let raw = text.chars().find(|character| is_unsafe(*character) && !matches!(character, '\n' | '\t'));
        let forged = text.split('\n').find(|line| line.starts_with(FORGED));
        match (raw, forged) {
            (None, None) => None,
            _ => {
                let text = text.escape_debug().to_string();
                Some(format!("{words:?}: {raw:?} {forged:?} in {text:.300}"))
            }
        }
    });
    let is_shown = streams.iter().any(|text| text.contains("\\u{9b}") || text.contains("\\u009b"));
    (leak, is_shown)
}

fn is_endless(words: &[String]) -> bool {
    let line = words.iter().filter(|word| *word != "-vv").map(String::as_str).collect::<Vec<_>>().join(" ");
    let counts = words.iter().any(|word| word == "-n");
    ENDLESS.iter().any(|path| line.starts_with(path)) || (line.starts_with("topic echo") && !counts)
}

/// Output of a command with this master and in this domain.
fn output_of(words: &[String], master: &str, domain: u16) -> Output {
    let mut command = Command::new("timeout");
    let time = if is_endless(words) { TIME } else { LONG_TIME };
    command.args(["-s", "INT", "-k", "20", time, env!("CARGO_BIN_EXE_runnel")]).args(words);
    command.stdin(Stdio::null());
    command.env("ROS_MASTER_URI", master).env("ROS_DOMAIN_ID", domain.to_string());
    for variable in ["ROS_IP", "ROS_HOSTNAME", "ROS_NAMESPACE", "RUNNEL_LOG", "ROS_LOG_DIR"] {
        command.env_remove(variable);
    }
    command.output().expect("it starts")
}
