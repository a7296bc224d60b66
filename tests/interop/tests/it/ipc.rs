//! Which links leave the network for shared memory, where namespaces stand for containers: those between processes of
//! one host and one user that can reach each other, whatever their addresses look like. All others stay on the network
//! and carry messages there.

use interop::containers::{self, Container, Network, Talk};
use interop::{Master, PATIENCE, Server, outcome, wait_until};
use runnel_testkit::process::{Peer, deadline_in};

/// A container on the network of the test, in the graph of a master there.
fn shared(master: &Master) -> Container {
    Container::start(Network::Shared, &[]).with("ROS_MASTER_URI", master.graph().master_uri())
}

/// The same for a user who is not that of the test; `None` if there is no other.
fn of_other_user(master: &Master) -> Option<Container> {
    Container::of_other_user().map(|container| container.with("ROS_MASTER_URI", master.graph().master_uri()))
}

/// Two containers with networks of their own, joined under these addresses, and a master in the first.
fn apart(addresses: [&str; 2]) -> ([Container; 2], Peer) {
    let containers = addresses.map(|address| {
        let uri = format!("http://{}:11311", addresses[0]);
        Container::start(Network::Own, &[]).with("ROS_IP", address).with("ROS_MASTER_URI", uri)
    });
    Container::join(&containers[0], &containers[1], addresses);
    let master = containers[0].runnel("runnel", &["master", "--no-rosout", "--host", addresses[0]]);
    wait_until("the master answers", deadline_in(PATIENCE), || {
        outcome(containers[1].runnel("runnel", &["node", "list", "--ros1"])).code == Some(0)
    });
    (containers, master)
}

#[test]
fn containers_that_share_the_network_and_nothing_else_go_by_memory() {
    let master = Master::start(Server::Runnel);
    let (near, far) = (shared(&master), shared(&master));
    let mut talk = Talk::between(&near, &far);
    talk.goes_by_memory();
    assert!(talk.warnings().is_empty(), "{:?}", talk.warnings());
}

#[test]
fn containers_with_networks_of_their_own_stay_on_the_network() {
    let (containers, _master) = apart(["10.77.0.1", "10.77.0.2"]);
    let mut talk = Talk::between(&containers[0], &containers[1]);
    talk.stays_on_network();
    assert!(talk.warnings().is_empty(), "{:?}", talk.warnings());
}

#[test]
fn an_address_that_looks_local_is_not_taken_for_that() {
    let (containers, _master) = apart(["192.168.127.5", "192.168.127.6"]);
    Talk::between(&containers[0], &containers[1]).stays_on_network();
}

#[test]
fn an_address_that_does_not_look_local_is_no_obstacle() {
    let (containers, _master) = apart(["192.168.0.5", "192.168.0.6"]);
    Talk::between(&containers[0], &containers[0]).goes_by_memory();
}

#[test]
fn another_user_is_reached_over_the_network() {
    for (near, far) in [(false, true), (true, false), (true, true)] {
        let master = Master::start(Server::Runnel);
        let user = |other| if other { of_other_user(&master) } else { Some(shared(&master)) };
        let (Some(near_container), Some(far_container)) = (user(near), user(far)) else {
            return;
        };
        let mut talk = Talk::between(&near_container, &far_container);
        if near == far {
            talk.goes_by_memory();
        } else {
            talk.stays_on_network();
        }
        assert!(talk.warnings().is_empty(), "{:?}", talk.warnings());
    }
}

#[test]
fn another_user_is_reached_by_memory_if_both_allow_it() {
    let numbers = [containers::OTHER_USER.to_string(), "0".to_owned()];
    for (allowed, by_memory) in [([true, true], true), ([true, false], false), ([false, true], false)] {
        let master = Master::start(Server::Runnel);
        let Some(other) = of_other_user(&master) else { return };
        let uri = master.graph().master_uri();
        let mine = Container::that_shares_users().with("ROS_MASTER_URI", uri);
        let [near, far] = [(mine, 0), (other, 1)].map(|(container, index)| {
            let users = if allowed[index] { numbers[index].as_str() } else { "" };
            container.with("RUNNEL_IPC_USERS", users)
        });
        for (talker, listener) in [(&near, &far), (&far, &near)] {
            let mut talk = Talk::between(talker, listener);
            if by_memory { talk.goes_by_memory() } else { talk.stays_on_network() }
        }
    }
}

#[test]
fn who_cannot_tell_users_apart_stays_on_the_network() {
    let master = Master::start(Server::Runnel);
    let (near, far) = (shared(&master), shared(&master).that_knows_no_users());
    Talk::between(&near, &far).stays_on_network();
}
