//! Writers that send what readers cannot use, or before they are known.

mod net;

use net::{Net, announcement, forged_prefix, message, millis, number_of, sample, secs, told_of};
use runnel_core::qos::QoS;
use runnel_rtps::Event;
use runnel_rtps::wire::{
    Data, DataFrag, EntityId, Guid, GuidPrefix, Heartbeat, InfoDestination, Payload, SequenceNumber,
};
use std::net::SocketAddr;

const TOPIC: &str = "rt/chatter";

/// How many samples a reader of the second participant was told to have lost.
fn lost(net: &Net, reader: EntityId) -> u64 {
    let count = |event: &Event| match event {
        Event::SampleLost { reader: of, count, .. } if *of == reader => *count,
        _ => 0,
    };
    net.nodes[1].events.iter().map(count).sum()
}

/// A writer of the first participant and a reader of the second, which takes samples of so many bytes.
fn pair(qos: QoS, sample_bytes: usize) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(1);
    net.add();
    net.add_with(|config| config.limits.sample_bytes = sample_bytes);
    let (writer, reader) = (net.writer(0, TOPIC, qos), net.reader(1, TOPIC, qos));
    net.run_until("they meet", secs(3), |net| net.is_matched(0, writer) && net.is_matched(1, reader));
    (net, writer, reader)
}

#[test]
fn a_sample_that_is_too_long_is_lost_and_does_not_stall_its_topic() {
    for first in [0, 3] {
        let (mut net, writer, reader) = pair(QoS::default(), 10_000);
        for number in 0..first {
            net.write(0, writer, &sample(number, 100)).unwrap();
        }
        net.write(0, writer, &sample(first, 20_000)).unwrap();
        net.run_for(millis(50));
        for number in first + 1..9 {
            net.write(0, writer, &sample(number, 100)).unwrap();
            net.run_for(millis(5));
        }
        net.run_for(secs(1));
        let heard: Vec<u32> = net.texts(1, reader).iter().map(|bytes| number_of(bytes)).collect();
        assert_eq!(heard, (0..9).filter(|number| *number != first).collect::<Vec<_>>());
        assert_eq!((lost(&net, reader), net.nodes[0].participant.unacknowledged(writer)), (1, 0));
        let before = net.nodes[0].sent_bytes;
        net.run_for(secs(10));
        let idle = net.nodes[0].sent_bytes - before;
        assert!(idle < 5_000, "{idle} bytes in 10 s of idleness");
    }
}

#[test]
fn each_sample_that_is_lost_in_pieces_is_counted_once() {
    let (mut net, writer, reader) = pair(QoS::sensor_data(), 10_000);
    net.write(0, writer, &sample(0, 100)).unwrap();
    net.run_for(millis(5));
    let (long, ends) = (sample(1, 3000), (EntityId::UNKNOWN, writer));
    let (from, to, who) = (net.nodes[0].address, net.nodes[1].address, net.nodes[0].participant.prefix());
    for number in 2..=6 {
        // The last alone comes as a whole.
        for fragment in 1..=if number == 6 { 3 } else { 2 } {
            let fill = |out: &mut Vec<u8>| {
                DataFrag::emit(out, ends, SequenceNumber(number), &[], &long, (fragment, 1000));
            };
            net.send(from, to, &message(who, fill));
            net.run_for(millis(1));
        }
    }
    assert_eq!((net.texts(1, reader).len(), lost(&net, reader)), (2, 4));
}

/// A participant that is nobody's node.
struct Stranger {
    prefix: GuidPrefix,
    address: SocketAddr,
}

impl Stranger {
    /// One that meets the only node.
    fn meet(net: &mut Net, number: u8) -> Self {
        let address = ([10, 9, 9, number], 7410).into();
        let stranger = Self { prefix: forged_prefix(number.into()), address };
        let mut greeting = announcement(stranger.prefix, address, Some(secs(300)));
        InfoDestination { prefix: net.nodes[0].participant.prefix() }.emit(&mut greeting);
        stranger.say(net, &greeting);
        assert!(net.nodes[0].participant.peer(stranger.prefix).is_some());
        stranger
    }

    fn say(&self, net: &mut Net, bytes: &[u8]) {
        net.send(self.address, net.nodes[0].address, bytes);
        net.run_for(millis(1));
    }

    /// Tells a reader that it begins with the fourth sample, which is to come.
    fn say_early(&self, net: &mut Net, writer: EntityId, reader: EntityId) {
        let (first, last) = (SequenceNumber(4), SequenceNumber(3));
        let heartbeat =
            Heartbeat { reader, writer, first, last, count: 1, is_final: true, liveliness: false };
        self.say(net, &message(self.prefix, |out| heartbeat.emit(out)));
    }

    /// True if a reader gets its fourth sample at once, since it heard early where it begins.
    fn is_heard(&self, net: &mut Net, reader: EntityId) -> bool {
        let writer = EntityId::user_writer(1);
        self.say_early(net, writer, reader);
        let ours = net.nodes[0].participant.prefix().with(reader);
        let mut endpoint = net.nodes[0].participant.endpoint(ours).unwrap().clone();
        endpoint.guid = Guid { prefix: self.prefix, entity: writer };
        self.say(net, &told_of(&endpoint));
        let ends = (reader, writer);
        let fill =
            |out: &mut Vec<u8>| Data::emit(out, ends, SequenceNumber(4), &[], Payload::Value(&sample(4, 20)));
        self.say(net, &message(self.prefix, fill));
        net.texts(0, reader).len() == 1
    }
}

#[test]
fn a_writer_that_speaks_early_is_heard_whatever_others_that_never_came_have_said() {
    let mut net = Net::new(1);
    net.add();
    let reader = net.reader(0, TOPIC, QoS::default());
    let noisy = Stranger::meet(&mut net, 1);
    for number in 2..600 {
        noisy.say_early(&mut net, EntityId::user_writer(number), reader);
    }
    assert!(Stranger::meet(&mut net, 2).is_heard(&mut net, reader));
}

#[test]
fn a_writer_that_speaks_early_is_heard_whatever_it_said_to_readers_that_are_gone() {
    let mut net = Net::new(1);
    net.add();
    let stranger = Stranger::meet(&mut net, 1);
    for _ in 0..600 {
        let reader = net.reader(0, TOPIC, QoS::default());
        stranger.say_early(&mut net, EntityId::user_writer(9), reader);
        net.remove(0, reader);
    }
    let reader = net.reader(0, TOPIC, QoS::default());
    assert!(stranger.is_heard(&mut net, reader));
}
