//! Doorbell: wakes a thread of another process that waits in its [`Reactor`].
//!
//! A doorbell is a pair of connected Unix sockets. The waiting process registers its end with
//! [`Reactor::add_edge`](crate::Reactor::add_edge) and passes the other end to the peer. The peer rings by shutting
//! its end down for writing, which it can do repeatedly: the kernel reports an event for each shutdown. No data is
//! queued, so the socket is never read.
//!
//! Ringing never blocks, whatever flags the other process sets on its copy of the descriptor. An eventfd cannot
//! guarantee that: `O_NONBLOCK` decides whether `write` blocks, all holders of the descriptor share that flag, and
//! `RWF_NOWAIT` is refused. A packet socket costs more, and its packets must be read.

use crate::reactor::{Events, Reactor, Token};
use rustix::fs::readlink;
use rustix::io::ioctl_fionread;
use rustix::net::{self, AddressFamily, Shutdown, SocketFlags, SocketType, sockopt};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;

/// The end that the waiting process registers. It is never passed to another process.
#[derive(Debug)]
pub struct Doorbell {
    socket: OwnedFd,
}

/// The end that rings. It is passed to the peer.
#[derive(Debug)]
pub struct Ringer {
    socket: OwnedFd,
}

impl Doorbell {
    /// Creates both ends of a doorbell.
    ///
    /// # Errors
    /// If no more descriptors can be opened. `Unsupported` when the kernel does not report an event for every
    /// shutdown, as Linux does.
    pub fn pair() -> io::Result<(Self, Ringer)> {
        static REPEATS: OnceLock<bool> = OnceLock::new();
        let repeats = match REPEATS.get() {
            Some(repeats) => *repeats,
            None => {
                let repeats = is_shutdown_reported_repeatedly()?;
                *REPEATS.get_or_init(|| repeats)
            }
        };
        if repeats { sockets() } else { Err(io::Error::new(io::ErrorKind::Unsupported, UNSUPPORTED)) }
    }
}

const UNSUPPORTED: &str = "this kernel does not report an event for every shutdown of a Unix socket";

impl Ringer {
    /// Takes the end that a peer passed.
    ///
    /// # Errors
    /// `InvalidData` when the descriptor is not a Unix stream socket, or its queue is not empty. No other descriptor
    /// is known never to block, either in use or when it is closed with its queue, which may hold descriptors of any
    /// kind.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        let domain = sockopt::socket_domain(&fd);
        if domain == Ok(AddressFamily::UNIX) && sockopt::socket_type(&fd) == Ok(SocketType::STREAM) {
            // Shut down first: nothing can be queued afterwards.
            net::shutdown(&fd, Shutdown::Read)?;
            if ioctl_fionread(&fd) != Ok(0) {
                let reason = "a peer passed a doorbell socket whose queue is not empty";
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            return Ok(Self { socket: fd });
        }
        let kind = readlink(format!("/proc/self/fd/{}", fd.as_raw_fd()), Vec::new());
        let kind = kind.map_or_else(|_| "a descriptor".into(), |kind| kind.to_string_lossy().into_owned());
        let reason = format!("a peer passed {kind:?} as a doorbell, which is not a Unix stream socket");
        Err(io::Error::new(io::ErrorKind::InvalidData, reason))
    }

    /// Ends the current or else the next wait of the reactor that has the doorbell. Never blocks.
    pub fn ring(&self) {
        // An error means that the peer has closed its end.
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
    // A peer can queue neither bytes nor descriptors here.
    net::shutdown(&near, Shutdown::Read)?;
    Ok((Doorbell { socket: near }, Ringer { socket: far }))
}

/// Whether the kernel reports an event for the second shutdown as for the first. Linux always has, but no manual
/// guarantees it.
fn is_shutdown_reported_repeatedly() -> io::Result<bool> {
    let (reactor, (doorbell, ringer)) = (Reactor::new()?, sockets()?);
    reactor.add_edge(&doorbell, Token(0))?;
    let has_event = || {
        let mut events = Events::default();
        reactor.wait(&mut events, Some(Duration::ZERO))?;
        Ok::<_, io::Error>(events.iter().any(|ready| ready.readable))
    };
    // Registered with its receiving side shut down, it is ready once.
    has_event()?;
    for _ in 0..2 {
        ringer.ring();
        if !has_event()? {
            return Ok(false);
        }
    }
    Ok(!has_event()?)
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

    /// A registered doorbell that has not rung, and a peer's copy of the other end.
    fn scene() -> (Reactor, Doorbell, Ringer) {
        let (reactor, (doorbell, ringer)) = (Reactor::new().unwrap(), Doorbell::pair().unwrap());
        reactor.add_edge(&doorbell, Token(3)).unwrap();
        // Taking the end rings, too.
        let ringer = Ringer::from_fd(ringer.socket).unwrap();
        is_rung(&reactor, NONE);
        (reactor, doorbell, ringer)
    }

    fn is_rung(reactor: &Reactor, timeout: Option<Duration>) -> bool {
        let mut events = Events::default();
        reactor.wait(&mut events, timeout).unwrap();
        events.iter().any(|ready| ready.token == Token(3) && ready.readable)
    }

    #[test]
    fn each_ring_ends_one_wait() {
        let (reactor, doorbell, ringer) = scene();
        for fd in [doorbell.as_fd(), ringer.as_fd()] {
            assert!(rustix::io::fcntl_getfd(fd).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        }
        for _ in 0..3000 {
            assert!(!is_rung(&reactor, NONE));
            ringer.ring();
            assert!(is_rung(&reactor, LONG));
        }
        let thread = std::thread::spawn(move || ringer.ring());
        assert!(is_rung(&reactor, LONG));
        thread.join().unwrap();
    }

    #[test]
    fn peer_cannot_block_ring() {
        let (reactor, _doorbell, ringer) = scene();
        // The peer clears the non-blocking flag of its copy and tries to fill the socket.
        let copy = ringer.socket.try_clone().unwrap();
        fcntl_setfl(&copy, OFlags::empty()).unwrap();
        assert_eq!(net::send(&copy, b"x", SendFlags::NOSIGNAL), Err(rustix::io::Errno::PIPE));
        (0..3000).for_each(|_| ringer.ring());
        assert!(is_rung(&reactor, LONG));
    }

    #[test]
    fn doorbell_with_queued_data_is_refused() {
        let (near, far) = sockets().unwrap();
        net::send(&near.socket, b"x", SendFlags::NOSIGNAL).unwrap();
        let error = Ringer::from_fd(far.socket.try_clone().unwrap()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(net::send(&near.socket, b"x", SendFlags::NOSIGNAL).is_err(), "nothing more can be put there");
    }

    #[test]
    fn doorbell_accepts_no_data() {
        let (_reactor, doorbell, ringer) = scene();
        assert!(net::send(&ringer, b"x", SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_err());
        assert!(matches!(net::recv(&doorbell, &mut [0; 8], RecvFlags::DONTWAIT), Ok((_, 0))));
    }

    #[test]
    fn ringer_survives_closed_doorbell() {
        let (reactor, doorbell, ringer) = scene();
        drop(doorbell);
        (0..3).for_each(|_| ringer.ring());
        assert!(!is_rung(&reactor, NONE));
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
            assert!(error.to_string().contains("not a Unix stream socket"), "{error}");
        }
    }
}
