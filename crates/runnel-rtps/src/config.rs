//! Configuration of a participant.

use crate::wire::GuidPrefix;
use crate::writer::Rate;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

/// Configuration of a participant.
#[derive(Clone, Debug)]
pub struct Config {
    /// GUID prefix. At least 8 of its bytes must be random: peers prove with them that they receive our datagrams.
    pub prefix: GuidPrefix,
    /// Secret random number. The first sequence numbers of each peer's discovery derive from it, so that only a
    /// receiver of our datagrams can acknowledge them.
    pub secret: [u64; 2],
    /// Domain id, `ROS_DOMAIN_ID`.
    pub domain: u32,
    /// Unicast addresses, one for each interface.
    pub unicast: Vec<SocketAddr>,
    /// Multicast groups to which it announces itself.
    pub multicast: Vec<SocketAddr>,
    /// Unicast addresses to which it also announces itself, whether or not a participant is there.
    pub peers: Vec<SocketAddr>,
    /// Addresses to which it announces itself a few times at the start: ports of participants of this host that receive
    /// no multicast. Participants that start later find it themselves.
    pub local_ports: Vec<SocketAddr>,
    /// The addresses of this host.
    pub own_addresses: Vec<IpAddr>,
    /// Datagrams are accepted only from participants of this host and those of [`Config::peers`].
    pub own_host_only: bool,
    /// Datagrams are accepted only from the addresses of [`Config::peers`].
    pub named_only: bool,
    /// IPv6 is preferred for participants that are reached by IPv4 and by IPv6.
    pub prefers_ipv6: bool,
    /// Name of the participant.
    pub name: String,
    /// User data; in ROS 2 `enclave=/;`.
    pub user_data: Vec<u8>,
    /// Lease duration: peers forget the participant after this time without a datagram.
    pub lease: Duration,
    /// Longest interval between two announcements.
    pub announce: Duration,
    /// Limits on the resources of peers.
    pub limits: Limits,
    /// Path to participants of this host.
    pub same_host: Path,
    /// Path to participants of other hosts.
    pub other_host: Path,
}

/// Path parameters for the datagrams to a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Maximum datagram size in bytes.
    pub datagram: usize,
    /// Rate of fragments.
    pub rate: Rate,
}

/// Limits on the resources of peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of participants that have proved their address.
    pub participants: usize,
    /// Number of these reserved for participants of this host and for those that were proved before: participants
    /// that prove another address, and the last 64 whose lease ended without a disposal.
    pub reserved: usize,
    /// Maximum number of proved participants at one address of another host, so that no address excludes all others: a
    /// quarter by default.
    pub participants_per_address: usize,
    /// Maximum number of unproved participants. The oldest silent one is replaced by a new one.
    pub candidates: usize,
    /// Maximum number of endpoints of one participant.
    pub endpoints: usize,
    /// Maximum number of endpoints of an unproved participant. The others are requested after the proof.
    pub unproved_endpoints: usize,
    /// Maximum bytes of all discovered endpoints; a quarter of it for the participants at one address.
    pub endpoint_bytes: usize,
    /// Longest lease duration that is accepted.
    pub lease: Duration,
    /// Longest lease duration of an unproved participant.
    pub unproved_lease: Duration,
    /// Maximum bytes of a sample, and of the samples that wait between one writer and one reader.
    pub sample_bytes: usize,
    /// Maximum bytes that wait at all readers together: once for out-of-order samples, and once for incomplete ones.
    pub waiting_bytes: usize,
    /// Maximum number of samples that a keep-all writer holds.
    pub kept: usize,
    /// Maximum bytes of these samples before the next write has to wait.
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
    /// Creates the configuration of a participant without addresses.
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
