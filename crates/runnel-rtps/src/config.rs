//! What a participant is told when it is made.

use crate::wire::GuidPrefix;
use crate::writer::Rate;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

/// What a participant is told when it is made.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who it is; 8 of the bytes at least are to be random, since peers prove by them that they hear us.
    pub prefix: GuidPrefix,
    /// Known to nobody else, and random: the sequence numbers by which each peer's discovery begins are made of it, so that
    /// only a receiver of our datagrams can acknowledge them.
    pub secret: [u64; 2],
    /// Its domain, `ROS_DOMAIN_ID`.
    pub domain: u32,
    /// Where it is reached, of each interface one.
    pub unicast: Vec<SocketAddr>,
    /// Where it announces itself to whoever hears it: groups.
    pub multicast: Vec<SocketAddr>,
    /// Where it announces itself beside, whether or not somebody is there.
    pub peers: Vec<SocketAddr>,
    /// Where it announces itself a few times while it is new: where participants of this host may be that hear no group. They
    /// find those that come later by themselves.
    pub local_ports: Vec<SocketAddr>,
    /// The addresses of this host.
    pub own_addresses: Vec<IpAddr>,
    /// True if only participants of this host are heard, and of those of [`Config::peers`].
    pub own_host_only: bool,
    /// True if participants at the addresses of [`Config::peers`] alone are heard.
    pub named_only: bool,
    /// Participants that are reached by IPv4 and by IPv6 are sent to by IPv6.
    pub prefers_ipv6: bool,
    /// Its name.
    pub name: String,
    /// Of its user; in ROS 2 `enclave=/;`.
    pub user_data: Vec<u8>,
    /// How long it stays known to its peers when they do not hear it any more.
    pub lease: Duration,
    /// The longest pause between two announcements.
    pub announce: Duration,
    /// What peers can cost.
    pub limits: Limits,
    /// To participants of this host, and to those of others.
    pub same_host: Path,
    /// To participants of other hosts.
    pub other_host: Path,
}

/// How datagrams are sent to a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The longest datagram, in bytes.
    pub datagram: usize,
    /// How fast fragments are sent.
    pub rate: Rate,
}

/// What peers can cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Participants that have proved their address.
    pub participants: usize,
    /// Of those places, how many are kept for participants of this host and for such as were proved before: those that prove
    /// another address, and the last 64 that were lost without a word.
    pub reserved: usize,
    /// Proved participants at one address that is not of this host, so that none keeps out all others: a quarter by default.
    pub participants_per_address: usize,
    /// Participants that have not yet, of which the oldest silent one makes room for another.
    pub candidates: usize,
    /// Endpoints of one participant.
    pub endpoints: usize,
    /// Endpoints of one that has not proved its address. It is asked for the others once it has.
    pub unproved_endpoints: usize,
    /// What all that is told of endpoints may take, in bytes; of participants at one address a quarter of that.
    pub endpoint_bytes: usize,
    /// The longest lease that is believed.
    pub lease: Duration,
    /// The same of a participant that has not proved its address.
    pub unproved_lease: Duration,
    /// The longest sample, and what may wait from one writer to one reader, in bytes.
    pub sample_bytes: usize,
    /// What may wait at all readers together, in bytes: so much of samples that came early, and as much of incomplete ones.
    pub waiting_bytes: usize,
    /// How many samples a writer holds that keeps all.
    pub kept: usize,
    /// And how many bytes they may have before another one has to wait.
    pub kept_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            participants: 1024,
            reserved: 256,
            participants_per_address: 256,
            candidates: 2048,
            endpoints: 4096,
            unproved_endpoints: 64,
            endpoint_bytes: 128 << 20,
            lease: Duration::from_secs(300),
            unproved_lease: Duration::from_secs(60),
            sample_bytes: 256 << 20,
            waiting_bytes: 512 << 20,
            kept: 1000,
            kept_bytes: 512 << 20,
        }
    }
}

impl Config {
    /// A participant that hears and is heard by nobody until it is told where.
    pub fn new(prefix: GuidPrefix, domain: u32) -> Self {
        Self {
            prefix,
            secret: [0; 2],
            domain,
            unicast: Vec::new(),
            multicast: Vec::new(),
            peers: Vec::new(),
            local_ports: Vec::new(),
            own_addresses: Vec::new(),
            own_host_only: false,
            named_only: false,
            prefers_ipv6: false,
            name: String::new(),
            user_data: Vec::new(),
            lease: Duration::from_secs(20),
            announce: Duration::from_secs(3),
            limits: Limits::default(),
            same_host: Path {
                datagram: 64_000,
                rate: Rate { bytes_per_second: 200_000_000, burst: 128_000 },
            },
            other_host: Path { datagram: 1_444, rate: Rate { bytes_per_second: 100_000_000, burst: 64_000 } },
        }
    }
}
