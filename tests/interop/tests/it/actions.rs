//! Actions between Runnel and actionlib in Python and C++.

use std::time::Duration;

use interop::{Master, Origin, Outcome, Ros1Graph, Server, TIMEOUT, outcome, ready, wait_until};
use runnel::msgs::actionlib::action::{TestAction, TestGoal};
use runnel::{ClientGoalHandle, Context, ContextOptions, GoalStatus};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const ACTION: &str = "/test";

/// Time limit of every step.
const LONG: Duration = Duration::from_secs(TIMEOUT);

/// Too short for anything to happen.
const SHORT: Duration = Duration::from_millis(300);

/// Implementations with actions; `@foxglove/ros1` has none.
const ORIGINS: [Origin; 3] = [Origin::Rospy, Origin::Roscpp, Origin::Runnel];

/// Results of the full client's goals.
const SEVERAL: [&str; 7] = [
    "goal 1 SUCCEEDED 1 reached",
    "goal 2 ABORTED 2 no way",
    "goal 3 REJECTED 3 too much",
    "feedback 4 7",
    "goal 4 PREEMPTED 4 as you wish",
    "goal 5 RECALLED 5 as you wish",
    "done",
];

/// Results of the simple client's goals, and of two more that it sends with `--preempt`.
const ONE_BY_ONE: [&str; 8] = [
    "goal 1 SUCCEEDED 1 reached",
    "goal 2 ABORTED 2 no way",
    "feedback 4 7",
    "goal 4 PREEMPTED 4 as you wish",
    "feedback 4 7",
    "goal 4 PREEMPTED 4 as you wish",
    "goal 1 SUCCEEDED 1 reached",
    "done",
];

fn server(graph: &Ros1Graph, origin: Origin, role: &str) -> Peer {
    ready(graph.node(origin, role, &format!("{origin}_{role}"), &[ACTION]))
}

/// Checks that a client prints what is expected, and that neither it nor the server logs a problem.
fn check_client(graph: &Ros1Graph, server: &Peer, client: (Origin, &str, &[&str]), expected: &[&str]) {
    let (origin, role, more) = client;
    let name = format!("{origin}_{role}");
    let mut client = graph.node(origin, role, &name, &[&[ACTION], more].concat());
    let status = client.wait_exit(deadline_in(2 * TIMEOUT));
    let printed = format!("{name} of {}:\n{}\n{}", server.name(), client.output(), server.output());
    assert!(status.unwrap_or_else(|error| panic!("{error}\n{printed}")).success(), "{printed}");
    assert_eq!(client.lines(), expected, "{printed}");
    for level in ["ERROR", "WARN", "FATAL", "Traceback"] {
        assert!(!printed.contains(level), "{printed}");
    }
}

/// All clients for Runnel's servers, Runnel's client for the others.
fn clients_of(server: Origin) -> &'static [Origin] {
    if server == Origin::Runnel { &ORIGINS } else { &[Origin::Runnel] }
}

fn check_full_server(origin: Origin, master: Server) {
    let master = Master::start(master);
    let server = server(master.graph(), origin, "action_server");
    for client in clients_of(origin) {
        check_client(master.graph(), &server, (*client, "action_client", &[]), &SEVERAL);
        let without_preempt = [&ONE_BY_ONE[..4], &["done"]].concat();
        check_client(master.graph(), &server, (*client, "simple_action_client", &[]), &without_preempt);
    }
}

fn check_simple_server(origin: Origin, master: Server) {
    let master = Master::start(master);
    let server = server(master.graph(), origin, "simple_action_server");
    for client in clients_of(origin) {
        let client = (*client, "simple_action_client", ["--preempt"].as_slice());
        check_client(master.graph(), &server, client, &ONE_BY_ONE);
    }
}

#[test]
fn all_clients_use_runnel_action_server() {
    for master in Server::BOTH {
        check_full_server(Origin::Runnel, master);
    }
}

#[test]
fn all_clients_use_runnel_simple_server() {
    for master in Server::BOTH {
        check_simple_server(Origin::Runnel, master);
    }
}

#[test]
fn runnel_uses_servers_of_actionlib_in_python() {
    check_full_server(Origin::Rospy, Server::Rosmaster);
    check_simple_server(Origin::Rospy, Server::Runnel);
}

#[test]
fn runnel_uses_servers_of_actionlib_in_cpp() {
    check_full_server(Origin::Roscpp, Server::Rosmaster);
    check_simple_server(Origin::Roscpp, Server::Runnel);
}

/// A client with an active goal at a server.
fn working(origin: Origin, role: &str) -> (Master, Peer, Context, ClientGoalHandle<TestAction>) {
    let master = Master::start(Server::Rosmaster);
    let server = server(master.graph(), origin, role);
    let arguments = vec![format!("__master:={}", master.graph().master_uri())];
    let options = ContextOptions::default().arguments(arguments).signals(false);
    let context = Context::with_options(options).unwrap();
    let client = context.create_node("client").unwrap().create_action_client(ACTION).unwrap();
    assert!(client.wait_for_server(LONG).unwrap());
    let handle = client.send_goal(&TestGoal { goal: 4 }).unwrap();
    wait_until("the goal is active", deadline_in(TIMEOUT), || handle.status() == GoalStatus::Active);
    (master, server, context, handle)
}

#[test]
fn goal_is_lost_when_its_server_is_replaced() {
    for origin in [Origin::Rospy, Origin::Roscpp, Origin::Runnel] {
        let (master, mut killed, context, handle) = working(origin, "simple_action_server");
        let client =
            context.create_node("second").unwrap().create_action_client::<TestAction>(ACTION).unwrap();
        assert!(client.wait_for_server(LONG).unwrap());
        killed.signal(Signal::KILL).unwrap();
        killed.wait_exit(deadline_in(TIMEOUT)).unwrap();
        wait_until("the end of the server is seen", deadline_in(TIMEOUT), || !client.server_is_ready());
        assert_eq!(handle.wait_for_result(SHORT).unwrap(), None, "{origin}: it may come back");
        let _other = server(master.graph(), origin, "simple_action_server");
        let end = handle.wait_for_result(LONG).unwrap().expect("an end");
        assert_eq!((end.status, end.result), (GoalStatus::Lost, None), "{origin}");
        assert!(client.wait_for_server(LONG).unwrap(), "{origin}");
    }
}

#[test]
fn action_command_shows_actions() {
    for origin in ORIGINS {
        let (master, _server, _context, _handle) = working(origin, "simple_action_server");
        let node = format!("/{origin}_simple_action_server");
        let ask = |words: &[&str]| {
            outcome(master.graph().runnel("runnel", &[&["action"], words].concat())).success()
        };
        assert_eq!(ask(&["list"]), [ACTION]);
        assert_eq!(ask(&["list", "-t"]), ["/test [actionlib/Test]"]);
        assert_eq!(ask(&["list", "-c", "/other"]), ["0"]);
        assert_eq!(ask(&["type", ACTION]), ["actionlib/Test"]);
        assert_eq!(ask(&["find", "actionlib/action/Test"]), [ACTION]);
        assert_eq!(ask(&["find", "actionlib/TwoInts"]), [""; 0]);
        let shown = ["Action: /test", "Action clients: 1", "    /client", "Action servers: 1"];
        assert_eq!(ask(&["info", ACTION]), [&shown, [format!("    {node}").as_str()].as_slice()].concat());
        let json = format!(
            r#"{{"name":"/test","type":"actionlib/Test","clients":["/client"],"servers":["{node}"]}}"#
        );
        assert_eq!(ask(&["info", ACTION, "--json"]), [json]);
        let none = outcome(master.graph().runnel("runnel", &["action", "info", "/nothing"]));
        assert_eq!(none.code, Some(1));
        assert_eq!(none.lines, ["error: no action /nothing (see 'runnel action list')"]);
    }
}

/// Output lines of a command on both streams, sorted, without the goal's id.
fn lines(outcome: &Outcome) -> Vec<String> {
    let mut lines = outcome.lines.clone();
    lines.retain(|line| !line.starts_with("sent as goal "));
    lines.sort_unstable();
    lines
}

fn sorted(lines: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn send_goal_exit_code_gives_result() {
    for origin in ORIGINS {
        let master = Master::start(Server::Rosmaster);
        let _server = server(master.graph(), origin, "simple_action_server");
        let send = |words: &[&str]| {
            let words = [&["action", "send_goal", ACTION], words].concat();
            outcome(master.graph().runnel("runnel", &words))
        };
        let reached = send(&["actionlib/Test", "1"]);
        let waiting = "waiting for a server of /test";
        let expected = [waiting, "Result:", "    result: 1", "", "Goal finished with status: SUCCEEDED"];
        assert_eq!((lines(&reached), reached.code), (sorted(&expected), Some(0)), "{origin}");
        let aborted = send(&["actionlib/TestAction", "{goal: 2}", "--json"]);
        let json = r#"{"status":"ABORTED","text":"no way","result":{"result":2}}"#;
        let expected = sorted(&[json, "error: the goal is ABORTED: no way"]);
        assert_eq!((lines(&aborted), aborted.code), (expected, Some(1)), "{origin}");
        // On a busy machine a server in Python may take longer to answer.
        let in_time = |timeout: &&str| send(&["actionlib/Test", "4", "-f", "--timeout", timeout]);
        let mut attempts = ["4", "8", "16", "32"].iter().map(in_time);
        let has_feedback = |late: &Outcome| late.lines.iter().any(|line| line == "Feedback:");
        let late = attempts.find(has_feedback).expect("feedback within half a minute");
        let expected = [
            waiting,
            "Feedback:",
            "    feedback: 7",
            "",
            "time-out: canceling the goal",
            "Result:",
            "    result: 4",
            "",
            "Goal finished with status: PREEMPTED",
            "error: the goal is PREEMPTED: as you wish",
        ];
        assert_eq!((lines(&late), late.code), (sorted(&expected), Some(1)), "{origin}");
        let other = send(&["actionlib/TwoInts", "{a: 1}"]);
        let why = "error: action /test is of type actionlib/Test, not actionlib/TwoInts";
        assert_eq!((other.code, other.lines), (Some(1), vec![why.to_owned()]));
        assert_eq!(send(&["actionlib/Test", "3.5"]).code, Some(2), "not an integer");
    }
}

#[test]
fn ctrl_c_cancels_the_sent_goal() {
    let master = Master::start(Server::Rosmaster);
    let mut server = server(master.graph(), Origin::Roscpp, "simple_action_server");
    let mut command =
        master.graph().runnel("runnel", &["action", "send_goal", ACTION, "actionlib/Test", "4"]);
    server.wait_for_line(|line| line == "goal 4", deadline_in(TIMEOUT)).unwrap();
    command.signal(Signal::INT).unwrap();
    assert_eq!(command.wait_exit(deadline_in(TIMEOUT)).unwrap().code(), Some(1));
    let printed = command.lines();
    assert!(printed.contains(&"interrupted: canceling the goal".to_owned()), "{printed:#?}");
    assert!(printed.contains(&"error: the goal is PREEMPTED: as you wish".to_owned()), "{printed:#?}");
    let mut waiting =
        master.graph().runnel("runnel", &["action", "send_goal", "/none", "actionlib/Test", "4"]);
    waiting.wait_for_line(|line| line == "waiting for a server of /none", deadline_in(TIMEOUT)).unwrap();
    waiting.signal(Signal::INT).unwrap();
    assert_eq!(waiting.wait_exit(deadline_in(TIMEOUT)).unwrap().code(), Some(1));
}

#[test]
fn interrupted_server_ends_its_goals_first() {
    let (_master, mut server, _context, handle) = working(Origin::Runnel, "simple_action_server");
    server.signal(Signal::INT).unwrap();
    let end = handle.wait_for_result(LONG).unwrap().expect("an end");
    assert_eq!((end.status, end.text.as_str()), (GoalStatus::Preempted, "as you wish"));
    assert!(server.wait_exit(deadline_in(TIMEOUT)).unwrap().success());
    let (_master, mut server, _context, handle) = working(Origin::Runnel, "action_server");
    server.signal(Signal::INT).unwrap();
    let end = handle.wait_for_result(LONG).unwrap().expect("an end");
    assert_eq!((end.status, end.text.as_str()), (GoalStatus::Aborted, "the action server has ended"));
    assert!(server.wait_exit(deadline_in(TIMEOUT)).unwrap().success());
}
