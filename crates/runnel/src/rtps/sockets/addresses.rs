//! Selection of interfaces for discovery, and of addresses to announce.

use std::net::IpAddr;

use runnel_io::interfaces::Interface;

use crate::settings::environment::{Range, Ros2Settings};

/// Limits of announced addresses per family: a host with many virtual machines has many, and an announcement must fit
/// a datagram that no network fragments.
const MOST_V4: usize = 10;
const MOST_V6: usize = 6;

/// The interfaces for multicast discovery with a family.
pub(super) fn used<'a>(all: &'a [Interface], settings: &Ros2Settings, ipv6: bool) -> Vec<&'a Interface> {
    let with_address = || all.iter().filter(|interface| of_family(interface, ipv6).next().is_some());
    let outside: Vec<_> =
        with_address().filter(|interface| !interface.loopback && interface.multicast).collect();
    // Loopback is used if its flags include multicast, or there is no other interface. With IPv6 the flags never do,
    // so loopback is only for users who name it.
    let carries = |interface: &Interface| match ipv6 {
        false => interface.multicast || outside.is_empty() || settings.range == Range::Localhost,
        true => settings.requests_ipv6(),
    };
    let inside = with_address().filter(|interface| interface.loopback && carries(interface));
    inside.chain(outside.iter().copied()).collect()
}

/// The interfaces with reachable addresses: also those without multicast, such as WireGuard, on which named peers are
/// found.
pub(super) fn reached<'a>(all: &'a [Interface], settings: &Ros2Settings, ipv6: bool) -> Vec<&'a Interface> {
    let carries_unicast = |interface: &&Interface| {
        let is_plain = !interface.loopback && !interface.multicast;
        is_plain && settings.leaves_host() && of_family(interface, ipv6).next().is_some()
    };
    used(all, settings, ipv6).into_iter().chain(all.iter().filter(carries_unicast)).collect()
}

/// The addresses to announce. With IPv6, one per interface that is valid beyond the link. A link-local one only if the
/// interface has no other address, or if IPv6 was requested: some peers crash on link-local addresses.
pub(super) fn announced(reached: &[&Interface], settings: &Ros2Settings, ipv6: bool) -> Vec<IpAddr> {
    if !ipv6 {
        return reached.iter().flat_map(|interface| of_family(interface, false)).take(MOST_V4).collect();
    }
    let first = |link_local: bool| {
        let has_scope = move |ip: &IpAddr| is_link_local(*ip) == link_local;
        reached
            .iter()
            .filter(move |interface| !link_local || settings.requests_ipv6() || is_lone(interface))
            .filter_map(move |interface| of_family(interface, true).find(has_scope))
    };
    first(false).chain(first(true)).take(MOST_V6).collect()
}

/// True if an interface only has link-local addresses.
fn is_lone(interface: &Interface) -> bool {
    interface.addresses.iter().all(|address| is_link_local(address.ip))
}

fn of_family(interface: &Interface, ipv6: bool) -> impl Iterator<Item = IpAddr> {
    let addresses = interface.addresses.iter().map(|address| address.ip);
    addresses.filter(move |ip| ip.is_ipv6() == ipv6)
}

fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::environment::Ipv6;
    use runnel_io::interfaces::Address;

    fn interface(index: u32, multicast: bool, addresses: &[&str]) -> Interface {
        let address = |ip: &&str| Address { ip: ip.parse().unwrap(), prefix: 64 };
        Interface {
            index,
            name: format!("if{index}"),
            addresses: addresses.iter().map(address).collect(),
            loopback: index == 1,
            multicast,
        }
    }

    fn settings(range: Range, ipv6: Ipv6) -> Ros2Settings {
        Ros2Settings { domain: 0, range, peers: Vec::new(), ipv6, enclave: "/".into(), rate: None }
    }

    fn indices(all: &[Interface], settings: &Ros2Settings, ipv6: bool) -> Vec<u32> {
        used(all, settings, ipv6).iter().map(|interface| interface.index).collect()
    }

    #[test]
    fn each_family_has_its_own_interfaces() {
        let all = [
            interface(1, false, &["127.0.0.1", "::1"]),
            interface(2, true, &["10.0.0.1", "fe80::1"]),
            interface(3, true, &["fd00::1"]),
            interface(4, false, &["10.9.0.1", "fd09::1"]),
        ];
        let default = settings(Range::Subnet, Ipv6::WhenNeeded);
        assert_eq!((indices(&all, &default, false), indices(&all, &default, true)), (vec![2], vec![2, 3]));
        // A cable with IPv6 addresses only leaves IPv4 on loopback.
        assert_eq!(indices(&[all[0].clone(), all[2].clone()], &default, false), [1]);
        let preferred = settings(Range::Subnet, Ipv6::Preferred);
        assert_eq!(indices(&all, &preferred, true), [1, 2, 3]);
    }

    #[test]
    fn named_ipv6_loopback_is_used() {
        let all = [interface(1, true, &["127.0.0.1", "::1"])];
        let mut default = settings(Range::Subnet, Ipv6::WhenNeeded);
        assert!(indices(&all, &default, true).is_empty());
        default.peers = vec!["[::1]:0".parse().unwrap()];
        assert_eq!(indices(&all, &default, true), [1]);
    }

    #[test]
    fn interface_without_multicast_is_announced() {
        let all = [
            interface(1, false, &["127.0.0.1", "::1"]),
            interface(2, false, &["10.9.0.1", "fd09::1"]),
            interface(3, true, &["10.0.0.1"]),
        ];
        let texts = |settings: &Ros2Settings, ipv6| {
            let all = announced(&reached(&all, settings, ipv6), settings, ipv6);
            all.iter().map(IpAddr::to_string).collect::<Vec<_>>()
        };
        let default = settings(Range::Subnet, Ipv6::WhenNeeded);
        assert_eq!(texts(&default, false), ["10.0.0.1", "10.9.0.1"]);
        assert_eq!(texts(&default, true), ["fd09::1"]);
        let mut localhost = settings(Range::Localhost, Ipv6::WhenNeeded);
        assert_eq!(texts(&localhost, false), ["127.0.0.1", "10.0.0.1"]);
        localhost.peers = vec!["10.9.0.2:0".parse().unwrap()];
        assert_eq!(texts(&localhost, false), ["127.0.0.1", "10.0.0.1", "10.9.0.1"]);
    }

    #[test]
    fn announced_addresses_are_limited_per_interface() {
        let default = settings(Range::Subnet, Ipv6::WhenNeeded);
        let texts = |addresses: &[&str], settings: &Ros2Settings, ipv6| {
            let all = [interface(2, true, addresses)];
            let announced = announced(&[&all[0]], settings, ipv6);
            announced.iter().map(IpAddr::to_string).collect::<Vec<_>>()
        };
        let both = ["10.0.0.1", "10.0.0.2", "fe80::1", "fd00::1", "fd00::2"];
        assert_eq!(texts(&both, &default, false), ["10.0.0.1", "10.0.0.2"]);
        assert_eq!(texts(&both, &default, true), ["fd00::1"]);
        assert_eq!(texts(&["fe80::1", "fe80::2"], &default, true), ["fe80::1"]);
        assert!(texts(&["10.0.0.1", "fe80::1"], &default, true).is_empty());
        let preferred = settings(Range::Subnet, Ipv6::Preferred);
        assert_eq!(texts(&both, &preferred, true), ["fd00::1", "fe80::1"]);
        let many: Vec<Interface> = (2..40).map(|index| interface(index, true, &["fe80::1"])).collect();
        assert_eq!(announced(&many.iter().collect::<Vec<_>>(), &default, true).len(), MOST_V6);
    }
}
