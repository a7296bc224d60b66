//! Samples for one reader each, as requests and replies of services are, with the identity in their inline QoS.

use crate::net::{Conditions, Net, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::{EntityId, Guid, SampleIdentity, SequenceNumber};
use runnel_rtps::{Event, NotSent};

const TOPIC: &str = "rr/addReply";

/// Node 0 writes, and each other node has a reader.
struct Scene {
    net: Net,
    writer: EntityId,
    readers: Vec<(usize, EntityId)>,
}

impl Scene {
    fn new(seed: u64, readers: usize) -> Self {
        let mut net = Net::new(seed);
        let writing = net.add();
        let writer = net.addressed_writer(writing, TOPIC, QoS::keep_last(10));
        let reading: Vec<usize> = (0..readers).map(|_| net.add()).collect();
        let readers: Vec<(usize, EntityId)> =
            reading.into_iter().map(|node| (node, net.reader(node, TOPIC, QoS::keep_last(10)))).collect();
        net.run_until("the endpoints match", secs(3), |net| {
            net.nodes[0].participant.matched(writer).len() == readers.len()
                && readers.iter().all(|(node, reader)| net.is_matched(*node, *reader))
        });
        net.run_for(millis(20));
        Self { net, writer, readers }
    }

    fn guid(&self, index: usize) -> Guid {
        let (node, reader) = self.readers[index];
        self.net.guid(node, reader)
    }

    fn write_to(&mut self, index: usize, bytes: &[u8], number: i64) -> Result<SequenceNumber, NotSent> {
        let guid = self.guid(index);
        let related = SampleIdentity { guid, number: SequenceNumber(number) };
        self.net.write_to((0, self.writer), bytes, (guid, Some(related)))
    }

    /// The numbers in a reader's samples, and those in their identities.
    fn received(&self, index: usize) -> Vec<(u32, i64)> {
        let (node, reader) = self.readers[index];
        let of_reader = self.net.nodes[node].samples.iter().filter(|received| received.reader == reader);
        let both = of_reader.map(|received| {
            let related = received.related.expect("an identity");
            assert_eq!(related.guid, self.guid(index));
            (number_of(&received.bytes), related.number.0)
        });
        both.collect()
    }

    fn has_lost(&self) -> bool {
        let events = self.net.nodes.iter().flat_map(|node| &node.events);
        events.into_iter().any(|event| matches!(event, Event::SampleLost { .. }))
    }
}

#[test]
fn addressed_sample_reaches_only_its_reader() {
    let mut scene = Scene::new(1, 3);
    for number in 0..6 {
        scene.write_to(number as usize % 2, &sample(number, 20), i64::from(number) + 100).unwrap();
        scene.net.run_for(millis(1));
    }
    scene.net.run_for(secs(1));
    assert_eq!(scene.received(0), [(0, 100), (2, 102), (4, 104)]);
    assert_eq!(scene.received(1), [(1, 101), (3, 103), (5, 105)]);
    assert_eq!(scene.received(2), []);
    assert!(!scene.has_lost());
    assert_eq!(scene.net.nodes[0].participant.unacknowledged_by_addressees(scene.writer), 0);
}

/// A reply to one of many clients causes no traffic with the others.
#[test]
fn other_readers_are_sent_nothing() {
    let mut scene = Scene::new(2, 3);
    scene.net.run_for(millis(500));
    let other = scene.net.nodes[scene.readers[2].0].address;
    let before = scene.net.sent_to[&other];
    for number in 0..50 {
        scene.write_to(0, &sample(number, 20), 1).unwrap();
        scene.net.run_for(millis(1));
    }
    assert_eq!(scene.received(0).len(), 50);
    assert_eq!(scene.net.sent_to[&other], before);
}

#[test]
fn addressed_samples_arrive_once_and_in_order_on_bad_network() {
    for seed in 0..60 {
        let mut scene = Scene::new(seed, 4);
        scene.net.conditions = Conditions::bad(if seed % 2 == 0 { 10 } else { 30 });
        let mut expected = vec![Vec::new(); 4];
        for number in 0..120 {
            let reader = scene.net.random(4) as usize;
            let len = if number % 10 == 0 { 20_000 } else { 30 };
            scene.write_to(reader, &sample(number, len), i64::from(number)).unwrap();
            expected[reader].push((number, i64::from(number)));
            scene.net.run_for(millis(2));
        }
        scene.net.run_for(secs(10));
        for (reader, expected) in expected.iter().enumerate() {
            assert_eq!(scene.received(reader), *expected, "seed {seed}, reader {reader}");
        }
        assert!(!scene.has_lost(), "seed {seed}");
        assert_eq!(
            scene.net.nodes[0].participant.unacknowledged_by_addressees(scene.writer),
            0,
            "seed {seed}"
        );
    }
}

#[test]
fn unknown_reader_is_not_written_to() {
    let mut scene = Scene::new(3, 1);
    let stranger = scene.net.guid(1, EntityId::user_reader(99));
    let written = scene.net.write_to((0, scene.writer), &sample(0, 20), (stranger, None));
    assert_eq!(written, Err(NotSent::Unmatched));
}

/// A client that acknowledges nothing costs others nothing.
#[test]
fn silent_reader_fills_only_half_of_writer() {
    let mut scene = Scene::new(4, 2);
    let (silent, _) = scene.readers[0];
    scene.net.nodes[silent].stopped = true;
    let written =
        (0..).map(|number| scene.write_to(0, &sample(number, 20), 1)).take_while(Result::is_ok).count();
    assert_eq!(written, 500);
    assert_eq!(scene.write_to(0, &sample(0, 20), 1), Err(NotSent::Full));
    scene.write_to(1, &sample(0, 20), 1).unwrap();
    scene.net.run_until("the silent one is lost", secs(60), |net| {
        net.nodes[0].participant.matched(scene.writer).len() == 1
    });
    scene.net.run_for(secs(10));
    scene.write_to(1, &sample(1, 20), 2).unwrap();
    scene.net.run_for(secs(1));
    assert_eq!(scene.received(1), [(0, 1), (1, 2)]);
}

#[test]
fn late_reader_gets_only_its_own_samples() {
    let mut scene = Scene::new(5, 1);
    for number in 0..30 {
        scene.write_to(0, &sample(number, 20), 1).unwrap();
    }
    let node = scene.net.add();
    let reader = scene.net.reader(node, TOPIC, QoS::keep_last(10));
    scene.readers.push((node, reader));
    let writer = scene.writer;
    scene.net.run_until("it matches", secs(3), |net| {
        net.nodes[0].participant.matched(writer).len() == 2 && net.is_matched(node, reader)
    });
    // Before the reader has acknowledged anything.
    scene.write_to(1, &sample(40, 20), 2).unwrap();
    scene.net.run_for(secs(2));
    assert_eq!(scene.received(1), [(40, 2)]);
    assert!(!scene.has_lost());
}

/// What is for other readers is skipped by a GAP, which the reader accepts once the writer has repeated it.
#[test]
fn reply_after_skipped_ones_is_acknowledged_soon() {
    let mut scene = Scene::new(6, 3);
    for number in 0..40 {
        let reader = number as usize % 3;
        scene.write_to(reader, &sample(number, 20), 1).unwrap();
        let (guid, writer) = (scene.guid(reader), scene.writer);
        let elapsed = scene.net.run_until("the reply is acknowledged", millis(100), |net| {
            net.nodes[0].participant.unacknowledged_by(writer, guid) == 0
        });
        assert!(elapsed < millis(12), "reply {number}: {elapsed:?}");
    }
    assert!(!scene.has_lost());
}
