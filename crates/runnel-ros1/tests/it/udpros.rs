//! UDPROS links between two Runnel nodes.

use runnel_ros1::node::{LinkFault, NextStep, NodeEvent, PeerFault, TopicSpec};
use runnel_ros1::xmlrpc::Value;
use runnel_testkit::net::{App, Net, millis, secs, text_topic};

use crate::udpros_common::{TOPIC, has_reported, udpros_topic};

/// Transport, direction and peer of each row of a node's `getBusInfo`.
fn bus(net: &mut Net, asking: App, node: App) -> Vec<(String, String, String)> {
    let uri = net.node_of(node).uri();
    let reply = net.call(asking, &uri, "getBusInfo", &["/tool".into()]).unwrap();
    let rows = reply.as_array().unwrap()[2].as_array().unwrap();
    let text = |row: &Value, place: usize| row.as_array().unwrap()[place].as_str().unwrap().to_owned();
    rows.iter().map(|row| (text(row, 3), text(row, 2), text(row, 1))).collect()
}

/// A talker and a listener that are linked by UDPROS.
fn linked_nodes() -> (Net, App, App) {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "t"), net.node("/listener", "l"));
    net.advertise(talker, TOPIC);
    net.subscribe_as(listener, udpros_topic());
    net.run_until("they are linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    (net, talker, listener)
}

#[test]
fn two_nodes_agree_on_udpros() {
    let (mut net, talker, listener) = linked_nodes();
    assert_eq!((net.datagram_sockets(talker), net.datagram_sockets(listener)), (1, 1));
    let long = "long ".repeat(2000);
    for message in ["a", "", &long] {
        net.publish(talker, TOPIC, message);
    }
    net.run_until("all messages arrive", secs(1), |net| net.received_texts(listener) == ["a", "", &long]);
    let tool = net.fake("tool", "x");
    let uri = net.node_of(talker).uri();
    assert_eq!(bus(&mut net, tool, talker), [("UDPROS".into(), "o".into(), "/listener".into())]);
    assert_eq!(bus(&mut net, tool, listener), [("UDPROS".into(), "i".into(), uri)]);
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn slave_api_counts_udpros_messages_and_losses() {
    let (mut net, talker, listener) = linked_nodes();
    let tool = net.fake("tool", "x");
    net.publish(talker, TOPIC, "one");
    net.run_until("the first message arrives", secs(1), |net| net.received_texts(listener) == ["one"]);
    net.disconnect_host("l");
    net.publish(talker, TOPIC, "lost");
    net.run_for(millis(10));
    net.reconnect_host("l");
    net.publish(talker, TOPIC, "three");
    net.run_until("the third message arrives", secs(1), |net| {
        net.received_texts(listener) == ["one", "three"]
    });
    let uri = net.node_of(listener).uri();
    let reply = net.call(tool, &uri, "getBusStats", &["/tool".into()]).unwrap();
    let subscriptions = &reply.as_array().unwrap()[2].as_array().unwrap()[1];
    let row = &subscriptions.as_array().unwrap()[0].as_array().unwrap()[1].as_array().unwrap()[0];
    assert_eq!(
        row.as_array().unwrap()[1..4],
        [16.into(), 1.into(), true.into()],
        "bytes, dropped, connected"
    );
}

#[test]
fn latched_message_follows_answer() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "t"), net.node("/listener", "l"));
    net.advertise_as(talker, TopicSpec { latching: true, ..text_topic(TOPIC) });
    net.publish(talker, TOPIC, "kept");
    net.subscribe_as(listener, udpros_topic());
    net.run_until("the message arrives", secs(1), |net| net.received_texts(listener) == ["kept"]);
    assert_eq!(net.datagram_sockets(listener), 1);
}

#[test]
fn udpros_link_ends_with_either_end() {
    type End = fn(&mut Net, App, App);
    let ends: [(&str, End); 4] = [
        ("unsubscribe", |net, _, listener| net.with_node(listener, |node, now| node.unsubscribe(now, TOPIC))),
        ("unadvertise", |net, talker, _| net.with_node(talker, |node, now| node.unadvertise(now, TOPIC))),
        ("stop the listener", |net, _, listener| net.stop(listener)),
        ("stop the talker", |net, talker, _| net.stop(talker)),
    ];
    for (what, end) in ends {
        let (mut net, talker, listener) = linked_nodes();
        end(&mut net, talker, listener);
        net.run_for(secs(2));
        if net.is_running(talker) {
            // The publisher notices only when its datagrams are refused.
            net.publish(talker, TOPIC, "x");
            net.run_for(secs(1));
            assert_eq!(
                (net.subscribers(talker, TOPIC).len(), net.datagram_sockets(talker)),
                (0, 0),
                "{what}"
            );
        }
        if net.is_running(listener) {
            assert_eq!(
                (net.publishers(listener, TOPIC).len(), net.datagram_sockets(listener)),
                (0, 0),
                "{what}"
            );
        }
        assert_eq!(net.leaks(), Vec::<String>::new(), "{what}");
    }
}

#[test]
fn reliable_subscription_switches_link_to_tcpros() {
    let (mut net, talker, listener) = linked_nodes();
    net.subscribe(listener, TOPIC);
    net.run_until("the new link stands", secs(1), |net| {
        net.datagram_sockets(listener) == 0 && net.publishers(listener, TOPIC) == ["/talker"]
    });
    net.publish(talker, TOPIC, "x");
    net.run_until("the message arrives", secs(1), |net| net.received_texts(listener) == ["x"]);
    net.run_for(secs(1));
    assert_eq!((net.subscribers(talker, TOPIC).len(), net.datagram_sockets(talker)), (1, 0));
    net.subscribe_as(listener, udpros_topic());
    net.run_for(secs(1));
    assert_eq!(net.datagram_sockets(listener), 0, "and there it stays");
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn udpros_link_returns_after_outage() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "t"), net.node("/listener", "l"));
    net.advertise(talker, TOPIC);
    net.run_for(secs(1));
    net.disconnect_host("t");
    net.subscribe_as(listener, udpros_topic());
    let is_tried_again =
        |fault: &PeerFault| matches!(fault, PeerFault::Publisher { next: NextStep::Retry, .. });
    net.run_until("it fails", secs(60), |net| has_reported(net, listener, is_tried_again));
    net.reconnect_host("t");
    net.run_until("they are linked", secs(60), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    assert_eq!((net.datagram_sockets(talker), net.datagram_sockets(listener)), (1, 1));
}

#[test]
fn only_silent_listed_publisher_is_asked_again() {
    let (mut net, talker, listener) = linked_nodes();
    let (master, uri) = (net.fake("other master", "m"), net.node_of(talker).uri());
    let sockets = |net: &Net| {
        net.events(listener).iter().filter(|event| matches!(event, NodeEvent::PublisherJoined(_))).count()
    };
    net.update(master, listener, TOPIC, &[&uri]);
    net.run_for(millis(500));
    net.publish(talker, TOPIC, "speaks");
    net.run_for(secs(2));
    assert_eq!(sockets(&net), 1);
    net.update(master, listener, TOPIC, &[&uri]);
    net.run_for(secs(2));
    assert_eq!(sockets(&net), 2);
    net.publish(talker, TOPIC, "once");
    net.run_for(secs(1));
    assert_eq!(net.received_texts(listener), ["speaks", "once"]);
    assert_eq!((net.subscribers(talker, TOPIC).len(), net.leaks()), (1, Vec::new()));
}

#[test]
fn publisher_without_socket_offers_tcpros() {
    let (mut net, talker, listener) = without_sockets("t");
    net.run_until("they are linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    assert_eq!(net.datagram_sockets(listener) + net.datagram_sockets(talker), 0);
    assert!(has_reported(&net, talker, |fault| {
        matches!(fault, PeerFault::NoDatagramSocket { why, .. } if why.contains("Too many open files"))
    }));
    net.run_for(secs(1));
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn subscriber_without_socket_retries() {
    let (mut net, talker, listener) = without_sockets("l");
    net.run_until("it is reported", secs(1), |net| {
        has_reported(net, listener, |fault| match fault {
            PeerFault::Publisher {
                fault: LinkFault::NoDatagramSocket(why), next: NextStep::Retry, ..
            } => why.contains("Too many open files"),
            _ => false,
        })
    });
    net.refuse_datagram_sockets("l", false);
    net.run_until("they are linked", secs(5), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    assert_eq!((net.datagram_sockets(listener), net.datagram_sockets(talker)), (1, 1));
    net.run_for(secs(1));
    assert_eq!(net.leaks(), Vec::<String>::new());
}

/// A talker and a listener with UDPROS, one of whose hosts has no datagram sockets.
fn without_sockets(host: &str) -> (Net, App, App) {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "t"), net.node("/listener", "l"));
    net.refuse_datagram_sockets(host, true);
    net.advertise(talker, TOPIC);
    net.subscribe_as(listener, udpros_topic());
    (net, talker, listener)
}
