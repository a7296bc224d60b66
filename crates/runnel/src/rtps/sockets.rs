//! The sockets of a participant: one by which it is reached and sends, and one that hears the group.

use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use runnel_io::Datagrams;
use runnel_io::interfaces::{Interface, interfaces};
use runnel_io::udp::Options;
use runnel_rtps::Transmit;

use super::settings::{Range, Ros2Settings};

/// Where everybody announces himself. Source: RTPS 2.5, section 9.6.2.3.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);

/// How many participants a host has at most.
const MOST_PARTICIPANTS: u16 = 120;

/// Bytes of datagrams that the kernel is asked to hold: a burst that comes while nobody reads.
const RECEIVE_ROOM: usize = 8 << 20;

/// See the module's documentation.
pub(crate) struct Sockets {
    pub(crate) unicast: Arc<Datagrams>,
    /// None if nobody is found by multicast.
    pub(crate) group: Option<Arc<Datagrams>>,
    range: Range,
    /// The interfaces by which the group is reached, and from where.
    joined: Vec<(u32, Option<Ipv4Addr>)>,
    addresses: Vec<IpAddr>,
    own: Vec<IpAddr>,
    port: u16,
}

impl Sockets {
    pub(crate) fn open(settings: &Ros2Settings) -> io::Result<Self> {
        let unicast = Arc::new(open_unicast(settings)?);
        let at_group = SocketAddr::from((Ipv4Addr::UNSPECIFIED, settings.group_port()));
        let room = Some(RECEIVE_ROOM);
        let group = match settings.range {
            Range::Off => None,
            _ => {
                Some(Arc::new(Datagrams::open(&Options { receive_room: room, ..Options::shared(at_group) })?))
            }
        };
        let (joined, addresses, own) = (Vec::new(), Vec::new(), Vec::new());
        let port = unicast.address().port();
        let mut sockets = Self { unicast, group, range: settings.range, joined, addresses, own, port };
        sockets.look_again()?;
        Ok(sockets)
    }

    /// Looks at the interfaces, which may be others now, and joins the group on each.
    pub(crate) fn look_again(&mut self) -> io::Result<()> {
        let all = interfaces()?;
        let used = used(&all, self.range);
        let ways: Vec<_> = used.iter().map(|interface| (interface.index, first_ipv4(interface))).collect();
        if let Some(group) = &self.group {
            let stays = |index: u32| ways.iter().any(|(other, _)| *other == index);
            for (gone, _) in self.joined.iter().filter(|(index, _)| !stays(*index)) {
                group.leave(GROUP.into(), *gone)?;
            }
            // An interface may go at any time, and is none of ours then.
            let joins = |way: &(u32, Option<Ipv4Addr>)| group.join(GROUP.into(), way.0).is_ok();
            self.joined = ways.into_iter().filter(joins).collect();
        }
        self.addresses = used.iter().flat_map(|interface| addresses(interface)).collect();
        self.own = all.iter().flat_map(addresses).collect();
        Ok(())
    }

    /// Where the participant is reached.
    pub(crate) fn reached_at(&self) -> Vec<SocketAddr> {
        self.addresses.iter().map(|ip| SocketAddr::new(*ip, self.port)).collect()
    }

    /// The addresses of this host.
    pub(crate) fn own(&self) -> &[IpAddr] {
        &self.own
    }

    /// Where the participant announces itself.
    pub(crate) fn group(&self) -> Option<SocketAddr> {
        self.group.as_ref().map(|group| SocketAddr::new(GROUP.into(), group.address().port()))
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
            if to.ip().is_multicast() {
                for (interface, source) in &self.joined {
                    let _ = self.unicast.send_by(*interface, *source, parts, *to);
                }
            } else {
                let _ = self.unicast.send_to_vectored(parts, *to);
            }
        }
    }
}

/// The first free of the ports where others look for participants.
fn open_unicast(settings: &Ros2Settings) -> io::Result<Datagrams> {
    let mut refused = io::Error::from(io::ErrorKind::AddrInUse);
    for participant in 0..MOST_PARTICIPANTS {
        let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, settings.unicast_port(participant)));
        // With no hops a multicast datagram does not leave the host.
        let hops = if settings.range == Range::Localhost { 0 } else { 1 };
        match Datagrams::open(&Options { receive_room: Some(RECEIVE_ROOM), hops, ..Options::at(address) }) {
            Ok(socket) => return Ok(socket),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => refused = error,
            Err(error) => return Err(error),
        }
    }
    Err(refused)
}

/// The interfaces on which participants are found: loopback if that says that it carries multicast, or there is no other.
fn used(all: &[Interface], range: Range) -> Vec<&Interface> {
    let with_address = || all.iter().filter(|interface| addresses(interface).next().is_some());
    let outside: Vec<_> =
        with_address().filter(|interface| !interface.loopback && interface.multicast).collect();
    let inside = with_address().filter(|interface| {
        interface.loopback && (interface.multicast || outside.is_empty() || range == Range::Localhost)
    });
    inside.chain(outside.iter().copied()).collect()
}

fn first_ipv4(interface: &Interface) -> Option<Ipv4Addr> {
    addresses(interface).find_map(|ip| match ip {
        IpAddr::V4(ip) => Some(ip),
        IpAddr::V6(_) => None,
    })
}

fn addresses(interface: &Interface) -> impl Iterator<Item = IpAddr> {
    interface.addresses.iter().map(|address| address.ip).filter(IpAddr::is_ipv4)
}
