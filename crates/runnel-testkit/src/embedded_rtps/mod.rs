//! A peer that behaves as embeddedRTPS does, the RTPS library of mROS 2: small, and strict where others are lenient.
//!
//! It is written against RTPS alone, with nothing of Runnel's own in it, and does no I/O. What it has from embeddedRTPS:
//! - a participant announcement of more than 400 bytes, or with a parameter that it does not list, is dropped as a whole,
//!   and so is endpoint data of more than 400 bytes;
//! - it holds the addresses of its own subnet, five of them, and sends to the first;
//! - it takes samples of discovery in the order of their numbers, from 1 on, and knows no GAP;
//! - it never says by INFO_DST whom it means, acknowledges each heartbeat, and asks for one sample at a time;
//! - it reads no fragments, and nothing behind the first buffer of a datagram;
//! - what it publishes beyond 100 bytes goes in fragments of 64, of which the last says that all are as short as itself;
//! - its GUID prefix may be the same after each start.

mod parse;
mod say;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use parse::{Submessage, endpoint_of, participant_of, submessages};

/// Where it and everybody announces itself in domain 0.
pub const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 255, 0, 1), 7400);

/// What an announcement may have at most, in bytes.
pub const INPUT_BUFFER: usize = 400;

/// What it reads of a datagram at most: one buffer of lwIP, less the headers.
pub const FIRST_BUFFER: usize = 982;

const ANNOUNCE_EVERY: Duration = Duration::from_secs(1);
const HEARTBEAT_EVERY: Duration = Duration::from_secs(4);
const MOST_PARTICIPANTS: usize = 5;

/// The number of its participant among those of its host: it counts from 4 on.
const PARTICIPANT: u16 = 4;

type Prefix = [u8; 12];
type Entity = [u8; 4];

const PUBLICATIONS_WRITER: Entity = [0, 0, 3, 0xc2];
const PUBLICATIONS_READER: Entity = [0, 0, 3, 0xc7];
const SUBSCRIPTIONS_WRITER: Entity = [0, 0, 4, 0xc2];
const SUBSCRIPTIONS_READER: Entity = [0, 0, 4, 0xc7];
const PARTICIPANT_WRITER: Entity = [0, 1, 0, 0xc2];

/// A datagram that it sends: from which of its ports, to whom.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The port it leaves by.
    pub from: u16,
    /// Where it goes.
    pub to: SocketAddrV4,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A writer or reader of its user.
struct Endpoint {
    entity: Entity,
    topic: String,
    type_name: String,
    /// The writers or readers of others that it has met, and where they are reached.
    met: Vec<(Prefix, Entity, SocketAddrV4)>,
    last: u64,
}

/// A writer of another that tells of endpoints.
struct Teller {
    prefix: Prefix,
    entity: Entity,
    address: SocketAddrV4,
    expected: u64,
    heartbeats: u32,
    acknowledgements: u32,
}

/// A reader of another that is told of endpoints.
struct Told {
    prefix: Prefix,
    entity: Entity,
    address: SocketAddrV4,
    acknowledgements: u32,
}

/// See the module's documentation.
pub struct EmbeddedRtps {
    prefix: Prefix,
    ip: Ipv4Addr,
    mask: u32,
    participants: Vec<Prefix>,
    tellers: Vec<Teller>,
    told: Vec<Told>,
    /// What it tells of its own endpoints, by the writer that tells it.
    publications: Vec<Vec<u8>>,
    subscriptions: Vec<Vec<u8>>,
    writers: Vec<Endpoint>,
    readers: Vec<Endpoint>,
    heartbeats: u32,
    now: Duration,
    announce_at: Duration,
    heartbeat_at: Duration,
    out: VecDeque<Sent>,
    /// Announcements that it dropped, and why.
    pub dropped: Vec<String>,
    /// Messages that it received: topic and payload, encapsulation header first.
    pub received: Vec<(String, Vec<u8>)>,
    /// Fragments and other submessages that it passed over.
    pub passed_over: usize,
    /// Datagrams that it could not hold whole.
    pub truncated: usize,
}

impl EmbeddedRtps {
    /// One with a fixed prefix, at an address in a subnet of so many bits.
    pub fn new(ip: Ipv4Addr, bits: u32) -> Self {
        Self {
            prefix: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 4],
            ip,
            mask: u32::MAX << (32 - bits),
            participants: Vec::new(),
            tellers: Vec::new(),
            told: Vec::new(),
            publications: Vec::new(),
            subscriptions: Vec::new(),
            writers: Vec::new(),
            readers: Vec::new(),
            heartbeats: 1,
            now: Duration::ZERO,
            announce_at: Duration::ZERO,
            heartbeat_at: HEARTBEAT_EVERY,
            out: VecDeque::new(),
            dropped: Vec::new(),
            received: Vec::new(),
            passed_over: 0,
            truncated: 0,
        }
    }

    /// Its ports: for discovery, and for its user.
    pub fn ports() -> [u16; 2] {
        [7410 + 2 * PARTICIPANT, 7411 + 2 * PARTICIPANT]
    }

    /// Makes a best-effort writer, as `create_publisher` of mROS 2 does; its index.
    pub fn create_writer(&mut self, topic: &str, type_name: &str) -> usize {
        let entity = [0, 0, self.next_key(), 0x03];
        self.publications.push(self.endpoint_data(entity, topic, type_name, true));
        self.writers.push(Endpoint::new(entity, topic, type_name));
        self.writers.len() - 1
    }

    /// Makes a best-effort reader.
    pub fn create_reader(&mut self, topic: &str, type_name: &str) {
        let entity = [0, 0, self.next_key(), 0x04];
        self.subscriptions.push(self.endpoint_data(entity, topic, type_name, false));
        self.readers.push(Endpoint::new(entity, topic, type_name));
    }

    fn next_key(&self) -> u8 {
        (self.writers.len() + self.readers.len() + 1) as u8
    }

    /// True if a writer has met a reader, and a reader each topic's writer.
    pub fn has_met(&self) -> bool {
        self.writers.iter().chain(&self.readers).all(|endpoint| !endpoint.met.is_empty())
    }

    /// How many participants it knows.
    pub fn participants(&self) -> usize {
        self.participants.len()
    }

    /// When [`EmbeddedRtps::handle_timeout`] is due, since it was started.
    pub fn timeout(&self) -> Duration {
        self.announce_at.min(self.heartbeat_at)
    }

    /// Announces itself and tells what it has, if that is due.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.now = now;
        if self.announce_at <= now {
            self.announce_at = now + ANNOUNCE_EVERY;
            let bytes = self.announcement();
            self.out.push_back(Sent { from: GROUP.port(), to: GROUP, bytes });
        }
        if self.heartbeat_at <= now {
            self.heartbeat_at = now + HEARTBEAT_EVERY;
            for index in 0..self.told.len() {
                self.send_heartbeat(index);
            }
            self.heartbeats += 1;
        }
    }

    /// The next datagram to be sent.
    pub fn poll_transmit(&mut self) -> Option<Sent> {
        self.out.pop_front()
    }

    /// A datagram has come to one of its ports, or to the group.
    pub fn handle_datagram(&mut self, datagram: &[u8]) {
        self.truncated += usize::from(datagram.len() > FIRST_BUFFER);
        let held = &datagram[..datagram.len().min(FIRST_BUFFER)];
        let Some((prefix, rest)) = parse::header(held).filter(|(prefix, _)| *prefix != self.prefix) else {
            return;
        };
        for submessage in submessages(rest) {
            match submessage {
                Submessage::Data { reader, writer, number, payload } => {
                    self.take_data(prefix, (reader, writer), number, payload);
                }
                Submessage::Heartbeat { reader, writer, last, count } => {
                    self.answer(prefix, (reader, writer), last, count);
                }
                Submessage::AckNack { reader, writer, base, asked, count } => {
                    self.send_asked(prefix, (reader, writer), (base, asked), count);
                }
                Submessage::Passed => {}
                Submessage::Unsupported => self.passed_over += 1,
            }
        }
    }

    fn take_data(&mut self, prefix: Prefix, (reader, writer): (Entity, Entity), number: u64, payload: &[u8]) {
        if writer == PARTICIPANT_WRITER {
            return self.take_participant(payload);
        }
        if let Some(teller) = self.tellers.iter_mut().find(|it| (it.prefix, it.entity) == (prefix, writer)) {
            if teller.expected == number {
                teller.expected += 1;
                self.take_endpoint(prefix, writer == PUBLICATIONS_WRITER, payload);
            }
            return;
        }
        let concerned = |of: &&Endpoint| match reader {
            [0, 0, 0, 0] => of.met.iter().any(|met| (met.0, met.1) == (prefix, writer)),
            reader => of.entity == reader,
        };
        if let Some(of) = self.readers.iter().find(concerned) {
            self.received.push((of.topic.clone(), payload.to_vec()));
        }
    }

    fn take_participant(&mut self, payload: &[u8]) {
        if payload.len() > INPUT_BUFFER {
            return self.dropped.push(format!("announcement of {} bytes", payload.len()));
        }
        let is_near = |ip: Ipv4Addr| u32::from(ip) & self.mask == u32::from(self.ip) & self.mask;
        let found = match participant_of(payload, &self.participants, is_near) {
            Ok(Some(found)) => found,
            Ok(None) => return,
            Err(why) => return self.dropped.push(why),
        };
        // The original never comes out of a loop that it enters then.
        assert!(self.participants.len() < MOST_PARTICIPANTS, "one participant more than it can hold");
        self.participants.push(found.prefix);
        let Some(address) = found.address else { return };
        for (entity, bit) in [(PUBLICATIONS_WRITER, 2), (SUBSCRIPTIONS_WRITER, 4)] {
            if found.builtin & (1 << bit) != 0 {
                let (prefix, expected, heartbeats) = (found.prefix, 1, 0);
                self.tellers.push(Teller {
                    prefix,
                    entity,
                    address,
                    expected,
                    heartbeats,
                    acknowledgements: 0,
                });
            }
        }
        for (entity, bit) in [(PUBLICATIONS_READER, 3), (SUBSCRIPTIONS_READER, 5)] {
            if found.builtin & (1 << bit) != 0 {
                self.told.push(Told { prefix: found.prefix, entity, address, acknowledgements: 0 });
            }
        }
    }

    fn take_endpoint(&mut self, prefix: Prefix, is_writer: bool, payload: &[u8]) {
        if payload.len() > INPUT_BUFFER {
            return self.dropped.push(format!("endpoint data of {} bytes", payload.len()));
        }
        let is_near = |ip: Ipv4Addr| u32::from(ip) & self.mask == u32::from(self.ip) & self.mask;
        let Some(found) = endpoint_of(payload, is_near).filter(|found| found.prefix == prefix) else {
            return;
        };
        let own = if is_writer { &mut self.readers } else { &mut self.writers };
        let matches = |own: &&mut Endpoint| (&own.topic, &own.type_name) == (&found.topic, &found.type_name);
        if let Some(own) = own.iter_mut().find(matches) {
            // Where there is none it sends to an address of its own invention.
            let address = found.address.unwrap_or(SocketAddrV4::new(Ipv4Addr::new(192, 168, 0, 42), 7411));
            own.met.push((prefix, found.entity, address));
        }
    }

    /// Publishes a payload, encapsulation header first.
    pub fn publish(&mut self, writer: usize, payload: &[u8]) {
        self.writers[writer].last += 1;
        for (_, reader, address) in self.writers[writer].met.clone() {
            let of = &self.writers[writer];
            let datagrams = self.sample((reader, of.entity), of.last, payload);
            let from = Self::ports()[1];
            self.out.extend(datagrams.into_iter().map(|bytes| Sent { from, to: address, bytes }));
        }
    }
}

impl Endpoint {
    fn new(entity: Entity, topic: &str, type_name: &str) -> Self {
        Self { entity, topic: topic.into(), type_name: type_name.into(), met: Vec::new(), last: 0 }
    }
}
