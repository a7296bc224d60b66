//! A session in shared memory that is lost while both processes live: its links go on over the network with what was
//! under way, and come back to shared memory by themselves.

use interop::containers::{Container, Network, Talk};
use interop::{Master, Server, wait_until};
use runnel_testkit::packets::{connected_packet_sockets, shut};
use runnel_testkit::process::within;

#[test]
fn a_session_that_is_lost_costs_no_message_and_is_made_again() {
    let master = Master::start(Server::Runnel);
    let host = Container::start(Network::Shared, &[]).with("ROS_MASTER_URI", master.graph().master_uri());
    let mut talk = Talk::at_rate(&host, &host, 2000);
    talk.goes_by_memory();
    for end in 0..5 {
        let process = [&talk.talker, &talk.listener][end % 2].id();
        let mut sockets = connected_packet_sockets(process).unwrap();
        let (lost, socket) = sockets.pop_first().expect("the socket of the session");
        assert!(sockets.is_empty(), "one session for two processes");
        shut(socket).unwrap();
        wait_until("another session", within(20), || {
            let sockets = connected_packet_sockets(process).unwrap();
            !sockets.is_empty() && !sockets.contains_key(&lost)
        });
        talk.hear(1000);
        talk.goes_by_memory();
    }
}
