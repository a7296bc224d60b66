//! UDP sockets that never block: between two, from anybody, and of multicast groups.
//!
//! What holds of multicast on Linux, tried by `tests/it/multicast.rs`:
//! - A group is joined on an interface, and what is sent by another is not heard there, not even within one host: what is
//!   sent by loopback reaches nobody who joined elsewhere. So whoever wants to be heard by all sends by each interface.
//! - What is sent with no hops ([`Options::hops`]) does not leave the host, and is heard there by those who joined on the
//!   interface that it was sent by.
//! - With IPv6 a socket that joined a group on one interface hears it on all on which any socket of the host joined it.
//! - Loopback carries groups of IPv4 alone: those of IPv6 are `NetworkUnreachable` there.

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

/// What became of a datagram that was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The kernel has it.
    Taken,
    /// The kernel has no room for it, or no way there at present.
    Dropped,
    /// The peer's host says that nobody takes it there.
    Refused,
}

/// A datagram that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes of it in the buffer.
    pub len: usize,
    /// Who sent it.
    pub from: SocketAddr,
    /// It was longer than the buffer: the rest is lost.
    pub cut: bool,
}

impl Datagrams {
    /// A socket that receives from anybody, and sends to anybody.
    ///
    /// # Errors
    /// When the address is in use or not of this host, there is no such interface, or descriptors run out.
    pub fn open(options: &Options) -> io::Result<Self> {
        let fd = options
            .open()
            .map_err(|error| at(format_args!("a socket for datagrams with {options}"), error))?;
        Self::new(fd)
    }

    /// A socket that receives from anybody at a free port of `ip`.
    ///
    /// # Errors
    /// When the address is not of this host, or descriptors run out.
    pub fn bind(ip: IpAddr) -> io::Result<Self> {
        let fd = open(ip, SocketType::DGRAM)?;
        net::bind(&fd, &SocketAddr::new(ip, 0))?;
        Self::new(fd)
    }

    /// A socket that sends to `peer` and receives from nobody else.
    ///
    /// # Errors
    /// When there is no way to the peer, or descriptors run out.
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

    /// Our address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the peer that it sends to; `None` if it is not connected.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        net::getpeername(&self.fd).ok().flatten().and_then(to_std)
    }

    /// Asks for room in the kernel for so many bytes of datagrams that have not been received; it gives at most what
    /// the system's administrator allows (`net.core.rmem_max`).
    ///
    /// # Errors
    /// None in practice.
    pub fn set_receive_room(&self, bytes: usize) -> io::Result<()> {
        Ok(sockopt::set_socket_recv_buffer_size(&self.fd, bytes)?)
    }

    /// Bytes of memory that the kernel has for datagrams that have not been received, with what it needs itself: twice
    /// what was asked for, if that was allowed.
    ///
    /// # Errors
    /// None in practice.
    pub fn receive_room(&self) -> io::Result<usize> {
        Ok(sockopt::socket_recv_buffer_size(&self.fd)?)
    }

    /// Hears, from now on, what is sent to a multicast group and comes by the interface of this index; nothing if it
    /// does so already.
    ///
    /// # Errors
    /// When the group is none or of the other family, there is no such interface, or the socket is in as many groups as
    /// the system's administrator allows (`net.ipv4.igmp_max_memberships`, 20 as a rule).
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

    /// Hears no longer what [`Datagrams::join`] made it hear; nothing if it does not. A group on an interface that is
    /// gone counts among those of the socket until it is left.
    ///
    /// # Errors
    /// When the group is of the other family.
    pub fn leave(&self, group: IpAddr, interface: u32) -> io::Result<()> {
        let left = match group {
            _ if group.is_ipv4() != self.address.is_ipv4() => Err(Errno::AFNOSUPPORT),
            IpAddr::V4(group) => sockopt::set_ip_drop_membership_with_ifindex(
                &self.fd,
                &group,
                &Ipv4Addr::UNSPECIFIED,
                interface,
            ),
            IpAddr::V6(group) => sockopt::set_ipv6_drop_membership(&self.fd, &group, interface),
        };
        match left {
            // An interface that is gone took its groups along.
            Ok(()) | Err(Errno::ADDRNOTAVAIL | Errno::NODEV) => Ok(()),
            Err(error) => {
                Err(at(format_args!("leaving {group} on interface {interface} at {}", self.address), error))
            }
        }
    }

    /// Sends one datagram, whose bytes lie in several places.
    pub fn send_vectored(&self, slices: &[IoSlice<'_>]) -> Sent {
        let mut nothing = SendAncillaryBuffer::default();
        match net::sendmsg(&self.fd, slices, &mut nothing, SendFlags::NOSIGNAL) {
            Ok(_) => Sent::Taken,
            Err(Errno::CONNREFUSED) => Sent::Refused,
            // A network that is away now may be back for the next one.
            Err(_) => Sent::Dropped,
        }
    }

    /// Sends one datagram, whose bytes lie in several places, to `to`; false when the kernel has no room for it now. One
    /// system call, and no allocation. To a group it goes by the interface that the socket was opened with, or else by
    /// that of the route.
    ///
    /// # Errors
    /// When there is no way there, the datagram is too long, or a firewall does not let it pass. None says that the next
    /// one fares no better.
    pub fn send_to_vectored(&self, slices: &[IoSlice<'_>], to: SocketAddr) -> io::Result<bool> {
        let mut nothing = SendAncillaryBuffer::default();
        let sent = net::sendmsg_addr(&self.fd, &to, slices, &mut nothing, SendFlags::NOSIGNAL);
        taken(sent).map_err(|error| at(format_args!("datagram to {to} from {}", self.address), error))
    }

    /// As [`Datagrams::send_to_vectored`], out by the interface of this index, from an address of it; without one the
    /// kernel chooses, which finds none for a group on loopback. It chooses always in IPv6, and for a socket that is bound
    /// to an address.
    ///
    /// # Errors
    /// As [`Datagrams::send_to_vectored`], and when there is no such interface.
    pub fn send_by(
        &self,
        interface: u32,
        source: Option<Ipv4Addr>,
        slices: &[IoSlice<'_>],
        to: SocketAddr,
    ) -> io::Result<bool> {
        let sent = directed::send(&self.fd, interface, source, slices, to);
        let from = self.address;
        taken(sent)
            .map_err(|error| at(format_args!("datagram to {to} by interface {interface} from {from}"), error))
    }

    /// Receives one datagram, of whomever, into `buffer`; `None` when there is none.
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

    /// Receives one datagram into `buffer`, cut off where that ends: so many bytes, `None` when there is none.
    ///
    /// # Errors
    /// Of one that was sent to a peer: `ConnectionRefused` when the peer's host says that nobody takes it there, others
    /// when the network lost it, such as one that was too long for a part of the way. Each is told once, and none says
    /// that the next datagram fares no better.
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

/// Whether the kernel took a datagram, by what it said.
fn taken<T>(sent: rustix::io::Result<T>) -> rustix::io::Result<bool> {
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

    /// Keeps the port of a socket, so that nobody else gets it, but takes nothing there any more from whom the socket is
    /// not connected to.
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
    fn a_peer_that_is_gone_shows_when_it_is_sent_to() {
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
    fn what_cannot_be_sent_is_dropped() {
        let far = Datagrams::bind(HERE).unwrap();
        let near = Datagrams::connect(far.address()).unwrap();
        assert_eq!(near.send_vectored(&[IoSlice::new(&[0; 65_508])]), Sent::Dropped);
    }

    #[test]
    fn more_room_holds_more() {
        let far = Datagrams::bind(HERE).unwrap();
        let before = sockopt::socket_recv_buffer_size(&far).unwrap();
        far.set_receive_room(before / 2).unwrap();
        // The kernel counts its own needs as well and gives twice what is asked for.
        assert_eq!(sockopt::socket_recv_buffer_size(&far).unwrap(), before / 2 * 2);
    }
}
