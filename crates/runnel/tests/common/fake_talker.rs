//! Fake talker of another process on this host: the test controls its RTPS writer and its shared memory separately.

use std::time::Duration;

use runnel::core::Message;
use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, Node, QoS, Subscription};
use runnel_io::host;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, VendorId};
use runnel_rtps::{Event, Suspended};
use runnel_testkit::loopback_participant::LoopbackParticipant;

use super::common::wait_until;
use super::fake_process::{ASK_SAMPLES, FakeConnection, OPEN_SAMPLES, SAMPLE, low_process_id, words};
use super::ros2_pair::{Received, context, listen, new_domain, numbered};

/// First bytes of a participant's announcement of its process.
const HEADER: [u8; 5] = [0, 1, 0, 0, 1];

/// Channel of the pair.
const CHANNEL: u32 = 1;

/// The fake talker and a real listener.
pub struct FakeTalker {
    pub rtps: LoopbackParticipant,
    pub writer: EntityId,
    pub reader: Guid,
    pub ipc_connection: FakeConnection,
    pub listening: Context,
    pub subscription: Subscription,
    pub received: Received,
    /// Id of this process.
    process: u128,
    /// Secret of the listener.
    secret: u128,
}

/// A listener, and a participant whose writer it has matched.
struct Matched {
    rtps: LoopbackParticipant,
    writer: EntityId,
    reader: Guid,
    listening: Context,
    subscription: Subscription,
    received: Received,
}

impl Matched {
    fn new(qos: QoS, subscribe: impl FnOnce(&Node) -> (Subscription, Received)) -> Self {
        let domain = new_domain();
        let listening = context(domain, true);
        let node = listening.create_node("listener").unwrap();
        let (subscription, received) = subscribe(&node);
        let [first, second] = VendorId::RUNNEL.0;
        let number = host::random().unwrap().to_le_bytes();
        let prefix =
            GuidPrefix([first, second, 1, 1, number[0], number[1], number[2], number[3], 1, 1, 1, 1]);
        let mut rtps = LoopbackParticipant::named(domain, prefix, 2, "");
        let writer = rtps.create_writer_with("rt/data", UInt8MultiArray::DDS_TYPE, "", qos);
        let reader = Guid { prefix, entity: writer };
        let mut matched = Self { rtps, writer, reader, listening, subscription, received };
        matched.poll_until("they match", |matched| !matched.rtps.participant.matched(writer).is_empty());
        matched.reader = matched.rtps.participant.matched(writer)[0];
        matched
    }

    fn poll_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        wait_until(what, || {
            self.listening.spin_once(Duration::ZERO).unwrap();
            self.rtps.poll_once();
            done(self)
        });
    }

    /// Exchanges announcements. Returns the listener's process id and its secret.
    fn announce(&mut self, process: u128, secret: u128) -> (u128, u128) {
        announce(&mut self.rtps, self.reader.prefix, process, secret);
        let mut announced = None;
        self.poll_until("the listener's process", |matched| {
            announced = announcement(&matched.rtps);
            announced.is_some()
        });
        announced.unwrap()
    }
}

/// Announces this process and a secret to the listener, and asks for a reply.
fn announce(rtps: &mut LoopbackParticipant, to: GuidPrefix, process: u128, secret: u128) {
    rtps.events.clear();
    let bytes = [&HEADER[..], &[0, 1, 0], &process.to_le_bytes(), &secret.to_le_bytes()].concat();
    assert!(rtps.participant.send_vendor_message(to, &bytes));
}

/// The listener's reply: its process id and secret.
fn announcement(rtps: &LoopbackParticipant) -> Option<(u128, u128)> {
    let mut answers = rtps.events.iter().filter_map(|event| match event {
        Event::VendorMessage { bytes, .. } => bytes.strip_prefix(&[0, 1, 0, 0, 1, 1]).map(<[u8]>::to_vec),
        _ => None,
    });
    let number = |bytes: &[u8]| u128::from_le_bytes(bytes.try_into().unwrap());
    answers.next_back().map(|bytes| (number(&bytes[2..18]), number(&bytes[18..34])))
}

impl FakeTalker {
    /// A talker whose pair the listener has requested in shared memory, without samples yet.
    pub fn new(qos: QoS) -> Self {
        Self::with_listener(qos, |node| listen(node, "data", QoS::keep_last(1000)))
    }

    /// The same, with this subscription of topic `data`.
    pub fn with_listener(qos: QoS, subscribe: impl FnOnce(&Node) -> (Subscription, Received)) -> Self {
        let mut matched = Matched::new(qos, subscribe);
        let process = low_process_id();
        let (announced, secret) = matched.announce(process, 7);
        let ipc_connection = FakeConnection::handshake(process, announced);
        let Matched { rtps, writer, reader, listening, subscription, received } = matched;
        let mut talker =
            Self { rtps, writer, reader, ipc_connection, listening, subscription, received, process, secret };
        talker.poll_until("the listener asks", Self::has_request);
        talker
    }

    /// Polls both until `done`.
    #[track_caller]
    pub fn poll_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        wait_until(what, || {
            self.listening.spin_once(Duration::ZERO).unwrap();
            self.rtps.poll_once();
            done(self)
        });
    }

    /// The token of the pair.
    fn token(&self) -> u128 {
        let number = |id: EntityId| u128::from(u32::from_be_bytes(id.0));
        self.secret.wrapping_add(number(self.reader.entity) << 32 | number(self.writer))
    }

    /// Whether the listener has requested the pair in shared memory. Skips other records.
    pub fn has_request(&mut self) -> bool {
        let token = halves(self.token());
        std::iter::from_fn(|| self.ipc_connection.next())
            .any(|record| record.kind == ASK_SAMPLES && [record.word(0), record.word(1)] == token)
    }

    /// Publishes a message by RTPS.
    pub fn write(&mut self, number: u32) {
        self.rtps.write(self.writer, payload(number)).unwrap();
    }

    /// Switches the pair to shared memory.
    pub fn open(&mut self) -> Suspended {
        let suspended = self.rtps.participant.suspend(self.writer, self.reader).unwrap();
        let [low, high] = halves(self.token());
        let [first, next] = [suspended.first_unacknowledged, suspended.next].map(|number| number.0 as u64);
        let begin = [1 | 1 << 32, low, next];
        self.ipc_connection.push(
            OPEN_SAMPLES,
            CHANNEL,
            &words(&[low, high, first, begin[0], begin[1], begin[2]]),
        );
        suspended
    }

    /// Sends a message by shared memory as sample `number`.
    pub fn push(&mut self, number: u64, message: u32) {
        let sample = [&number.to_le_bytes()[..], &payload(message)].concat();
        self.ipc_connection.push(SAMPLE, CHANNEL, &sample);
    }

    /// Announces another secret, which changes the pair's token, and waits until the listener knows it.
    pub fn change_secret(&mut self) {
        announce(&mut self.rtps, self.reader.prefix, self.process, 8);
        self.poll_until("the listener has received it", |talker| announcement(&talker.rtps).is_some());
    }

    pub fn received(&self) -> Vec<u32> {
        self.received.lock().unwrap().clone()
    }
}

fn halves(token: u128) -> [u64; 2] {
    [token as u64, (token >> 64) as u64]
}

fn payload(number: u32) -> Vec<u8> {
    cdr::encode(&numbered(number, 10), Encoding::Xcdr1).unwrap()
}
