//! Publishers that claim to be a node that RTPS serves, and state what has RTPS give nothing more.

use std::net::IpAddr;

use runnel_delivery::{MAX_NUMBER, PairId, Statement};
use runnel_ros1::tcpros::StreamItem;

use super::*;
use crate::driver::effect::Effect;
use crate::driver::sockets::LinkReturns;
use crate::receive_budget::{FrameBudget, ReceiveLimits};

/// An address at which there is no participant.
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 9));

/// Beyond what the talker has stated, and plausible.
const EPOCH: u32 = 1000;

/// The link is on standby, and RTPS serves its one pair.
fn served_by_rtps() -> Scene {
    let mut scene = Scene::joined_by_ros1(QoS::keep_last(10_000), false);
    for interest in [is_of_ros1, is_rtps] {
        read(&scene.node, Interest::Read, interest);
    }
    scene.spin_until("ROS 2 brings something", is_carried_by_ros2);
    scene.spin_until("the link stands by", is_on_standby);
    scene
}

/// The link states this of its pair; whether it still stands then.
fn states(scene: &Scene, address: Option<IpAddr>, statement: impl Fn(PairId) -> Statement) -> bool {
    let driver = &mut *scene.node.inner.driver();
    let is_input = |key: &Key| matches!(driver.sockets.get(*key), Some(Socket::Input(_)));
    let key = driver.sockets.keys().into_iter().find(is_input).unwrap();
    let limits = ReceiveLimits { bytes: 1 << 20, timeout: LONG };
    let claim = address.map(|address| FrameBudget::new(limits).claim(address));
    let Some(Socket::Input(input)) = driver.sockets.get_mut(key) else { unreachable!("it is an input") };
    if let Some(claim) = claim {
        input.claim = claim;
        // RTPS would not have said how far it is with its pair.
        input.share().unwrap().returns = LinkReturns::default();
    }
    let pair = input.share().unwrap().receiver.pairs().next().unwrap().0;
    input.hear_part(StreamItem::Statement(statement(pair).encode())).unwrap();
    driver.effects.push_back(Effect::LinkShared { key });
    driver.settle();
    driver.sockets.get(key).is_some()
}

#[test]
fn leave_at_implausible_number_ends_the_link_alone() {
    let mut scene = served_by_rtps();
    let leave = |pair: PairId| Statement::Leave { id: pair.id(), epoch: EPOCH, from: MAX_NUMBER };
    assert!(!states(&scene, None, leave));
    scene.publish(BEFORE);
    scene.check();
}

#[test]
fn publisher_elsewhere_does_not_stop_rtps() {
    for statement in [
        |id| Statement::Leave { id, epoch: EPOCH, from: u64::from(u32::MAX) },
        |id| Statement::Begin { id, epoch: EPOCH, from: 1, is_settled: false },
    ] {
        let mut scene = served_by_rtps();
        assert!(states(&scene, Some(ELSEWHERE), |pair| statement(pair.id())));
        scene.publish(BEFORE);
        scene.check();
    }
}
