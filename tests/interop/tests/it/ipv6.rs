//! A graph that IPv6 alone carries: `ROS_IPV6=on`.

use interop::{Origin, PATIENCE, Ros1Graph, hear_out, outcome};
use runnel_testkit::process::{Peer, deadline_in, free_port};

/// A name that leads to an IPv6 address and to no other.
const HOSTS: &str = "127.0.0.1 localhost\n::1 robot6\n";

/// A graph whose hosts are all called so, and its master.
fn graph(host: &str, by: &'static str, original: bool) -> (Ros1Graph, Peer) {
    let port = free_port();
    let in_uri = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let graph = Ros1Graph::at(format!("http://{in_uri}:{port}")).with("ROS_IPV6", "on");
    let graph = graph.with("ROS_IP", "").with(by, host).with_hosts(HOSTS);
    let port = port.to_string();
    let master = if original {
        graph.tool("rosmaster", &["--core", "-p", &port])
    } else {
        graph.runnel("runnel", &["master", "--port", &port, "--host", host])
    };
    interop::wait_until("the master answers", deadline_in(PATIENCE), || {
        outcome(graph.runnel("runnel", &["node", "list", "--ros1"])).code == Some(0)
    });
    (graph, master)
}

fn hear_each_other(graph: &Ros1Graph, origins: &[Origin]) {
    for from in origins {
        for to in origins.iter().filter(|to| **to == Origin::Runnel || *from == Origin::Runnel) {
            let topic = format!("/{from}_{to}");
            let listener = graph.listener(*to, &[&topic, "--count", "3"]);
            let mut talker = graph.talker(*from, &[&topic, "--count", "3"]);
            hear_out(&mut talker, &mut [listener], 3);
        }
    }
}

#[test]
fn nodes_meet_under_an_ipv6_address() {
    for original in [true, false] {
        let (graph, _master) = graph("::1", "ROS_IP", original);
        // roscpp reads no address in brackets.
        hear_each_other(&graph, &[Origin::Runnel, Origin::Rospy]);
    }
}

#[test]
fn nodes_meet_under_a_name_that_leads_to_an_ipv6_address() {
    for original in [true, false] {
        let (graph, _master) = graph("robot6", "ROS_HOSTNAME", original);
        hear_each_other(&graph, &[Origin::Runnel, Origin::Rospy, Origin::Roscpp]);
    }
}
