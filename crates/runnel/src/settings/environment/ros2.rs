//! ROS 2 settings from the environment and the command line.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};

use runnel_core::names::Arguments;
use runnel_io::interfaces::interfaces;

use crate::error::Error;
use crate::log_output::console;
use crate::settings::variables::variable;

/// The highest domain in which all participants of a host have valid ports.
const LAST_DOMAIN: u32 = 232;

/// Ports of a domain. Source: RTPS 2.5, section 9.6.2.
const FIRST_PORT: u32 = 7400;
const PORTS_PER_DOMAIN: u32 = 250;
const UNICAST: u32 = 10;
const PORTS_PER_PARTICIPANT: u32 = 2;

/// Participants of a named host to which announcements are sent: as many as other implementations try.
const PARTICIPANTS_PER_PEER: u16 = 10;

/// Participants of this host without multicast to which announcements are sent: as many as Fast DDS tries in LOCALHOST
/// range, in which it takes the first free number.
const LOCAL_PARTICIPANTS: u16 = 32;

/// Range of automatic discovery in the ROS 2 graph, as set by `ROS_AUTOMATIC_DISCOVERY_RANGE` or `ROS_LOCALHOST_ONLY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Participants that multicast reaches.
    Subnet,
    /// Participants of this host.
    Localhost,
    /// No participants.
    Off,
}

/// Use of IPv6 besides IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ipv6 {
    /// For peers that only IPv6 reaches.
    WhenNeeded,
    /// For all peers that it reaches.
    Preferred,
    /// Never.
    Unused,
}

/// Settings of a process in the ROS 2 graph.
#[derive(Clone, Debug)]
pub(crate) struct Ros2Settings {
    pub(crate) domain: u16,
    pub(crate) range: Range,
    /// Hosts whose participants get announcements even if multicast does not reach them.
    pub(crate) peers: Vec<SocketAddr>,
    pub(crate) ipv6: Ipv6,
    /// The announced security enclave.
    pub(crate) enclave: String,
    /// Limit of long messages to a participant of another host, in bytes per second.
    pub(crate) rate: Option<u64>,
}

impl Ros2Settings {
    /// Reads the environment variables of rcl and rmw.
    pub(crate) fn read(arguments: &Arguments) -> Result<Self, Error> {
        check_security(
            variable("ROS_SECURITY_ENABLE").as_deref(),
            variable("ROS_SECURITY_STRATEGY").as_deref(),
        )?;
        let (rmw, server) = (variable("RMW_IMPLEMENTATION"), variable("ROS_DISCOVERY_SERVER"));
        for line in unsupported_discovery(rmw.as_deref(), server.as_deref()) {
            console::warning!("{line}");
        }
        let domain = variable("ROS_DOMAIN_ID").map_or(Ok(0), |text| domain(&text))?;
        let ipv6 = variable("ROS_IPV6").map_or(Ok(Ipv6::WhenNeeded), |text| ipv6(&text))?;
        let (range, list) = discovery_range(
            variable("ROS_LOCALHOST_ONLY").as_deref(),
            variable("ROS_AUTOMATIC_DISCOVERY_RANGE").as_deref(),
            variable("ROS_STATIC_PEERS"),
        )?;
        let peers = list.map_or(Vec::new(), |list| peers(&list, ipv6));
        let enclave = arguments.enclave.clone().unwrap_or_else(|| "/".to_owned());
        let rate = variable("RUNNEL_UDP_RATE").map(|text| rate(&text)).transpose()?;
        Ok(Self { domain, range, peers, ipv6, enclave, rate })
    }

    /// The port for multicast announcements.
    pub(crate) fn group_port(&self) -> u16 {
        self.port(0)
    }

    /// The unicast port of the participant with this number.
    pub(crate) fn unicast_port(&self, participant: u16) -> u16 {
        self.port(UNICAST + PORTS_PER_PARTICIPANT * u32::from(participant))
    }

    fn port(&self, offset: u32) -> u16 {
        let port = FIRST_PORT + PORTS_PER_DOMAIN * u32::from(self.domain) + offset;
        u16::try_from(port).unwrap_or(u16::MAX)
    }

    /// The addresses of announcements to named hosts.
    pub(crate) fn announcement_addresses(&self) -> Vec<SocketAddr> {
        let ports = || (0..PARTICIPANTS_PER_PEER).map(|participant| self.unicast_port(participant));
        let at = |mut peer: SocketAddr, port| {
            peer.set_port(port);
            peer
        };
        self.peers.iter().flat_map(|peer| ports().map(|port| at(*peer, port))).collect()
    }

    /// The addresses of announcements to participants of this host without multicast: the flags of loopback seldom
    /// include multicast, and participants in LOCALHOST range do not use it. The own port is left out.
    pub(crate) fn local_announcement_addresses(&self, own: u16) -> Vec<SocketAddr> {
        if self.range == Range::Off {
            return Vec::new();
        }
        let ports = (0..LOCAL_PARTICIPANTS).map(|participant| self.unicast_port(participant));
        ports.filter(|port| *port != own).map(|port| (Ipv4Addr::LOCALHOST, port).into()).collect()
    }

    /// True if there may be participants on other hosts.
    pub(crate) fn leaves_host(&self) -> bool {
        self.range != Range::Localhost || self.peers.iter().any(|peer| !peer.ip().is_loopback())
    }

    /// True if IPv6 is preferred, or a named peer has an IPv6 address.
    pub(crate) fn requests_ipv6(&self) -> bool {
        self.ipv6 == Ipv6::Preferred || self.peers.iter().any(SocketAddr::is_ipv6)
    }

    /// True if IPv6 sockets are needed. Within the host, IPv4 reaches all peers.
    pub(crate) fn uses_ipv6(&self) -> bool {
        self.ipv6 != Ipv6::Unused && (self.range == Range::Subnet || self.requests_ipv6())
    }
}

/// The range of discovery, and the named hosts. The older variable has priority, and ignored ones are logged, as in
/// rcl.
fn discovery_range(
    localhost_only: Option<&str>,
    configured: Option<&str>,
    peers: Option<String>,
) -> Result<(Range, Option<String>), Error> {
    let ignored = |why: &str, variables: &[(&str, bool)]| {
        variables.iter().filter(|(_, is_set)| *is_set).for_each(|(variable, _)| {
            console::warning!("{variable} is ignored: {why}");
        });
    };
    if localhost_only == Some("1") {
        let others =
            [("ROS_AUTOMATIC_DISCOVERY_RANGE", configured.is_some()), ("ROS_STATIC_PEERS", peers.is_some())];
        ignored("ROS_LOCALHOST_ONLY is 1", &others);
        return Ok((Range::Localhost, None));
    }
    let range = configured.map_or(Ok(Range::Subnet), range)?;
    if range == Range::Off {
        ignored("ROS_AUTOMATIC_DISCOVERY_RANGE is OFF", &[("ROS_STATIC_PEERS", peers.is_some())]);
        return Ok((range, None));
    }
    Ok((range, peers))
}

/// There is no encryption and no signing: `Enforce` is refused, and other strategies are logged.
fn check_security(enable: Option<&str>, strategy: Option<&str>) -> Result<(), Error> {
    if enable != Some("true") {
        return Ok(());
    }
    if strategy == Some("Enforce") {
        let why = "Enforce is not possible: Runnel has no DDS security. Try: Permissive".to_owned();
        return Err(Error::Environment { variable: "ROS_SECURITY_STRATEGY", why });
    }
    console::warning!("ROS_SECURITY_ENABLE is ignored: messages are neither encrypted nor signed");
    Ok(())
}

/// Warnings about discovery settings that Runnel does not support.
fn unsupported_discovery(rmw: Option<&str>, server: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(rmw) = rmw.filter(|rmw| rmw.contains("zenoh")) {
        lines.push(format!(
            "RMW_IMPLEMENTATION is {rmw}: Runnel discovers only nodes that use DDS, not those that use Zenoh"
        ));
    }
    if server.is_some() {
        let instead = "Runnel discovers peers by multicast and ROS_STATIC_PEERS";
        lines.push(format!("ROS_DISCOVERY_SERVER is ignored: {instead}"));
    }
    lines
}

fn domain(text: &str) -> Result<u16, Error> {
    let number = text.trim().parse().ok().filter(|domain| u32::from(*domain) <= LAST_DOMAIN);
    number.ok_or_else(|| Error::Environment {
        variable: "ROS_DOMAIN_ID",
        why: format!("{text:?} is not a number from 0 to {LAST_DOMAIN}"),
    })
}

fn range(text: &str) -> Result<Range, Error> {
    match text.to_ascii_uppercase().as_str() {
        "SUBNET" | "SYSTEM_DEFAULT" => Ok(Range::Subnet),
        "LOCALHOST" => Ok(Range::Localhost),
        "OFF" => Ok(Range::Off),
        _ => Err(Error::Environment {
            variable: "ROS_AUTOMATIC_DISCOVERY_RANGE",
            why: format!("{text:?} is unknown. Try: SUBNET, LOCALHOST, OFF or SYSTEM_DEFAULT"),
        }),
    }
}

/// Parses megabytes per second, such as `2.5`. Returns bytes per second.
fn rate(text: &str) -> Result<u64, Error> {
    let megabytes = text.trim().parse::<f64>().ok().filter(|rate| (0.001..=100_000.0).contains(rate));
    megabytes.map(|rate| (rate * 1e6) as u64).ok_or_else(|| Error::Environment {
        variable: "RUNNEL_UDP_RATE",
        why: format!("{text:?} is not a number of megabytes per second from 0.001 to 100000"),
    })
}

fn ipv6(text: &str) -> Result<Ipv6, Error> {
    match text {
        "on" => Ok(Ipv6::Preferred),
        "off" => Ok(Ipv6::Unused),
        _ => Err(Error::Environment { variable: "ROS_IPV6", why: format!("{text:?} is neither on nor off") }),
    }
}

/// The addresses of hosts separated by semicolons. A host that cannot be resolved is logged and left out.
fn peers(list: &str, ipv6: Ipv6) -> Vec<SocketAddr> {
    let names = list.split(';').map(str::trim).filter(|name| !name.is_empty());
    names.filter_map(|name| peer(name, ipv6)).collect()
}

/// The address of a host: IPv4 if it has one and IPv6 is not preferred. The port is 0.
fn peer(name: &str, ipv6: Ipv6) -> Option<SocketAddr> {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let usable = |address: &SocketAddr| address.is_ipv4() || ipv6 != Ipv6::Unused;
    let rank = |address: &SocketAddr| address.is_ipv6() != (ipv6 == Ipv6::Preferred);
    match resolve(bare) {
        Ok(addresses) => {
            let found = addresses.into_iter().filter(usable).min_by_key(rank);
            if found.is_none() {
                console::warning!("ROS_STATIC_PEERS: {name} only has IPv6 addresses, and ROS_IPV6 is off");
            }
            found
        }
        Err(error) => {
            console::warning!("ROS_STATIC_PEERS: {name}: {error}");
            None
        }
    }
}

/// The addresses of a host. A link-local one has its interface: `fe80::1%eth0` or `fe80::1%3`.
fn resolve(name: &str) -> io::Result<Vec<SocketAddr>> {
    let Some((address, link)) = name.split_once('%') else {
        return Ok((name, 0).to_socket_addrs()?.collect());
    };
    let address: Ipv6Addr = address.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
    let by_name =
        || interfaces().ok()?.into_iter().find(|interface| interface.name == link).map(|it| it.index);
    let index = link.parse().ok().or_else(by_name).ok_or(io::ErrorKind::NotFound)?;
    Ok(vec![SocketAddrV6::new(address, 0, 0, index).into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_discovery_settings_are_reported() {
        assert!(unsupported_discovery(None, None).is_empty());
        assert!(unsupported_discovery(Some("rmw_cyclonedds_cpp"), None).is_empty());
        let lines = unsupported_discovery(Some("rmw_zenoh_cpp"), Some("10.0.0.1:11811"));
        assert!(lines[0].starts_with("RMW_IMPLEMENTATION is rmw_zenoh_cpp: "), "{lines:?}");
        assert!(lines[1].starts_with("ROS_DISCOVERY_SERVER is ignored: "), "{lines:?}");
    }

    #[test]
    fn ports_follow_rtps_specification() {
        let peers = vec!["10.0.0.1:0".parse().unwrap()];
        let settings = Ros2Settings {
            domain: 3,
            range: Range::Subnet,
            peers,
            ipv6: Ipv6::WhenNeeded,
            enclave: "/".into(),
            rate: None,
        };
        assert_eq!((settings.group_port(), settings.unicast_port(2)), (8150, 8164));
        assert_eq!(
            (settings.announcement_addresses().len(), settings.announcement_addresses()[1].port()),
            (10, 8162)
        );
    }

    #[test]
    fn invalid_settings_are_refused() {
        assert_eq!(domain("232").unwrap(), 232);
        assert!(domain("233").is_err() && domain("-1").is_err() && domain("x").is_err());
        assert_eq!(range("localhost").unwrap(), Range::Localhost);
        assert!(range("everywhere").is_err());
        assert_eq!(rate(" 2.5 ").unwrap(), 2_500_000);
        assert!(["0", "-1", "nan", "inf", "5M", ""].iter().all(|text| rate(text).is_err()));
    }

    #[test]
    fn older_variable_has_priority() {
        let found = |only, range, peers: Option<&str>| {
            discovery_range(only, range, peers.map(str::to_owned)).unwrap()
        };
        let named = Some("10.0.0.2".to_owned());
        assert_eq!(found(None, None, Some("10.0.0.2")), (Range::Subnet, named.clone()));
        assert_eq!(found(Some("0"), Some("LOCALHOST"), Some("10.0.0.2")), (Range::Localhost, named));
        assert_eq!(found(Some("1"), Some("SUBNET"), Some("10.0.0.2")), (Range::Localhost, None));
        assert_eq!(found(None, Some("OFF"), Some("10.0.0.2")), (Range::Off, None));
    }

    #[test]
    fn enforced_security_is_refused() {
        assert!(check_security(Some("false"), Some("Enforce")).is_ok());
        assert!(check_security(Some("true"), Some("Permissive")).is_ok());
        let refused = check_security(Some("true"), Some("Enforce")).unwrap_err().to_string();
        assert!(refused.contains("ROS_SECURITY_STRATEGY") && refused.contains("security"), "{refused}");
    }

    #[test]
    fn peers_are_separated_by_semicolons() {
        let found = peers("127.0.0.1; 10.0.0.2;;[::1]; fe80::1%3 ;fd00::1", Ipv6::WhenNeeded);
        let expected = ["127.0.0.1:0", "10.0.0.2:0", "[::1]:0", "[fe80::1%3]:0", "[fd00::1]:0"];
        assert_eq!(found, expected.map(|address| address.parse::<SocketAddr>().unwrap()));
        assert!(peers("fd00::1", Ipv6::Unused).is_empty());
        // By the name of an interface, of which every host has at least one.
        let loopback = interfaces().unwrap().into_iter().find(|interface| interface.loopback).unwrap();
        let named = peers(&format!("fe80::1%{}", loopback.name), Ipv6::WhenNeeded);
        let expected = SocketAddrV6::new("fe80::1".parse().unwrap(), 0, 0, loopback.index);
        assert_eq!(named, [SocketAddr::from(expected)]);
    }

    #[test]
    fn ipv6_is_used_beyond_host_or_on_request() {
        let settings = |range, ipv6, peers: &str| Ros2Settings {
            domain: 0,
            range,
            peers: super::peers(peers, ipv6),
            ipv6,
            enclave: "/".into(),
            rate: None,
        };
        assert!(settings(Range::Subnet, Ipv6::WhenNeeded, "").uses_ipv6());
        assert!(!settings(Range::Subnet, Ipv6::Unused, "").uses_ipv6());
        assert!(!settings(Range::Localhost, Ipv6::WhenNeeded, "127.0.0.1").uses_ipv6());
        assert!(settings(Range::Localhost, Ipv6::WhenNeeded, "::1").uses_ipv6());
        assert!(settings(Range::Off, Ipv6::Preferred, "").uses_ipv6());
        assert!(ipv6("yes").is_err());
    }
}
