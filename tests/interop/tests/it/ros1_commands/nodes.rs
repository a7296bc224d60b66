//! `rosnode`.

use interop::{Master, PATIENCE, Server, Side, wait_until};
use runnel_testkit::process::{Signal, deadline_in};

use super::{nodes, run_alike};

#[test]
fn nodes_are_described_and_pinged() {
    let master = Master::start(Server::Rosmaster);
    let _nodes = nodes(master.graph());
    let lines = [
        "rosnode info /front a_listener",
        "rosnode info /none",
        "rosnode ping -c 2 front",
        "rosnode ping -c1 /none",
        "rosnode cleanup",
    ];
    run_alike(master.graph(), &lines);
    let ours = master.graph().linked("rosnode ping -a");
    assert_eq!(ours.code, Some(0), "{ours:#?}");
    let replies = ours.output.lines().filter(|line| line.starts_with("xmlrpc reply from "));
    assert_eq!(replies.count(), 2, "{ours:#?}");
}

#[test]
fn nodes_are_killed_and_dead_ones_cleaned_up() {
    let printed = Server::BOTH.map(|server| {
        let master = Master::start(server);
        let graph = master.graph();
        let [mut front, mut listener] = nodes(graph);
        let run = |line: &str| match server {
            Server::Runnel => graph.linked(line),
            Server::Rosmaster => graph.original(line),
        };
        // The listener is the first of the list, and the node the second.
        let killed = run("printf 'x\n2\n' | rosnode kill");
        assert!(front.wait_exit(deadline_in(PATIENCE)).is_ok(), "{killed:#?}");
        wait_until("it has left", deadline_in(PATIENCE), || {
            graph.nodes_at(Side::Publishers, "/zebra").is_empty()
        });
        listener.signal(Signal::KILL).unwrap();
        listener.wait_exit(deadline_in(PATIENCE)).unwrap();
        let kept = run("rosnode cleanup <<< n");
        assert!(kept.output.contains(" * /a_listener\n") && kept.output.ends_with("aborting\n"), "{kept:#?}");
        let cleaned = run("rosnode cleanup <<< y");
        assert!(cleaned.output.ends_with("Unregistering /a_listener\ndone\n"), "{cleaned:#?}");
        [killed, run("rosnode list"), run("rosnode kill")]
    });
    let [theirs, ours] = printed;
    assert_eq!(ours, theirs, "ours is left, the original right");
}
