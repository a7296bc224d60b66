//! Discovery samples of endpoints that are gone or many.

use crate::net::{Net, millis, secs};
use crate::pairs::{TOPIC, pair};
use runnel_core::qos::QoS;

#[test]
fn late_joiner_gets_few_disposals() {
    let (mut net, _, _) = pair(1, QoS::default());
    for _ in 0..1000 {
        let gone = net.writer(0, "rt/passing", QoS::default());
        net.run_for(millis(1));
        net.remove(0, gone);
        net.run_for(millis(1));
    }
    net.run_for(secs(5));
    let before = net.nodes[0].sent_bytes;
    let late = net.add();
    let reader = net.reader(late, TOPIC, QoS::default());
    net.run_until("the endpoints match", secs(1), |net| net.is_matched(late, reader));
    net.run_for(secs(1));
    let sent = net.nodes[0].sent_bytes - before;
    assert!(sent < 20_000, "{sent} bytes");
    assert_eq!(net.nodes[1].participant.peers().next().map(|peer| peer.endpoints.len()), Some(1));
}

#[test]
fn lost_endpoint_disposal_is_repeated() {
    let (mut net, writer, reader) = pair(1, QoS::default());
    net.blackout = true;
    net.remove(0, writer);
    net.run_for(millis(200));
    net.blackout = false;
    net.run_until("the disposal arrives", secs(3), |net| !net.is_matched(1, reader));
}

#[test]
fn silent_peer_in_discovery_gets_no_empty_datagrams() {
    let mut net = Net::new(1);
    net.add();
    for topic in 0..900 {
        net.writer(0, &format!("rt/topic_{topic}"), QoS::default());
    }
    net.run_for(secs(1));
    let (prefix, peer) = (net.config().prefix, net.add());
    net.run_until("it is proved", secs(3), |net| net.nodes[0].participant.peer(prefix).is_some());
    net.nodes[peer].stopped = true;
    net.run_for(millis(5));
    let sent = net.nodes[0].sent;
    net.run_for(secs(15));
    let sent = net.nodes[0].sent - sent;
    assert!(sent < 15 * 8, "{sent} datagrams in 15 s");
    net.nodes[peer].stopped = false;
    let known =
        |net: &Net| net.nodes[peer].participant.peers().map(|other| other.endpoints.len()).sum::<usize>();
    net.run_until("it has discovered all", secs(5), |net| known(net) == 900);
}
