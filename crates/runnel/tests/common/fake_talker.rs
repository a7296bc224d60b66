//! Talker of another process of this host whose two paths, RTPS and the session's memory, do what a test says.

use std::time::Duration;

use runnel::core::Message;
use runnel::core::wire::{Encoding, cdr};
use runnel::io::host;
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, QoS, Subscription};
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, VendorId};
use runnel_rtps::{Event, Suspended};
use runnel_testkit::loopback_participant::LoopbackParticipant;

use super::common::wait_until;
use super::fake_process::{ASK_SAMPLES, FakeSession, OPEN_SAMPLES, SAMPLE, small_number, words};
use super::ros2_pair::{Heard, context, listen, new_domain, numbered};

/// What participants of one host tell each other begins with this.
const TOLD: [u8; 5] = [0, 1, 0, 0, 1];

/// The channel of the pair.
const CHANNEL: u32 = 1;

/// The talker, and the listener, which is real.
pub struct FakeTalker {
    pub rtps: LoopbackParticipant,
    pub writer: EntityId,
    pub reader: Guid,
    pub session: FakeSession,
    pub listening: Context,
    pub subscription: Subscription,
    pub heard: Heard,
    /// The name of this process, and by what both know the pair.
    process: u128,
    token: u128,
}

/// A listener, and a participant with a writer that it is matched with.
struct Met {
    rtps: LoopbackParticipant,
    writer: EntityId,
    reader: Guid,
    listening: Context,
    subscription: Subscription,
    heard: Heard,
}

impl Met {
    fn new(qos: QoS) -> Self {
        let domain = new_domain();
        let listening = context(domain, true);
        let node = listening.create_node("listener").unwrap();
        let (subscription, heard) = listen(&node, "data", QoS::keep_last(1000));
        let [first, second] = VendorId::RUNNEL.0;
        let number = host::random().unwrap().to_le_bytes();
        let prefix =
            GuidPrefix([first, second, 1, 1, number[0], number[1], number[2], number[3], 1, 1, 1, 1]);
        let mut rtps = LoopbackParticipant::named(domain, prefix, 2, "");
        let writer = rtps.create_writer_with("rt/data", UInt8MultiArray::DDS_TYPE, "", qos);
        let reader = Guid { prefix, entity: writer };
        let mut met = Self { rtps, writer, reader, listening, subscription, heard };
        met.turn_until("they meet", |met| !met.rtps.participant.matched(writer).is_empty());
        met.reader = met.rtps.participant.matched(writer)[0];
        met
    }

    fn turn_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        wait_until(what, || {
            self.listening.spin_once(Duration::ZERO).unwrap();
            self.rtps.poll_once();
            done(self)
        });
    }

    /// The listener's process, and the secret by which it knows pairs with this one.
    fn introduce(&mut self, process: u128, secret: u128) -> (u128, u128) {
        introduce(&mut self.rtps, self.reader.prefix, process, secret);
        let mut theirs = None;
        self.turn_until("the listener's process", |met| {
            theirs = answer(&met.rtps);
            theirs.is_some()
        });
        theirs.unwrap()
    }
}

/// Tells the listener by what process and secret it finds this one, and asks for its own.
fn introduce(rtps: &mut LoopbackParticipant, to: GuidPrefix, process: u128, secret: u128) {
    rtps.events.clear();
    let told = [&TOLD[..], &[0, 1, 0], &process.to_le_bytes(), &secret.to_le_bytes()].concat();
    assert!(rtps.participant.send_vendor_message(to, &told));
}

/// What the listener has answered: that it knows this process, and by what it is found itself.
fn answer(rtps: &LoopbackParticipant) -> Option<(u128, u128)> {
    let mut answers = rtps.events.iter().filter_map(|event| match event {
        Event::VendorMessage { bytes, .. } => bytes.strip_prefix(&[0, 1, 0, 0, 1, 1]).map(<[u8]>::to_vec),
        _ => None,
    });
    let number = |bytes: &[u8]| u128::from_le_bytes(bytes.try_into().unwrap());
    answers.next_back().map(|bytes| (number(&bytes[2..18]), number(&bytes[18..34])))
}

impl FakeTalker {
    /// One that the listener has asked to come by memory, and that has written nothing yet.
    pub fn new(qos: QoS) -> Self {
        let mut met = Met::new(qos);
        let process = small_number();
        let (theirs, secret) = met.introduce(process, 7);
        let session = FakeSession::greet(process, theirs);
        let number = |id: EntityId| u128::from(u32::from_be_bytes(id.0));
        let token = secret.wrapping_add(number(met.reader.entity) << 32 | number(met.writer));
        let Met { rtps, writer, reader, listening, subscription, heard } = met;
        let mut talker =
            Self { rtps, writer, reader, session, listening, subscription, heard, process, token };
        talker.turn_until("the listener asks", Self::is_asked);
        talker
    }

    /// Turns both until `done`.
    #[track_caller]
    pub fn turn_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        wait_until(what, || {
            self.listening.spin_once(Duration::ZERO).unwrap();
            self.rtps.poll_once();
            done(self)
        });
    }

    /// Whether the listener asks to have the pair by memory. Other records are passed over.
    pub fn is_asked(&mut self) -> bool {
        std::iter::from_fn(|| self.session.next()).any(|record| {
            record.kind == ASK_SAMPLES && [record.word(0), record.word(1)] == halves(self.token)
        })
    }

    /// Writes a message for RTPS.
    pub fn write(&mut self, number: u32) {
        self.rtps.write(self.writer, payload(number)).unwrap();
    }

    /// From now on messages come by memory.
    pub fn open(&mut self) -> Suspended {
        let suspended = self.rtps.participant.suspend(self.writer, self.reader).unwrap();
        let [low, high] = halves(self.token);
        let [first, next] = [suspended.first_unacknowledged, suspended.next].map(|number| number.0 as u64);
        let begin = [1 | 1 << 32, low, next];
        self.session.push(OPEN_SAMPLES, CHANNEL, &words(&[low, high, first, begin[0], begin[1], begin[2]]));
        suspended
    }

    /// A message comes by memory, as sample `number`.
    pub fn push(&mut self, number: u64, message: u32) {
        let sample = [&number.to_le_bytes()[..], &payload(message)].concat();
        self.session.push(SAMPLE, CHANNEL, &sample);
    }

    /// Tells the listener of another secret, by which the pair is known anew, and waits until it has heard that.
    pub fn change_secret(&mut self) {
        introduce(&mut self.rtps, self.reader.prefix, self.process, 8);
        self.turn_until("the listener has heard it", |talker| answer(&talker.rtps).is_some());
    }

    pub fn heard(&self) -> Vec<u32> {
        self.heard.lock().unwrap().clone()
    }
}

fn halves(token: u128) -> [u64; 2] {
    [token as u64, (token >> 64) as u64]
}

fn payload(number: u32) -> Vec<u8> {
    cdr::encode(&numbered(number, 10), Encoding::Xcdr1).unwrap()
}
