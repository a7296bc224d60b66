//! Plain announcements, for peers of embeddedRTPS (mROS 2 and boards like it).
//!
//! Such a peer drops a whole participant announcement at the first parameter that it does not list, or when the payload
//! exceeds its input buffer. It reads endpoint data only up to its own buffer, takes the address of an endpoint only
//! from the endpoint data, and knows neither GAP nor fragments: a number that it never receives as DATA blocks all
//! later ones. Facts from its source: `ParticipantProxyData.cpp`, `TopicData.cpp`, `SPDPAgent.h`, `SEDPAgent.h`,
//! `WriterProxy.h`.

use super::{Endpoint, ParticipantData, Role};
use crate::wire::VendorId;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Maximum payload bytes of an announcement that such a peer can buffer.
pub const PLAIN_PAYLOAD: usize = 400;

/// Maximum bytes of a datagram that it receives whole: one lwIP buffer in its configuration, less the headers of
/// Ethernet, IP and UDP.
pub const PLAIN_DATAGRAM: usize = 1024 - 14 - 20 - 8;

/// Maximum number of our addresses in its announcement: it holds as many of each kind.
const MAX_LOCATORS: usize = 5;

/// Discovery sample without content, in place of a missing one: an empty parameter list.
pub(crate) const FILLER: [u8; 8] = [0, 3, 0, 0, 1, 0, 0, 0];

impl VendorId {
    /// Returns whether participants of this vendor understand only plain announcements.
    pub fn is_plain(self) -> bool {
        self == Self::EMBEDDED_RTPS
    }
}

/// Returns the addresses to announce to a plain peer: those of its family, with the longest common prefix first, since
/// it ignores all addresses outside its subnet and its netmask is unknown.
pub(crate) fn nearest(own: &[SocketAddr], peer: IpAddr) -> Vec<SocketAddr> {
    let IpAddr::V4(peer) = peer else { return Vec::new() };
    let mut near: Vec<_> =
        own.iter().filter_map(|own| Some((differing_bits(own.ip(), peer)?, *own))).collect();
    near.sort_by_key(|(bits, _)| *bits);
    near.into_iter().map(|(_, own)| own).take(MAX_LOCATORS).collect()
}

/// Returns the number of bits after the common prefix of two addresses.
fn differing_bits(own: IpAddr, peer: Ipv4Addr) -> Option<u32> {
    let IpAddr::V4(own) = own else { return None };
    Some(32 - (u32::from(own) ^ u32::from(peer)).leading_zeros())
}

/// Returns a participant announcement with these addresses and only the parameters that a plain peer lists.
pub(crate) fn plain_participant(data: &ParticipantData, addresses: &[SocketAddr]) -> Vec<u8> {
    let plain = ParticipantData {
        domain: None,
        domain_tag: String::new(),
        metatraffic: addresses.to_vec(),
        unicast: addresses.to_vec(),
        name: String::new(),
        user_data: Vec::new(),
        ..data.clone()
    };
    let mut out = Vec::new();
    plain.emit(&mut out);
    out
}

/// Returns endpoint data for a plain peer, from the announcement for all others: with the addresses of the endpoint,
/// and without parameters that such a peer does not use. Returns [`FILLER`] if the names are too long for its buffer.
pub(crate) fn plain_endpoint(role: Role, full: &[u8], addresses: &[SocketAddr]) -> Vec<u8> {
    let Ok(endpoint) = Endpoint::parse(role, full) else { return FILLER.to_vec() };
    let mut endpoint =
        Endpoint { has_history: false, representations: Vec::new(), user_data: Vec::new(), ..endpoint };
    for count in [addresses.len(), 1] {
        endpoint.unicast = addresses.iter().take(count).copied().collect();
        let mut out = Vec::new();
        endpoint.emit(&mut out);
        if out.len() <= PLAIN_PAYLOAD {
            return out;
        }
    }
    FILLER.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announce::{BuiltinEndpoints, parameters};
    use crate::wire::{EntityId, GuidPrefix, pid};
    use core::time::Duration;
    use runnel_core::qos::QoS;

    /// Parameters of a participant that embeddedRTPS knows.
    const LISTED: [u16; 11] = [
        pid::PROTOCOL_VERSION,
        pid::VENDOR_ID,
        pid::EXPECTS_INLINE_QOS,
        pid::PARTICIPANT_GUID,
        pid::METATRAFFIC_UNICAST_LOCATOR,
        pid::METATRAFFIC_MULTICAST_LOCATOR,
        pid::DEFAULT_UNICAST_LOCATOR,
        pid::DEFAULT_MULTICAST_LOCATOR,
        pid::PARTICIPANT_LEASE_DURATION,
        pid::BUILTIN_ENDPOINT_SET,
        pid::USER_DATA,
    ];

    fn eight() -> Vec<SocketAddr> {
        (1..=8).map(|subnet| SocketAddr::from(([10, subnet, 0, 1], 7410))).collect()
    }

    fn data() -> ParticipantData {
        ParticipantData {
            prefix: GuidPrefix([7; 12]),
            version: (2, 4),
            vendor: VendorId::RUNNEL,
            domain: Some(3),
            domain_tag: String::new(),
            lease: Some(Duration::from_secs(20)),
            builtin: BuiltinEndpoints::OURS,
            metatraffic: eight(),
            unicast: eight(),
            name: "a name".into(),
            user_data: b"enclave=/a/long/enclave;".to_vec(),
        }
    }

    #[test]
    fn plain_announcement_of_eight_interfaces_fits_and_holds_listed_parameters() {
        let near = nearest(&eight(), "10.8.0.9".parse().unwrap());
        assert_eq!(near[0], "10.8.0.1:7410".parse().unwrap());
        let bytes = plain_participant(&data(), &near);
        assert!(bytes.len() <= PLAIN_PAYLOAD, "{} bytes", bytes.len());
        let unknown = parameters(&bytes).unwrap().iter().find(|of| !LISTED.contains(&of.id));
        assert!(unknown.is_none(), "{unknown:?}");
    }

    #[test]
    fn plain_endpoint_fits_and_names_addresses() {
        let endpoint = Endpoint {
            guid: GuidPrefix([7; 12]).with(EntityId::user_reader(1)),
            topic: format_name("rt/", 255),
            type_name: "std_msgs::msg::dds_::String_".into(),
            qos: QoS::default(),
            has_history: true,
            exclusive: false,
            in_default_partition: true,
            representations: [0, 2].to_vec(),
            expects_inline_qos: false,
            unicast: Vec::new(),
            user_data: [b'x'; 120].to_vec(),
        };
        let plain = |topic_len| {
            let mut full = Vec::new();
            Endpoint { topic: format_name("rt/", topic_len), ..endpoint.clone() }.emit(&mut full);
            plain_endpoint(Role::Reader, &full, &eight()[..5])
        };
        for (topic_len, addresses) in [(39, 5), (200, 1)] {
            let bytes = plain(topic_len);
            assert!(bytes.len() <= PLAIN_PAYLOAD, "{} bytes", bytes.len());
            assert_eq!(Endpoint::parse(Role::Reader, &bytes).unwrap().unicast.len(), addresses);
        }
        assert_eq!(plain(500), FILLER);
    }

    fn format_name(begin: &str, len: usize) -> String {
        let mut name = String::from(begin);
        name.extend(core::iter::repeat_n('x', len - begin.len()));
        name
    }

    #[test]
    fn nearest_addresses_share_the_longest_prefix() {
        let own: Vec<SocketAddr> = ["127.0.0.1:1", "192.168.1.5:1", "[fd00::1]:1", "192.168.11.5:1"]
            .map(|a| a.parse().unwrap())
            .to_vec();
        let near = nearest(&own, "192.168.11.3".parse().unwrap());
        let expected: Vec<SocketAddr> =
            ["192.168.11.5:1", "192.168.1.5:1", "127.0.0.1:1"].map(|a| a.parse().unwrap()).to_vec();
        assert_eq!(near, expected);
        assert!(nearest(&own, "fd00::9".parse().unwrap()).is_empty());
    }
}
