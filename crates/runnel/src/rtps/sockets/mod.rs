//! The sockets of a participant: of IPv4, and of IPv6 where the host has it, each one by which it is reached and sends,
//! and one that hears the groups.

mod addresses;
mod family;

use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use runnel_io::Datagrams;
use runnel_io::interfaces::interfaces;
use runnel_rtps::Transmit;

use crate::environment::{Ipv6, Ros2Settings};
use addresses::{announced, reached, used};
use family::Family;

/// Where everybody announces himself. Source: RTPS 2.5, section 9.6.2.3.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);

/// The same with IPv6, which the specification leaves open: where Cyclone DDS does, and where Fast DDS does.
const GROUPS_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0xffff, 0xefff, 1),
    Ipv6Addr::new(0xff1e, 0, 0, 0, 0, 0xffff, 0xefff, 1),
];

/// How many participants a host has at most.
const MOST_PARTICIPANTS: u16 = 120;

/// See the module's documentation.
pub(crate) struct Sockets {
    v4: Family,
    /// None if the host has no IPv6, or it is not to be used.
    v6: Option<Family>,
    settings: Ros2Settings,
    reached_at: Vec<IpAddr>,
    own: Vec<IpAddr>,
}

impl Sockets {
    pub(crate) fn open(settings: &Ros2Settings) -> io::Result<Self> {
        let (v4, v6) = open_at_first_free(settings)?;
        let (settings, reached_at, own) = (settings.clone(), Vec::new(), Vec::new());
        let mut sockets = Self { v4, v6, settings, reached_at, own };
        sockets.look_again()?;
        Ok(sockets)
    }

    fn families(&self) -> impl Iterator<Item = &Family> {
        [Some(&self.v4), self.v6.as_ref()].into_iter().flatten()
    }

    /// The sockets that datagrams come from.
    pub(crate) fn receivers(&self) -> Vec<Arc<Datagrams>> {
        let of_family = |family: &Family| [Some(Arc::clone(&family.unicast)), family.group.clone()];
        self.families().flat_map(of_family).flatten().collect()
    }

    /// Looks at the interfaces, which may be others now, and joins the groups on each.
    pub(crate) fn look_again(&mut self) -> io::Result<()> {
        let all = interfaces()?;
        let told = |ipv6| announced(&reached(&all, &self.settings, ipv6), &self.settings, ipv6);
        let mut reached_at = told(false);
        if self.v6.is_some() {
            reached_at.extend(told(true));
        }
        self.v4.join(&used(&all, &self.settings, false));
        if let Some(v6) = &mut self.v6 {
            v6.join(&used(&all, &self.settings, true));
        }
        self.reached_at = reached_at;
        self.own = all.iter().flat_map(|interface| &interface.addresses).map(|address| address.ip).collect();
        Ok(())
    }

    /// The port by which the participant is reached.
    pub(crate) fn port(&self) -> u16 {
        self.v4.unicast.address().port()
    }

    /// Where the participant is reached: by IPv4 first, unless IPv6 is preferred.
    pub(crate) fn reached_at(&self) -> Vec<SocketAddr> {
        let port = self.port();
        let mut all: Vec<_> = self.reached_at.iter().map(|ip| SocketAddr::new(*ip, port)).collect();
        all.sort_by_key(|address| address.is_ipv6() != self.prefers_ipv6());
        all
    }

    /// True if IPv6 is to be taken where both families lead.
    pub(crate) fn prefers_ipv6(&self) -> bool {
        self.settings.ipv6 == Ipv6::Preferred
    }

    /// The addresses of this host.
    pub(crate) fn own(&self) -> &[IpAddr] {
        &self.own
    }

    /// Where the participant announces itself.
    pub(crate) fn groups(&self) -> Vec<SocketAddr> {
        self.families().flat_map(Family::groups).collect()
    }

    /// Sends a datagram. One for which the kernel has no room, or no way, is lost, as datagrams are.
    pub(crate) fn send(&self, transmit: &Transmit<'_>) {
        let [head, body, tail] = transmit.parts.map(IoSlice::new);
        let parts = [head, body, tail];
        let parts = match transmit.parts {
            [_, [], _] => &parts[..1],
            [_, _, []] => &parts[..2],
            _ => &parts[..],
        };
        for to in transmit.to {
            let family = if to.is_ipv4() { Some(&self.v4) } else { self.v6.as_ref() };
            if let Some(family) = family {
                family.send(parts, *to);
            }
        }
    }
}

/// The first free of the ports where others look for participants, with both families.
fn open_at_first_free(settings: &Ros2Settings) -> io::Result<(Family, Option<Family>)> {
    let mut refused = io::Error::from(io::ErrorKind::AddrInUse);
    for participant in 0..MOST_PARTICIPANTS {
        let opened = Family::open(settings, participant, vec![GROUP.into()])
            .and_then(|v4| Ok((v4, open_v6(settings, participant)?)));
        match opened {
            Ok(families) => return Ok(families),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => refused = error,
            Err(error) => return Err(error),
        }
    }
    Err(refused)
}

/// Sockets of IPv6, if that is to be used; a host without it does with IPv4 alone.
fn open_v6(settings: &Ros2Settings, participant: u16) -> io::Result<Option<Family>> {
    if !settings.uses_ipv6() {
        return Ok(None);
    }
    match Family::open(settings, participant, GROUPS_V6.map(IpAddr::V6).to_vec()) {
        Ok(family) => Ok(Some(family)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        Err(_) => Ok(None),
    }
}
