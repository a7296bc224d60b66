//! UDP sockets that never block.

use crate::socket::{open, to_std};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, SocketType, sockopt};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};

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

impl Datagrams {
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

    /// Asks for room in the kernel for so many bytes of datagrams that have not been received; it gives at most what
    /// the system's administrator allows (`net.core.rmem_max`).
    ///
    /// # Errors
    /// None in practice.
    pub fn set_receive_room(&self, bytes: usize) -> io::Result<()> {
        Ok(sockopt::set_socket_recv_buffer_size(&self.fd, bytes)?)
    }

    /// Sends one datagram, whose bytes lie in several places.
    pub fn send_vectored(&self, slices: &[IoSlice<'_>]) -> Sent {
        let mut nothing = net::SendAncillaryBuffer::default();
        match net::sendmsg(&self.fd, slices, &mut nothing, SendFlags::NOSIGNAL) {
            Ok(_) => Sent::Taken,
            Err(Errno::CONNREFUSED) => Sent::Refused,
            // A network that is away now may be back for the next one.
            Err(_) => Sent::Dropped,
        }
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
