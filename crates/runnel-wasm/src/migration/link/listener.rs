//! The side that others connect to.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use runnel_io::{Events, Interest, Reactor, Token, Waker, tcp};

use super::handshake::{Credentials, Established, Handshake, Progress};
use super::log_throttle::LogThrottle;
use super::{Identity, Link, LinkError, LinkOptions, TrustedHosts};

const SOCKET: Token = Token(0);

/// Hosts that have completed their handshakes and wait for the program.
const MOST_WAITING: usize = 16;

/// How long to wait after a connection that could not be accepted.
const RETRY: Duration = Duration::from_millis(100);

/// Accepts links of trusted hosts. Handshakes are on a thread of its own.
pub struct Listener {
    address: SocketAddr,
    options: LinkOptions,
    established: Mutex<Receiver<Established>>,
    is_closing: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens on an address; port 0 takes a free one.
    ///
    /// # Errors
    /// If that is not possible.
    pub fn bind(
        address: SocketAddr,
        identity: &Identity,
        trusted: &TrustedHosts,
        options: LinkOptions,
    ) -> Result<Self, LinkError> {
        let failed = |error: std::io::Error| LinkError::Listen { address, why: error.to_string() };
        let socket = tcp::Listener::bind(address).map_err(failed)?;
        let reactor = Reactor::new().map_err(failed)?;
        reactor.add(&socket, SOCKET, Interest::Read).map_err(failed)?;
        let (sender, established) = mpsc::sync_channel(MOST_WAITING);
        let (address, waker, is_closing) = (socket.address(), reactor.waker().clone(), Arc::default());
        let handshakes = Handshakes {
            reactor,
            socket,
            credentials: Credentials {
                identity: identity.clone(),
                trusted: trusted.clone(),
                longest_frame: options.longest_frame,
            },
            options: options.clone(),
            pending: BTreeMap::new(),
            last_token: SOCKET.0,
            established: sender,
            log: LogThrottle::new(Instant::now()),
            is_closing: Arc::clone(&is_closing),
        };
        let thread = thread::Builder::new().name("runnel-handshakes".to_owned());
        let thread = Some(thread.spawn(move || handshakes.run()).map_err(failed)?);
        Ok(Self { address, options, established: Mutex::new(established), is_closing, waker, thread })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next host that has connected, or `None` if there is none within this time. The other host's
    /// [`connect`](Link::connect) waits for this.
    ///
    /// # Errors
    /// If this host runs out of descriptors or threads.
    pub fn accept(&self, timeout: Duration) -> Result<Option<Link>, LinkError> {
        let established =
            self.established.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(timeout);
        match established {
            Ok(established) => Link::new(established, &self.options).map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(LinkError::ListenerEnded { address: self.address }),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.waker.wake();
        _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The handshakes of a listener. Those of strangers are limited in number and time, and the oldest one gives way to a new
/// connection: a host that connects cannot be kept waiting.
struct Handshakes {
    reactor: Reactor,
    socket: tcp::Listener,
    credentials: Credentials,
    options: LinkOptions,
    /// By token, the oldest first.
    pending: BTreeMap<u64, Pending>,
    last_token: u64,
    established: SyncSender<Established>,
    log: LogThrottle,
    is_closing: Arc<AtomicBool>,
}

struct Pending {
    handshake: Handshake,
    until: Instant,
    /// Nothing was received yet.
    is_new: bool,
}

impl Pending {
    /// Whether it was closed without a byte, as by `runnel place`, which measures how long a connection takes.
    fn is_probe(&self) -> bool {
        let stream = self.handshake.socket().stream();
        self.is_new && stream.is_ended_by_peer() && stream.waiting().is_ok_and(|bytes| bytes == 0)
    }
}

impl Handshakes {
    fn run(mut self) {
        let mut events = Events::default();
        while !self.is_closing.load(Ordering::Relaxed) {
            let next = self.pending.first_key_value().map(|(_, oldest)| oldest.until);
            let timeout = next.map(|until| until.saturating_duration_since(Instant::now()));
            if let Err(error) = self.reactor.wait(&mut events, timeout) {
                log::error!("{}: nothing listens there any more: {error}", self.socket.address());
                return;
            }
            for ready in events.iter() {
                match ready.token {
                    SOCKET => self.accept(),
                    Token(token) => self.advance(token),
                }
            }
            self.end_overdue(Instant::now());
        }
    }

    fn accept(&mut self) {
        match self.socket.accept() {
            Ok(Some((stream, address))) => match Handshake::server(stream, address, &self.credentials) {
                Ok(handshake) => self.begin(handshake),
                Err(error) => self.log(&error),
            },
            Ok(None) => {}
            Err(error) => {
                let address = self.socket.address();
                self.log(&LinkError::Listen { address, why: error.to_string() });
                // Descriptors may come back.
                thread::sleep(RETRY);
            }
        }
    }

    fn begin(&mut self, handshake: Handshake) {
        if self.pending.len() >= self.options.most_handshakes
            && let Some((_, oldest)) = self.pending.pop_first()
        {
            let why = "the handshake was ended, since other hosts connect".to_owned();
            self.log(&LinkError::Handshake { address: oldest.handshake.address(), why });
        }
        self.last_token += 1;
        let until = Instant::now() + self.options.handshake_timeout;
        match self.reactor.add(handshake.socket().stream(), Token(self.last_token), Interest::Read) {
            Ok(()) => _ = self.pending.insert(self.last_token, Pending { handshake, until, is_new: true }),
            Err(error) => {
                self.log(&LinkError::Handshake { address: handshake.address(), why: error.to_string() });
            }
        }
    }

    fn advance(&mut self, token: u64) {
        let Some(pending) = self.pending.remove(&token).filter(|pending| !pending.is_probe()) else { return };
        let Pending { handshake, until, .. } = pending;
        let address = handshake.address();
        match handshake.advance() {
            Ok(Progress::Pending(handshake)) => {
                let socket = handshake.socket();
                match self.reactor.modify(socket.stream(), Token(token), socket.interest(true)) {
                    Ok(()) => _ = self.pending.insert(token, Pending { handshake, until, is_new: false }),
                    Err(error) => self.log(&LinkError::Handshake { address, why: error.to_string() }),
                }
            }
            Ok(Progress::Done(established)) => self.pass_on(established),
            Err(error) => self.log(&error),
        }
    }

    fn pass_on(&mut self, established: Established) {
        let address = established.peer.address;
        let removed = self.reactor.remove(established.socket.stream());
        let passed = removed.map_err(|error| error.to_string()).and_then(|()| {
            self.established.try_send(established).map_err(|_| format!("{MOST_WAITING} hosts wait already"))
        });
        if let Err(why) = passed {
            self.log(&LinkError::Handshake { address, why });
        }
    }

    /// Tokens and deadlines have the same order.
    fn end_overdue(&mut self, now: Instant) {
        while let Some(oldest) = self.pending.first_entry().filter(|oldest| oldest.get().until <= now) {
            let address = oldest.remove().handshake.address();
            let why = format!("the handshake was not completed within {:?}", self.options.handshake_timeout);
            self.log(&LinkError::Handshake { address, why });
        }
    }

    fn log(&mut self, error: &LinkError) {
        match self.log.admit(Instant::now()) {
            Some(0) => log::warn!("{error}"),
            Some(suppressed) => log::warn!("{error} (and {suppressed} more connections that failed)"),
            None => {}
        }
    }
}
