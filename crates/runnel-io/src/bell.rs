//! What one process rings to wake another: an eventfd, which who sleeps makes and gives away.
//!
//! Registered by [`Reactor::add_edge`](crate::Reactor::add_edge) each ring ends a wait, and nobody need read it. A bell
//! is for one peer: who has it may fill its counter, so that it rings no more, or make those who ring it wait.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{OFlags, fcntl_getfl, readlink};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// What the kernel calls an eventfd among a process's descriptors.
const KIND: &[u8] = b"anon_inode:[eventfd]";

/// A doorbell.
#[derive(Debug)]
pub struct Bell {
    eventfd: OwnedFd,
}

impl Bell {
    /// A bell of one's own.
    ///
    /// # Errors
    /// When descriptors run out.
    pub fn new() -> io::Result<Self> {
        Ok(Self { eventfd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)? })
    }

    /// A peer's bell.
    ///
    /// # Errors
    /// `InvalidData` when the descriptor is no eventfd, or ringing it could wait; another when `/proc` is not there to
    /// tell.
    pub fn from_fd(fd: OwnedFd) -> io::Result<Self> {
        let link = readlink(format!("/proc/self/fd/{}", fd.as_raw_fd()), Vec::new())?;
        if link.as_bytes() != KIND {
            return Err(invalid(format!("a doorbell is {link:?}, which is no eventfd")));
        }
        // The peer can change that later. It then holds up whoever rings it until it reads, but it cannot before.
        if !fcntl_getfl(&fd)?.contains(OFlags::NONBLOCK) {
            return Err(invalid("a doorbell is an eventfd that waits".into()));
        }
        Ok(Self { eventfd: fd })
    }

    /// Ends the wait that is under way where it is registered, or else the next one.
    pub fn ring(&self) {
        // The counter can only refuse when it is full. Nobody reads it, so that would take 2^64 rings, or a peer that
        // fills it and does not hear its own bell any more.
        let _ = rustix::io::write(&self.eventfd, &1u64.to_ne_bytes());
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.eventfd.as_fd()
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::{Events, Reactor, Token};
    use rustix::fs::fcntl_setfl;
    use std::fs::File;
    use std::time::Duration;

    const LONG: Option<Duration> = Some(Duration::from_secs(30));

    fn given(bell: &Bell) -> OwnedFd {
        bell.as_fd().try_clone_to_owned().unwrap()
    }

    fn rung(reactor: &Reactor, timeout: Option<Duration>) -> bool {
        let mut events = Events::default();
        reactor.wait(&mut events, timeout).unwrap();
        events.iter().any(|ready| ready.token == Token(3) && ready.readable)
    }

    #[test]
    fn each_ring_of_a_peer_ends_one_wait_and_nothing_is_read() {
        let (bell, reactor) = (Bell::new().unwrap(), Reactor::new().unwrap());
        assert!(rustix::io::fcntl_getfd(&bell).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        reactor.add_edge(&bell, Token(3)).unwrap();
        let peer = Bell::from_fd(given(&bell)).unwrap();
        for _ in 0..3 {
            assert!(!rung(&reactor, Some(Duration::ZERO)));
            peer.ring();
            assert!(rung(&reactor, LONG));
        }
        let thread = std::thread::spawn(move || peer.ring());
        assert!(rung(&reactor, LONG));
        thread.join().unwrap();
    }

    #[test]
    fn a_full_counter_holds_up_nobody() {
        let bell = Bell::new().unwrap();
        rustix::io::write(&bell, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        let peer = Bell::from_fd(given(&bell)).unwrap();
        (0..3).for_each(|_| peer.ring());
    }

    #[test]
    fn what_is_no_doorbell_is_refused() {
        let (reader, writer) = io::pipe().unwrap();
        let epoll = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC).unwrap();
        let null = File::options().write(true).open("/dev/null").unwrap();
        for other in [reader.into(), writer.into(), epoll, null.into()] {
            fcntl_setfl(&other, OFlags::NONBLOCK).unwrap();
            let error = Bell::from_fd(other).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains("no eventfd"), "{error}");
        }
    }

    #[test]
    fn a_doorbell_that_waits_is_refused() {
        let error = Bell::from_fd(eventfd(0, EventfdFlags::CLOEXEC).unwrap()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("waits"), "{error}");
    }
}
