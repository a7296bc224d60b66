//! `rosservice`.

use interop::{Master, Server};

use super::{check_same_output, check_same_refusal, nodes};

#[test]
fn services_are_described_and_called() {
    let master = Master::start(Server::Rosmaster);
    let _nodes = nodes(master.graph());
    let lines = [
        "rosservice info /switch",
        "rosservice info camera",
        "rosservice type /switch",
        "rosservice node /front/empty",
        "rosservice uri /switch",
        "rosservice args /camera",
        "rosservice args /front/empty",
        "rosservice call /switch true",
        "rosservice call switch 'data: false'",
        "rosservice call --wait /switch '{data: true}'",
        "rosservice call -v /switch true",
        "rosservice call /front/empty",
        "printf 'true\n---\n{data: false}\n---\n' | rosservice call /switch",
    ];
    check_same_output(master.graph(), &lines);
    let refused = [
        ("rosservice call /fail", "it cannot be done"),
        ("rosservice call /none 1", "[/none] is not available"),
        ("rosservice call /switch 1 2", "2 values"),
        ("rosservice call /switch 'x: 1'", "x: no such field"),
        ("rosservice args /none", "[/none] is not available"),
        ("rosservice info /none", "unknown service"),
        ("rosservice type /none", "Unknown service [/none]"),
        ("rosservice node /none", "Unknown service: /none"),
        ("rosservice uri /none", "Unknown service: /none"),
        ("rosservice type", "SERVICE"),
    ];
    check_same_refusal(master.graph(), &refused);
}
