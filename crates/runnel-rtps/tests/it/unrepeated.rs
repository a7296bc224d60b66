//! Discovery writers that do not repeat acknowledged samples, as those of Fast DDS.

use crate::net::{Net, Stranger, message, millis, secs};
use runnel_core::qos::QoS;
use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{
    Data, EntityId, Gap, Heartbeat, InfoDestination, Message, Payload, SequenceNumber, Submessage,
};

const TOPIC: &str = "rq/powerRequest";
const ENDS: (EntityId, EntityId) = (EntityId::PUBLICATIONS_READER, EntityId::PUBLICATIONS_WRITER);

/// Node with a reader, and a participant that announces its writers one by one.
struct Scene {
    net: Net,
    stranger: Stranger,
    reader: EntityId,
    heartbeats: u32,
}

impl Scene {
    /// The participant has announced three writers, which are acknowledged.
    fn new() -> Self {
        let mut scene = Self::unconfirmed();
        scene.settle(3);
        assert_eq!((scene.base(), scene.matched()), (4, vec![1, 2, 3]));
        scene
    }

    /// The participant has announced three writers after a HEARTBEAT without any.
    fn unconfirmed() -> Self {
        let mut net = Net::new(1);
        net.add();
        let reader = net.reader(0, TOPIC, QoS::default());
        let stranger = Stranger::discover(&mut net, 1);
        let mut scene = Self { net, stranger, reader, heartbeats: 0 };
        scene.heartbeat(0);
        (1..=3).for_each(|number| scene.announce(number));
        scene
    }

    /// Lets the position be confirmed by several HEARTBEATs.
    fn settle(&mut self, last: i64) {
        for _ in 0..4 {
            self.net.run_for(millis(150));
            self.heartbeat(last);
        }
    }

    fn send(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let us = self.net.nodes[0].participant.prefix();
        let message = message(self.stranger.prefix, |out| {
            InfoDestination { prefix: us }.emit(out);
            fill(out);
        });
        self.net.record = Some(vec![]);
        self.stranger.send(&mut self.net, &message);
    }

    fn heartbeat(&mut self, last: i64) {
        self.heartbeats += 1;
        let (reader, writer) = ENDS;
        let (first, last, count) = (SequenceNumber::FIRST, SequenceNumber(last), self.heartbeats);
        let heartbeat = Heartbeat { reader, writer, first, last, count, is_final: false, liveliness: false };
        self.send(|out| heartbeat.emit(out));
    }

    fn writer(&self, writer: u32) -> Endpoint {
        self.stranger.endpoint(&self.net, self.reader, EntityId::user_writer(writer))
    }

    /// Announces the writer of this number with the sample of the same number.
    fn announce(&mut self, number: u32) {
        let endpoint = self.writer(number);
        self.send_endpoint(number, &endpoint);
    }

    fn send_endpoint(&mut self, number: u32, endpoint: &Endpoint) {
        let mut payload = vec![];
        endpoint.emit(&mut payload);
        self.send(|out| {
            Data::emit(out, ENDS, SequenceNumber(number.into()), &[], Payload::Value(&payload));
        });
    }

    /// Returns the numbers of the known writers.
    fn matched(&self) -> Vec<u32> {
        let participant = &self.net.nodes[0].participant;
        let matched = participant.matched(self.reader);
        (1..100)
            .filter(|number| matched.contains(&self.stranger.prefix.with(EntityId::user_writer(*number))))
            .collect()
    }

    /// Returns the base of each acknowledgement since the last message.
    fn bases(&self) -> Vec<i64> {
        let mut bases = vec![];
        for (_, to, bytes) in self.net.record.iter().flatten() {
            let message = Message::parse(bytes).ok().filter(|_| *to == self.stranger.address);
            for submessage in message.iter().flat_map(|message| message.submessages()).flatten() {
                match submessage {
                    Submessage::AckNack(ack) if ack.writer == ENDS.1 => bases.push(ack.missing.base.0),
                    _ => {}
                }
            }
        }
        bases
    }

    fn base(&self) -> i64 {
        self.bases().last().copied().unwrap_or(0)
    }
}

/// Disposes a writer behind a GAP of its announcement, as Fast DDS does, which removes the announcement from its history.
/// It has arrived, and nothing is skipped, so the position is not in doubt, also if no HEARTBEAT has confirmed it.
#[test]
fn disposal_causes_no_read() {
    for is_confirmed in [true, false] {
        dispose(&mut if is_confirmed { Scene::new() } else { Scene::unconfirmed() });
    }
}

fn dispose(scene: &mut Scene) {
    scene.announce(4);
    // Parameters: the GUID of the key, and the status.
    let mut key = vec![0, 3, 0, 0, 0x5a, 0, 16, 0];
    key.extend(scene.writer(4).guid.to_bytes());
    key.extend([1, 0, 0, 0]);
    let qos = [0x71, 0, 4, 0, 0, 0, 0, 3, 1, 0, 0, 0];
    scene.send(|out| {
        Gap::range(ENDS.0, ENDS.1, SequenceNumber(4), SequenceNumber(5)).emit(out);
        Data::emit(out, ENDS, SequenceNumber(5), &qos, Payload::Key(&key));
    });
    assert_eq!(scene.matched(), [1, 2, 3]);
    scene.net.run_for(secs(1));
    assert!(!scene.bases().is_empty() && scene.bases().iter().all(|base| *base == 6), "{:?}", scene.bases());
    scene.announce(6);
    assert_eq!(scene.matched(), [1, 2, 3, 6]);
}

/// Another sample with a used number causes a read of all samples. The writer announces further ones, and answers
/// requests for acknowledged ones with HEARTBEATs only.
#[test]
fn read_ends_without_acknowledged_samples() {
    let mut scene = Scene::new();
    let other = Endpoint { topic: "rq/otherRequest".into(), ..scene.writer(3) };
    scene.send_endpoint(3, &other);
    scene.net.run_for(millis(50));
    assert!(scene.bases().contains(&1), "{:?}", scene.bases());
    scene.announce(4);
    for _ in 0..3 {
        scene.heartbeat(4);
        scene.net.run_for(secs(1));
    }
    assert_eq!((scene.matched(), scene.base()), (vec![1, 2, 3, 4], 5));
    // All is acknowledged: during the next read the writer is silent until it announces something.
    scene.send_endpoint(4, &other);
    scene.net.run_for(secs(5));
    assert!(scene.bases().contains(&1), "{:?}", scene.bases());
    scene.announce(5);
    assert_eq!(scene.matched(), [1, 2, 3, 4, 5]);
}

/// A sample that was never acknowledged is requested until it arrives.
#[test]
fn unacknowledged_sample_is_never_skipped() {
    let mut scene = Scene::new();
    scene.announce(5);
    for _ in 0..5 {
        scene.heartbeat(5);
        scene.net.run_for(secs(1));
    }
    assert_eq!((scene.matched(), scene.base()), (vec![1, 2, 3], 4));
    scene.announce(4);
    assert_eq!(scene.matched(), [1, 2, 3, 4, 5]);
}

/// The participant never wrote the sample of that endpoint, and does not repeat its own.
#[test]
fn forged_endpoint_is_dropped_after_incomplete_read() {
    let mut scene = Scene::new();
    scene.announce(4);
    assert_eq!(scene.matched(), [1, 2, 3, 4]);
    for _ in 0..8 {
        scene.net.run_for(secs(1));
        scene.heartbeat(3);
    }
    assert_eq!(scene.matched(), [1, 2, 3]);
    let endpoint = scene.writer(5);
    scene.send_endpoint(4, &endpoint);
    assert_eq!(scene.matched(), [1, 2, 3, 5]);
}

/// The writer has restarted with the same GUID: what its predecessor was acknowledged has not arrived from it.
#[test]
fn samples_of_restarted_writer_are_not_skipped() {
    let mut scene = Scene::new();
    (4..=9).for_each(|number| scene.announce(number));
    scene.settle(9);
    scene.heartbeats = 0;
    for _ in 0..12 {
        scene.net.run_for(secs(1));
        scene.heartbeat(3);
    }
    for number in 1..=3 {
        let endpoint = scene.writer(10 + number);
        scene.send_endpoint(number, &endpoint);
    }
    assert_eq!(scene.matched().into_iter().filter(|writer| *writer > 10).collect::<Vec<_>>(), [11, 12, 13]);
}
