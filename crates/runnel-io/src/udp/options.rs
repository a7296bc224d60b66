//! Options of an unconnected UDP socket.

use crate::socket::open;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{self, SocketType, sockopt};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Options of a socket. Multicast is that of the address's family: a socket is either IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Local address; port 0 takes a free one. Bound to all addresses, a socket receives only the groups that it
    /// joined, not those of other sockets of the host.
    pub address: SocketAddr,
    /// Whether other sockets may share the address, if they request it, too. Each gets datagrams to a group; only one
    /// of them, chosen by the kernel, gets a datagram to this host.
    pub shared: bool,
    /// Requested size of the receive buffer in bytes; the kernel grants at most `net.core.rmem_max`. `None` keeps the
    /// system's default.
    pub receive_buffer_size: Option<usize>,
    /// Index of the interface by which datagrams to groups leave; `None` leaves it to the routes.
    pub interface: Option<u32>,
    /// Hop limit of datagrams to groups: 1 is the local network, 0 this host.
    pub hops: u8,
    /// Whether datagrams to groups also arrive on this host.
    pub loopback: bool,
}

impl Options {
    /// An exclusive socket at `address`, whose datagrams to groups stay in the local network.
    pub fn at(address: SocketAddr) -> Self {
        Self { address, shared: false, receive_buffer_size: None, interface: None, hops: 1, loopback: true }
    }

    /// A socket that shares `address`, as receivers of a group's well-known port do.
    pub fn shared(address: SocketAddr) -> Self {
        Self { shared: true, ..Self::at(address) }
    }

    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let fd = open(self.address.ip(), SocketType::DGRAM)?;
        match self.address.ip() {
            IpAddr::V4(_) => self.set_multicast_v4(&fd)?,
            IpAddr::V6(_) => self.set_multicast_v6(&fd)?,
        }
        if let Some(bytes) = self.receive_buffer_size {
            sockopt::set_socket_recv_buffer_size(&fd, bytes)?;
        }
        if self.shared {
            // Without SO_REUSEPORT, which distributes datagrams over the sockets of a port: Linux (for example 6.18)
            // may then give a group's datagram to a socket that has not joined it.
            sockopt::set_socket_reuseaddr(&fd, true)?;
        }
        net::bind(&fd, &self.address)?;
        Ok(fd)
    }

    fn set_multicast_v4(&self, fd: &OwnedFd) -> io::Result<()> {
        receive_joined_groups_only(fd, libc::IPPROTO_IP, libc::IP_MULTICAST_ALL)?;
        sockopt::set_ip_multicast_ttl(fd, self.hops.into())?;
        sockopt::set_ip_multicast_loop(fd, self.loopback)?;
        if let Some(index) = self.interface {
            let any = Ipv4Addr::UNSPECIFIED;
            sockopt::set_ip_multicast_if_with_ifindex(fd, &any, &any, index)?;
        }
        Ok(())
    }

    fn set_multicast_v6(&self, fd: &OwnedFd) -> io::Result<()> {
        receive_joined_groups_only(fd, libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_ALL)?;
        // Another socket may have the same port in IPv4.
        sockopt::set_ipv6_v6only(fd, true)?;
        sockopt::set_ipv6_multicast_hops(fd, self.hops.into())?;
        sockopt::set_ipv6_multicast_loop(fd, self.loopback)?;
        if let Some(index) = self.interface {
            sockopt::set_ipv6_multicast_if(fd, index)?;
        }
        Ok(())
    }
}

/// Description for error texts.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sharing = if self.shared { "shared " } else { "" };
        write!(f, "{sharing}address {}", self.address)?;
        self.interface.map_or(Ok(()), |index| write!(f, " and multicast by interface {index}"))
    }
}

/// Without this, the kernel gives a socket the datagrams of every group that any socket of this host joined.
fn receive_joined_groups_only(fd: &OwnedFd, level: libc::c_int, option: libc::c_int) -> io::Result<()> {
    let off: libc::c_int = 0;
    let length = size_of_val(&off) as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes, the size of `off`, which outlives the call.
    let status = unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const off).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
