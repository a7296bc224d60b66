//! Loss of a shared-memory IPC connection while both processes live: its links continue over the network with the messages
//! in flight, and return to shared memory.

use std::time::{Duration, Instant};

use interop::containers::{self, Container, Exchange, Network};
use interop::{Master, Server, TIMEOUT, wait_until};
use runnel_testkit::packets::{connected_packet_sockets, shut_down};
use runnel_testkit::process::{Peer, Signal, deadline_in};

#[test]
fn lost_ipc_connection_loses_no_message_and_reconnects() {
    let master = Master::start(Server::Runnel);
    let host = Container::start(Network::Shared, &[]).with("ROS_MASTER_URI", master.graph().master_uri());
    let mut exchange = Exchange::at_rate(&host, &host, 1000);
    exchange.expect_shared_memory();
    for end in 0..4 {
        let process = [&exchange.talker, &exchange.listener][end % 2].id();
        let lost = lose_ipc_connection(process);
        wait_until("another IPC connection", deadline_in(TIMEOUT), || {
            let sockets = connected_packet_sockets(process).unwrap();
            !sockets.is_empty() && !sockets.contains_key(&lost)
        });
        exchange.receive(1000);
        exchange.expect_shared_memory();
    }
}

/// Containers of two users whose processes may share memory.
fn of_two_users(master: &Master) -> Option<[Container; 2]> {
    let uri = master.graph().master_uri();
    let far = Container::of_other_user()?.with("ROS_MASTER_URI", uri).with("RUNNEL_IPC_USERS", "0");
    let near = Container::that_shares_users().with("ROS_MASTER_URI", uri);
    Some([near.with("RUNNEL_IPC_USERS", containers::OTHER_USER.to_string()), far])
}

#[test]
fn killed_other_user_process_messages_are_received() {
    let master = Master::start(Server::Runnel);
    let Some([near, far]) = of_two_users(&master) else { return };
    let mut exchange = Exchange::at_rate(&near, &far, 500);
    exchange.expect_shared_memory();
    exchange.listener.stop(deadline_in(TIMEOUT)).unwrap();
    // Fewer than the subscription's queue depth, even if this test is a second late.
    wait_for_more(&exchange.talker, 300);
    exchange.talker.signal(Signal::KILL).unwrap();
    exchange.talker.wait_exit(deadline_in(TIMEOUT)).unwrap();
    exchange.listener.signal(Signal::CONT).unwrap();
    let lines = |peer: &Peer, word: &str| -> Vec<String> {
        peer.lines().iter().filter_map(|line| line.strip_prefix(word)).map(str::to_owned).collect()
    };
    let sent = lines(&exchange.talker, "sent ");
    wait_until("all sent messages are received", deadline_in(TIMEOUT), || {
        lines(&exchange.listener, "got ").len() >= sent.len()
    });
    assert!(lines(&exchange.listener, "got ").starts_with(&sent));
}

/// An IPC connection of two users whose socket was shut down: their doorbells still work.
#[test]
fn lost_ipc_connection_between_users_closes_after_draining() {
    let master = Master::start(Server::Runnel);
    let Some([near, far]) = of_two_users(&master) else { return };
    let mut exchange = Exchange::at_rate(&near, &far, 1000);
    exchange.expect_shared_memory();
    let mut shortest = Duration::MAX;
    for end in 0..4 {
        let processes = [exchange.talker.id(), exchange.listener.id()];
        let sockets = processes.map(|process| {
            let sockets = connected_packet_sockets(process).unwrap();
            sockets.into_keys().next().expect("the socket of the IPC connection")
        });
        lose_ipc_connection(processes[end % 2]);
        let began = Instant::now();
        wait_until("both ends give it up", deadline_in(TIMEOUT), || {
            processes.iter().all(|process| {
                let left = connected_packet_sockets(*process).unwrap();
                sockets.iter().all(|lost| !left.contains_key(lost))
            })
        });
        shortest = shortest.min(began.elapsed());
        exchange.receive(1000);
        exchange.expect_shared_memory();
    }
    // The timeout is one second. On a busy machine some IPC connections may reach it.
    assert!(shortest < Duration::from_millis(500), "{shortest:?}");
}

/// Shuts down the only IPC connection of a process, and returns the number of its socket.
fn lose_ipc_connection(process: u32) -> u64 {
    let mut sockets = connected_packet_sockets(process).unwrap();
    let (number, socket) = sockets.pop_first().expect("the socket of the IPC connection");
    assert!(sockets.is_empty(), "one IPC connection for two processes");
    shut_down(socket).unwrap();
    number
}

/// Waits until a talker has sent `count` more messages.
fn wait_for_more(talker: &Peer, count: usize) {
    let before = talker.lines().len();
    wait_until("more messages are sent", deadline_in(TIMEOUT), || talker.lines().len() >= before + count);
}

/// Stops a listener, lets messages accumulate in its ring, shuts the IPC connection down, and resumes the listener after
/// `more` further messages.
fn comes_back_after(more: usize) {
    let master = Master::start(Server::Runnel);
    let host = Container::start(Network::Shared, &[]).with("ROS_MASTER_URI", master.graph().master_uri());
    let mut exchange = Exchange::between(&host, &host);
    exchange.expect_shared_memory();
    exchange.listener.stop(deadline_in(TIMEOUT)).unwrap();
    wait_for_more(&exchange.talker, 50);
    lose_ipc_connection(exchange.talker.id());
    wait_for_more(&exchange.talker, more);
    exchange.listener.signal(Signal::CONT).unwrap();
    exchange.receive(100 + more);
    exchange.expect_shared_memory();
}

#[test]
fn unread_messages_of_lost_ipc_connection_arrive_once() {
    comes_back_after(20);
}

#[test]
fn messages_over_network_to_stopped_listener_arrive_once() {
    // Two seconds; the talker does not wait.
    comes_back_after(400);
}
