//! Epoll reactor: waits for many descriptors.
//!
//! Level-triggered: an event repeats until it is served, so that one read per event is enough. Only doorbells, which
//! are never read, are edge-triggered ([`Reactor::add_edge`]).

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;

/// The id of a registered descriptor in events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// The waker's own token, never used for other descriptors.
const WAKER: u64 = u64::MAX;

/// Maximum number of events per call of epoll_wait.
const BATCH: usize = 64;

/// Waits up to this length are taken as the pauses of a loop: they end by time-out, and should not be split in two.
const PACE: Duration = Duration::from_millis(20);

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

    /// Waits until a descriptor is ready, the waker wakes or `timeout` has passed; `None` has no time-out.
    ///
    /// # Errors
    /// None in practice: a signal counts as a wake-up.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        let Some(timeout) = timeout else { return self.wait_milliseconds(events, None).map(drop) };
        let rest = Duration::from_nanos(u64::from(timeout.subsec_nanos() % 1_000_000));
        let milliseconds = if rest.is_zero() || timeout > PACE { timeout - rest } else { Duration::ZERO };
        if rest.is_zero() || !milliseconds.is_zero() {
            let woken = self.wait_milliseconds(events, Some(milliseconds))?;
            if woken || rest.is_zero() {
                return Ok(());
            }
        }
        self.wait_nanoseconds(timeout - milliseconds)?;
        self.wait_milliseconds(events, Some(Duration::ZERO)).map(drop)
    }

    /// Waits for whole milliseconds; true if there was an event.
    fn wait_milliseconds(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<bool> {
        let mut buffer = [const { MaybeUninit::<epoll::Event>::uninit() }; BATCH];
        let found = match epoll::wait(&self.epoll, &mut buffer, timeout.map(timespec).as_ref()) {
            Ok((found, _)) => found,
            Err(Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        events.complete = found.len() < BATCH;
        for event in &*found {
            self.note(*event, events);
        }
        Ok(!found.is_empty())
    }

    /// Waits for a part of a millisecond by ppoll on the epoll descriptor. epoll counts whole milliseconds on kernels
    /// before 5.11, ppoll nanoseconds on all. The epoll call that follows does not wait.
    fn wait_nanoseconds(&self, rest: Duration) -> io::Result<()> {
        match poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timespec(rest))) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
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

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    const LONG: Option<Duration> = Some(Duration::from_secs(30));

    fn tokens(events: &Events) -> Vec<(u64, bool, bool)> {
        events.iter().map(|e| (e.token.0, e.readable, e.writable)).collect()
    }

    #[test]
    fn readable_descriptor_is_reported_until_served() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
        reactor.add(&far, Token(7), Interest::Read).unwrap();
        near.write_all(b"x").unwrap();
        for _ in 0..2 {
            reactor.wait(&mut events, LONG).unwrap();
            assert_eq!(tokens(&events), [(7, true, false)]);
        }
    }

    #[test]
    fn each_edge_is_reported_once() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
        reactor.add_edge(&far, Token(7)).unwrap();
        for _ in 0..2 {
            near.write_all(b"x").unwrap();
            reactor.wait(&mut events, LONG).unwrap();
            assert_eq!(tokens(&events), [(7, true, false)]);
            reactor.wait(&mut events, Some(Duration::ZERO)).unwrap();
            assert!(tokens(&events).is_empty());
        }
    }

    #[test]
    fn interest_can_be_changed() {
        let (near, _far) = UnixStream::pair().unwrap();
        let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
        reactor.add(&near, Token(1), Interest::Nothing).unwrap();
        reactor.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(tokens(&events).is_empty());
        reactor.modify(&near, Token(1), Interest::Both).unwrap();
        reactor.wait(&mut events, LONG).unwrap();
        assert_eq!(tokens(&events), [(1, false, true)]);
    }

    #[test]
    fn waker_ends_wait_from_other_thread() {
        let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
        let waker = reactor.waker().clone();
        let thread = std::thread::spawn(move || waker.wake());
        reactor.wait(&mut events, LONG).unwrap();
        assert!(tokens(&events).is_empty() && events.woken());
        thread.join().unwrap();
        reactor.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(!events.woken());
    }

    #[test]
    fn submillisecond_wait_is_not_short() {
        let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
        let start = crate::clock::monotonic();
        reactor.wait(&mut events, Some(Duration::from_micros(1500))).unwrap();
        assert!(crate::clock::monotonic().since(start) >= Duration::from_micros(1500));
    }
}
