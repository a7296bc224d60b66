//! Commands that serve ROS 1 alone, in a graph of ROS 2 and where nobody is: without a master, and beside one.

use std::process::{Command, Stdio};
use std::time::Instant;

use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, Signal, deadline_in, free_port};

/// Seconds that a step may take on a busy host.
const STEP: u64 = 20;

/// A domain with somebody in it, and those of tests that must not hear one another.
const INHABITED: u16 = 97;
const EMPTY: u16 = 98;
const UNVISITED: u16 = 99;
const BESIDE_A_MASTER: u16 = 96;
const ALONE_WITH_A_MASTER: u16 = 95;

/// A line of each command that serves ROS 1 alone, and what it does not do in ROS 2.
const OF_ROS1: [(&str, &str); 19] = [
    ("service list", "services of ROS 2 are not served yet"),
    ("service info /a", "services of ROS 2 are not served yet"),
    ("service type /a", "services of ROS 2 are not served yet"),
    ("service find std_srvs/Empty", "services of ROS 2 are not served yet"),
    ("service call /a", "services of ROS 2 are not served yet"),
    ("param list", "parameters of ROS 2 are not served yet"),
    ("param get /a", "parameters of ROS 2 are not served yet"),
    ("param set /a 1", "parameters of ROS 2 are not served yet"),
    ("param delete /a", "parameters of ROS 2 are not served yet"),
    ("param dump", "parameters of ROS 2 are not served yet"),
    ("action list", "actions of ROS 2 are not served yet"),
    ("action info /a", "actions of ROS 2 are not served yet"),
    ("action send_goal /a actionlib/TwoInts", "actions of ROS 2 are not served yet"),
    ("log", "logs of ROS 2 are not served yet but by 'runnel topic echo /rosout'"),
    ("log list /a", "logs of ROS 2 are not served yet but by 'runnel topic echo /rosout'"),
    ("log set /a ros debug", "logs of ROS 2 are not served yet but by 'runnel topic echo /rosout'"),
    ("node ping /a", "nodes of ROS 2 cannot be pinged"),
    ("node kill /a", "nodes of ROS 2 cannot be told to end"),
    ("node cleanup --yes", "in ROS 2 there is no list to clean up"),
];

/// The program where no master is.
fn runnel(domain: u16, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.args(line.split(' ')).stdin(Stdio::null());
    command.env("ROS_MASTER_URI", "http://127.0.0.1:1/").env("ROS_DOMAIN_ID", domain.to_string());
    for variable in ["ROS_IP", "ROS_HOSTNAME", "ROS_NAMESPACE", "RUNNEL_LOG"] {
        command.env_remove(variable);
    }
    command
}

/// Somebody in ROS 2, from when others see it.
fn talker(domain: u16) -> Peer {
    let talker = runnel(domain, "topic pub -r 10 /t std_msgs/String hello --ros2 __name:=talker");
    let talker = Peer::spawn("talker", talker).expect("it starts");
    let deadline = deadline_in(STEP);
    while ran(domain, "topic list --ros2").1 != "/t\n" {
        assert!(Instant::now() < deadline, "nobody is there");
    }
    talker
}

/// A master, from when it answers, and the argument by which it is found.
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

/// Its exit code, standard output and standard error.
fn ran(domain: u16, line: &str) -> (Option<i32>, String, String) {
    let output = runnel(domain, line).output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// What a line comes to in a domain with somebody in it, once it has heard of that. On a busy host it may have listened for too
/// short a time.
fn ran_beside_somebody(domain: u16, line: &str) -> (Option<i32>, String, String) {
    let has_heard = |of: &str| of.contains("1 participant of ROS 2 in domain ");
    let deadline = deadline_in(STEP);
    let mut all = std::iter::repeat_with(|| ran(domain, line));
    all.find(|(_, output, error)| has_heard(output) || has_heard(error) || Instant::now() >= deadline)
        .expect("it runs without end")
}

const NO_MASTER: &str = "cannot reach the master at http://127.0.0.1:1/: connection refused (is it running?";

#[test]
fn commands_of_ros_1_alone_say_so_in_a_graph_of_ros_2() {
    require_private_network();
    let _talker = talker(INHABITED);
    for (line, not_served) in OF_ROS1 {
        let (code, output, error) = ran_beside_somebody(INHABITED, line);
        assert_eq!((code, output.as_str(), error.lines().count()), (Some(1), "", 1), "{line}: {error}");
        let heard = format!("error: {not_served} (1 participant of ROS 2 in domain ");
        assert!(
            error.starts_with(&heard) && error.contains(&format!(", and {NO_MASTER}")),
            "{line}: {error}"
        );
        let asked = ran(INHABITED, &format!("{line} --ros2"));
        let refused = format!("error: {not_served}: nothing was looked at\n");
        assert_eq!(asked, (Some(1), String::new(), refused));
        let (code, _, error) = ran(INHABITED, &format!("{line} --ros1"));
        assert!(code == Some(1) && !error.contains("ROS 2"), "{line}: {error}");
    }
    let (code, output, error) = ran_beside_somebody(INHABITED, "doctor");
    assert_eq!((code, error.as_str()), (Some(1), ""), "{output}");
    assert!(output.ends_with("\n1 error, 0 warnings, 1 info\n"), "{output}");
    let looks_away =
        output.lines().find(|line| line.starts_with("info: ROS 2: 1 participant of ROS 2 in domain "));
    assert!(looks_away.is_some(), "{output}");
}

#[test]
fn commands_of_ros_1_alone_say_where_nobody_is_whom_they_looked_for() {
    require_private_network();
    for (line, _) in OF_ROS1 {
        let (code, output, error) = ran(EMPTY, line);
        assert_eq!((code, output.as_str(), error.lines().count()), (Some(1), "", 1), "{line}: {error}");
        let (begins, ends) = (format!("error: {NO_MASTER}"), " within 0.2 s\n");
        assert!(error.starts_with(&begins) && error.ends_with(ends), "{line}: {error}");
        assert!(error.contains(", and nobody of ROS 2 in domain "), "{line}: {error}");
    }
}

#[test]
fn a_service_that_is_waited_for_says_that_there_is_no_master() {
    require_private_network();
    let (code, _, error) = ran(UNVISITED, "service call --wait --timeout 0.3 /a");
    let (first, last) = error.split_once('\n').expect("two lines");
    assert!(code == Some(1) && first.starts_with(&format!("waiting for /a: {NO_MASTER}")), "{error}");
    assert!(last.starts_with(&format!("error: {NO_MASTER}")), "{error}");
}

#[test]
fn service_that_is_waited_for_can_be_interrupted_where_the_shell_ignores_that() {
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

/// Lines that find nothing where a master is, with their exit codes.
const WITHOUT_FINDS: [(&str, i32); 8] = [
    ("service list", 0),
    ("service call /talker/get_parameters", 1),
    ("param list", 0),
    ("param get /talker/use_sim_time", 1),
    ("action list", 0),
    ("log list /talker", 1),
    ("node ping /talker", 1),
    ("node kill /talker", 1),
];

#[test]
fn command_that_finds_nothing_beside_a_master_names_ros_2_where_it_could_help() {
    require_private_network();
    let domain = BESIDE_A_MASTER;
    let (_talker, (_master, master)) = (talker(domain), master(domain));
    let command = |of: &str| of.split(" /").next().unwrap_or_default().to_owned();
    let not_served =
        |line: &str| OF_ROS1.iter().find(|(of, _)| line.starts_with(&command(of))).expect("it is one").1;
    for (line, expected) in WITHOUT_FINDS {
        let (code, output, error) = ran_beside_somebody(domain, &format!("{line} {master}"));
        assert_eq!((code, output.as_str()), (Some(expected), ""), "{line}: {error}");
        let told = error
            .lines()
            .filter(|line| line.ends_with("only ROS 1 is looked at (1 participant of ROS 2 in domain 96)"));
        assert_eq!(told.count(), 1, "{line}: {error}");
        assert!(error.starts_with(not_served(line)), "{line}: {error}");
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
    let (code, output, error) = ran_beside_somebody(domain, &format!("doctor {master}"));
    assert_eq!((code, error.as_str()), (Some(0), ""), "{output}");
    assert!(
        output.starts_with("info: ROS 2: 1 participant of ROS 2 in domain 96: only looked at for pairs"),
        "{output}"
    );
    for line in ["log", "service call --wait /talker/get_parameters"] {
        let mut waits = Peer::spawn(line, runnel(domain, &format!("{line} {master}"))).expect("it starts");
        let told = waits.wait_for_line(|said| said.contains("only ROS 1 is looked at"), deadline_in(STEP));
        assert!(told.is_ok(), "{line} says nothing while it waits: {told:?}");
    }
}

#[test]
fn where_only_a_master_is_nothing_is_said_of_ros_2() {
    require_private_network();
    let (_master, master) = master(ALONE_WITH_A_MASTER);
    for (line, expected) in WITHOUT_FINDS {
        let (code, _, error) = ran(ALONE_WITH_A_MASTER, &format!("{line} {master}"));
        assert!(code == Some(expected) && !error.contains("ROS 2"), "{line}: {error}");
    }
    let (_, output, _) = ran(ALONE_WITH_A_MASTER, &format!("doctor {master}"));
    assert!(!output.contains("ROS 2"), "{output}");
}
