//! Doorbell: what one process rings to wake another.
//!
//! A doorbell is a pair of connected Unix sockets. The sleeper keeps its own end, registers it by
//! [`Reactor::add_edge`](crate::Reactor::add_edge) and gives the other end away. To ring is to shut the other end down for
//! writing, again and again: each time the kernel wakes the sleeper. Nothing is queued, so nobody reads the socket.
//!
//! Ringing never blocks, whatever the sleeper does with its copies of the descriptor. An eventfd has no such promise: whether
//! `write` blocks is decided by a flag that all holders of the descriptor share, and `RWF_NOWAIT` is refused. A packet costs
//! more, and somebody must read it.

use crate::reactor::{Events, Reactor, Token};
use rustix::fs::readlink;
use rustix::net::{self, AddressFamily, Shutdown, SocketFlags, SocketType, sockopt};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;

/// The sleeper's end of a doorbell. No other process has it.
#[derive(Debug)]
pub struct Doorbell {
    socket: OwnedFd,
}

/// The end that rings.
#[derive(Debug)]
pub struct Ringer {
    socket: OwnedFd,
}

impl Doorbell {
    /// A doorbell and the end that rings it.
    ///
    /// # Errors
    /// When descriptors run out; `Unsupported` when the kernel does not wake the sleeper at each ring, as Linux does.
    pub fn pair() -> io::Result<(Self, Ringer)> {
        static RINGS_TWICE: OnceLock<bool> = OnceLock::new();
        let rings = match RINGS_TWICE.get() {
            Some(rings) => *rings,
            None => {
                let rings = rings_twice()?;
                *RINGS_TWICE.get_or_init(|| rings)
            }
        };
        if rings { sockets() } else { Err(io::Error::new(io::ErrorKind::Unsupported, NOT_RUNG)) }
    }
}

const NOT_RUNG: &str = "sockets of this kernel do not wake who waits at each shutdown";

impl Ringer {
    /// The end that a peer gave.
    ///
    /// # Errors
    /// `InvalidData` when the descriptor is no Unix stream socket. No other kind is known never to block.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        let domain = sockopt::socket_domain(&fd);
        if domain == Ok(AddressFamily::UNIX) && sockopt::socket_type(&fd) == Ok(SocketType::STREAM) {
            return Ok(Self { socket: fd });
        }
        let kind = readlink(format!("/proc/self/fd/{}", fd.as_raw_fd()), Vec::new());
        let kind = kind.map_or_else(|_| "a descriptor".into(), |kind| kind.to_string_lossy().into_owned());
        let what = format!("a doorbell is {kind:?}, which is no Unix stream socket");
        Err(io::Error::new(io::ErrorKind::InvalidData, what))
    }

    /// Ends the wait that is under way where the doorbell is registered, or else the next one. Never blocks.
    pub fn ring(&self) {
        // An error means that the sleeper has closed its end.
        let _ = net::shutdown(&self.socket, Shutdown::Write);
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsFd for Ringer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn sockets() -> io::Result<(Doorbell, Ringer)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (near, far) = net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // A peer can queue nothing here, neither bytes nor descriptors.
    net::shutdown(&near, Shutdown::Read)?;
    Ok((Doorbell { socket: near }, Ringer { socket: far }))
}

/// Whether the kernel wakes the sleeper at the second ring as at the first. Linux always has, but no manual says so.
fn rings_twice() -> io::Result<bool> {
    let (reactor, (doorbell, ringer)) = (Reactor::new()?, sockets()?);
    reactor.add_edge(&doorbell, Token(0))?;
    let is_rung = || {
        let mut events = Events::default();
        reactor.wait(&mut events, Some(Duration::ZERO))?;
        Ok::<_, io::Error>(events.iter().any(|ready| ready.readable))
    };
    // Registered with its receiving side shut, it is ready once.
    is_rung()?;
    for _ in 0..2 {
        ringer.ring();
        if !is_rung()? {
            return Ok(false);
        }
    }
    Ok(!is_rung()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use rustix::fs::{OFlags, fcntl_setfl};
    use rustix::net::{RecvFlags, SendFlags};
    use std::fs::File;

    const LONG: Option<Duration> = Some(Duration::from_secs(30));
    const NONE: Option<Duration> = Some(Duration::ZERO);

    /// A registered doorbell that has not been rung, and a peer's copy of the end that rings.
    fn scene() -> (Reactor, Doorbell, Ringer) {
        let (reactor, (doorbell, ringer)) = (Reactor::new().unwrap(), Doorbell::pair().unwrap());
        reactor.add_edge(&doorbell, Token(3)).unwrap();
        rung(&reactor, NONE);
        (reactor, doorbell, Ringer::from_fd(ringer.socket).unwrap())
    }

    fn rung(reactor: &Reactor, timeout: Option<Duration>) -> bool {
        let mut events = Events::default();
        reactor.wait(&mut events, timeout).unwrap();
        events.iter().any(|ready| ready.token == Token(3) && ready.readable)
    }

    #[test]
    fn each_ring_of_a_peer_ends_one_wait_and_nothing_is_read() {
        let (reactor, doorbell, ringer) = scene();
        for fd in [doorbell.as_fd(), ringer.as_fd()] {
            assert!(rustix::io::fcntl_getfd(fd).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        }
        for _ in 0..3000 {
            assert!(!rung(&reactor, NONE));
            ringer.ring();
            assert!(rung(&reactor, LONG));
        }
        let thread = std::thread::spawn(move || ringer.ring());
        assert!(rung(&reactor, LONG));
        thread.join().unwrap();
    }

    #[test]
    fn peer_cannot_make_ring_block() {
        let (reactor, _doorbell, ringer) = scene();
        // What a peer can do with its copy: have it block, and try to fill it.
        let copy = ringer.socket.try_clone().unwrap();
        fcntl_setfl(&copy, OFlags::empty()).unwrap();
        assert_eq!(net::send(&copy, b"x", SendFlags::NOSIGNAL), Err(rustix::io::Errno::PIPE));
        (0..3000).for_each(|_| ringer.ring());
        assert!(rung(&reactor, LONG));
    }

    #[test]
    fn nothing_can_be_queued_in_a_doorbell() {
        let (_reactor, doorbell, ringer) = scene();
        assert!(net::send(&ringer, b"x", SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_err());
        assert!(matches!(net::recv(&doorbell, &mut [0; 8], RecvFlags::DONTWAIT), Ok((_, 0))));
    }

    #[test]
    fn ringer_survives_closed_doorbell() {
        let (reactor, doorbell, ringer) = scene();
        drop(doorbell);
        (0..3).for_each(|_| ringer.ring());
        assert!(!rung(&reactor, NONE));
    }

    #[test]
    fn other_descriptors_are_refused_as_doorbells() {
        let (reader, writer) = io::pipe().unwrap();
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap();
        let null = File::options().write(true).open("/dev/null").unwrap();
        let socket = |domain, kind| net::socket(domain, kind, None).unwrap();
        let datagrams = socket(AddressFamily::UNIX, SocketType::DGRAM);
        let tcp = socket(AddressFamily::INET, SocketType::STREAM);
        for other in [reader.into(), writer.into(), bell, null.into(), datagrams, tcp] {
            let error = Ringer::from_fd(other).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains("no Unix stream socket"), "{error}");
        }
    }
}
