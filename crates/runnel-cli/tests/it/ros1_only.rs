//! Commands for ROS 1 only: without a master, with a master, and each with and without ROS 2 participants.

use std::process::{Command, Stdio};
use std::time::Instant;

use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, Signal, deadline_in, free_port};

/// Seconds that a step may take on a busy host.
const STEP: u64 = 60;

/// ROS 2 domains: one with a participant, the others empty, one per test.
const OCCUPIED: u16 = 97;
const EMPTY: u16 = 98;
const WAITING: u16 = 99;
const OCCUPIED_WITH_MASTER: u16 = 96;
const EMPTY_WITH_MASTER: u16 = 95;

/// A command line of each command for ROS 1 only, and its text for ROS 2.
const ROS1_ONLY: [(&str, &str); 3] = [
    ("node ping /a", "ROS 2 nodes cannot be pinged"),
    ("node kill /a", "ROS 2 nodes cannot be shut down by a command"),
    ("node cleanup --yes", "ROS 2 has no registrations to clean up"),
];

/// The program where no master runs.
fn runnel(domain: u16, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.args(line.split(' ')).stdin(Stdio::null());
    command.env("ROS_MASTER_URI", "http://127.0.0.1:1/").env("ROS_DOMAIN_ID", domain.to_string());
    for variable in ["ROS_IP", "ROS_HOSTNAME", "ROS_NAMESPACE", "RUNNEL_LOG"] {
        command.env_remove(variable);
    }
    command
}

/// A publisher in ROS 2, once commands discover it.
fn publisher(domain: u16) -> Peer {
    let publisher = runnel(domain, "topic pub -r 10 /t std_msgs/String hello --ros2 __name:=source");
    let publisher = Peer::spawn("publisher", publisher).expect("it starts");
    let deadline = deadline_in(STEP);
    while ran(domain, "topic list --ros2").1 != "/t\n" {
        assert!(Instant::now() < deadline, "the publisher is not discovered");
    }
    publisher
}

/// A master that answers, and the argument that names it.
fn master(domain: u16) -> (Peer, String) {
    let port = free_port();
    let master = Peer::spawn("master", runnel(domain, &format!("master --port {port}"))).expect("it starts");
    let argument = format!("__master:=http://127.0.0.1:{port}/");
    let deadline = deadline_in(STEP);
    while ran(domain, &format!("topic list --ros1 {argument}")).0 != Some(0) {
        assert!(Instant::now() < deadline, "no master answers");
    }
    (master, argument)
}

/// Exit code, standard output and standard error.
fn ran(domain: u16, line: &str) -> (Option<i32>, String, String) {
    let output = runnel(domain, line).output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Runs a command line in a domain with one participant, until it has discovered that. On a busy host a command may
/// listen too briefly.
fn ran_with_participant(domain: u16, line: &str) -> (Option<i32>, String, String) {
    let has_discovered = |of: &str| {
        ["1 ROS 2 participant in domain ", "ROS 2: 1 participant in domain "]
            .iter()
            .any(|text| of.contains(text))
    };
    let deadline = deadline_in(STEP);
    let mut all = std::iter::repeat_with(|| ran(domain, line));
    all.find(|(_, output, error)| {
        has_discovered(output) || has_discovered(error) || Instant::now() >= deadline
    })
    .expect("it runs without end")
}

const NO_MASTER: &str = "cannot reach the master at http://127.0.0.1:1/: connection refused (is it running?";

#[test]
fn ros_1_commands_name_themselves_in_ros_2() {
    require_private_network();
    let _publisher = publisher(OCCUPIED);
    for (line, not_supported) in ROS1_ONLY {
        let (code, output, error) = ran_with_participant(OCCUPIED, line);
        assert_eq!((code, output.as_str(), error.lines().count()), (Some(1), "", 1), "{line}: {error}");
        let expected = format!("error: {not_supported} (1 ROS 2 participant in domain ");
        assert!(
            error.starts_with(&expected) && error.contains(&format!(", and {NO_MASTER}")),
            "{line}: {error}"
        );
        let asked = ran(OCCUPIED, &format!("{line} --ros2"));
        let refused = format!("error: {not_supported}. Try: without --ros2, for ROS 1\n");
        assert_eq!(asked, (Some(1), String::new(), refused));
        let (code, _, error) = ran(OCCUPIED, &format!("{line} --ros1"));
        assert!(code == Some(1) && !error.contains("ROS 2"), "{line}: {error}");
    }
    let refused =
        "error: the doctor checks both graphs. Try: runnel ros2 doctor, for ROS 2 only\n".to_owned();
    assert_eq!(ran(OCCUPIED, "doctor --ros2"), (Some(1), String::new(), refused));
    let (code, output, error) = ran_with_participant(OCCUPIED, "doctor");
    assert_eq!((code, error.as_str()), (Some(1), ""), "{output}");
    assert!(output.ends_with("\n1 error, 0 warnings, 1 info\n"), "{output}");
    assert!(output.contains("info: /t: published, but not subscribed to"), "{output}");
}

#[test]
fn ros_1_commands_report_empty_graphs() {
    require_private_network();
    for (line, _) in ROS1_ONLY {
        let (code, output, error) = ran(EMPTY, line);
        assert_eq!((code, output.as_str(), error.lines().count()), (Some(1), "", 1), "{line}: {error}");
        let (begins, ends) = (format!("error: {NO_MASTER}"), " within 0.2 s\n");
        assert!(error.starts_with(&begins) && error.ends_with(ends), "{line}: {error}");
        assert!(error.contains(", and no ROS 2 participant in domain "), "{line}: {error}");
    }
}

#[test]
fn waiting_for_a_service_reports_a_missing_master() {
    require_private_network();
    let (code, _, error) = ran(WAITING, "service call --wait --timeout 0.3 /a");
    let (first, last) = error.split_once('\n').expect("two lines");
    assert!(code == Some(1) && first.starts_with(&format!("waiting for /a: {NO_MASTER}")), "{error}");
    assert_eq!(last, "error: service /a: no node provides it (see 'runnel service list')\n");
}

#[test]
fn commands_of_both_graphs_report_empty_graphs() {
    require_private_network();
    for line in ["service list", "service find std_srvs/Empty", "action list", "action find a/B"] {
        let (code, output, error) = ran(EMPTY, line);
        assert_eq!((code, output.as_str()), (Some(1), ""), "{line}: {error}");
        assert!(error.starts_with("no graph found: no master answers at"), "{line}: {error}");
    }
    for line in ["service call /a", "log get /a"] {
        let (code, _, error) = ran(EMPTY, line);
        assert!(code == Some(1) && error.contains(NO_MASTER) && error.contains("ROS 2"), "{line}: {error}");
    }
    let (code, _, error) = ran(EMPTY, "lifecycle get /a");
    assert_eq!(code, Some(1));
    assert!(error.starts_with("error: Node not found: /a: no ROS 2 node has this name"), "{error}");
}

#[test]
fn waiting_for_a_service_obeys_an_ignored_sigint() {
    require_private_network();
    let mut ignoring = Command::new("sh");
    let line = format!("trap '' INT; exec {} service call --wait /a", env!("CARGO_BIN_EXE_runnel"));
    ignoring.args(["-c", &line]).env("ROS_MASTER_URI", "http://127.0.0.1:1/");
    let mut waits = Peer::spawn("call", ignoring).expect("it starts");
    waits.wait_for_line(|line| line.starts_with("waiting for /a"), deadline_in(STEP)).expect("it waits");
    waits.signal(Signal::INT).expect("it runs");
    assert_eq!(waits.wait_exit(deadline_in(STEP)).expect("it ends").code(), Some(1));
    assert!(waits.output().contains("service /a: interrupted while waiting for it"), "{}", waits.output());
}

/// Command lines that find nothing although a master runs, with their exit codes.
const WITHOUT_FINDS: [(&str, i32); 2] = [("node ping /source", 1), ("node kill /source", 1)];

#[test]
fn empty_result_mentions_ros_2_where_it_could_help() {
    require_private_network();
    let domain = OCCUPIED_WITH_MASTER;
    let (_publisher, (_master, master)) = (publisher(domain), master(domain));
    let command = |of: &str| of.split(" /").next().unwrap_or_default().to_owned();
    let not_supported =
        |line: &str| ROS1_ONLY.iter().find(|(of, _)| line.starts_with(&command(of))).expect("it is one").1;
    for (line, expected) in WITHOUT_FINDS {
        let (code, output, error) = ran_with_participant(domain, &format!("{line} {master}"));
        assert_eq!((code, output.as_str()), (Some(expected), ""), "{line}: {error}");
        let notes = error
            .lines()
            .filter(|line| line.ends_with("only ROS 1 was searched (1 ROS 2 participant in domain 96)"));
        assert_eq!(notes.count(), 1, "{line}: {error}");
        assert!(error.starts_with(not_supported(line)), "{line}: {error}");
        for narrowed in ["--ros1", "--json"] {
            let (code, _, error) = ran(domain, &format!("{line} {narrowed} {master}"));
            assert!(code == Some(expected) && !error.contains("only ROS 1"), "{line} {narrowed}: {error}");
        }
    }
    for line in ["param get /nope", "param load /no/such.yaml", "action send_goal /sweep climate/Sweep {}"] {
        let (code, _, error) = ran(domain, &format!("{line} {master}"));
        assert!(
            code == Some(1) && !error.contains("only ROS 1") && error.lines().count() == 1,
            "{line}: {error}"
        );
    }
    assert_eq!(ran(domain, &format!("param set /a 1 {master}")), (Some(0), String::new(), String::new()));
    assert_eq!(ran(domain, &format!("param list {master}")), (Some(0), "/a\n".into(), String::new()));
    let (code, output, error) = ran_with_participant(domain, &format!("doctor {master}"));
    assert_eq!((code, error.as_str()), (Some(0), ""), "{output}");
    assert!(output.starts_with("info: /t (ROS 2): published, but not subscribed to"), "{output}");
}

#[test]
fn ros_2_is_not_mentioned_without_participants() {
    require_private_network();
    let (_master, master) = master(EMPTY_WITH_MASTER);
    for (line, expected) in WITHOUT_FINDS {
        let (code, _, error) = ran(EMPTY_WITH_MASTER, &format!("{line} {master}"));
        assert!(code == Some(expected) && !error.contains("ROS 2"), "{line}: {error}");
    }
    let (_, output, _) = ran(EMPTY_WITH_MASTER, &format!("doctor {master}"));
    assert!(!output.contains("ROS 2"), "{output}");
}
