//! What a participant can tell of the others.

use crate::net::{Net, Weather, millis, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::VendorId;

/// How many endpoints of a participant another knows.
fn known(net: &Net, of: usize, to: usize) -> usize {
    let prefix = net.nodes[of].participant.prefix();
    net.nodes[to].participant.peer(prefix).map_or(0, |peer| peer.endpoints.len())
}

fn is_complete(net: &Net, of: usize, to: usize) -> bool {
    net.nodes[to].participant.is_complete(net.nodes[of].participant.prefix())
}

/// A participant with forty writers and forty readers, and one that comes later and looks at it.
fn talker_and_looker(seed: u64, weather: Weather) -> (Net, usize, usize) {
    let mut net = Net::new(seed);
    let talker = net.add();
    for number in 0..40 {
        net.writer(talker, &format!("rt/out{number}"), QoS::default());
        net.reader(talker, &format!("rt/in{number}"), QoS::default());
    }
    net.run_for(secs(1));
    net.weather = weather;
    let looker = net.add();
    (net, talker, looker)
}

#[test]
fn a_participant_is_complete_once_all_that_it_has_is_known_and_not_before() {
    let (mut net, talker, looker) = talker_and_looker(1, Weather::FAIR);
    assert!(!is_complete(&net, talker, looker));
    net.run_until("all is known", secs(1), |net| is_complete(net, talker, looker));
    assert_eq!(known(&net, talker, looker), 80);
    net.writer(talker, "rt/late", QoS::default());
    net.run_until("what comes late is known, too", secs(1), |net| {
        known(net, talker, looker) == 81 && is_complete(net, talker, looker)
    });
}

#[test]
fn so_it_is_in_foul_weather() {
    for seed in 0..20 {
        let (mut net, talker, looker) = talker_and_looker(seed, Weather::foul(30));
        net.run_until("all is known", secs(10), |net| is_complete(net, talker, looker));
        assert_eq!(known(&net, talker, looker), 80, "seed {seed}");
    }
}

#[test]
fn who_has_no_endpoints_is_complete_and_who_does_not_hear_us_is_not() {
    let mut net = Net::new(1);
    let (silent, looker) = (net.add(), net.add());
    net.run_until("they meet", secs(1), |net| is_complete(net, silent, looker));
    // It announces itself once, and then never hears or says anything.
    let deaf = net.add();
    net.run_for(millis(0));
    net.nodes[deaf].stopped = true;
    net.run_for(secs(1));
    let participant = &net.nodes[looker].participant;
    let prefix = net.nodes[deaf].participant.prefix();
    let announced: Vec<_> =
        participant.announced().map(|peer| (peer.data.prefix, peer.is_proved())).collect();
    assert!(announced.contains(&(prefix, false)), "{announced:?}");
    assert!(announced.contains(&(net.nodes[silent].participant.prefix(), true)), "{announced:?}");
    assert!(!participant.is_complete(prefix));
    let peer = participant.announced().find(|peer| peer.data.prefix == prefix).unwrap();
    assert_eq!((peer.data.vendor, peer.address()), (VendorId::RUNNEL, net.nodes[deaf].address));
}
