//! Choice of the address at which a participant is reached.
//!
//! A participant with several addresses is reached at the one that it sends from: that route is known to work. For the
//! first datagram IPv4 and IPv6 are equally good; a later one of the preferred family moves the participant there, and
//! never back.

use crate::announce::{Endpoint, ParticipantData};
use crate::config::Config;
use core::net::{IpAddr, SocketAddr, SocketAddrV6};

/// Addresses at which a participant is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerAddresses {
    /// Address of its discovery endpoints.
    pub metatraffic: SocketAddr,
    /// Address of its user endpoints.
    pub user: SocketAddr,
}

/// Chooses the addresses of a participant after a datagram from `from`, among those that `may` be sent to.
pub(super) fn choose_addresses(
    config: &Config,
    data: &ParticipantData,
    from: SocketAddr,
    may: impl Fn(IpAddr) -> bool,
) -> Option<PeerAddresses> {
    let metatraffic = best(config, &data.metatraffic, from, &may)?;
    let here = best(config, &data.unicast, from, |ip| may(ip) && config.is_one_place(ip, metatraffic.ip()));
    // It proves the one address, but not another.
    let port = data.unicast.first().map_or(metatraffic.port(), SocketAddr::port);
    Some(PeerAddresses { metatraffic, user: here.unwrap_or(with_port(metatraffic, port)) })
}

/// Chooses an address: the source, or another of this host for a local participant, or one of the source's family, or
/// any for which we have a socket.
fn best(
    config: &Config,
    addresses: &[SocketAddr],
    from: SocketAddr,
    may: impl Fn(IpAddr) -> bool,
) -> Option<SocketAddr> {
    let allowed = || addresses.iter().filter(|address| may(address.ip()));
    let usable = || allowed().filter_map(|address| usable(config, *address, from));
    let same_host = config.is_own(from.ip());
    let by_source = usable().find(|address| address.ip() == from.ip());
    let here = usable().find(|address| same_host && config.is_own(address.ip()));
    let family = || usable().find(|address| address.is_ipv4() == from.is_ipv4());
    by_source.or(here).or_else(family).or_else(|| usable().next())
}

/// Returns the destination for an address, given the source of a datagram; `None` if it is unusable.
fn usable(config: &Config, address: SocketAddr, from: SocketAddr) -> Option<SocketAddr> {
    let has_socket = |own: &SocketAddr| own.is_ipv4() == address.is_ipv4();
    let speaks = from.is_ipv4() == address.is_ipv4() || config.unicast.iter().any(has_socket);
    if address.ip().is_multicast() || !speaks {
        return None;
    }
    with_scope(address, from)
}

/// Adds the scope of the source to a link-local address.
fn with_scope(address: SocketAddr, from: SocketAddr) -> Option<SocketAddr> {
    let SocketAddr::V6(to) = address else { return Some(address) };
    if !to.ip().is_unicast_link_local() {
        return Some(address);
    }
    match from {
        SocketAddr::V6(from) if from.ip().is_unicast_link_local() => {
            Some(SocketAddrV6::new(*to.ip(), to.port(), 0, from.scope_id()).into())
        }
        _ => None,
    }
}

/// Returns whether an address is preferred to another one that works as well.
pub(super) fn is_preferred_to(config: &Config, new: SocketAddr, old: SocketAddr) -> bool {
    new.is_ipv4() != old.is_ipv4() && new.is_ipv6() == config.prefers_ipv6
}

/// Returns whether an address is announced, for any scope.
pub(super) fn is_among(address: SocketAddr, announced: &[SocketAddr]) -> bool {
    announced.iter().any(|other| (other.ip(), other.port()) == (address.ip(), address.port()))
}

/// Returns the address of an endpoint: its participant's, unless it announces another one that `may` be sent to.
pub(super) fn address_of(
    endpoint: &Endpoint,
    of_participant: SocketAddr,
    may: impl Fn(IpAddr) -> bool,
) -> SocketAddr {
    let may = |ip: IpAddr| ip == of_participant.ip() || may(ip);
    let own = || endpoint.unicast.iter().filter(|to| !to.ip().is_multicast() && may(to.ip()));
    let near = own().find(|address| address.ip() == of_participant.ip());
    let family = || own().filter(|address| address.is_ipv4() == of_participant.is_ipv4());
    let other_address = || family().find_map(|address| with_scope(*address, of_participant));
    near.map(|near| with_port(of_participant, near.port())).or_else(other_address).unwrap_or(of_participant)
}

/// Returns the address, including its scope, with another port.
fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

impl Config {
    /// Returns whether an address belongs to this host.
    pub(crate) fn is_own(&self, ip: IpAddr) -> bool {
        ip.is_loopback() || self.own_addresses.contains(&ip)
    }

    /// Returns whether a receiver at one address is known to receive at the other.
    pub(super) fn is_one_place(&self, one: IpAddr, other: IpAddr) -> bool {
        one == other || self.is_own(one) && self.is_own(other)
    }

    /// Returns whether datagrams from an address are accepted: it is in range, or is a configured peer.
    pub(crate) fn is_accepted_source(&self, ip: IpAddr) -> bool {
        let is_in_range = !self.named_only && (!self.own_host_only || self.is_own(ip));
        is_in_range || self.peers.iter().any(|peer| peer.ip() == ip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::GuidPrefix;
    use alloc::vec;
    use alloc::vec::Vec;

    fn config(own: &[&str]) -> Config {
        let mut config = Config::new(GuidPrefix([1; 12]), 0);
        config.unicast = addresses(own);
        config.own_addresses = config.unicast.iter().map(SocketAddr::ip).collect();
        config
    }

    fn addresses(all: &[&str]) -> Vec<SocketAddr> {
        all.iter().map(|address| address.parse().unwrap()).collect()
    }

    fn best_of(own: &[&str], announced: &[&str], from: &str) -> Option<SocketAddr> {
        best(&config(own), &addresses(announced), from.parse().unwrap(), |_| true)
    }

    #[test]
    fn own_host_only_accepts_named_peers() {
        let mut config = config(&["10.0.0.1:7410"]);
        let is_accepted_source = |config: &Config| {
            ["127.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3"]
                .map(|ip| config.is_accepted_source(ip.parse().unwrap()))
        };
        config.peers = addresses(&["10.0.0.2:7410", "10.0.0.2:7412"]);
        assert_eq!(is_accepted_source(&config), [true; 4]);
        config.own_host_only = true;
        assert_eq!(is_accepted_source(&config), [true, true, true, false]);
        config.named_only = true;
        assert_eq!(is_accepted_source(&config), [false, false, true, false]);
    }

    const BOTH: [&str; 2] = ["10.0.0.1:7410", "[fd00::1]:7410"];

    #[test]
    fn answer_uses_address_family_of_source() {
        let announced = ["10.0.0.2:7410", "[fd00::2]:7410"];
        assert_eq!(best_of(&BOTH, &announced, "10.0.0.2:9"), "10.0.0.2:7410".parse().ok());
        assert_eq!(best_of(&BOTH, &announced, "[fd00::2]:9"), "[fd00::2]:7410".parse().ok());
        // A source that is not announced still shows the family.
        assert_eq!(best_of(&BOTH, &announced, "[fd00::9]:9"), "[fd00::2]:7410".parse().ok());
    }

    #[test]
    fn unsupported_address_family_is_unusable() {
        let ipv6_only = ["[fd00::2]:7410"];
        assert_eq!(best_of(&["10.0.0.1:7410"], &ipv6_only, "10.0.0.2:9"), None);
        assert_eq!(best_of(&BOTH, &ipv6_only, "10.0.0.2:9"), "[fd00::2]:7410".parse().ok());
    }

    #[test]
    fn link_local_address_gets_scope_of_source() {
        let announced = ["[fe80::2]:7410"];
        let found = best_of(&BOTH, &announced, "[fe80::2%3]:9").unwrap();
        assert_eq!(found, "[fe80::2%3]:7410".parse().unwrap());
        assert_eq!(best_of(&BOTH, &announced, "10.0.0.2:9"), None);
        assert_eq!(best_of(&BOTH, &announced, "[fd00::2]:9"), None);
    }

    #[test]
    fn endpoint_at_participant_address_has_same_scope() {
        let endpoint = Endpoint { unicast: addresses(&["10.0.0.2:7411", "[fe80::2]:7411"]), ..endpoint() };
        let at = |participant: &str| address_of(&endpoint, participant.parse().unwrap(), |_| false);
        assert_eq!(at("[fe80::2%3]:7410"), "[fe80::2%3]:7411".parse().unwrap());
        assert_eq!(at("10.0.0.2:7410"), "10.0.0.2:7411".parse().unwrap());
        // One that announces only an address of another family is reached at its participant's.
        let endpoint = Endpoint { unicast: addresses(&["10.0.0.2:7411"]), ..endpoint };
        let participant = "[fd00::2]:7410".parse().unwrap();
        assert_eq!(address_of(&endpoint, participant, |_| true), participant);
    }

    #[test]
    fn ipv4_is_preferred_unless_ipv6_is_configured() {
        let (v4, v6) = ("10.0.0.2:7410".parse().unwrap(), "[fd00::2]:7410".parse().unwrap());
        let mut config = config(&BOTH);
        assert!(
            is_preferred_to(&config, v4, v6)
                && !is_preferred_to(&config, v6, v4)
                && !is_preferred_to(&config, v4, v4)
        );
        config.prefers_ipv6 = true;
        assert!(is_preferred_to(&config, v6, v4) && !is_preferred_to(&config, v4, v6));
    }

    fn endpoint() -> Endpoint {
        Endpoint {
            guid: GuidPrefix([2; 12]).with(crate::wire::EntityId::user_writer(1)),
            topic: "rt/chatter".into(),
            type_name: "std_msgs::msg::dds_::String_".into(),
            qos: Default::default(),
            exclusive: false,
            in_default_partition: true,
            representations: vec![],
            expects_inline_qos: false,
            has_history: false,
            unicast: vec![],
            user_data: vec![],
        }
    }
}
