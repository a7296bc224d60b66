//! Stateful fuzzer of IPC connections: a process has one connection to an honest process and one to an attacker of the
//! same user. The input encodes steps. Whatever they are, the honest connection delivers every byte once and in order,
//! and what the attacker can make the process hold is bounded.
//!
//! It is compiled for tests, and with the feature `fuzzing` for the fuzz target.

mod attacker;
pub(crate) mod ends;

use super::record::SegmentAnnouncement;
use super::{ChannelData, Hello, Pool, RING, RecordEvent, SampleData, Tally};
use crate::frame::Frame;
use attacker::Attacker;
use ends::{End, connect};
use runnel_core::wire::Encoding;
use runnel_delivery::{Statement, StreamId};
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of one step.
pub(crate) const STEP_LEN: usize = 6;

/// Steps of one input; longer inputs are cut.
pub(crate) const MAX_STEPS: usize = 120;

/// Shared memory of the process in bytes, and the quota of one peer.
const MEMORY: usize = 16 << 20;
const SHARE: usize = 1 << 20;

/// Limit of messages that wait for free space.
const MOST_PENDING: usize = 20;

/// Lengths of messages: in one record, in a slot, and longer than the ring.
const LENGTHS: [usize; 8] = [0, 9, 100, 5_000, 20_000, 60_000, 140_000, 300_000];

/// Limit of borrowed messages of the attacker.
const MOST_HELD: usize = 64;

/// One direction of a link: the bytes given to the IPC connection, and the bytes received.
#[derive(Default)]
struct Stream {
    channel: Option<u32>,
    pending: VecDeque<(Frame, usize)>,
    tally: Tally,
    sent: Vec<u8>,
    received: Vec<u8>,
    count: u8,
    next: u64,
}

/// Opens a channel for a pair.
fn open(end: &End) -> Option<u32> {
    let id = StreamId { stream: 1, subscription: 0 };
    end.sender.open_samples(1, 1, &Statement::Begin { id, epoch: 2, from: 1, is_settled: false })
}

/// See the module's documentation.
struct Scene {
    pool: Arc<Pool>,
    /// The process's connection to the honest process, and its other end.
    here: End,
    there: End,
    link: Stream,
    /// The process's connection to the attacker, until it ends.
    exposed: Option<End>,
    attacker: Attacker,
    exposed_link: Stream,
    /// Borrowed messages of both peers.
    held: Vec<SampleData>,
    held_of_attacker: Vec<SampleData>,
}

/// Runs an input.
///
/// # Panics
/// If an invariant does not hold.
pub(crate) fn play(input: &[u8]) {
    read_packets(input);
    let mut scene = Scene::new();
    for step in input.as_chunks::<STEP_LEN>().0.iter().take(MAX_STEPS) {
        scene.step(*step);
        scene.check();
    }
    scene.end(input.first().is_some_and(|byte| byte % 2 == 0));
}

/// The first packets on a connection's socket.
fn read_packets(input: &[u8]) {
    if let Ok(hello) = Hello::from_bytes(input) {
        assert_eq!(Hello::from_bytes(&hello.to_bytes()), Ok(hello));
    }
    if let Some(announcement) = SegmentAnnouncement::from_bytes(input) {
        assert_eq!(announcement.to_bytes(), input);
    }
}

impl Scene {
    fn new() -> Self {
        let pool = Arc::new(Pool::new(MEMORY, SHARE));
        let (here, there) = connect(&pool);
        let (exposed, attacker) = Attacker::connect(&pool);
        let mut scene = Self {
            pool,
            here,
            there,
            link: Stream::default(),
            exposed: Some(exposed),
            attacker,
            exposed_link: Stream::default(),
            held: Vec::new(),
            held_of_attacker: Vec::new(),
        };
        scene.link.channel = open(&scene.here);
        if let Some(exposed) = &scene.exposed {
            scene.exposed_link.channel = open(exposed);
        }
        scene
    }

    fn step(&mut self, [kind, args @ ..]: [u8; STEP_LEN]) {
        let [first, second, ..] = args;
        match kind % 12 {
            0 | 1 => self.link.publish(&self.here, &self.pool, first, second),
            2 => self.receive(1 + usize::from(first) % 16),
            3 => self.let_go(first),
            4 => {
                if let Some(exposed) = &self.exposed {
                    self.exposed_link.publish(exposed, &self.pool, first, second);
                }
            }
            5 | 6 => self.receive_of_attacker(1 + usize::from(first) % 16),
            _ => self.attacker.act(kind, args),
        }
    }

    /// The honest peer reads records.
    fn receive(&mut self, most: usize) {
        self.there.take_packets().expect("an honest peer sends packets of an IPC connection");
        for _ in 0..most {
            match self.there.next().expect("an honest peer writes records of an IPC connection") {
                Some(RecordEvent::ChannelData(ChannelData::Stream(bytes))) => {
                    self.link.received.extend(bytes)
                }
                Some(RecordEvent::ChannelData(ChannelData::Sample { data, .. })) => {
                    self.link.arrive(data, &mut self.held)
                }
                Some(RecordEvent::ChannelData(ChannelData::SampleBegin { bytes, .. })) => {
                    self.link.received.extend(bytes)
                }
                Some(_) => {}
                None => break,
            }
        }
        self.there.receiver.report_position();
    }

    /// Releases borrowed messages.
    fn let_go(&mut self, first: u8) {
        self.held.truncate(usize::from(first) % 4);
        self.held_of_attacker.truncate(usize::from(first) % 8);
        self.here.sender.reclaim_slots();
        self.here.sender.ready_links();
        if let Some(exposed) = &self.exposed {
            exposed.sender.ready_links();
        }
    }

    /// The process reads the attacker's records. A fault ends the connection.
    fn receive_of_attacker(&mut self, most: usize) {
        let Some(exposed) = &mut self.exposed else { return };
        let mut result = exposed.take_packets();
        for _ in 0..most {
            match result.and_then(|()| exposed.next()) {
                Ok(Some(RecordEvent::ChannelData(ChannelData::Stream(bytes)))) => {
                    assert!(bytes.len() <= RING * 8)
                }
                Ok(Some(RecordEvent::ChannelData(ChannelData::Sample { data, .. }))) => {
                    let most =
                        if matches!(data, SampleData::Borrowed(_)) { i32::MAX as usize } else { RING * 8 };
                    assert!(data.bytes().len() <= most);
                    if self.held_of_attacker.len() < MOST_HELD {
                        self.held_of_attacker.push(data);
                    }
                }
                Ok(Some(RecordEvent::ChannelData(ChannelData::SampleBegin { bytes, .. }))) => {
                    assert!(bytes.len() <= RING * 8)
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return self.end_exposed(),
            }
            result = Ok(());
        }
        exposed.receiver.report_position();
    }

    /// Unread data of the attacker comes back once at most, whatever position it reported.
    fn end_exposed(&mut self) {
        let Some(exposed) = self.exposed.take() else { return };
        let _ = exposed.sender.finish();
        let bytes = exposed.sender.unread_bytes();
        assert!(bytes <= RING * 8 + SHARE, "{bytes} bytes come back");
    }

    fn check(&self) {
        assert!(self.link.sent.starts_with(&self.link.received), "the honest link's bytes differ");
        assert!(!self.here.sender.is_over(), "the attacker has ended the honest IPC connection");
    }

    /// The honest connection continues until everything has arrived, or ends and the network carries the rest.
    fn end(&mut self, falls_back: bool) {
        if falls_back {
            self.there.receiver.report_final_position();
            assert_eq!(self.here.sender.finish(), None, "an honest peer did nothing");
            let channel = self.link.channel.expect("a channel");
            // The rest of a partly read sample comes first.
            self.link.received.extend(self.here.sender.take_unread_stream(channel).unwrap_or_default());
            let samples = self.here.sender.take_unread(channel).samples;
            samples.iter().for_each(|sample| self.link.received.extend_from_slice(sample.payload.as_ref()));
        } else {
            for _ in 0..100_000 {
                if self.link.is_done() {
                    break;
                }
                self.held.clear();
                self.here.sender.reclaim_slots();
                self.link.send(&self.here);
                self.receive(usize::MAX);
            }
            assert!(self.link.is_done(), "the honest link does not go on");
        }
        assert_eq!(self.link.sent.len(), self.link.received.len());
        self.check_all();
        self.end_exposed();
    }

    fn check_all(&self) {
        assert!(self.link.sent == self.link.received, "the honest link's bytes differ");
    }
}

impl Stream {
    fn is_done(&self) -> bool {
        self.pending.is_empty() && self.received.len() == self.sent.len()
    }

    /// Gives the connection a message, in a slot or not, and as many waiting messages as it accepts.
    fn publish(&mut self, end: &End, pool: &Arc<Pool>, len: u8, place: u8) {
        if self.pending.len() < MOST_PENDING {
            self.count = self.count.wrapping_add(1);
            let len = LENGTHS[usize::from(len) % LENGTHS.len()];
            let bytes: Vec<u8> = (0..len).map(|index| self.count ^ index as u8).collect();
            let slot = if place.is_multiple_of(2) { pool.take(bytes.len()) } else { None };
            let frame = match slot {
                Some(mut slot) => {
                    slot[..bytes.len()].copy_from_slice(&bytes);
                    Frame::new(Encoding::Ros1, slot.freeze(bytes.len()))
                }
                None => Frame::new(Encoding::Ros1, bytes),
            };
            self.pending.push_back((frame, 0));
        }
        self.send(end);
    }

    fn send(&mut self, end: &End) {
        let Some(channel) = self.channel else { return };
        while let Some((frame, sent)) = self.pending.front_mut() {
            let count = end.sender.send_sample((channel, self.next), frame, *sent, &mut self.tally);
            let Some(count) = count else { return };
            self.sent.extend_from_slice(&frame.as_ref()[*sent..*sent + count]);
            *sent += count;
            if *sent < frame.as_ref().len() {
                return;
            }
            self.pending.pop_front();
            self.next += 1;
        }
    }

    fn arrive(&mut self, data: SampleData, held: &mut Vec<SampleData>) {
        self.received.extend(data.bytes());
        held.push(data);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Random;
    use super::*;

    /// `SESSION_SEEDS=10000` tries that many inputs, and `SESSION_FIRST=102` begins with that one.
    #[test]
    fn honest_connection_delivers_despite_attacker() {
        let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().expect(name));
        let first: u64 = number("SESSION_FIRST", 1);
        for seed in first..first + number("SESSION_SEEDS", 20) {
            let mut random = Random(seed);
            let steps = random.below(MAX_STEPS);
            let input = random.bytes(steps * STEP_LEN);
            let played = std::panic::catch_unwind(|| play(&input));
            assert!(played.is_ok(), "seed {seed}");
        }
    }
}
