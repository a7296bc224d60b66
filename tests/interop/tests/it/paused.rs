//! A rospy publisher that is stopped (debugger or SIGSTOP) within a long message keeps its link.

use std::thread::sleep;
use std::time::Duration;

use interop::sockets::connections_to;
use interop::{Master, Origin, Server, TIMEOUT, next_messages, ready, wait_until};
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// Less than the default timeout of 30 s without progress.
const PAUSE: Duration = Duration::from_secs(20);

/// More than the buffers of both sockets.
const SIZE: &str = "30000000";

/// The lines of a peer after this prefix.
fn messages(peer: &Peer, word: &str) -> Vec<String> {
    peer.lines().iter().filter_map(|line| line.strip_prefix(word)).map(str::to_owned).collect()
}

#[test]
fn rospy_paused_within_a_message_keeps_its_link() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let talking = ["/big", "--type", "std_msgs/UInt8MultiArray", "--size", SIZE, "--rate", "1"];
    let talker = ready(graph.talker(Origin::Rospy, &talking));
    let port = graph.tcpros_port("/rospy_talker", "/big").expect("it publishes");
    let mut listener = ready(graph.listener(Origin::Runnel, &["/big", "--type", "std_msgs/UInt8MultiArray"]));
    next_messages(&mut listener, "got", 1, deadline_in(TIMEOUT));
    // While the listener is stopped, the next message stays incomplete.
    listener.stop(deadline_in(TIMEOUT)).unwrap();
    let published = messages(&talker, "sent ").len();
    wait_until("part of a message has arrived, and not all", deadline_in(TIMEOUT), || {
        let is_full = connections_to(port).iter().any(|link| link.unread > 100_000);
        is_full && messages(&talker, "sent ").len() >= published + 2
    });
    talker.stop(deadline_in(TIMEOUT)).unwrap();
    let links = || connections_to(port).iter().map(|link| link.local).collect::<Vec<_>>();
    let before = links();
    assert_eq!(before.len(), 1, "one link");
    listener.signal(Signal::CONT).unwrap();
    wait_until("what has arrived is read", deadline_in(TIMEOUT), || {
        connections_to(port).iter().all(|link| link.unread == 0)
    });
    sleep(PAUSE);
    let whole = messages(&listener, "got ").len();
    talker.signal(Signal::CONT).unwrap();
    wait_until("the message and the next", deadline_in(TIMEOUT), || {
        messages(&listener, "got ").len() >= whole + 2
    });
    assert_eq!(links(), before, "the link is the same");
    let (sent, got) = (messages(&talker, "sent "), messages(&listener, "got "));
    // The last message may have arrived before the talker printed it.
    assert!(sent.iter().zip(&got).all(|(sent, got)| sent == got), "none is lost: {got:#?} of {sent:#?}");
}
