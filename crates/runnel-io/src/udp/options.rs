//! What a socket for the datagrams of many peers is opened with.

use crate::socket::open;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{self, SocketType, sockopt};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// How a socket is opened. Multicast is that of the address's family: one socket is either of IPv4 or of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Where it receives; port 0 takes a free one. Bound to all addresses, a socket hears the groups that it joined, and
    /// not those that others of this host did.
    pub address: SocketAddr,
    /// Others may receive at the same address if they share it as well. Each gets what is sent to a group, but only one
    /// of them, whichever, what is sent to this host alone.
    pub shared: bool,
    /// Bytes of datagrams that the kernel is asked to hold until they are received; it gives at most what the system's
    /// administrator allows (`net.core.rmem_max`). `None` leaves it at what is usual.
    pub receive_room: Option<usize>,
    /// Index of the interface by which datagrams to groups leave; `None` leaves it to the routes.
    pub interface: Option<u32>,
    /// Networks that a datagram to a group may cross: 1 is the network at hand, 0 this host.
    pub hops: u8,
    /// Datagrams to groups are heard on this host as well.
    pub loopback: bool,
}

impl Options {
    /// A socket of its own at `address`, whose datagrams to groups stay in the network at hand.
    pub fn at(address: SocketAddr) -> Self {
        Self { address, shared: false, receive_room: None, interface: None, hops: 1, loopback: true }
    }

    /// One that shares `address`, as receivers of a group's well-known port do.
    pub fn shared(address: SocketAddr) -> Self {
        Self { shared: true, ..Self::at(address) }
    }

    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let fd = open(self.address.ip(), SocketType::DGRAM)?;
        match self.address.ip() {
            IpAddr::V4(_) => self.set_multicast_v4(&fd)?,
            IpAddr::V6(_) => self.set_multicast_v6(&fd)?,
        }
        if let Some(bytes) = self.receive_room {
            sockopt::set_socket_recv_buffer_size(&fd, bytes)?;
        }
        if self.shared {
            // Without SO_REUSEPORT, which spreads datagrams over those who share a port: of several such sockets, Linux
            // (6.18, say) may give what is sent to the group that one has joined to another instead.
            sockopt::set_socket_reuseaddr(&fd, true)?;
        }
        net::bind(&fd, &self.address)?;
        Ok(fd)
    }

    fn set_multicast_v4(&self, fd: &OwnedFd) -> io::Result<()> {
        hear_own_groups_alone(fd, libc::IPPROTO_IP, libc::IP_MULTICAST_ALL)?;
        sockopt::set_ip_multicast_ttl(fd, self.hops.into())?;
        sockopt::set_ip_multicast_loop(fd, self.loopback)?;
        if let Some(index) = self.interface {
            let any = Ipv4Addr::UNSPECIFIED;
            sockopt::set_ip_multicast_if_with_ifindex(fd, &any, &any, index)?;
        }
        Ok(())
    }

    fn set_multicast_v6(&self, fd: &OwnedFd) -> io::Result<()> {
        hear_own_groups_alone(fd, libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_ALL)?;
        // Another socket may have the same port of IPv4.
        sockopt::set_ipv6_v6only(fd, true)?;
        sockopt::set_ipv6_multicast_hops(fd, self.hops.into())?;
        sockopt::set_ipv6_multicast_loop(fd, self.loopback)?;
        if let Some(index) = self.interface {
            sockopt::set_ipv6_multicast_if(fd, index)?;
        }
        Ok(())
    }
}

/// What an error says of it.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sharing = if self.shared { "shared " } else { "" };
        write!(f, "{sharing}address {}", self.address)?;
        self.interface.map_or(Ok(()), |index| write!(f, " and multicast by interface {index}"))
    }
}

/// Otherwise the kernel gives a socket what comes for any group that any socket of this host joined.
fn hear_own_groups_alone(fd: &OwnedFd, level: libc::c_int, option: libc::c_int) -> io::Result<()> {
    let off: libc::c_int = 0;
    let length = size_of_val(&off) as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes, the size of `off`, which outlives the call.
    let status = unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const off).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
