//! The original commands, asked about Runnel's nodes.

use interop::sheet::{Cell, PASS, Row, Sheet};
use interop::{Origin, PATIENCE, Ros1Graph, outcome, ready};
use runnel_testkit::process::{Peer, deadline_in};

/// A command line, and a line that its output must hold.
type Question = (&'static str, &'static str);

const QUESTIONS: [Question; 24] = [
    ("rostopic list", "/chatter"),
    ("rostopic type /chatter", "std_msgs/String"),
    ("rostopic info /chatter", " * /runnel_talker (http://127.0.0.1:"),
    ("rostopic find std_msgs/String", "/chatter"),
    ("rostopic echo -n 1 /chatter", "data: \"hello "),
    ("rostopic hz /chatter", "average rate: "),
    ("rostopic bw /chatter", "average: "),
    ("rostopic pub -1 /spoken std_msgs/String hello", "publishing and latching message for 3.0 seconds"),
    ("rosnode list", "/runnel_talker"),
    ("rosnode info /runnel_talker", "    * direction: outbound"),
    ("rosnode ping -c 1 /runnel_talker", "time="),
    ("rosnode machine", "127.0.0.1"),
    ("rosnode kill /runnel_talker", "killed"),
    ("rosservice list", "/power"),
    ("rosservice info /power", "Type: std_srvs/SetBool"),
    ("rosservice type /power", "std_srvs/SetBool"),
    ("rosservice node /power", "/runnel_server"),
    ("rosservice uri /power", "rosrpc://127.0.0.1:"),
    ("rosservice args /power", "data"),
    ("rosservice find std_srvs/SetBool", "/power"),
    ("rosservice call /power true", "success: True"),
    ("rosparam list", "/runnel_server/speed"),
    ("rosparam get /runnel_server/speed", "0.5"),
    ("rosparam get /runnel_server", "speed: 0.5"),
];

pub fn sheet() -> Sheet<Ros1Graph> {
    let row = |&(line, expected): &Question| {
        let attempt = move |graph: &Ros1Graph| {
            ask(graph, line, expected);
            PASS.to_owned()
        };
        Row {
            title: line.to_owned(),
            cells: vec![Some(Cell { name: line.to_owned(), attempt: Box::new(attempt) })],
        }
    };
    Sheet {
        title: "The original commands about Runnel's nodes",
        text: "The original command shows a Runnel node correctly. Runnel's own commands under these names are compared with the originals\nto the byte: [ros1-commands.md](ros1-commands.md).",
        columns: vec!["works".to_owned()],
        rows: QUESTIONS.iter().map(row).collect(),
    }
}

fn ask(graph: &Ros1Graph, line: &str, expected: &str) {
    let _nodes = nodes(graph);
    let words: Vec<&str> = line.split(' ').collect();
    let mut command = graph.tool(words[0], &words[1..]);
    command.wait_for_line(|said| said.contains(expected), deadline_in(PATIENCE)).unwrap();
}

/// A talker with a listener, and a service with a parameter.
fn nodes(graph: &Ros1Graph) -> [Peer; 3] {
    let listener = ready(graph.listener(Origin::Runnel, &["/chatter"]));
    let mut talker = graph.talker(Origin::Runnel, &["/chatter", "--rate", "20", "--count", "0"]);
    talker.wait_for_line(|line| line.starts_with("sent "), deadline_in(PATIENCE)).unwrap();
    let server = graph.node(Origin::Runnel, "server", "runnel_server", &["/power", "_speed:=0.5"]);
    let server = ready(server);
    let speed = outcome(graph.runnel("runnel", &["param", "get", "/runnel_server/speed"])).success();
    assert_eq!(speed, ["0.5"]);
    [listener, talker, server]
}
