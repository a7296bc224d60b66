//! Epoll reactor: waits for many descriptors.
//!
//! Level-triggered: an event repeats until it is served, so that one read per event is enough. Only doorbells, which
//! are never read, are edge-triggered ([`Reactor::add_edge`]).

#[cfg(test)]
mod tests;
mod waiting;

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use std::io;
use std::sync::Arc;

/// The id of a registered descriptor in events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// The waker's own token, never used for other descriptors.
const WAKER: u64 = u64::MAX;

/// Events of interest of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Only its end.
    Nothing,
    /// Readability.
    Read,
    /// Writability.
    Write,
    /// Both.
    Both,
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        match self {
            Self::Nothing => epoll::EventFlags::empty(),
            Self::Read => epoll::EventFlags::IN,
            Self::Write => epoll::EventFlags::OUT,
            Self::Both => epoll::EventFlags::IN | epoll::EventFlags::OUT,
        }
    }
}

/// One descriptor that is ready.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// Its token.
    pub token: Token,
    /// It is readable, or has ended.
    pub readable: bool,
    /// It is writable, or has failed.
    pub writable: bool,
}

/// Result of one wait.
#[derive(Debug, Default)]
pub struct Events {
    found: Vec<Ready>,
    woken: bool,
    complete: bool,
}

impl Events {
    /// The ready descriptors, without the waker.
    pub fn iter(&self) -> impl Iterator<Item = Ready> + '_ {
        self.found.iter().copied()
    }

    /// Clears the result of the last wait.
    pub fn clear(&mut self) {
        self.found.clear();
        self.woken = false;
        self.complete = false;
    }

    /// Whether all descriptors that were ready at the end of the wait are included, so that all others had nothing to
    /// read.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether the waker has woken the reactor: its reason must be handled before the next wait.
    pub fn woken(&self) -> bool {
        self.woken
    }
}

/// Ends a wait from another thread or a signal handler.
#[derive(Clone, Debug)]
pub struct Waker {
    eventfd: Arc<OwnedFd>,
}

impl Waker {
    /// Ends the current wait, or else the next one.
    pub fn wake(&self) {
        // The counter refuses only when it is full, and then the reactor is already woken.
        let _ = rustix::io::write(&*self.eventfd, &1u64.to_ne_bytes());
    }
}

/// An epoll instance with a waker.
#[derive(Debug)]
pub struct Reactor {
    epoll: OwnedFd,
    waker: Waker,
}

impl Reactor {
    /// A reactor with nothing registered.
    ///
    /// # Errors
    /// If descriptors run out.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let eventfd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &eventfd, epoll::EventData::new_u64(WAKER), epoll::EventFlags::IN)?;
        Ok(Self { epoll, waker: Waker { eventfd: Arc::new(eventfd) } })
    }

    /// The handle that ends waits.
    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Registers a descriptor. It is removed when its last copy is closed.
    ///
    /// # Errors
    /// If the kernel's limit on watches is reached.
    pub fn add(&self, fd: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, epoll::EventData::new_u64(token.0), interest.flags())?)
    }

    /// Registers a descriptor whose events are each reported once, whether or not it is read.
    ///
    /// # Errors
    /// If the kernel's limit on watches is reached.
    pub fn add_edge(&self, fd: impl AsFd, token: Token) -> io::Result<()> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        Ok(epoll::add(&self.epoll, fd, epoll::EventData::new_u64(token.0), flags)?)
    }

    /// Changes the events of interest.
    ///
    /// # Errors
    /// If the descriptor is not registered.
    pub fn modify(&self, fd: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, fd, epoll::EventData::new_u64(token.0), interest.flags())?)
    }

    /// Removes a descriptor. Needed only if it is not closed immediately: closing removes it, too.
    ///
    /// # Errors
    /// If the descriptor is not registered.
    pub fn remove(&self, fd: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, fd)?)
    }

    fn note(&self, event: epoll::Event, events: &mut Events) {
        let token = event.data.u64();
        if token == WAKER {
            events.woken = true;
            let mut count = [0; 8];
            // Reading the counter fails only when another thread has just read it.
            let _ = rustix::io::read(&*self.waker.eventfd, &mut count);
            return;
        }
        let flags = event.flags;
        let ended = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        events.found.push(Ready {
            token: Token(token),
            readable: ended || flags.contains(epoll::EventFlags::IN),
            writable: ended || flags.contains(epoll::EventFlags::OUT),
        });
    }
}
