//! Links that change to shared memory, with namespaces as containers: those between processes of one host and one
//! user that can reach each other, whatever their addresses look like. All others use the network.

use interop::containers::{self, Container, Exchange, Network};
use interop::{Master, Server, TIMEOUT, outcome, wait_until};
use runnel_testkit::process::{Peer, deadline_in};

/// A container on the test's network, in the graph of a master there.
fn shared(master: &Master) -> Container {
    Container::start(Network::Shared, &[]).with("ROS_MASTER_URI", master.graph().master_uri())
}

/// The same for another user than the test's; `None` if there is only one.
fn of_other_user(master: &Master) -> Option<Container> {
    Container::of_other_user().map(|container| container.with("ROS_MASTER_URI", master.graph().master_uri()))
}

/// Two containers with private networks, connected under these addresses, and a master in the first.
fn apart(addresses: [&str; 2]) -> ([Container; 2], Peer) {
    let containers = addresses.map(|address| {
        let uri = format!("http://{}:11311", addresses[0]);
        Container::start(Network::Own, &[]).with("ROS_IP", address).with("ROS_MASTER_URI", uri)
    });
    Container::join(&containers[0], &containers[1], addresses);
    let master = containers[0].runnel("runnel", &["master", "--no-rosout", "--host", addresses[0]]);
    wait_until("the master answers", deadline_in(TIMEOUT), || {
        outcome(containers[1].runnel("runnel", &["node", "list", "--ros1"])).code == Some(0)
    });
    (containers, master)
}

#[test]
fn containers_sharing_network_use_shared_memory() {
    let master = Master::start(Server::Runnel);
    let (near, far) = (shared(&master), shared(&master));
    let mut exchange = Exchange::between(&near, &far);
    exchange.expect_shared_memory();
    assert!(exchange.warnings().is_empty(), "{:?}", exchange.warnings());
}

#[test]
fn containers_with_own_networks_use_network() {
    let (containers, _master) = apart(["10.77.0.1", "10.77.0.2"]);
    let mut exchange = Exchange::between(&containers[0], &containers[1]);
    exchange.expect_network();
    assert!(exchange.warnings().is_empty(), "{:?}", exchange.warnings());
}

#[test]
fn local_looking_remote_address_uses_network() {
    let (containers, _master) = apart(["192.168.127.5", "192.168.127.6"]);
    Exchange::between(&containers[0], &containers[1]).expect_network();
}

#[test]
fn remote_looking_local_address_uses_memory() {
    let (containers, _master) = apart(["192.168.0.5", "192.168.0.6"]);
    Exchange::between(&containers[0], &containers[0]).expect_shared_memory();
}

#[test]
fn other_user_is_reached_over_network() {
    for (near, far) in [(false, true), (true, false), (true, true)] {
        let master = Master::start(Server::Runnel);
        let user = |other| if other { of_other_user(&master) } else { Some(shared(&master)) };
        let (Some(near_container), Some(far_container)) = (user(near), user(far)) else {
            return;
        };
        let mut exchange = Exchange::between(&near_container, &far_container);
        if near == far {
            exchange.expect_shared_memory();
        } else {
            exchange.expect_network();
        }
        assert!(exchange.warnings().is_empty(), "{:?}", exchange.warnings());
    }
}

#[test]
fn other_user_shares_memory_if_both_allow() {
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
            let mut exchange = Exchange::between(talker, listener);
            if by_memory { exchange.expect_shared_memory() } else { exchange.expect_network() }
        }
    }
}

#[test]
fn process_without_user_ids_uses_network() {
    let master = Master::start(Server::Runnel);
    let (near, far) = (shared(&master), shared(&master).that_knows_no_users());
    Exchange::between(&near, &far).expect_network();
}
