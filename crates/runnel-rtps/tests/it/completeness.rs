//! Completeness of discovery.

use crate::net::{Conditions, Net, millis, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::VendorId;

/// Returns the number of endpoints of a participant that another knows.
fn known(net: &Net, of: usize, to: usize) -> usize {
    let prefix = net.nodes[of].participant.prefix();
    net.nodes[to].participant.peer(prefix).map_or(0, |peer| peer.endpoints.len())
}

fn is_complete(net: &Net, of: usize, to: usize) -> bool {
    net.nodes[to].participant.is_complete(net.nodes[of].participant.prefix())
}

/// Creates a participant with forty writers and forty readers, and one that starts later and observes it.
fn talker_and_observer(seed: u64, conditions: Conditions) -> (Net, usize, usize) {
    let mut net = Net::new(seed);
    let talker = net.add();
    for number in 0..40 {
        net.writer(talker, &format!("rt/out{number}"), QoS::default());
        net.reader(talker, &format!("rt/in{number}"), QoS::default());
    }
    net.run_for(secs(1));
    net.conditions = conditions;
    let observer = net.add();
    (net, talker, observer)
}

#[test]
fn participant_is_complete_after_all_announcements() {
    let (mut net, talker, observer) = talker_and_observer(1, Conditions::GOOD);
    assert!(!is_complete(&net, talker, observer));
    net.run_until("all is known", secs(1), |net| is_complete(net, talker, observer));
    assert_eq!(known(&net, talker, observer), 80);
    net.writer(talker, "rt/late", QoS::default());
    net.run_until("late endpoints are known", secs(1), |net| {
        known(net, talker, observer) == 81 && is_complete(net, talker, observer)
    });
}

#[test]
fn participant_completes_on_bad_network() {
    for seed in 0..20 {
        let (mut net, talker, observer) = talker_and_observer(seed, Conditions::bad(30));
        net.run_until("all is known", secs(10), |net| is_complete(net, talker, observer));
        assert_eq!(known(&net, talker, observer), 80, "seed {seed}");
    }
}

#[test]
fn silent_participant_is_incomplete_and_empty_one_complete() {
    let mut net = Net::new(1);
    let (silent, observer) = (net.add(), net.add());
    net.run_until("the endpoints match", secs(1), |net| is_complete(net, silent, observer));
    // It announces itself once, and then never receives or sends.
    let deaf = net.add();
    net.run_for(millis(0));
    net.nodes[deaf].stopped = true;
    net.run_for(secs(1));
    let participant = &net.nodes[observer].participant;
    let prefix = net.nodes[deaf].participant.prefix();
    let announced: Vec<_> =
        participant.announced().map(|peer| (peer.data.prefix, peer.is_proved())).collect();
    assert!(announced.contains(&(prefix, false)), "{announced:?}");
    assert!(announced.contains(&(net.nodes[silent].participant.prefix(), true)), "{announced:?}");
    assert!(!participant.is_complete(prefix));
    let peer = participant.announced().find(|peer| peer.data.prefix == prefix).unwrap();
    assert_eq!((peer.data.vendor, peer.address()), (VendorId::RUNNEL, net.nodes[deaf].address));
}
