//! Several readers in one process: they share its socket, and datagrams to them are sent once.

use crate::net::{Conditions, Net, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::EntityId;
use runnel_rtps::{Event, Path, Rate};
use std::time::Duration;

const TOPIC: &str = "rt/chatter";

/// Creates a writer of the first participant with this rate, and readers of the second.
fn talk_to(readers: usize, rate: u64) -> (Net, EntityId, Vec<EntityId>) {
    let mut net = Net::new(1);
    net.add_with(|config| config.other_host = Path { datagram: 1444, rate: Rate::steady(rate) });
    net.add();
    let qos = QoS::keep_last(5000);
    let writer = net.writer(0, TOPIC, qos);
    let ids: Vec<EntityId> = (0..readers).map(|_| net.reader(1, TOPIC, qos)).collect();
    net.run_until("the endpoints match", secs(2), |net| {
        net.nodes[0].participant.matched(writer).len() == readers
            && ids.iter().all(|reader| net.is_matched(1, *reader))
    });
    net.run_for(secs(1));
    (net, writer, ids)
}

#[test]
fn each_reader_is_asked_once_for_acknowledgement() {
    for readers in [1, 2, 10] {
        let (mut net, writer, _) = talk_to(readers, 100_000_000);
        let (sent, answers) = (net.nodes[0].sent, net.nodes[1].sent);
        for number in 0..50 {
            net.write(0, writer, &sample(number, 50)).unwrap();
            net.run_for(millis(20));
        }
        let (sent, answers) = (net.nodes[0].sent - sent, net.nodes[1].sent - answers);
        // Each sample and a reminder; some announcements in addition.
        assert!((100..110).contains(&sent), "{sent} datagrams to {readers}");
        assert!((50 * readers..50 * readers + 10).contains(&answers), "{answers} answers of {readers}");
    }
}

#[test]
fn several_readers_share_one_flight_window() {
    let in_flight = |readers| {
        let (mut net, writer, _) = talk_to(readers, 100_000_000);
        net.nodes[1].stopped = true;
        let before = net.nodes[0].sent_bytes;
        (0..3000).for_each(|number| drop(net.write(0, writer, &sample(number, 500))));
        net.run_for(millis(5));
        net.nodes[0].sent_bytes - before
    };
    let to_one = in_flight(1);
    assert!(to_one > 20_000);
    assert_eq!((in_flight(2), in_flight(10)), (to_one, to_one));
}

#[test]
fn several_readers_share_one_fragment_rate() {
    let elapsed = |readers| -> Duration {
        let (mut net, writer, ids) = talk_to(readers, 1_000_000);
        net.write(0, writer, &sample(1, 200_000)).unwrap();
        net.run_until("the sample arrives", secs(5), |net| ids.iter().all(|id| net.texts(1, *id).len() == 1))
    };
    let to_one = elapsed(1);
    assert!(to_one > millis(150));
    assert_eq!((elapsed(2), elapsed(10)), (to_one, to_one));
}

/// Datagrams to the readers that the writer knows also reach a new one. The writer repeats for the others samples from before the
/// first sample of the new one.
#[test]
fn new_reader_has_no_gap_behind_samples_resent_to_others() {
    for seed in 1..40 {
        let mut net = Net::new(seed);
        let (a, b) = (net.add(), net.add());
        let qos = QoS::keep_all();
        let writer = net.writer(a, TOPIC, qos);
        let known = [net.reader(b, TOPIC, qos), net.reader(b, TOPIC, qos)];
        net.run_until("the endpoints match", secs(2), |net| {
            net.nodes[a].participant.matched(writer).len() == 2
                && known.iter().all(|id| net.is_matched(b, *id))
        });
        net.conditions = Conditions::bad(30);
        for number in 0..20 {
            net.write(a, writer, &sample(number, 50)).unwrap();
            net.run_for(millis(1));
        }
        let new = net.reader(b, TOPIC, qos);
        for number in 20..200 {
            net.write(a, writer, &sample(number, 50)).unwrap();
            net.run_for(millis(1));
        }
        net.conditions = Conditions::GOOD;
        net.run_until("the last sample arrives", secs(20), |net| {
            net.texts(b, new).last().is_some_and(|bytes| number_of(bytes) == 199)
        });
        let received: Vec<u32> = net.texts(b, new).iter().map(|bytes| number_of(bytes)).collect();
        let first = received[0];
        assert_eq!(received, (first..200).collect::<Vec<_>>(), "seed {seed}");
        let is_loss = |event: &Event| matches!(event, Event::SampleLost { .. });
        assert!(!net.nodes[b].events.iter().any(is_loss), "seed {seed}");
    }
}
