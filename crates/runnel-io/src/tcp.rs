//! Non-blocking TCP sockets.

use crate::socket::{FLAGS, open, to_std};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, SocketType, sockopt};
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Backlog of connections that are not accepted yet.
const BACKLOG: i32 = 1024;

/// Idle time of a connection before the first keep-alive probe.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);

/// Time between keep-alive probes.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Unanswered keep-alive probes that end a connection.
const KEEPALIVE_COUNT: u32 = 3;

/// A socket that accepts connections.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    address: SocketAddr,
}

impl Listener {
    /// Listens on `address`; port 0 takes a free one.
    ///
    /// # Errors
    /// If the address is in use or not of this host, or descriptors run out.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let fd = open(address.ip(), SocketType::STREAM)?;
        sockopt::set_socket_reuseaddr(&fd, true)?;
        net::bind(&fd, &address)?;
        net::listen(&fd, BACKLOG)?;
        let address = to_std(net::getsockname(&fd)?).unwrap_or(address);
        Ok(Self { fd, address })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts one waiting connection; `None` if there is none.
    ///
    /// # Errors
    /// If descriptors or memory run out. The connection then stays in the backlog.
    pub fn accept(&self) -> io::Result<Option<(Stream, SocketAddr)>> {
        match net::acceptfrom_with(&self.fd, FLAGS) {
            Ok((fd, peer)) => {
                let unknown = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
                Ok(Some((Stream { fd }, peer.and_then(to_std).unwrap_or(unknown))))
            }
            // A connection that ended in the backlog is no error.
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// One end of a connection.
#[derive(Debug)]
pub struct Stream {
    fd: OwnedFd,
}

impl Stream {
    /// Starts to connect. The stream becomes writable once that has succeeded or failed.
    ///
    /// # Errors
    /// If the address is unreachable, or descriptors run out.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let fd = open(address.ip(), SocketType::STREAM)?;
        match net::connect(&fd, &address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(Self { fd }),
            Err(error) => Err(error.into()),
        }
    }

    /// The result of connecting, once the stream is writable.
    ///
    /// # Errors
    /// The error of a failed connection.
    pub fn finish_connect(&self) -> io::Result<()> {
        Ok(sockopt::socket_error(&self.fd)??)
    }

    /// Sends small messages immediately, without Nagle's algorithm.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn set_nodelay(&self) -> io::Result<()> {
        Ok(sockopt::set_tcp_nodelay(&self.fd, true)?)
    }

    /// Ends the connection in both directions. Bytes sent before still arrive, and the reactor reports the end.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn shutdown(&self) -> io::Result<()> {
        Ok(net::shutdown(&self.fd, net::Shutdown::Both)?)
    }

    /// Ends the connection in the direction to the peer, which reads its end behind all that was sent.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn shutdown_writing(&self) -> io::Result<()> {
        Ok(net::shutdown(&self.fd, net::Shutdown::Write)?)
    }

    /// Enables keep-alive probes of the kernel: a peer that lost power is detected within a minute, without waking a
    /// process.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn set_keepalive(&self) -> io::Result<()> {
        sockopt::set_tcp_keepidle(&self.fd, KEEPALIVE_IDLE)?;
        sockopt::set_tcp_keepintvl(&self.fd, KEEPALIVE_INTERVAL)?;
        sockopt::set_tcp_keepcnt(&self.fd, KEEPALIVE_COUNT)?;
        Ok(sockopt::set_socket_keepalive(&self.fd, true)?)
    }

    /// Makes the kernel end the connection when the peer does not acknowledge sent bytes for this long.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn set_send_deadline(&self, deadline: Duration) -> io::Result<()> {
        let milliseconds = u32::try_from(deadline.as_millis()).unwrap_or(u32::MAX);
        Ok(sockopt::set_tcp_user_timeout(&self.fd, milliseconds)?)
    }

    /// Sends as many of `bytes` as the kernel accepts; returns their number, 0 when its buffer is full.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        match net::send(&self.fd, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => Ok(sent),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// As [`Stream::send`], for bytes in several buffers.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn send_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut nothing = net::SendAncillaryBuffer::default();
        match net::sendmsg(&self.fd, slices, &mut nothing, SendFlags::NOSIGNAL) {
            Ok(sent) => Ok(sent),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Received bytes that have not been read.
    ///
    /// # Errors
    /// None in practice.
    pub fn waiting(&self) -> io::Result<u64> {
        Ok(rustix::io::ioctl_fionread(&self.fd)?)
    }

    /// Returns whether the connection has ended or the peer sends nothing more. Bytes may still wait to be received.
    #[must_use]
    pub fn is_ended_by_peer(&self) -> bool {
        let ends = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        let mut watched = [PollFd::new(&self.fd, PollFlags::RDHUP)];
        poll(&mut watched, Some(&Timespec::default())).is_ok() && watched[0].revents().intersects(ends)
    }

    /// Receives into `buffer`: the number of bytes, `Some(0)` when the peer has ended the stream, `None` when there
    /// is nothing yet.
    ///
    /// # Errors
    /// If the connection has failed.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match net::recv(&self.fd, buffer, RecvFlags::empty()) {
            Ok((received, _)) => Ok(Some(received)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::{Events, Interest, Reactor, Token};

    fn wait_for(reactor: &Reactor, token: Token) {
        let mut events = Events::default();
        while !events.iter().any(|ready| ready.token == token) {
            reactor.wait(&mut events, Some(Duration::from_secs(30))).unwrap();
        }
    }

    fn pair() -> (Stream, Stream) {
        let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let reactor = Reactor::new().unwrap();
        reactor.add(&listener, Token(0), Interest::Read).unwrap();
        let near = Stream::connect(listener.address()).unwrap();
        wait_for(&reactor, Token(0));
        let (far, peer) = listener.accept().unwrap().unwrap();
        assert_eq!(Some(peer), to_std(net::getsockname(&near.fd).unwrap()));
        near.finish_connect().unwrap();
        (near, far)
    }

    #[test]
    fn bytes_and_end_of_stream_arrive() {
        let (near, far) = pair();
        let mut buffer = [0; 8];
        assert_eq!(far.recv(&mut buffer).unwrap(), None);
        assert_eq!(near.send(b"abc").unwrap(), 3);
        let reactor = Reactor::new().unwrap();
        reactor.add(&far, Token(1), Interest::Read).unwrap();
        wait_for(&reactor, Token(1));
        assert_eq!(far.waiting().unwrap(), 3);
        assert_eq!(far.recv(&mut buffer).unwrap(), Some(3));
        assert_eq!(far.waiting().unwrap(), 0);
        drop(near);
        wait_for(&reactor, Token(1));
        assert_eq!(far.recv(&mut buffer).unwrap(), Some(0));
    }

    #[test]
    fn end_of_connection_is_seen_before_bytes_that_wait() {
        let (near, far) = pair();
        assert_eq!(near.send(b"abc").unwrap(), 3);
        assert!(!far.is_ended_by_peer());
        near.shutdown().unwrap();
        assert!(far.is_ended_by_peer());
        assert_eq!(far.waiting().unwrap(), 3);
    }

    #[test]
    fn full_buffer_does_not_block() {
        let (near, _far) = pair();
        let block = vec![0; 1 << 20];
        while near.send(&block).unwrap() > 0 {}
        assert_eq!(near.send(&block).unwrap(), 0);
    }

    #[test]
    fn refused_connection_is_an_error() {
        let address = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap().address();
        let reactor = Reactor::new().unwrap();
        let stream = Stream::connect(address).unwrap();
        reactor.add(&stream, Token(0), Interest::Write).unwrap();
        wait_for(&reactor, Token(0));
        assert_eq!(stream.finish_connect().unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
