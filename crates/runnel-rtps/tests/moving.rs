//! Participants whose addresses change.

mod net;

use net::{Net, Weather, announcement, millis, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::Event;
use runnel_rtps::wire::EntityId;

const TOPIC: &str = "rt/chatter";

fn pair(seed: u64) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(seed);
    let (a, b) = (net.add(), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, QoS::keep_all()), net.reader(b, TOPIC, QoS::keep_all()));
    net.run_until("they meet", secs(2), |net| net.is_matched(a, writer) && net.is_matched(b, reader));
    net.run_for(secs(5));
    (net, writer, reader)
}

#[test]
fn who_loses_its_only_address_and_gets_another_stays_known() {
    for (loss, seed, mover) in
        (0..30).flat_map(|seed| [(0, seed, 0), (0, seed, 1), (20, seed, 0), (20, seed, 1)])
    {
        let (mut net, writer, reader) = pair(seed);
        net.weather = Weather { loss, ..Weather::FAIR };
        net.move_to(mover, vec![]);
        net.run_for(millis(200));
        net.move_to(mover, vec![([10, 0, 7, 7], 7410).into()]);
        let begun = net.now;
        net.write(0, writer, &sample(1, 100)).unwrap();
        net.run_until("it is heard", secs(10), |net| net.texts(1, reader).len() == 1);
        let took = net.now.since(begun);
        assert!(took < secs(if loss == 0 { 1 } else { 3 }), "loss {loss} seed {seed} {mover}: {took:?}");
        net.run_until("that is known", secs(3), |net| net.nodes[0].participant.unacknowledged(writer) == 0);
        net.run_for(secs(30));
        let lost = |event: &Event| matches!(event, Event::ParticipantLost(_));
        assert!(
            !net.nodes.iter().any(|node| node.events.iter().any(lost)),
            "loss {loss} seed {seed} {mover}"
        );
    }
}

#[test]
fn nobody_is_moved_by_another_who_does_not_know_whom_it_has_met() {
    let (mut net, writer, reader) = pair(1);
    let prefix = net.nodes[0].participant.prefix();
    let elsewhere = ([10, 9, 9, 9], 7410).into();
    for _ in 0..10 {
        net.send(elsewhere, net.nodes[1].address, &announcement(prefix, elsewhere, Some(secs(20))));
        net.run_for(millis(10));
    }
    net.write(0, writer, &sample(1, 100)).unwrap();
    net.run_for(millis(20));
    assert_eq!((net.texts(1, reader).len(), net.astray.get(&elsewhere)), (1, None));
}
