//! Detection of dead, restarted and unreachable nodes by the master.

use runnel_ros1::node::Port;
use runnel_testkit::net::{App, Net, secs};

const TOPIC: &str = "/chatter";

fn registered(net: &mut Net, name: &str, host: &str) -> App {
    let node = net.node(name, host);
    net.advertise(node, TOPIC);
    net.run_for(secs(5));
    node
}

#[test]
fn killed_node_is_dropped() {
    let mut net = Net::new(1);
    let master = net.master("hub");
    let node = registered(&mut net, "/n", "a");
    net.kill(node);
    net.run_until("the master notices", secs(10), |net| net.master_of(master).node_count() == 0);
}

#[test]
fn stopped_or_unreachable_node_is_kept() {
    let mut net = Net::new(1);
    let master = net.master("hub");
    let (stopped, _) = (registered(&mut net, "/stopped", "a"), registered(&mut net, "/cut", "b"));
    net.stall(stopped);
    net.disconnect_host("b");
    net.run_for(secs(3600));
    assert_eq!(net.master_of(master).node_count(), 2);
}

#[test]
fn node_killed_while_stopped_is_dropped() {
    let mut net = Net::new(1);
    let master = net.master("hub");
    let node = registered(&mut net, "/n", "a");
    net.stall(node);
    net.break_links(node, master, Port::Rpc);
    net.run_for(secs(30));
    net.kill(node);
    net.run_until("the master notices", secs(120), |net| net.master_of(master).node_count() == 0);
}

#[test]
fn process_at_reused_port_inherits_no_topics() {
    let mut net = Net::new(1);
    let master = net.master("hub");
    let mut config = net.node_config("/n", "a");
    let node = net.start_node(config.clone());
    net.advertise(node, TOPIC);
    net.run_for(secs(5));
    net.kill(node);
    net.run_for(secs(1));
    config.pid += 1;
    let next = net.start_node(config);
    net.advertise(next, "/other");
    net.run_until("the old topic is gone", secs(120), |net| net.master_of(master).registration_count() == 1);
}

#[test]
fn reconnected_subscriber_gets_missed_publishers() {
    let mut net = Net::new(1);
    net.master("hub");
    let listener = net.node("/listener", "b");
    net.subscribe(listener, TOPIC);
    net.run_for(secs(5));
    net.disconnect_host("b");
    let late = registered(&mut net, "/late", "c");
    net.run_for(secs(60));
    net.reconnect_host("b");
    net.run_until("they are linked", secs(120), |net| net.publishers(listener, TOPIC) == ["/late"]);
    net.publish(late, TOPIC, "hello");
    net.run_until("the message arrives", secs(1), |net| net.received_texts(listener) == ["hello"]);
}
