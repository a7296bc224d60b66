//! Samples that need many datagrams.

use crate::net::{millis, sample, secs};
use crate::pairs::{TOPIC, slow_pair};
use runnel_core::qos::QoS;
use runnel_rtps::Event;

/// Bytes of a sample that needs many datagrams.
const LONG_SAMPLE: usize = 840_000;

#[test]
fn depth_one_long_samples_arrive_despite_short_period() {
    let without_loss =
        [QoS::keep_last(1), QoS::keep_last(1).best_effort(), QoS::latched()].map(|qos| (qos, 0));
    for (qos, loss) in without_loss.into_iter().chain([(QoS::keep_last(1), 2)]) {
        let (mut net, writer, reader) = slow_pair(1, qos);
        for number in 0..30 {
            net.conditions.loss = loss;
            net.write(0, writer, &sample(number, LONG_SAMPLE)).unwrap();
            net.run_for(millis(33));
        }
        let received = net.texts(1, reader).len();
        assert!(received > 8, "{received} of 30 with {loss} % loss and {qos:?}");
        net.conditions.loss = 0;
        net.run_for(secs(1));
        let last = net.texts(1, reader).pop().unwrap();
        assert!(last == sample(29, LONG_SAMPLE), "the last one arrives");
    }
}

/// Each of its datagrams announces the previous sample as the last, for longer than datagrams overtake each other.
#[test]
fn sample_in_flight_for_long_contradicts_no_position() {
    for (loss, seed) in [0, 2, 20].into_iter().flat_map(|loss| (1..6).map(move |seed| (loss, seed))) {
        let (mut net, writer, reader) = slow_pair(seed, QoS::default());
        net.conditions.loss = loss;
        net.write(0, writer, &sample(0, 5 * LONG_SAMPLE)).unwrap();
        net.write(0, writer, &sample(1, 100)).unwrap();
        net.run_until("both arrive", secs(10), |net| net.texts(1, reader).len() == 2);
        let is_correction = |event: &&Event| matches!(event, Event::Corrected { .. });
        let corrections = net.nodes[1].events.iter().filter(is_correction).count();
        assert_eq!(corrections, 0, "seed {seed} with {loss} % loss");
    }
}

#[test]
fn late_joiner_gets_depth_despite_long_sample_in_flight() {
    let (mut net, writer, _) = slow_pair(1, QoS::latched());
    for number in 0..3 {
        net.write(0, writer, &sample(number, LONG_SAMPLE)).unwrap();
    }
    let late = net.reader(1, TOPIC, QoS::latched());
    net.run_for(secs(2));
    assert!(net.texts(1, late) == [sample(2, LONG_SAMPLE)]);
}
