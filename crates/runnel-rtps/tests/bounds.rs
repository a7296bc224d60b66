//! What a participant tells when there is much to tell, and who takes the place of one that died.

mod net;

use net::{Net, millis, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::Event;
use runnel_rtps::wire::EntityId;

const TOPIC: &str = "rt/chatter";

/// A writer and a reader that have met.
fn pair(qos: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(1);
    net.add();
    net.add();
    let (writer, reader) = (net.writer(0, TOPIC, qos), net.reader(1, TOPIC, qos));
    net.run_until("they meet", secs(3), |net| net.is_matched(0, writer) && net.is_matched(1, reader));
    net.run_for(millis(20));
    (net, writer, reader)
}

#[test]
fn who_leaves_is_told_to_have_left_however_much_there_is_to_tell() {
    let mut net = Net::new(1);
    net.add();
    net.add();
    let qos = QoS::sensor_data();
    for _ in 0..70 {
        net.writer(0, TOPIC, qos);
        net.reader(1, TOPIC, qos);
    }
    net.run_for(secs(3));
    let count = |net: &Net, which: fn(&Event) -> bool| {
        net.nodes[1].events.iter().filter(|event| which(event)).count()
    };
    assert_eq!(count(&net, |event| matches!(event, Event::Matched { .. })), 70 * 70);
    net.close(0);
    net.run_for(secs(1));
    assert_eq!(count(&net, |event| matches!(event, Event::Unmatched { .. })), 70 * 70);
    assert_eq!(count(&net, |event| matches!(event, Event::EndpointLost(_))), 70);
    assert_eq!(count(&net, |event| matches!(event, Event::ParticipantLost(_))), 1);
}

#[test]
fn whose_program_was_killed_and_started_again_holds_up_nobody() {
    let (mut net, writer, _) = pair(QoS::keep_all());
    let config = {
        let mut config = net.config();
        config.unicast = vec![net.nodes[1].address];
        config.own_addresses = vec![net.nodes[1].address.ip()];
        config
    };
    net.nodes[1].stopped = true;
    net.run_for(millis(100));
    net.nodes[1].participant = runnel_rtps::Participant::new(net.now, config);
    net.nodes[1].stopped = false;
    let reader = net.reader(1, TOPIC, QoS::keep_all());
    net.run_until("it is met", secs(1), |net| net.is_matched(1, reader));
    net.run_for(millis(50));
    assert_eq!(net.nodes[0].participant.matched(writer).len(), 1, "the one that died is gone");
    for number in 0..3000 {
        net.write(0, writer, &sample(number, 100)).expect("nobody is in the way");
        net.run_for(millis(1));
    }
    assert_eq!(net.texts(1, reader).len(), 3000);
}
