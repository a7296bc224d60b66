//! What every ROS 2 node offers, compared with rclpy: format of log lines, log files, simulated time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{TIMEOUT, ready};
use runnel::{ClockChange, Context, JumpThreshold, Time};
use runnel_testkit::process::{Peer, deadline_in};

const DISTROS: [Distro; 2] = [Distro::Kilted, Distro::Jazzy];

/// Programs that log, with the beginnings of their log files' names.
const LOGGERS: [(Origin, &str); 3] = [
    (Origin::Runnel, "runnel_ros2_logger"),
    (Origin::Ros2(Distro::Kilted), "python"),
    (Origin::Ros2(Distro::Jazzy), "python"),
];

/// A logger that has ended, and its id.
fn logger(graph: &Ros2Graph, origin: Origin, arguments: &[&str]) -> (Peer, u32) {
    let mut peer = graph.node(origin, "logger", "logger", arguments);
    assert!(peer.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", peer.output());
    let id = peer.id();
    (peer, id)
}

/// The lines of the loggers themselves.
fn lines_of(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    lines.into_iter().filter(|line| line.contains("a line of ")).collect()
}

/// The log file in a folder, if there is one.
fn log_file(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.map(|file| file.unwrap().path());
    let mut logs = files.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    let log = logs.next();
    assert_eq!(logs.next(), None, "one file per process");
    log
}

#[test]
fn console_and_file_have_format_of_rclpy() {
    for (origin, program) in LOGGERS {
        let format = "{severity}|{name}|{message}|{what";
        let graph = Ros2Graph::new().with("RCUTILS_CONSOLE_OUTPUT_FORMAT", format);
        let (peer, id) = logger(&graph, origin, &[]);
        let levels = ["DEBUG", "INFO", "WARN", "ERROR", "FATAL"];
        let expected =
            levels.map(|level| format!("{level}|logger.part|a line of {}|{{what", level.to_lowercase()));
        assert_eq!(lines_of(peer.lines()), expected, "{origin}");
        let file = log_file(graph.home()).expect("a log file");
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(lines_of(text.lines().map(str::to_owned)), expected, "{origin}");
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let [begin, process, millis]: [&str; 3] = name
            .rsplitn(3, '_')
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        assert!(begin.starts_with(program) && process == id.to_string(), "{origin}: {name}");
        assert!(millis.parse::<u64>().unwrap() > 1_700_000_000_000, "{origin}: {name}");
    }
}

#[test]
fn default_line_has_severity_time_and_logger() {
    for (origin, _) in LOGGERS {
        let (peer, _) = logger(&Ros2Graph::new(), origin, &[]);
        let lines = lines_of(peer.lines());
        let (begin, end) = lines[2].split_once("] [logger.part]: ").unwrap_or_else(|| panic!("{lines:?}"));
        let seconds = begin.strip_prefix("[WARN] [").unwrap();
        assert!(seconds.parse::<f64>().unwrap() > 1.7e9, "{origin}: {lines:?}");
        assert_eq!(end, "a line of warn", "{origin}");
    }
}

#[test]
fn log_folder_follows_variables_of_rcl() {
    for (origin, _) in LOGGERS {
        for (variables, folder) in [
            ([("ROS_LOG_DIR", ""), ("ROS_HOME", "")], ".ros/log"),
            ([("ROS_LOG_DIR", ""), ("ROS_HOME", "~/robot")], "robot/log"),
            ([("ROS_LOG_DIR", "~/logs"), ("ROS_HOME", "~/robot")], "logs"),
        ] {
            let graph =
                variables.into_iter().fold(Ros2Graph::new(), |graph, (name, value)| graph.with(name, value));
            logger(&graph, origin, &[]);
            assert!(log_file(&graph.home().join(folder)).is_some(), "{origin}: {folder}");
        }
    }
}

#[test]
fn colours_and_stream_follow_variables_of_rcutils() {
    for (origin, _) in LOGGERS {
        let graph = Ros2Graph::new()
            .with("RCUTILS_COLORIZED_OUTPUT", "1")
            .with("RCUTILS_LOGGING_USE_STDOUT", "1")
            .with("RCUTILS_LOGGING_BUFFERED_STREAM", "1")
            .with("RCUTILS_CONSOLE_OUTPUT_FORMAT", "{message}");
        let (peer, _) = logger(&graph, origin, &[]);
        // rcutils resets the colour at both ends of an INFO line, which shows nothing.
        let lines: Vec<_> = lines_of(peer.lines()).iter().map(|line| line.replace("\x1b[0m", "")).collect();
        let expected = [
            "\x1b[32ma line of debug",
            "a line of info",
            "\x1b[33ma line of warn",
            "\x1b[31ma line of error",
            "\x1b[31ma line of fatal",
        ];
        assert_eq!(lines, expected, "{origin}");
        let on_stdout = peer
            .output()
            .lines()
            .filter(|line| line.trim_start().starts_with("out") && line.contains("a line of"))
            .count();
        assert_eq!(on_stdout, 5, "{origin}:\n{}", peer.output());
    }
}

#[test]
fn arguments_switch_log_destinations() {
    for (origin, _) in LOGGERS {
        let quiet = Ros2Graph::new();
        let (peer, _) = logger(&quiet, origin, &["--ros-args", "--disable-stdout-logs", "--"]);
        assert_eq!(lines_of(peer.lines()), [""; 0], "{origin}");
        let text = fs::read_to_string(log_file(quiet.home()).expect("a log file")).unwrap();
        assert_eq!(lines_of(text.lines().map(str::to_owned)).len(), 5, "{origin}");

        let without_file = Ros2Graph::new();
        let (peer, _) = logger(&without_file, origin, &["--ros-args", "--disable-external-lib-logs", "--"]);
        assert_eq!(lines_of(peer.lines()).len(), 5, "{origin}");
        assert_eq!(log_file(without_file.home()), None, "{origin}");
    }
}

/// A node of Runnel follows the simulated time that rclpy publishes.
pub fn check_clock_of_rclpy(distro: Distro) {
    let graph = Ros2Graph::new();
    let options = graph.options().arguments(["--ros-args", "-p", "use_sim_time:=true"]);
    let context = Context::with_options(options).unwrap();
    let node = context.create_node("follower").unwrap();
    let jumps = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&jumps);
    let threshold = JumpThreshold { min_forward: Some(Duration::from_secs(60)), ..JumpThreshold::default() };
    let _handler = node.create_jump_callback(threshold, move |jump| {
        keep.lock().unwrap().push((jump.clock_change, jump.delta.as_nanos() / 1_000_000_000));
    });
    let ticks = Arc::new(Mutex::new(Vec::new()));
    let keep = (Arc::clone(&ticks), node.clone());
    let _timer = node.create_timer(Duration::from_secs(5), move || keep.0.lock().unwrap().push(keep.1.now()));

    let gate = graph.home().join("tick").display().to_string();
    let _clock = ready_soon(
        &context,
        graph.rclpy(distro, "clock.py", "clock", &[&gate, "100", "110", "200", "50", "55"]),
    );
    for (index, (sec, count)) in [(100, 1), (110, 2), (200, 3), (50, 3), (55, 4)].into_iter().enumerate() {
        let expected = Time { sec, nanosec: 0 };
        let is_done = || node.now() == expected && ticks.lock().unwrap().len() >= count;
        spin_until(&context, "the time of rclpy, and its ticks", is_done);
        fs::write(format!("{gate}{index}"), "").unwrap();
    }
    spin_until(&context, "all jumps", || jumps.lock().unwrap().len() >= 3);
    let no_change = ClockChange::RosTimeNoChange;
    assert_eq!(*jumps.lock().unwrap(), [(no_change, 100), (no_change, 90), (no_change, -150)], "{distro:?}");
    let seconds: Vec<_> = ticks.lock().unwrap().iter().map(|time| time.sec).collect();
    assert_eq!(seconds, [100, 110, 200, 55], "{distro:?}");
}

#[test]
fn clock_of_rclpy_drives_node() {
    DISTROS.into_iter().for_each(check_clock_of_rclpy);
}

/// Spins until the peer has printed `ready`.
fn ready_soon(context: &Context, peer: Peer) -> Peer {
    std::thread::scope(|scope| {
        let ready = scope.spawn(|| ready(peer));
        while !ready.is_finished() {
            context.spin_once(Duration::from_millis(10)).unwrap();
        }
        ready.join().unwrap()
    })
}

fn spin_until(context: &Context, what: &str, mut is_done: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(TIMEOUT);
    while !is_done() {
        assert!(Instant::now() < until, "not reached: {what}");
        context.spin_once(Duration::from_millis(10)).unwrap();
    }
}
