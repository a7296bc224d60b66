//! Sockets of one address family.

use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use runnel_io::Datagrams;
use runnel_io::interfaces::Interface;
use runnel_io::udp::Options;

use crate::settings::environment::{Range, Ros2Settings};
use crate::sync::{Class, Mutex, lock};

/// Receive buffer of the kernel in bytes: for a burst while no thread reads.
const RECEIVE_BUFFER: usize = 8 << 20;

/// Limit of interfaces on which groups are joined: by default, Linux allows 20 memberships per socket.
const MOST_JOINED: usize = 16;

/// Interfaces by index, with the source address of datagrams.
type Joined = Arc<[(u32, Option<Ipv4Addr>)]>;

/// See the module's documentation.
pub(super) struct Family {
    pub(super) unicast: Arc<Datagrams>,
    /// None without multicast discovery.
    pub(super) group: Option<Arc<Datagrams>>,
    groups: Vec<IpAddr>,
    /// The interfaces on which the groups are joined, with source addresses.
    joined: Mutex<Joined>,
}

impl Family {
    /// Opens the sockets of the groups' family.
    ///
    /// # Errors
    /// `AddrInUse` if another participant has this number, and others if the host does not support the family.
    pub(super) fn open(settings: &Ros2Settings, participant: u16, groups: Vec<IpAddr>) -> io::Result<Self> {
        let any = match groups.first() {
            Some(IpAddr::V6(_)) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        };
        let at = |port| SocketAddr::new(any, port);
        let receive_buffer_size = Some(RECEIVE_BUFFER);
        // With a hop limit of 0, a multicast datagram stays on the host.
        let hops = if settings.range == Range::Localhost { 0 } else { 1 };
        let unicast =
            Options { receive_buffer_size, hops, ..Options::at(at(settings.unicast_port(participant))) };
        let unicast = Arc::new(Datagrams::open(&unicast)?);
        let group = match settings.range {
            Range::Off => None,
            _ => {
                let shared = Options { receive_buffer_size, ..Options::shared(at(settings.group_port())) };
                Some(Arc::new(Datagrams::open(&shared)?))
            }
        };
        Ok(Self { unicast, group, groups, joined: Mutex::new(Class::RtpsGroups, Arc::new([])) })
    }

    /// Joins the groups on these interfaces, and leaves them on all others.
    pub(super) fn join(&self, used: &[&Interface]) {
        let Some(socket) = &self.group else { return };
        for (gone, _) in
            self.joined().iter().filter(|(index, _)| used.iter().all(|other| other.index != *index))
        {
            // Leaving fails for a group that was not joined.
            self.groups.iter().for_each(|group| drop(socket.leave(*group, *gone)));
        }
        // An interface can vanish at any time, and is left out then.
        let joins = |interface: &&&Interface| {
            self.groups.iter().all(|group| socket.join(*group, interface.index).is_ok())
        };
        let joined = used.iter().filter(joins).take(MOST_JOINED);
        let joined = joined.map(|interface| (interface.index, first_ipv4(interface))).collect();
        *lock(&self.joined) = joined;
    }

    fn joined(&self) -> Joined {
        Arc::clone(&lock(&self.joined))
    }

    /// The addresses for announcements.
    pub(super) fn groups(&self) -> Vec<SocketAddr> {
        let port = self.group.as_ref().map(|group| group.address().port());
        port.map_or(Vec::new(), |port| self.groups.iter().map(|ip| SocketAddr::new(*ip, port)).collect())
    }

    pub(super) fn send(&self, parts: &[IoSlice<'_>], to: SocketAddr) {
        if !to.ip().is_multicast() {
            let _ = self.unicast.send_to_vectored(parts, to);
            return;
        }
        for (interface, source) in self.joined().iter() {
            let _ = self.unicast.send_by(*interface, *source, parts, to);
        }
    }
}

fn first_ipv4(interface: &Interface) -> Option<Ipv4Addr> {
    interface.addresses.iter().find_map(|address| match address.ip {
        IpAddr::V4(ip) => Some(ip),
        IpAddr::V6(_) => None,
    })
}
