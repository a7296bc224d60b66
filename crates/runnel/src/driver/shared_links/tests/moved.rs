//! Tests of a publisher whose participant is known at another address than its link's, since its host has changed
//! networks. The link's connection is still the same.

use std::net::IpAddr;

use super::ended::{end_links, served_by_link};
use super::killed::has_received_all;
use super::*;
use crate::settings::receive_budget::{FrameBudget, ReceiveLimits};

/// An address without a participant.
const FORMER_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 9));

/// Moves the addresses of the links' peers instead of the participant's.
fn participant_moves(scene: &Scene) {
    let driver = &mut *scene.node.inner.driver();
    for key in driver.sockets.keys() {
        if let Some(Socket::Input(input)) = driver.sockets.get_mut(key) {
            let limits = ReceiveLimits { bytes: 1 << 20, timeout: LONG };
            input.claim = FrameBudget::new(limits).claim(FORMER_ADDRESS);
        }
    }
}

/// Reads the listener's links to their end. Returns whether a pair is still taken for served by one.
fn read_ended_links(scene: &Scene) -> bool {
    let driver = &mut *scene.node.inner.driver();
    let is_input = |driver: &Driver, key: Key| matches!(driver.sockets.get(key), Some(Socket::Input(_)));
    for key in driver.sockets.keys() {
        while is_input(driver, key) {
            driver.readable(key);
            driver.settle();
        }
    }
    let mut links = driver.ros2.readers.values().flat_map(|end| end.links.values());
    links.any(|from| from.is_served_by_link())
}

#[test]
fn end_of_link_releases_pairs_of_moved_participant() {
    for qos in [QoS::keep_all(), QoS::keep_last(10_000).best_effort()] {
        let mut scene = served_by_link(qos);
        participant_moves(&scene);
        end_links(&scene);
        assert!(!read_ended_links(&scene), "{qos:?}");
        scene.publish(COUNT);
        scene.spin_until("all is received", has_received_all);
        scene.check();
    }
}

#[test]
fn link_of_moved_participant_hands_pairs_to_rtps() {
    let mut scene = served_by_link(QoS::keep_all());
    participant_moves(&scene);
    set_interest(&scene.node, Interest::Read, is_of_ros1);
    scene.spin_until("the link is on standby", is_on_standby);
    scene.publish(COUNT);
    scene.spin_until("all is received", has_received_all);
    scene.check();
}
