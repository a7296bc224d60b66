//! Readers that hear a writer by another way until they have met it.

use crate::forgeries::farewell as end_of_participant;
use crate::net::{Net, Weather, millis, number_of, options, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::{self, EntityId, VendorId};
use runnel_rtps::{EndpointOptions, Event};

const TOPIC: &str = "rt/chatter";
const WORD: &[u8] = b"runnelorigin=5";

fn of_origin(qos: QoS) -> EndpointOptions {
    EndpointOptions { user_data: b"typehash=RIHS01_0;runnelorigin=5;".to_vec(), ..options(TOPIC, qos) }
}

fn numbers(net: &Net, node: usize, reader: EntityId) -> Vec<u32> {
    net.texts(node, reader).iter().map(|bytes| number_of(bytes)).collect()
}

/// Publishes as one does who has another way to the reader: by RTPS as well once the reader is matched. What went which way.
fn publish(net: &mut Net, writer: EntityId, numbers: std::ops::Range<u32>) -> (Vec<u32>, Vec<u32>) {
    let (mut by_rtps, mut elsewhere) = (Vec::new(), Vec::new());
    for number in numbers {
        let now = net.now;
        net.nodes[0].participant.let_over(now, writer, WORD);
        let way = if net.is_matched(0, writer) { &mut by_rtps } else { &mut elsewhere };
        way.push(number);
        net.write(0, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(1));
    }
    (by_rtps, elsewhere)
}

#[test]
fn a_reader_goes_over_to_rtps_between_two_samples() {
    for (loss, qos) in [(0, QoS::sensor_data()), (0, QoS::keep_all()), (30, QoS::keep_all())] {
        for seed in 0..20 {
            let mut net = Net::new(seed);
            let (a, b) = (net.add(), net.add());
            net.weather = Weather { loss, ..Weather::FAIR };
            let writer = net.writer(a, TOPIC, qos);
            net.nodes[a].participant.heard_elsewhere(writer, WORD);
            let reader = net.reader_with(b, of_origin(qos));
            let (mut by_rtps, mut elsewhere) = publish(&mut net, writer, 0..100);
            while by_rtps.len() < 100 && elsewhere.len() < 10_000 {
                let next = (by_rtps.len() + elsewhere.len()) as u32;
                let (more_by_rtps, more_elsewhere) = publish(&mut net, writer, next..next + 100);
                by_rtps.extend(more_by_rtps);
                elsewhere.extend(more_elsewhere);
            }
            net.run_until("all are heard", secs(20), |net| numbers(net, b, reader).len() >= by_rtps.len());
            assert_eq!(numbers(&net, b, reader), by_rtps, "loss {loss} seed {seed}");
            assert!(
                !elsewhere.is_empty() && !by_rtps.is_empty(),
                "loss {loss} seed {seed}: it never went over"
            );
        }
    }
}

/// Two nodes, and a writer of the first that has written 0 to 4 and is heard by another way.
fn heard_elsewhere(qos: QoS) -> (Net, [usize; 2], EntityId) {
    let mut net = Net::new(1);
    let nodes @ [a, _] = [net.add(), net.add()];
    let writer = net.writer(a, TOPIC, qos);
    net.nodes[a].participant.heard_elsewhere(writer, WORD);
    (0..5).for_each(|number| drop(net.write(a, writer, &sample(number, 100)).unwrap()));
    (net, nodes, writer)
}

#[test]
fn who_has_gone_over_is_told_of_nothing_earlier_and_a_stranger_of_all() {
    let qos = QoS::keep_last(10).transient_local();
    let (mut net, [a, b], writer) = heard_elsewhere(qos);
    let (gone_over, stranger) = (net.reader_with(b, of_origin(qos)), net.reader(b, TOPIC, qos));
    let can_go_over = Event::CanGoOver { writer, reader: net.nodes[b].participant.prefix().with(gone_over) };
    net.run_until("it can go over", secs(2), |net| net.nodes[a].events.contains(&can_go_over));
    assert_eq!(net.nodes[a].participant.matched(writer).len(), 1, "the stranger alone");
    let now = net.now;
    assert!(net.nodes[a].participant.let_over(now, writer, WORD));
    assert!(!net.nodes[a].participant.let_over(now, writer, WORD), "it has gone over");
    net.write(a, writer, &sample(5, 100)).unwrap();
    net.run_for(millis(100));
    assert_eq!((numbers(&net, b, gone_over), numbers(&net, b, stranger)), (vec![5], vec![0, 1, 2, 3, 4, 5]));
    // The other way carries nothing any more: one more reader of that node is as any other.
    let later = net.reader_with(b, of_origin(qos));
    net.run_until("it hears all", secs(2), |net| numbers(net, b, later) == [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_reader_that_comes_when_the_last_of_its_node_has_ended_is_told_of_what_is_earlier_while_the_old_way_stands()
 {
    let qos = QoS::keep_last(10).transient_local();
    for gone_over in [false, true] {
        let (mut net, [a, b], writer) = heard_elsewhere(qos);
        let can_go_over = |net: &mut Net, reader| {
            let event = Event::CanGoOver { writer, reader: net.nodes[b].participant.prefix().with(reader) };
            net.run_until("it can go over", secs(2), |net| net.nodes[a].events.contains(&event));
        };
        let (first, other) = (net.reader_with(b, of_origin(qos)), net.reader_with(b, of_origin(qos)));
        [first, other].into_iter().for_each(|reader| can_go_over(&mut net, reader));
        if gone_over {
            let now = net.now;
            assert!(net.nodes[a].participant.let_over(now, writer, WORD));
        }
        net.remove(b, first);
        net.run_for(millis(100));
        let beside = net.reader_with(b, of_origin(qos));
        net.run_for(millis(100));
        [other, beside].into_iter().for_each(|reader| net.remove(b, reader));
        let next = net.reader_with(b, of_origin(qos));
        can_go_over(&mut net, next);
        let now = net.now;
        assert!(net.nodes[a].participant.let_over(now, writer, WORD));
        net.run_for(millis(100));
        // Who came while another of its node was there had the other way, or that of RTPS.
        let heard = |reader| numbers(&net, b, reader);
        let all = vec![0, 1, 2, 3, 4];
        assert_eq!(
            [first, other, beside].map(heard),
            [vec![], vec![], if gone_over { all.clone() } else { vec![] }]
        );
        assert_eq!(heard(next), all);
    }
}

#[test]
fn that_a_way_has_ended_is_no_news_to_readers_that_do_not_fit() {
    let mut net = Net::new(1);
    let (a, b) = (net.add(), net.add());
    let writer = net.writer(a, TOPIC, QoS::sensor_data());
    let strict = net.reader(b, TOPIC, QoS::default());
    let strict = net.nodes[b].participant.prefix().with(strict);
    let told = |net: &Net| {
        let is_told =
            |event: &&Event| matches!(event, Event::Incompatible { remote, .. } if *remote == strict);
        net.nodes[a].events.iter().filter(is_told).count()
    };
    net.run_until("it is told", secs(2), |net| told(net) == 1);
    for _ in 0..3 {
        let now = net.now;
        net.nodes[a].participant.heard_elsewhere(writer, WORD);
        net.nodes[a].participant.not_heard_elsewhere(now, writer, WORD);
        net.run_for(millis(10));
    }
    assert_eq!(told(&net), 1);
}

#[test]
fn a_reader_is_matched_at_once_when_its_other_way_has_ended() {
    let mut net = Net::new(1);
    let (a, b) = (net.add(), net.add());
    net.run_for(secs(1));
    let writer = net.writer(a, TOPIC, QoS::default());
    for _ in 0..2 {
        net.nodes[a].participant.heard_elsewhere(writer, WORD);
    }
    net.blackout = true;
    net.run_for(millis(5));
    net.blackout = false;
    let _reader = net.reader_with(b, of_origin(QoS::default()));
    net.run_for(millis(1));
    let changes = net.nodes[a].participant.reader_changes(writer);
    let now = net.now;
    for is_matched in [false, true] {
        net.nodes[a].participant.not_heard_elsewhere(now, writer, WORD);
        assert_eq!(net.is_matched(a, writer), is_matched);
    }
    assert_ne!(net.nodes[a].participant.reader_changes(writer), changes);
}

#[test]
fn a_reader_that_has_met_the_writer_hears_what_is_sent_best_effort_from_the_next_sample_on() {
    let mut strangers = 0;
    for (loss, seed) in [0, 30].into_iter().flat_map(|loss| (0..20).map(move |seed| (loss, seed))) {
        let mut net = Net::new(seed);
        let (a, b) = (net.add(), net.add());
        net.weather = Weather { loss, ..Weather::FAIR };
        let reader = net.reader(b, TOPIC, QoS::sensor_data());
        net.run_for(millis(200));
        let writer = net.writer(a, TOPIC, QoS::default());
        net.run_until("the writer has met it", secs(20), |net| net.is_matched(0, writer));
        strangers += net.nodes[a].participant.not_yet_met(writer).len();
        net.run_until("it has met the writer", secs(20), |net| {
            net.nodes[0].participant.not_yet_met(writer).is_empty() && net.is_matched(0, writer)
        });
        net.weather = Weather::FAIR;
        net.write(a, writer, &sample(7, 100)).unwrap();
        net.run_for(millis(50));
        assert_eq!(numbers(&net, b, reader), [7], "loss {loss} seed {seed}");
    }
    assert!(strangers > 20, "{strangers}: in most runs only one side has met the other at first");
}

/// The link of ROS 1 of a subscription may stand only after its reader has ended.
#[test]
fn path_made_for_ended_reader_hides_nothing_from_next() {
    let qos = QoS::keep_last(10).transient_local();
    let mut net = Net::new(1);
    let (a, b) = (net.add(), net.add());
    let writer = net.writer(a, TOPIC, qos);
    (0..5).for_each(|number| drop(net.write(a, writer, &sample(number, 100)).unwrap()));
    let first = net.reader_with(b, of_origin(qos));
    net.run_until("it hears all", secs(2), |net| numbers(net, b, first).len() == 5);
    net.remove(b, first);
    net.run_until("its end is known", secs(2), |net| net.nodes[a].participant.matched(writer).is_empty());
    net.nodes[a].participant.heard_elsewhere(writer, WORD);
    let second = net.reader_with(b, of_origin(qos));
    net.run_for(secs(1));
    let now = net.now;
    assert!(net.nodes[a].participant.let_over(now, writer, WORD));
    net.write(a, writer, &sample(5, 100)).unwrap();
    net.run_until("the next hears all", secs(2), |net| numbers(net, b, second) == [0, 1, 2, 3, 4, 5]);
}

/// The writer holds for a while what a reader has not acknowledged that was lost; this one receives it by the other way.
#[test]
fn reader_that_comes_back_gets_nothing_twice() {
    let qos = QoS::keep_all();
    let (mut net, [a, b], writer) = heard_elsewhere(qos);
    let reader = net.reader_with(b, of_origin(qos));
    let can_go_over = Event::CanGoOver { writer, reader: net.nodes[b].participant.prefix().with(reader) };
    let go_over = |net: &mut Net| {
        net.nodes[a].events.clear();
        net.run_until("it can go over", secs(4), |net| net.nodes[a].events.contains(&can_go_over));
        let now = net.now;
        assert!(net.nodes[a].participant.let_over(now, writer, WORD));
    };
    go_over(&mut net);
    assert_eq!(publish(&mut net, writer, 5..8), (vec![5, 6, 7], vec![]));
    let mut farewell = vec![];
    wire::begin(&mut farewell, VendorId::RUNNEL, net.nodes[b].participant.prefix());
    end_of_participant(&mut farewell, net.nodes[b].participant.prefix());
    let (from, to) = (net.nodes[b].address, net.nodes[a].address);
    net.send(from, to, &farewell);
    net.run_for(millis(1));
    assert_eq!(publish(&mut net, writer, 8..10), (vec![], vec![8, 9]));
    go_over(&mut net);
    assert_eq!(publish(&mut net, writer, 10..12), (vec![10, 11], vec![]));
    net.run_for(secs(1));
    assert_eq!(numbers(&net, b, reader), [5, 6, 7, 10, 11]);
}
