//! A publisher of rospy that a debugger or SIGSTOP holds in the middle of a long message keeps its link.

use std::thread::sleep;
use std::time::Duration;

use interop::sockets::connections_to;
use interop::{Master, Origin, PATIENCE, Server, ready, told, wait_until};
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// Less than the 30 s that a message may make no progress by default.
const PAUSE: Duration = Duration::from_secs(20);

/// More than the buffers of both sockets hold.
const SIZE: &str = "30000000";

/// What a peer has said with this word, so far.
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
    told(&mut listener, "got", 1, deadline_in(PATIENCE));
    // While the listener stands still, the next message stays in the middle.
    listener.stop(deadline_in(PATIENCE)).unwrap();
    let published = messages(&talker, "sent ").len();
    wait_until("part of a message has arrived, and not all", deadline_in(PATIENCE), || {
        let is_full = connections_to(port).iter().any(|link| link.unread > 100_000);
        is_full && messages(&talker, "sent ").len() >= published + 2
    });
    talker.stop(deadline_in(PATIENCE)).unwrap();
    let links = || connections_to(port).iter().map(|link| link.local).collect::<Vec<_>>();
    let before = links();
    assert_eq!(before.len(), 1, "one link");
    listener.signal(Signal::CONT).unwrap();
    wait_until("what has arrived is read", deadline_in(PATIENCE), || {
        connections_to(port).iter().all(|link| link.unread == 0)
    });
    sleep(PAUSE);
    let whole = messages(&listener, "got ").len();
    talker.signal(Signal::CONT).unwrap();
    wait_until("the message and the next", deadline_in(PATIENCE), || {
        messages(&listener, "got ").len() >= whole + 2
    });
    assert_eq!(links(), before, "the link is the same");
    let (sent, got) = (messages(&talker, "sent "), messages(&listener, "got "));
    // The last may have arrived before the talker said so.
    assert!(sent.iter().zip(&got).all(|(sent, got)| sent == got), "none is lost: {got:#?} of {sent:#?}");
}
