//! A session in shared memory that is lost while both processes live: its links go on over the network with what was
//! under way, and come back to shared memory by themselves.

use std::time::{Duration, Instant};

use interop::containers::{self, Container, Network, Talk};
use interop::{Master, PATIENCE, Server, wait_until};
use runnel_testkit::packets::{connected_packet_sockets, shut_down};
use runnel_testkit::process::{Peer, Signal, deadline_in};

#[test]
fn a_session_that_is_lost_costs_no_message_and_is_made_again() {
    let master = Master::start(Server::Runnel);
    let host = Container::start(Network::Shared, &[]).with("ROS_MASTER_URI", master.graph().master_uri());
    let mut talk = Talk::at_rate(&host, &host, 2000);
    talk.goes_by_memory();
    for end in 0..4 {
        let process = [&talk.talker, &talk.listener][end % 2].id();
        let lost = lose_session(process);
        wait_until("another session", deadline_in(PATIENCE), || {
            let sockets = connected_packet_sockets(process).unwrap();
            !sockets.is_empty() && !sockets.contains_key(&lost)
        });
        talk.hear(1000);
        talk.goes_by_memory();
    }
}

/// Containers of two users whose processes may have sessions with each other.
fn of_two_users(master: &Master) -> Option<[Container; 2]> {
    let uri = master.graph().master_uri();
    let far = Container::of_other_user()?.with("ROS_MASTER_URI", uri).with("RUNNEL_IPC_USERS", "0");
    let near = Container::that_shares_users().with("ROS_MASTER_URI", uri);
    Some([near.with("RUNNEL_IPC_USERS", containers::OTHER_USER.to_string()), far])
}

#[test]
fn what_a_process_of_another_user_left_in_memory_when_it_was_killed_is_heard() {
    let master = Master::start(Server::Runnel);
    let Some([near, far]) = of_two_users(&master) else { return };
    let mut talk = Talk::at_rate(&near, &far, 500);
    talk.goes_by_memory();
    talk.listener.stop(deadline_in(PATIENCE)).unwrap();
    // Fewer than the queue of a subscription keeps, also where this program looks a second too late.
    wait_for_more(&talk.talker, 300);
    talk.talker.signal(Signal::KILL).unwrap();
    talk.talker.wait_exit(deadline_in(PATIENCE)).unwrap();
    talk.listener.signal(Signal::CONT).unwrap();
    let lines = |peer: &Peer, word: &str| -> Vec<String> {
        peer.lines().iter().filter_map(|line| line.strip_prefix(word)).map(str::to_owned).collect()
    };
    let sent = lines(&talk.talker, "sent ");
    wait_until("all that was sent is heard", deadline_in(PATIENCE), || {
        lines(&talk.listener, "got ").len() >= sent.len()
    });
    assert!(lines(&talk.listener, "got ").starts_with(&sent));
}

/// The session of two users whose socket was shut: their doorbells still ring.
#[test]
fn a_session_between_users_that_is_lost_is_given_up_as_soon_as_both_have_read() {
    let master = Master::start(Server::Runnel);
    let Some([near, far]) = of_two_users(&master) else { return };
    let mut talk = Talk::at_rate(&near, &far, 2000);
    talk.goes_by_memory();
    let mut shortest = Duration::MAX;
    for end in 0..4 {
        let processes = [talk.talker.id(), talk.listener.id()];
        let sockets = processes.map(|process| {
            let sockets = connected_packet_sockets(process).unwrap();
            sockets.into_keys().next().expect("the socket of the session")
        });
        lose_session(processes[end % 2]);
        let began = Instant::now();
        wait_until("both ends give it up", deadline_in(PATIENCE), || {
            processes.iter().all(|process| {
                let left = connected_packet_sockets(*process).unwrap();
                sockets.iter().all(|lost| !left.contains_key(lost))
            })
        });
        shortest = shortest.min(began.elapsed());
        talk.hear(1000);
        talk.goes_by_memory();
    }
    // It would be given up after a second. Some may be that late because others had the processor.
    assert!(shortest < Duration::from_millis(500), "{shortest:?}");
}

/// Ends the one session that a process has, and gives the number of its socket.
fn lose_session(process: u32) -> u64 {
    let mut sockets = connected_packet_sockets(process).unwrap();
    let (number, socket) = sockets.pop_first().expect("the socket of the session");
    assert!(sockets.is_empty(), "one session for two processes");
    shut_down(socket).unwrap();
    number
}

/// Waits until a talker has sent so many messages more.
fn wait_for_more(talker: &Peer, count: usize) {
    let before = talker.lines().len();
    wait_until("more messages are sent", deadline_in(PATIENCE), || talker.lines().len() >= before + count);
}

/// A listener is stopped, messages gather in its ring, the session is lost, and the listener goes on when that many
/// messages more are sent.
fn comes_back_after(more: usize) {
    let master = Master::start(Server::Runnel);
    let host = Container::start(Network::Shared, &[]).with("ROS_MASTER_URI", master.graph().master_uri());
    let mut talk = Talk::between(&host, &host);
    talk.goes_by_memory();
    talk.listener.stop(deadline_in(PATIENCE)).unwrap();
    wait_for_more(&talk.talker, 50);
    lose_session(talk.talker.id());
    wait_for_more(&talk.talker, more);
    talk.listener.signal(Signal::CONT).unwrap();
    talk.hear(100 + more);
    talk.goes_by_memory();
}

#[test]
fn what_a_listener_has_not_read_when_its_session_is_lost_comes_once() {
    comes_back_after(20);
}

#[test]
fn what_went_on_over_the_network_without_a_listener_that_is_stopped_comes_once() {
    // Two seconds, which the talker does not wait.
    comes_back_after(400);
}
