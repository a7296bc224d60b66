//! Tests of publishers that claim to be a dual node served by RTPS, with statements that would stop RTPS.

use std::net::IpAddr;

use runnel_delivery::{MAX_NUMBER, PairId, Statement};
use runnel_ros1::tcpros::StreamItem;

use super::*;
use crate::driver::effect::Effect;
use crate::driver::sockets::LinkReturns;
use crate::settings::receive_budget::{FrameBudget, ReceiveLimits};

/// An address without a participant.
const OTHER_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 9));

/// A plausible epoch beyond those that the talker has stated.
const EPOCH: u32 = 1000;

/// The link is on standby, and RTPS serves its only pair.
pub(super) fn served_by_rtps() -> Scene {
    let mut scene = Scene::joined_by_ros1(QoS::keep_last(10_000), false);
    for interest in [is_of_ros1, is_rtps] {
        set_interest(&scene.node, Interest::Read, interest);
    }
    scene.spin_until("RTPS delivers", rtps_delivers);
    scene.spin_until("the link is on standby", is_on_standby);
    scene
}

/// Receives a statement about the pair on the link, from this address. Returns whether the link still exists.
fn states(scene: &Scene, address: Option<IpAddr>, statement: impl Fn(PairId) -> Statement) -> bool {
    let driver = &mut *scene.node.inner.driver();
    let is_input = |key: &Key| matches!(driver.sockets.get(*key), Some(Socket::Input(_)));
    let key = driver.sockets.keys().into_iter().find(is_input).unwrap();
    let limits = ReceiveLimits { bytes: 1 << 20, timeout: LONG };
    let claim = address.map(|address| FrameBudget::new(limits).claim(address));
    let Some(Socket::Input(input)) = driver.sockets.get_mut(key) else { unreachable!("it is an input") };
    if let Some(claim) = claim {
        input.claim = claim;
        // A link from there would not know RTPS's position in the pair.
        input.share().unwrap().returns = LinkReturns::default();
    }
    let pair = input.share().unwrap().receiver.pairs().next().unwrap().0;
    input.receive_item(StreamItem::Statement(statement(pair).encode())).unwrap();
    driver.effects.push_back(Effect::LinkShareChanged { key });
    driver.settle();
    driver.sockets.get(key).is_some()
}

#[test]
fn implausible_leave_ends_only_its_link() {
    let mut scene = served_by_rtps();
    let leave = |pair: PairId| Statement::Leave { id: pair.id(), epoch: EPOCH, from: MAX_NUMBER };
    assert!(!states(&scene, None, leave));
    scene.publish(COUNT);
    scene.check();
}

#[test]
fn publisher_at_other_address_does_not_stop_rtps() {
    for statement in [
        |id| Statement::Leave { id, epoch: EPOCH, from: u64::from(u32::MAX) },
        |id| Statement::Begin { id, epoch: EPOCH, from: 1, is_settled: false },
    ] {
        let mut scene = served_by_rtps();
        assert!(states(&scene, Some(OTHER_ADDRESS), |pair| statement(pair.id())));
        scene.publish(COUNT);
        scene.check();
    }
}
