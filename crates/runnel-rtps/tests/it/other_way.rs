//! Pairs whose samples take another way than the network for a while, and what participants of one vendor tell each other
//! alone.

use crate::net;
use crate::net::{Net, Weather, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::Event;
use runnel_rtps::wire::{EntityId, Guid, SequenceNumber, VendorId};

const TOPIC: &str = "rt/chatter";

/// A writer and a reader, and the way beside the network that a test takes messages along by hand.
struct Pair {
    net: Net,
    writer: EntityId,
    reader: EntityId,
    /// What is under way there, once the pair has gone over.
    beside: Option<Vec<(SequenceNumber, Vec<u8>)>>,
    written: u32,
}

impl Pair {
    fn new(seed: u64, offered: QoS, asked: QoS) -> Self {
        let mut net = Net::new(seed);
        let (a, b) = (net.add(), net.add());
        let writer = net.writer(a, TOPIC, offered);
        let reader = net.reader(b, TOPIC, asked);
        net.run_until("they meet", secs(2), |net| net.is_matched(0, writer) && net.is_matched(1, reader));
        Self { net, writer, reader, beside: None, written: 0 }
    }

    fn ours(&self) -> Guid {
        self.net.nodes[0].participant.prefix().with(self.writer)
    }

    fn theirs(&self) -> Guid {
        self.net.nodes[1].participant.prefix().with(self.reader)
    }

    fn write(&mut self) {
        let bytes = sample(self.written, 100);
        self.net.write(0, self.writer, &bytes).unwrap();
        self.written += 1;
        let number = self.net.nodes[0].participant.last_number(self.writer).unwrap();
        self.beside.iter_mut().for_each(|beside| beside.push((number, bytes.clone())));
    }

    fn go_over(&mut self) {
        let theirs = self.theirs();
        assert!(self.net.nodes[0].participant.suspend(self.writer, theirs).is_some());
        self.beside = Some(Vec::new());
    }

    /// So many of those beside arrive.
    fn arrive(&mut self, most: usize) {
        let (now, pair) = (self.net.now, (self.reader, self.ours()));
        let Some(beside) = &mut self.beside else { return };
        for (number, bytes) in beside.drain(..most.min(beside.len())) {
            self.net.nodes[1].participant.take_in(now, pair, (number, number), &bytes);
        }
        self.net.touch(1);
    }

    fn come_back(&mut self) {
        let (now, stamp, theirs) = (self.net.now, self.net.stamp(), self.theirs());
        let rest = self.beside.take().unwrap();
        let participant = &mut self.net.nodes[0].participant;
        let next = participant.last_number(self.writer).unwrap().next();
        let from = rest.first().map_or(next, |(number, _)| *number);
        let rest = rest.into_iter().map(|(number, bytes)| (number, now, bytes.as_slice().into()));
        participant.resume(now, stamp, (self.writer, theirs), from, rest);
        self.net.touch(0);
    }

    fn heard(&self) -> Vec<u32> {
        self.net.texts(1, self.reader).iter().map(|bytes| number_of(bytes)).collect()
    }

    fn lost(&self) -> u64 {
        let lost = |event: &Event| if let Event::SampleLost { count, .. } = event { *count } else { 0 };
        self.net.nodes[1].events.iter().map(lost).sum()
    }
}

#[test]
fn a_pair_that_goes_over_and_comes_back_in_foul_weather_loses_and_doubles_nothing() {
    for (loss, seed) in [0, 10, 30].into_iter().flat_map(|loss| (0..20).map(move |seed| (loss, seed))) {
        for qos in [QoS::keep_all(), QoS::keep_all().transient_local()] {
            let mut pair = Pair::new(seed, qos, qos);
            pair.net.weather = Weather::foul(loss);
            for _ in 0..400 {
                match pair.net.random(20) {
                    0 if pair.beside.is_none() => pair.go_over(),
                    0 => pair.come_back(),
                    1..5 => {
                        let some = pair.net.random(8) as usize;
                        pair.arrive(some);
                    }
                    5 => pair.net.run_for(millis(3)),
                    _ => pair.write(),
                }
            }
            pair.arrive(usize::MAX);
            let written = pair.written;
            pair.net.run_until("all are heard", secs(20), |net| {
                net.texts(1, pair.reader).len() >= written as usize
            });
            pair.net.run_for(secs(1));
            assert_eq!(pair.heard(), (0..written).collect::<Vec<_>>(), "loss {loss} seed {seed} {qos:?}");
            assert_eq!(pair.lost(), 0, "loss {loss} seed {seed}");
        }
    }
}

#[test]
fn a_best_effort_pair_that_goes_over_and_comes_back_in_fair_weather_loses_and_doubles_nothing() {
    let mut pair = Pair::new(3, QoS::sensor_data(), QoS::sensor_data());
    for _ in 0..10 {
        for _ in 0..3 {
            pair.write();
        }
        pair.net.run_for(millis(1));
        pair.go_over();
        for _ in 0..5 {
            pair.write();
        }
        pair.arrive(3);
        pair.come_back();
        pair.net.run_for(millis(1));
    }
    assert_eq!((pair.heard(), pair.lost()), ((0..80).collect::<Vec<_>>(), 0));
}

#[test]
fn what_a_suspended_reader_gets_is_neither_sent_nor_held_nor_asked_about() {
    let mut pair = Pair::new(4, QoS::keep_last(10), QoS::keep_last(10));
    pair.write();
    pair.net.run_for(secs(1));
    pair.go_over();
    pair.net.run_for(secs(1));
    let before = pair.net.nodes[0].sent;
    let bytes = sample(1, 100);
    for _ in 0..1000 {
        let back = pair.net.write(0, pair.writer, &bytes).unwrap();
        assert_eq!(back.as_deref(), Some(&bytes[..]), "it is free at once");
    }
    pair.net.run_for(millis(500));
    assert_eq!(pair.net.nodes[0].participant.unacknowledged(pair.writer), 0);
    let sent = pair.net.nodes[0].sent - before;
    assert!(sent <= 1, "{sent} datagrams, where one announcement may be");
}

#[test]
fn others_get_theirs_by_the_network_while_one_reader_is_suspended() {
    let mut pair = Pair::new(5, QoS::keep_all(), QoS::keep_all());
    let beside = pair.net.reader(1, TOPIC, QoS::keep_all());
    let node = pair.net.add();
    let far = pair.net.reader(node, TOPIC, QoS::keep_all());
    let (writer, matched) = (pair.writer, |net: &Net, id| net.nodes[0].participant.matched(id).len() == 3);
    pair.net.run_until("all have met", secs(2), |net| matched(net, writer));
    pair.go_over();
    for _ in 0..200 {
        pair.write();
    }
    pair.net.run_for(secs(1));
    for (node, reader) in [(1, beside), (node, far)] {
        let heard: Vec<u32> = pair.net.texts(node, reader).iter().map(|bytes| number_of(bytes)).collect();
        assert_eq!(heard, (0..200).collect::<Vec<_>>());
    }
    assert!(pair.heard().is_empty());
    pair.arrive(usize::MAX);
    assert_eq!(pair.heard(), (0..200).collect::<Vec<_>>());
    assert_eq!(pair.net.nodes[0].participant.unacknowledged(writer), 0);
}

#[test]
fn who_comes_late_and_goes_over_at_once_gets_what_is_held_first() {
    let qos = QoS::keep_last(3).transient_local();
    let mut pair = Pair::new(6, qos, qos);
    pair.net.blackout = true;
    for _ in 0..5 {
        pair.write();
    }
    pair.go_over();
    for _ in 0..2 {
        pair.write();
    }
    pair.arrive(usize::MAX);
    assert!(pair.heard().is_empty(), "what was before is still to come");
    pair.net.blackout = false;
    pair.net.run_for(secs(2));
    // Of the first five the last were to be held; those written since have taken the place of all but one.
    assert_eq!((pair.heard(), pair.lost()), (vec![4, 5, 6], 4));
}

#[test]
fn what_waits_for_the_network_has_a_bound() {
    let mut pair = Pair::new(7, QoS::keep_all(), QoS::keep_all());
    pair.net.run_for(secs(1));
    pair.net.blackout = true;
    pair.write();
    pair.go_over();
    for _ in 0..5000 {
        pair.write();
    }
    pair.arrive(4096);
    assert!(pair.heard().is_empty());
    pair.arrive(usize::MAX);
    let heard = pair.heard();
    assert!(heard.iter().copied().eq(1..5001), "{} heard", heard.len());
    assert_eq!(pair.lost(), 1);
}

#[test]
fn what_is_there_by_another_way_is_no_reason_to_ask_for_what_the_network_is_about_to_bring() {
    let mut pair = Pair::new(13, QoS::keep_all(), QoS::keep_all());
    pair.net.run_for(secs(1));
    let sent = |pair: &Pair| [0, 1].map(|node| pair.net.nodes[node].sent);
    let before = sent(&pair);
    // More than is under way at a time.
    for _ in 0..1000 {
        pair.write();
    }
    pair.go_over();
    for _ in 0..1000 {
        pair.write();
    }
    pair.arrive(usize::MAX);
    pair.net.run_until("all are heard", secs(2), |net| net.texts(1, pair.reader).len() >= 2000);
    assert!(pair.heard().iter().copied().eq(0..2000));
    let [ours, theirs] = sent(&pair);
    assert!(ours - before[0] < 1100, "{} datagrams for 1000 samples", ours - before[0]);
    assert!(theirs - before[1] < 100, "{} acknowledgements", theirs - before[1]);
}

#[test]
fn a_reader_that_resumes_is_not_told_that_what_it_has_would_not_come() {
    let mut pair = Pair::new(8, QoS::keep_all(), QoS::keep_all());
    pair.net.run_for(secs(1));
    pair.net.blackout = true;
    pair.write();
    pair.go_over();
    for _ in 0..3 {
        pair.write();
    }
    pair.arrive(usize::MAX);
    pair.come_back();
    pair.write();
    pair.net.blackout = false;
    pair.net.run_for(secs(2));
    assert_eq!((pair.heard(), pair.lost()), ((0..5).collect::<Vec<_>>(), 0));
}

#[test]
fn a_user_who_was_given_samples_at_once_goes_on_where_he_was() {
    let mut pair = Pair::new(9, QoS::default(), QoS::default());
    pair.write();
    pair.net.run_for(secs(1));
    pair.go_over();
    let ours = pair.ours();
    assert_eq!(pair.net.nodes[1].participant.due(pair.reader, ours), Some(SequenceNumber(2)));
    for _ in 0..7 {
        pair.write();
    }
    // The user has had two to six; seven and eight were under way.
    pair.beside.as_mut().unwrap().drain(..5);
    let now = pair.net.now;
    pair.net.nodes[1].participant.pass_over(now, (pair.reader, ours), SequenceNumber(7));
    pair.come_back();
    pair.write();
    pair.net.run_for(secs(1));
    assert_eq!((pair.heard(), pair.lost()), (vec![0, 6, 7, 8], 0));
}

#[test]
fn what_a_user_was_given_at_once_before_the_two_lost_each_other_does_not_come_again() {
    let qos = QoS::keep_last(10).transient_local();
    let mut pair = Pair::new(10, qos, qos);
    pair.write();
    pair.net.run_for(secs(1));
    pair.go_over();
    (0..5).for_each(|_| pair.write());
    let ours = pair.ours();
    pair.net.blackout = true;
    pair.net.run_for(secs(45));
    assert!(!pair.net.is_matched(1, pair.reader));
    // The user had the five at once, which is told when it is noticed that the two have parted.
    let now = pair.net.now;
    pair.net.nodes[1].participant.pass_over(now, (pair.reader, ours), SequenceNumber(7));
    pair.beside = None;
    pair.net.blackout = false;
    let reader = pair.reader;
    pair.net.run_until("they meet again", secs(60), |net| net.is_matched(1, reader));
    pair.write();
    pair.net.run_for(secs(5));
    assert_eq!((pair.heard(), pair.lost()), (vec![0, 6], 0));
}

#[test]
fn what_a_writer_leaves_out_on_the_other_way_is_lost_and_not_waited_for() {
    for qos in [QoS::default(), QoS::sensor_data()] {
        let mut pair = Pair::new(12, qos, qos);
        pair.write();
        pair.net.run_for(secs(1));
        pair.go_over();
        let (now, of) = (pair.net.now, (pair.reader, pair.ours()));
        for (expected, number) in [(2, 2), (3, 6), (7, 7)] {
            let numbers = (SequenceNumber(expected), SequenceNumber(number));
            pair.net.nodes[1].participant.take_in(now, of, numbers, &sample(number as u32, 10));
        }
        pair.net.touch(1);
        assert_eq!((pair.heard(), pair.lost()), (vec![0, 2, 6, 7], 3), "{qos:?}");
    }
}

#[test]
fn a_word_reaches_the_one_that_it_is_for_and_nobody_of_another_vendor() {
    let mut net = Net::new(10);
    let (a, b, c) = (net.add(), net.add(), net.add());
    net.run_for(secs(1));
    let (one, other) = (net.nodes[a].participant.prefix(), net.nodes[b].participant.prefix());
    assert!(net.nodes[a].participant.tell_peer(other, b"a word there"));
    assert!(!net.nodes[a].participant.tell_peer(other, &[0; 257]), "it is too long");
    net.touch(a);
    net.run_for(millis(10));
    let told = |net: &Net, node: usize| {
        let told = |event: &Event| matches!(event, Event::Told { .. }).then(|| event.clone());
        net.nodes[node].events.iter().filter_map(told).collect::<Vec<_>>()
    };
    assert_eq!(told(&net, b), [Event::Told { participant: one, bytes: b"a word there".to_vec() }]);
    assert_eq!(told(&net, c), []);
    let stranger = net::forged_prefix(1);
    assert!(!net.nodes[a].participant.tell_peer(stranger, b"nobody"));
    let peer = net.nodes[a].participant.peer(other).unwrap();
    assert_eq!(peer.data.vendor, VendorId::RUNNEL);
}

#[test]
fn words_that_nobody_has_sent_yet_take_no_more_room_than_one() {
    let mut net = Net::new(11);
    let (a, b) = (net.add(), net.add());
    net.run_for(secs(1));
    let other = net.nodes[b].participant.prefix();
    for count in 0..100u32 {
        assert!(net.nodes[a].participant.tell_peer(other, &count.to_le_bytes()));
    }
    net.touch(a);
    net.run_for(millis(10));
    let told = net.nodes[b].events.iter().filter(|event| matches!(event, Event::Told { .. }));
    assert_eq!(told.count(), 1, "the last alone");
}
