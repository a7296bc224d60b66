//! A peer that behaves like embeddedRTPS, the RTPS library of mROS 2: small, and strict where other implementations
//! are lenient.
//!
//! It is written against RTPS only, without Runnel's engine, and does no I/O. Behaviour taken from embeddedRTPS:
//! - It drops a participant announcement of more than 400 bytes, or with a parameter that it does not know, and
//!   endpoint data of more than 400 bytes.
//! - It stores up to five addresses of its own subnet, and sends to the first.
//! - It accepts discovery samples in order of their sequence numbers, from 1 on, and does not know GAP.
//! - It never sends INFO_DST, acknowledges each heartbeat, and requests one sample at a time.
//! - It reads neither fragments nor anything after the first buffer of a datagram.
//! - It publishes messages of more than 100 bytes in fragments of 64, of which the last announces its own size as
//!   that of all.
//! - Its GUID prefix may be the same after each start.

mod parse;
mod send;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use parse::{Submessage, endpoint_of, participant_of, submessages};

/// Multicast address of participant discovery in domain 0.
pub const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 255, 0, 1), 7400);

/// Longest announcement, in bytes.
pub const INPUT_BUFFER: usize = 400;

/// Bytes that it reads of a datagram at most: one buffer of lwIP, without the headers.
pub const FIRST_BUFFER: usize = 982;

const ANNOUNCE_EVERY: Duration = Duration::from_secs(1);
const HEARTBEAT_EVERY: Duration = Duration::from_secs(4);
const MOST_PARTICIPANTS: usize = 5;

/// The number of its participant on its host; it counts from 4.
const PARTICIPANT: u16 = 4;

type Prefix = [u8; 12];
type Entity = [u8; 4];

const PUBLICATIONS_WRITER: Entity = [0, 0, 3, 0xc2];
const PUBLICATIONS_READER: Entity = [0, 0, 3, 0xc7];
const SUBSCRIPTIONS_WRITER: Entity = [0, 0, 4, 0xc2];
const SUBSCRIPTIONS_READER: Entity = [0, 0, 4, 0xc7];
const PARTICIPANT_WRITER: Entity = [0, 1, 0, 0xc2];

/// A datagram to be sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The source port.
    pub from: u16,
    /// The destination.
    pub to: SocketAddrV4,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A user writer or reader.
struct Endpoint {
    entity: Entity,
    topic: String,
    type_name: String,
    /// Matched writers or readers of other participants, and their addresses.
    matched: Vec<(Prefix, Entity, SocketAddrV4)>,
    last: u64,
}

/// A discovery writer of another participant.
struct DiscoveryWriter {
    prefix: Prefix,
    entity: Entity,
    address: SocketAddrV4,
    expected: u64,
    heartbeats: u32,
    acknowledgements: u32,
}

/// A discovery reader of another participant.
struct DiscoveryReader {
    prefix: Prefix,
    entity: Entity,
    address: SocketAddrV4,
    acknowledgements: u32,
}

/// The emulated participant.
pub struct EmbeddedRtps {
    prefix: Prefix,
    ip: Ipv4Addr,
    mask: u32,
    participants: Vec<Prefix>,
    discovery_writers: Vec<DiscoveryWriter>,
    discovery_readers: Vec<DiscoveryReader>,
    /// The discovery data of its endpoints, by discovery writer.
    publications: Vec<Vec<u8>>,
    subscriptions: Vec<Vec<u8>>,
    writers: Vec<Endpoint>,
    readers: Vec<Endpoint>,
    heartbeats: u32,
    now: Duration,
    announce_at: Duration,
    heartbeat_at: Duration,
    out: VecDeque<Sent>,
    /// Dropped announcements, with reasons.
    pub dropped: Vec<String>,
    /// Received messages: topic and payload, encapsulation header first.
    pub received: Vec<(String, Vec<u8>)>,
    /// Ignored fragments and other submessages.
    pub ignored: usize,
    /// Truncated datagrams.
    pub truncated: usize,
}

impl EmbeddedRtps {
    /// A participant with a fixed prefix, at an address in a subnet with a prefix of `bits` bits.
    pub fn new(ip: Ipv4Addr, bits: u32) -> Self {
        Self {
            prefix: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 4],
            ip,
            mask: u32::MAX << (32 - bits),
            participants: Vec::new(),
            discovery_writers: Vec::new(),
            discovery_readers: Vec::new(),
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
            ignored: 0,
            truncated: 0,
        }
    }

    /// Its ports: for discovery, and for user data.
    pub fn ports() -> [u16; 2] {
        [7410 + 2 * PARTICIPANT, 7411 + 2 * PARTICIPANT]
    }

    /// Creates a best-effort writer, as `create_publisher` of mROS 2 does; returns its index.
    pub fn create_writer(&mut self, topic: &str, type_name: &str) -> usize {
        let entity = [0, 0, self.next_key(), 0x03];
        self.publications.push(self.endpoint_data(entity, topic, type_name, true));
        self.writers.push(Endpoint::new(entity, topic, type_name));
        self.writers.len() - 1
    }

    /// Creates a best-effort reader.
    pub fn create_reader(&mut self, topic: &str, type_name: &str) {
        let entity = [0, 0, self.next_key(), 0x04];
        self.subscriptions.push(self.endpoint_data(entity, topic, type_name, false));
        self.readers.push(Endpoint::new(entity, topic, type_name));
    }

    fn next_key(&self) -> u8 {
        (self.writers.len() + self.readers.len() + 1) as u8
    }

    /// Whether every writer has matched a reader, and every reader the writer of its topic.
    pub fn has_matched(&self) -> bool {
        self.writers.iter().chain(&self.readers).all(|endpoint| !endpoint.matched.is_empty())
    }

    /// Number of known participants.
    pub fn participants(&self) -> usize {
        self.participants.len()
    }

    /// When [`EmbeddedRtps::handle_timeout`] is due, since the start.
    pub fn timeout(&self) -> Duration {
        self.announce_at.min(self.heartbeat_at)
    }

    /// Announces itself and sends heartbeats, if that is due.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.now = now;
        if self.announce_at <= now {
            self.announce_at = now + ANNOUNCE_EVERY;
            let bytes = self.announcement();
            self.out.push_back(Sent { from: GROUP.port(), to: GROUP, bytes });
        }
        if self.heartbeat_at <= now {
            self.heartbeat_at = now + HEARTBEAT_EVERY;
            for index in 0..self.discovery_readers.len() {
                self.send_heartbeat(index);
            }
            self.heartbeats += 1;
        }
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Sent> {
        self.out.pop_front()
    }

    /// Handles a datagram that arrived at one of its ports or at the group.
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
                Submessage::Unsupported => self.ignored += 1,
            }
        }
    }

    fn take_data(&mut self, prefix: Prefix, (reader, writer): (Entity, Entity), number: u64, payload: &[u8]) {
        if writer == PARTICIPANT_WRITER {
            return self.take_participant(payload);
        }
        if let Some(found) =
            self.discovery_writers.iter_mut().find(|it| (it.prefix, it.entity) == (prefix, writer))
        {
            if found.expected == number {
                found.expected += 1;
                self.take_endpoint(prefix, writer == PUBLICATIONS_WRITER, payload);
            }
            return;
        }
        let concerned = |of: &&Endpoint| match reader {
            [0, 0, 0, 0] => of.matched.iter().any(|matched| (matched.0, matched.1) == (prefix, writer)),
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
        // The original would loop forever.
        assert!(self.participants.len() < MOST_PARTICIPANTS, "one participant more than it can hold");
        self.participants.push(found.prefix);
        let Some(address) = found.address else { return };
        for (entity, bit) in [(PUBLICATIONS_WRITER, 2), (SUBSCRIPTIONS_WRITER, 4)] {
            if found.builtin & (1 << bit) != 0 {
                let (prefix, expected, heartbeats) = (found.prefix, 1, 0);
                self.discovery_writers.push(DiscoveryWriter {
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
                self.discovery_readers.push(DiscoveryReader {
                    prefix: found.prefix,
                    entity,
                    address,
                    acknowledgements: 0,
                });
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
            // Without one, the original uses this hard-coded address.
            let address = found.address.unwrap_or(SocketAddrV4::new(Ipv4Addr::new(192, 168, 0, 42), 7411));
            own.matched.push((prefix, found.entity, address));
        }
    }

    /// Publishes a payload, encapsulation header first.
    pub fn publish(&mut self, writer: usize, payload: &[u8]) {
        self.writers[writer].last += 1;
        for (_, reader, address) in self.writers[writer].matched.clone() {
            let of = &self.writers[writer];
            let datagrams = self.sample((reader, of.entity), of.last, payload);
            let from = Self::ports()[1];
            self.out.extend(datagrams.into_iter().map(|bytes| Sent { from, to: address, bytes }));
        }
    }
}

impl Endpoint {
    fn new(entity: Entity, topic: &str, type_name: &str) -> Self {
        Self { entity, topic: topic.into(), type_name: type_name.into(), matched: Vec::new(), last: 0 }
    }
}
