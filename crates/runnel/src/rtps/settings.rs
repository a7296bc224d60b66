//! What the environment says about where a process stands in the ROS 2 graph.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use runnel_core::names::Arguments;

use crate::environment::variable;
use crate::error::Error;
use crate::logging::console;

/// The highest domain whose ports exist for as many participants as a host has.
const LAST_DOMAIN: u32 = 232;

/// Ports of a domain. Source: RTPS 2.5, section 9.6.2.
const FIRST_PORT: u32 = 7400;
const PORTS_PER_DOMAIN: u32 = 250;
const UNICAST: u32 = 10;
const PORTS_PER_PARTICIPANT: u32 = 2;

/// How many participants of a host that is named are called: as many as others look for there.
const CALLED: u16 = 10;

/// Whom participants find by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    /// Whoever multicast reaches.
    Subnet,
    /// Those of this host.
    Localhost,
    /// Nobody.
    Off,
}

/// Where a process stands in the ROS 2 graph.
#[derive(Clone, Debug)]
pub(crate) struct Ros2Settings {
    pub(crate) domain: u16,
    pub(crate) range: Range,
    /// Hosts whose participants are called whether or not multicast reaches them.
    pub(crate) peers: Vec<IpAddr>,
}

impl Ros2Settings {
    /// Reads the environment, whose variables are those of rmw.
    pub(crate) fn read(_arguments: &Arguments) -> Result<Self, Error> {
        let domain = variable("ROS_DOMAIN_ID").map_or(Ok(0), |text| domain(&text))?;
        let range = match (variable("ROS_AUTOMATIC_DISCOVERY_RANGE"), variable("ROS_LOCALHOST_ONLY")) {
            (Some(text), _) => range(&text)?,
            (None, Some(only)) if only == "1" => Range::Localhost,
            (None, _) => Range::Subnet,
        };
        let peers = variable("ROS_STATIC_PEERS").map_or(Vec::new(), |list| peers(&list));
        Ok(Self { domain, range, peers })
    }

    /// Where everybody announces himself.
    pub(crate) fn group_port(&self) -> u16 {
        self.port(0)
    }

    /// Where the participant of a host is reached that has this number.
    pub(crate) fn unicast_port(&self, participant: u16) -> u16 {
        self.port(UNICAST + PORTS_PER_PARTICIPANT * u32::from(participant))
    }

    fn port(&self, offset: u32) -> u16 {
        let port = FIRST_PORT + PORTS_PER_DOMAIN * u32::from(self.domain) + offset;
        u16::try_from(port).unwrap_or(u16::MAX)
    }

    /// Where participants of the hosts that are named may be.
    pub(crate) fn calls(&self) -> Vec<SocketAddr> {
        let ports = || (0..CALLED).map(|participant| self.unicast_port(participant));
        self.peers.iter().flat_map(|ip| ports().map(|port| SocketAddr::new(*ip, port))).collect()
    }
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
            why: format!("{text:?} is none of SUBNET, LOCALHOST, OFF and SYSTEM_DEFAULT"),
        }),
    }
}

/// The hosts of a list with semicolons between. One that nobody knows is told and left out.
fn peers(list: &str) -> Vec<IpAddr> {
    let names = list.split(';').map(str::trim).filter(|name| !name.is_empty());
    names.flat_map(peer).collect()
}

fn peer(name: &str) -> Vec<IpAddr> {
    match (name, 0).to_socket_addrs() {
        Ok(addresses) => addresses.map(|address| address.ip()).filter(IpAddr::is_ipv4).take(1).collect(),
        Err(error) => {
            console::warning!("ROS_STATIC_PEERS: {name}: {error}");
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_those_of_the_specification() {
        let settings = Ros2Settings { domain: 3, range: Range::Subnet, peers: vec![[10, 0, 0, 1].into()] };
        assert_eq!((settings.group_port(), settings.unicast_port(2)), (8150, 8164));
        assert_eq!((settings.calls().len(), settings.calls()[1].port()), (10, 8162));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert_eq!(domain("232").unwrap(), 232);
        assert!(domain("233").is_err() && domain("-1").is_err() && domain("x").is_err());
        assert_eq!(range("localhost").unwrap(), Range::Localhost);
        assert!(range("everywhere").is_err());
    }

    #[test]
    fn hosts_are_parted_by_semicolons() {
        assert_eq!(
            peers("127.0.0.1; 10.0.0.2;;"),
            ["127.0.0.1", "10.0.0.2"].map(|ip| ip.parse::<IpAddr>().unwrap())
        );
    }
}
