//! Non-blocking UDP sockets: connected, unconnected, and multicast.
//!
//! Behaviour of multicast on Linux, checked by `tests/it/multicast.rs`:
//! - A socket joins a group on one interface. Datagrams sent by another interface do not arrive, even within one
//!   host; those sent by loopback reach only sockets that joined on loopback. To reach all members, a sender sends by
//!   each interface.
//! - Datagrams with a hop limit of 0 ([`Options::hops`]) do not leave the host. They reach sockets of the host that
//!   joined on the sending interface.
//! - With IPv6, a socket that joined a group on one interface receives it on all interfaces on which any socket of
//!   the host joined it.
//! - Loopback carries only IPv4 groups: for IPv6 groups the error is `NetworkUnreachable`.

mod batch;
mod directed;
mod options;

use crate::socket::{at, open, to_std};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    self, RecvAncillaryBuffer, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendFlags, SocketType, sockopt,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

pub use batch::{Addressed, Batch, MOST_AT_ONCE};
pub use options::Options;

/// A datagram socket.
#[derive(Debug)]
pub struct Datagrams {
    fd: OwnedFd,
    address: SocketAddr,
}

/// Result of sending a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The kernel accepted it.
    Taken,
    /// The kernel's buffer is full, or there is no route at present.
    Dropped,
    /// The peer's host reports that no socket receives there.
    Refused,
}

/// A received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its bytes in the buffer.
    pub len: usize,
    /// The sender.
    pub from: SocketAddr,
    /// It was longer than the buffer; the rest is lost.
    pub cut: bool,
}

impl Datagrams {
    /// An unconnected socket.
    ///
    /// # Errors
    /// If the address is in use or not one of this host, the interface does not exist, or descriptors run out.
    pub fn open(options: &Options) -> io::Result<Self> {
        let fd = options
            .open()
            .map_err(|error| at(format_args!("a socket for datagrams with {options}"), error))?;
        Self::new(fd)
    }

    /// An unconnected socket at a free port of `ip`.
    ///
    /// # Errors
    /// If the address is not one of this host, or descriptors run out.
    pub fn bind(ip: IpAddr) -> io::Result<Self> {
        let fd = open(ip, SocketType::DGRAM)?;
        net::bind(&fd, &SocketAddr::new(ip, 0))?;
        Self::new(fd)
    }

    /// A socket that sends to `peer` and receives only from it.
    ///
    /// # Errors
    /// If there is no route to the peer, or descriptors run out.
    pub fn connect(peer: SocketAddr) -> io::Result<Self> {
        let fd = open(peer.ip(), SocketType::DGRAM)?;
        net::connect(&fd, &peer)?;
        Self::new(fd)
    }

    fn new(fd: OwnedFd) -> io::Result<Self> {
        let address = net::getsockname(&fd)?;
        let address = to_std(address).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { fd, address })
    }

    /// The local address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The peer's address; `None` if the socket is not connected.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        net::getpeername(&self.fd).ok().flatten().and_then(to_std)
    }

    /// Requests a receive buffer of `bytes` bytes. The kernel grants at most `net.core.rmem_max`.
    ///
    /// # Errors
    /// None in practice.
    pub fn set_receive_buffer_size(&self, bytes: usize) -> io::Result<()> {
        Ok(sockopt::set_socket_recv_buffer_size(&self.fd, bytes)?)
    }

    /// Size of the kernel's receive buffer in bytes, including its overhead: twice the request, if that was granted.
    ///
    /// # Errors
    /// None in practice.
    pub fn receive_buffer_size(&self) -> io::Result<usize> {
        Ok(sockopt::socket_recv_buffer_size(&self.fd)?)
    }

    /// Joins a multicast group on the interface with this index. Does nothing if it has already joined.
    ///
    /// # Errors
    /// If the address is not a group or of the other family, the interface does not exist, or the socket has joined
    /// as many groups as the system allows (`net.ipv4.igmp_max_memberships`, normally 20).
    pub fn join(&self, group: IpAddr, interface: u32) -> io::Result<()> {
        let joined = match group {
            _ if group.is_ipv4() != self.address.is_ipv4() => Err(Errno::AFNOSUPPORT),
            IpAddr::V4(group) => sockopt::set_ip_add_membership_with_ifindex(
                &self.fd,
                &group,
                &Ipv4Addr::UNSPECIFIED,
                interface,
            ),
            IpAddr::V6(group) => sockopt::set_ipv6_add_membership(&self.fd, &group, interface),
        };
        match joined {
            Ok(()) | Err(Errno::ADDRINUSE) => Ok(()),
            Err(error) => {
                Err(at(format_args!("joining {group} on interface {interface} at {}", self.address), error))
            }
        }
    }

    /// Leaves a multicast group on an interface. Does nothing if it has not joined. A group on a removed interface
    /// counts against the socket's limit until it is left.
    ///
    /// # Errors
    /// If the group is of the other family.
    pub fn leave(&self, group: IpAddr, interface: u32) -> io::Result<()> {
        let result = match group {
            _ if group.is_ipv4() != self.address.is_ipv4() => Err(Errno::AFNOSUPPORT),
            IpAddr::V4(group) => sockopt::set_ip_drop_membership_with_ifindex(
                &self.fd,
                &group,
                &Ipv4Addr::UNSPECIFIED,
                interface,
            ),
            IpAddr::V6(group) => sockopt::set_ipv6_drop_membership(&self.fd, &group, interface),
        };
        match result {
            // A removed interface has already left its groups.
            Ok(()) | Err(Errno::ADDRNOTAVAIL | Errno::NODEV) => Ok(()),
            Err(error) => {
                Err(at(format_args!("leaving {group} on interface {interface} at {}", self.address), error))
            }
        }
    }

    /// Sends one datagram from several buffers.
    pub fn send_vectored(&self, slices: &[IoSlice<'_>]) -> Sent {
        let mut nothing = SendAncillaryBuffer::default();
        match net::sendmsg(&self.fd, slices, &mut nothing, SendFlags::NOSIGNAL) {
            Ok(_) => Sent::Taken,
            Err(Errno::CONNREFUSED) => Sent::Refused,
            // A network that is down now may be up for the next datagram.
            Err(_) => Sent::Dropped,
        }
    }

    /// Sends one datagram from several buffers to `to`; false when the kernel's buffer is full. One system call, no
    /// allocation. A datagram to a group leaves by the interface that the socket was opened with, or else by that of
    /// the route.
    ///
    /// # Errors
    /// If there is no route, the datagram is too long, or a firewall rejects it. The next datagram may still be
    /// sent.
    pub fn send_to_vectored(&self, slices: &[IoSlice<'_>], to: SocketAddr) -> io::Result<bool> {
        let mut nothing = SendAncillaryBuffer::default();
        let sent = net::sendmsg_addr(&self.fd, &to, slices, &mut nothing, SendFlags::NOSIGNAL);
        was_accepted(sent).map_err(|error| at(format_args!("datagram to {to} from {}", self.address), error))
    }

    /// As [`Datagrams::send_to_vectored`], by the interface with this index and from an address of it. Without an
    /// address the kernel chooses one, which fails for a group on loopback. It always chooses with IPv6, and for a
    /// bound socket.
    ///
    /// # Errors
    /// As [`Datagrams::send_to_vectored`], and if the interface does not exist.
    pub fn send_by(
        &self,
        interface: u32,
        source: Option<Ipv4Addr>,
        slices: &[IoSlice<'_>],
        to: SocketAddr,
    ) -> io::Result<bool> {
        let sent = directed::send(&self.fd, interface, source, slices, to);
        let from = self.address;
        was_accepted(sent)
            .map_err(|error| at(format_args!("datagram to {to} by interface {interface} from {from}"), error))
    }

    /// Receives one datagram from any sender into `buffer`; `None` when there is none.
    ///
    /// # Errors
    /// None in practice.
    pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let mut nothing = RecvAncillaryBuffer::default();
        let slices = &mut [IoSliceMut::new(buffer)];
        let found = match net::recvmsg(&self.fd, slices, &mut nothing, RecvFlags::empty()) {
            Ok(found) => found,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(error) => return Err(at(format_args!("receiving at {}", self.address), error)),
        };
        let from = found.address.and_then(to_std).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Some(Received { len: found.bytes, from, cut: found.flags.contains(ReturnFlags::TRUNC) }))
    }

    /// Receives one datagram into `buffer`, truncated to its size: the number of bytes, or `None` when there is none.
    ///
    /// # Errors
    /// The error of a datagram sent earlier: `ConnectionRefused` when no socket receives it at the peer's host,
    /// others when the network lost it, for example because it was too long for a part of the route. Each is reported
    /// once. The next datagram may still be sent.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match net::recv(&self.fd, buffer, RecvFlags::empty()) {
            Ok((received, _)) => Ok(Some(received)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Datagrams {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether the kernel accepted a datagram, from the result of the call.
fn was_accepted<T>(sent: rustix::io::Result<T>) -> rustix::io::Result<bool> {
    match sent {
        Ok(_) => Ok(true),
        Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::{Events, Interest, Reactor, Token};
    use std::net::Ipv4Addr;
    use std::time::Duration;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn wait_for(socket: &Datagrams) {
        let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
        reactor.add(socket, Token(0), Interest::Read).unwrap();
        reactor.wait(&mut events, Some(Duration::from_secs(30))).unwrap();
        assert_eq!(events.iter().count(), 1);
    }

    /// Keeps the port of a socket reserved, but stops receiving from any peer that it is not connected to.
    fn keep_without_reader(far: Datagrams) -> Datagrams {
        net::connect(&far, &SocketAddr::new(HERE, 1)).unwrap();
        far
    }

    #[test]
    fn datagrams_arrive_one_by_one() {
        let far = Datagrams::bind(HERE).unwrap();
        let near = Datagrams::connect(far.address()).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(far.recv(&mut buffer).unwrap(), None);
        assert_eq!(near.send_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b"c")]), Sent::Taken);
        assert_eq!(near.send_vectored(&[IoSlice::new(b"d")]), Sent::Taken);
        wait_for(&far);
        assert_eq!(far.recv(&mut buffer).unwrap(), Some(3));
        assert_eq!(&buffer[..3], b"abc");
        wait_for(&far);
        assert_eq!(far.recv(&mut buffer).unwrap(), Some(1));
    }

    #[test]
    fn closed_peer_is_reported_on_send() {
        let far = Datagrams::bind(HERE).unwrap();
        let near = Datagrams::connect(far.address()).unwrap();
        let far = keep_without_reader(far);
        assert_eq!(near.send_vectored(&[IoSlice::new(b"a")]), Sent::Taken);
        wait_for(&near);
        assert_eq!(near.recv(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        near.send_vectored(&[IoSlice::new(b"a")]);
        wait_for(&near);
        assert_eq!(near.send_vectored(&[IoSlice::new(b"a")]), Sent::Refused);
        drop(far);
    }

    #[test]
    fn unsendable_datagram_is_dropped() {
        let far = Datagrams::bind(HERE).unwrap();
        let near = Datagrams::connect(far.address()).unwrap();
        assert_eq!(near.send_vectored(&[IoSlice::new(&[0; 65_508])]), Sent::Dropped);
    }

    #[test]
    fn larger_receive_buffer_holds_more() {
        let far = Datagrams::bind(HERE).unwrap();
        let before = sockopt::socket_recv_buffer_size(&far).unwrap();
        far.set_receive_buffer_size(before / 2).unwrap();
        // The kernel adds its own overhead and grants twice the request.
        assert_eq!(sockopt::socket_recv_buffer_size(&far).unwrap(), before / 2 * 2);
    }
}
