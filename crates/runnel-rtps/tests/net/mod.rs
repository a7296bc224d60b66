//! Virtual network of participants with its own clock: a seed determines loss, duplication and reordering, and nothing
//! ever waits.
#![allow(dead_code)]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use runnel_core::qos::QoS;
use runnel_core::time::Instant;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, SampleIdentity, SequenceNumber, Timestamp};
use runnel_rtps::{Config, EndpointOptions, Event, Full, NotSent, ParticipantWithWriters};

mod messages;
mod stranger;

#[allow(unused_imports, reason = "some test programs need nothing of it")]
pub use messages::*;
#[allow(unused_imports, reason = "some test programs need no stranger")]
pub use stranger::Stranger;

pub type Bytes = Arc<[u8]>;

/// Multicast group of announcements.
pub const GROUP: &str = "239.255.0.1:7400";

/// Length of a datagram with only source and destination.
const EMPTY: usize = 36;

/// Network conditions; probabilities in percent.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    pub loss: u32,
    pub doubled: u32,
    pub late: u32,
    /// Delay of a datagram, and additional delay of a late one.
    pub delay: Duration,
    pub lateness: Duration,
}

impl Conditions {
    pub const GOOD: Self =
        Self { loss: 0, doubled: 0, late: 0, delay: Duration::from_micros(50), lateness: Duration::ZERO };

    /// This loss, and some of each other fault.
    pub fn bad(loss: u32) -> Self {
        Self { loss, doubled: 5, late: 5, lateness: Duration::from_millis(5), ..Self::GOOD }
    }
}

/// Participant in the network.
pub struct Node {
    pub participant: ParticipantWithWriters<Bytes>,
    pub address: SocketAddr,
    /// All its addresses, `address` first.
    pub addresses: Vec<SocketAddr>,
    pub samples: Vec<Received>,
    pub events: Vec<Event>,
    pub sent_bytes: usize,
    pub sent: usize,
    /// Addresses of its host, and the maximum datagram sizes within the host and to others.
    own: Vec<IpAddr>,
    longest: (usize, usize),
    config: Config,
    /// It neither sends nor receives, and has no clock.
    pub stopped: bool,
    /// Offset of its clock from that of the network in nanoseconds, and the time at which it is paused, if it is.
    lead: i64,
    still: Option<Instant>,
    /// Offset of its wall clock in seconds.
    pub wall: i64,
}

impl Node {
    /// Returns the time of its clock.
    pub fn time(&self, now: Instant) -> Instant {
        self.still.unwrap_or(Instant(now.0.saturating_add_signed(self.lead)))
    }

    /// Returns when it has something to do, by the clock of the network.
    fn due(&self) -> Option<Instant> {
        let at = self.participant.poll_timeout().filter(|_| !self.stopped)?;
        self.still.is_none().then_some(Instant(at.0.saturating_add_signed(-self.lead)))
    }
}

/// Sample that a reader received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    pub at: Instant,
    pub reader: EntityId,
    pub writer: Guid,
    pub bytes: Vec<u8>,
    pub related: Option<SampleIdentity>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Flying {
    at: Instant,
    order: u64,
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// Virtual network.
pub struct Net {
    pub now: Instant,
    pub nodes: Vec<Node>,
    pub conditions: Conditions,
    /// No datagram arrives.
    pub blackout: bool,
    by_address: BTreeMap<SocketAddr, usize>,
    flying: BinaryHeap<Reverse<Flying>>,
    order: u64,
    seed: u64,
    /// Bytes sent to addresses without a node.
    pub undeliverable: BTreeMap<SocketAddr, usize>,
    /// Addresses without a node at which heartbeats of discovery are acknowledged nevertheless.
    pub answering: BTreeSet<SocketAddr>,
    /// Sent datagrams with source and destination, if recorded.
    pub record: Option<Vec<(SocketAddr, SocketAddr, Vec<u8>)>>,
    /// Number of datagrams sent to each node's addresses.
    pub sent_to: BTreeMap<SocketAddr, usize>,
    /// Length of the longest of them.
    pub longest: BTreeMap<SocketAddr, usize>,
    /// Received datagrams with their sources, of addresses without a node.
    pub mailboxes: BTreeMap<SocketAddr, Vec<(SocketAddr, Vec<u8>)>>,
    /// The last datagrams of participants, for an attacker that listens; limited in number.
    pub capture: VecDeque<Captured>,
    pub capture_limit: usize,
}

/// Datagram that a participant has sent.
#[derive(Clone, Debug)]
pub struct Captured {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
}

impl Net {
    pub fn new(seed: u64) -> Self {
        Self {
            now: Instant(1_000_000_000),
            nodes: Vec::new(),
            conditions: Conditions::GOOD,
            blackout: false,
            by_address: BTreeMap::new(),
            flying: BinaryHeap::new(),
            order: 0,
            seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            undeliverable: BTreeMap::new(),
            answering: BTreeSet::new(),
            record: None,
            sent_to: BTreeMap::new(),
            longest: BTreeMap::new(),
            mailboxes: BTreeMap::new(),
            capture: VecDeque::new(),
            capture_limit: 0,
        }
    }

    /// Random number (xorshift64*).
    pub fn random(&mut self, below: u32) -> u32 {
        self.seed ^= self.seed >> 12;
        self.seed ^= self.seed << 25;
        self.seed ^= self.seed >> 27;
        ((self.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % u64::from(below.max(1))) as u32
    }

    /// Returns the configuration of a participant on a host of its own.
    pub fn config(&self) -> Config {
        let number = self.nodes.len() as u8 + 1;
        let ip = IpAddr::V4(Ipv4Addr::new(10, 0, 0, number));
        let mut config = Config::new(GuidPrefix([1, 0x72, 0, 0, 0, 0, 0, 0, 0, 0, 7, number]), 0);
        config.unicast = vec![SocketAddr::new(ip, 7410)];
        config.own_addresses = vec![ip];
        config.multicast = vec![GROUP.parse().unwrap()];
        config.user_data = b"enclave=/;".to_vec();
        config
    }

    pub fn add(&mut self) -> usize {
        self.add_with(|_| {})
    }

    pub fn add_with(&mut self, change: impl FnOnce(&mut Config)) -> usize {
        let mut config = self.config();
        change(&mut config);
        let kept = config.clone();
        let (address, addresses) = (config.unicast[0], config.unicast.clone());
        // Its own announcement is not fragmented.
        let whole = config.user_data.len() + 1000;
        let (same, other) = (config.same_host.datagram.max(whole), config.other_host.datagram.max(whole));
        let (own, longest) = (config.own_addresses.clone(), (same, other));
        let index = self.nodes.len();
        self.by_address.extend(addresses.iter().map(|address| (*address, index)));
        self.nodes.push(Node {
            participant: ParticipantWithWriters::new(self.now, config),
            address,
            addresses,
            samples: Vec::new(),
            events: Vec::new(),
            sent_bytes: 0,
            sent: 0,
            own,
            longest,
            config: kept,
            stopped: false,
            lead: 0,
            still: None,
            wall: 0,
        });
        index
    }

    /// Restarts a node with the same GUID prefix and no state.
    pub fn reboot(&mut self, node: usize) {
        let now = self.now;
        let node = &mut self.nodes[node];
        (node.participant, node.stopped) = (ParticipantWithWriters::new(now, node.config.clone()), false);
    }

    /// Returns the times of a node's clocks.
    fn times(&self, node: usize) -> (Instant, Timestamp) {
        let seconds = 1_000_000 + (self.now.0 / 1_000_000_000) as i64 + self.nodes[node].wall;
        (self.nodes[node].time(self.now), Timestamp { seconds: seconds as u32, fraction: 0 })
    }

    pub fn stamp(&self) -> Timestamp {
        self.times(0).1
    }

    /// Advances a node's clock.
    pub fn leap(&mut self, node: usize, by: Duration) {
        self.nodes[node].lead += by.as_nanos() as i64;
    }

    /// Pauses a node and its clock, as of a paused virtual machine.
    pub fn pause_clock(&mut self, node: usize) {
        self.nodes[node].still = Some(self.nodes[node].time(self.now));
    }

    /// Resumes a node's clock where it was paused.
    pub fn resume_clock(&mut self, node: usize) {
        let now = self.now.0 as i64;
        let node = &mut self.nodes[node];
        if let Some(still) = node.still.take() {
            node.lead = still.0 as i64 - now;
        }
    }

    pub fn writer(&mut self, node: usize, topic: &str, qos: QoS) -> EntityId {
        let (now, stamp) = self.times(node);
        let id = self.nodes[node].participant.create_writer(now, stamp, options(topic, qos));
        self.drain(node, &[]);
        id
    }

    /// Creates a writer whose samples are for one reader each.
    pub fn addressed_writer(&mut self, node: usize, topic: &str, qos: QoS) -> EntityId {
        let (now, stamp) = self.times(node);
        let id = self.nodes[node].participant.create_addressed_writer(now, stamp, options(topic, qos));
        self.drain(node, &[]);
        id
    }

    pub fn reader(&mut self, node: usize, topic: &str, qos: QoS) -> EntityId {
        self.reader_with(node, options(topic, qos))
    }

    pub fn reader_with(&mut self, node: usize, options: EndpointOptions) -> EntityId {
        let (now, stamp) = self.times(node);
        let id = self.nodes[node].participant.create_reader(now, stamp, options);
        self.drain(node, &[]);
        id
    }

    pub fn remove(&mut self, node: usize, id: EntityId) {
        let (now, stamp) = self.times(node);
        self.nodes[node].participant.remove_endpoint(now, stamp, id);
        self.drain(node, &[]);
    }

    pub fn write(&mut self, node: usize, writer: EntityId, bytes: &[u8]) -> Result<Option<Bytes>, Full> {
        let (now, stamp) = self.times(node);
        let written = self.nodes[node].participant.write(now, stamp, writer, bytes.into());
        self.drain(node, &[]);
        written
    }

    /// Writes a sample for one reader.
    pub fn write_to(
        &mut self,
        (node, writer): (usize, EntityId),
        bytes: &[u8],
        to: (Guid, Option<SampleIdentity>),
    ) -> Result<SequenceNumber, NotSent> {
        let (now, stamp) = self.times(node);
        let written = self.nodes[node].participant.write_to(now, stamp, writer, (bytes.into(), to));
        self.drain(node, &[]);
        written
    }

    /// The GUID of a node's endpoint.
    pub fn guid(&self, node: usize, id: EntityId) -> Guid {
        self.nodes[node].config.prefix.with(id)
    }

    pub fn close(&mut self, node: usize) {
        self.nodes[node].participant.close();
        self.drain(node, &[]);
        self.nodes[node].stopped = true;
    }

    /// Sends the pending datagrams of a participant.
    pub fn touch(&mut self, node: usize) {
        self.drain(node, &[]);
    }

    /// Sends the pending datagrams of a participant, and collects its samples and events.
    fn drain(&mut self, node: usize, datagram: &[u8]) {
        let Node { participant, samples, .. } = &mut self.nodes[node];
        while let Some(sample) = participant.poll_sample() {
            let bytes = sample.payload.bytes(datagram).to_vec();
            let (reader, writer, related) = (sample.reader, sample.writer, sample.related);
            samples.push(Received { at: self.now, reader, writer, bytes, related });
        }
        let index = node;
        let mut count = 0;
        loop {
            let node = &mut self.nodes[node];
            let now = node.time(self.now);
            let Some(transmit) = node.participant.poll_transmit(now) else { break };
            count += 1;
            assert!(count < 100_000, "it never stops sending");
            let (to, bytes) = (transmit.to.to_vec(), transmit.parts.concat());
            assert!(bytes.len() > EMPTY, "a datagram with nothing in it");
            for to in to {
                let node = &mut self.nodes[index];
                let longest = if node.own.contains(&to.ip()) { node.longest.0 } else { node.longest.1 };
                assert!(bytes.len() <= longest, "a datagram of {} bytes to {to}", bytes.len());
                node.sent += 1;
                node.sent_bytes += bytes.len();
                let of_family = node.addresses.iter().find(|own| own.is_ipv4() == to.is_ipv4());
                if let Some(from) = of_family.copied() {
                    self.record(from, to, &bytes);
                    self.send(from, to, &bytes);
                }
            }
        }
        let node = &mut self.nodes[node];
        while let Some(event) = node.participant.poll_event() {
            node.events.push(event);
        }
    }

    fn record(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if self.capture_limit > 0 {
            self.capture.truncate(self.capture_limit - 1);
            self.capture.push_front(Captured { from, to, bytes: bytes.to_vec() });
        }
    }

    /// Sends a datagram.
    pub fn send(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if to.ip().is_multicast() {
            let is_member = |other: &SocketAddr| *other != from && other.is_ipv4() == to.is_ipv4();
            let all = self.by_address.keys().chain(self.mailboxes.keys()).copied();
            let all: Vec<SocketAddr> = all.filter(is_member).collect();
            all.into_iter().for_each(|to| self.fly(from, to, bytes));
        } else {
            if self.by_address.contains_key(&to) {
                *self.sent_to.entry(to).or_default() += 1;
                self.longest.entry(to).and_modify(|len| *len = bytes.len().max(*len)).or_insert(bytes.len());
            }
            self.fly(from, to, bytes);
        }
    }

    /// Gives a node other addresses.
    pub fn move_to(&mut self, node: usize, addresses: Vec<SocketAddr>) {
        self.by_address.retain(|_, index| *index != node);
        self.by_address.extend(addresses.iter().map(|address| (*address, node)));
        let own: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
        (self.nodes[node].addresses, self.nodes[node].own) = (addresses.clone(), own.clone());
        let now = self.nodes[node].time(self.now);
        self.nodes[node].participant.set_addresses(now, addresses, own);
        self.drain(node, &[]);
    }

    fn fly(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        self.record.iter_mut().for_each(|record| record.push((from, to, bytes.to_vec())));
        let conditions = self.conditions;
        if self.blackout || self.random(100) < conditions.loss {
            return;
        }
        let copies = if self.random(100) < conditions.doubled { 2 } else { 1 };
        for _ in 0..copies {
            let mut at = self.now + conditions.delay;
            if self.random(100) < conditions.late {
                at += conditions.lateness;
            }
            self.order += 1;
            let bytes = bytes.to_vec();
            self.flying.push(Reverse(Flying { at, order: self.order, from, to, bytes }));
        }
    }

    /// Executes the next event, but none after `until`. Returns false if there is none.
    fn step(&mut self, until: Instant) -> bool {
        let arrival = self.flying.peek().map(|Reverse(flying)| flying.at);
        let due = self.nodes.iter().enumerate().filter_map(|(index, node)| Some((node.due()?, index))).min();
        match (arrival, due) {
            (Some(at), due) if at <= until && due.is_none_or(|(time, _)| at <= time) => self.arrive(at),
            (_, Some((at, index))) if at <= until => {
                self.now = self.now.max(at);
                let now = self.nodes[index].time(self.now);
                self.nodes[index].participant.handle_timeout(now);
                self.drain(index, &[]);
            }
            _ => {
                self.now = self.now.max(until);
                return false;
            }
        }
        true
    }

    fn arrive(&mut self, at: Instant) {
        self.now = self.now.max(at);
        let Some(Reverse(flying)) = self.flying.pop() else { return };
        let Some(index) = self.by_address.get(&flying.to).copied() else {
            if let Some(mailbox) = self.mailboxes.get_mut(&flying.to) {
                return mailbox.push((flying.from, flying.bytes));
            }
            *self.undeliverable.entry(flying.to).or_default() += flying.bytes.len();
            if self.answering.contains(&flying.to)
                && let Some(answer) = acknowledgement(&flying.bytes)
            {
                self.fly(flying.to, flying.from, &answer);
            }
            return;
        };
        if !self.nodes[index].stopped && self.nodes[index].still.is_none() {
            let now = self.nodes[index].time(self.now);
            self.nodes[index].participant.handle_datagram(now, flying.from, &flying.bytes);
            self.drain(index, &flying.bytes);
        }
    }

    pub fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        let mut steps = 0;
        while self.step(until) {
            steps += 1;
            assert!(steps < 5_000_000, "it never settles");
        }
    }

    /// Runs until `done`; returns how long that elapsed.
    #[track_caller]
    pub fn run_until(&mut self, what: &str, most: Duration, done: impl Fn(&Net) -> bool) -> Duration {
        let (begin, until) = (self.now, self.now + most);
        while !done(self) {
            assert!(self.step(until), "{what}: not within {most:?}\n{}", self.report());
        }
        self.now.since(begin)
    }

    fn report(&self) -> String {
        self.nodes.iter().map(|node| format!("{}: {:#?}\n", node.address, node.events)).collect()
    }

    pub fn texts(&self, node: usize, reader: EntityId) -> Vec<Vec<u8>> {
        let received = self.nodes[node].samples.iter().filter(|received| received.reader == reader);
        received.map(|received| received.bytes.clone()).collect()
    }

    pub fn is_matched(&self, node: usize, id: EntityId) -> bool {
        !self.nodes[node].participant.matched(id).is_empty()
    }
}

pub fn options(topic: &str, qos: QoS) -> EndpointOptions {
    EndpointOptions {
        topic: topic.into(),
        type_name: "std_msgs::msg::dds_::String_".into(),
        qos,
        user_data: Vec::new(),
    }
}

pub fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}
