//! A link of two hosts.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::connect::connect;
use super::handshake::{Credentials, Established};
use super::io_thread::IoThread;
use super::queues::{NotQueued, Queues};
use super::{Fingerprint, Identity, LinkError, LinkOptions, TrustedHosts};

/// The other host of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// Its name in the list of trusted hosts, or its fingerprint.
    pub name: String,
    /// The fingerprint of its certificate.
    pub fingerprint: Fingerprint,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.address)
    }
}

/// An authenticated, encrypted connection to a trusted host, which carries frames of bytes in both directions at once.
///
/// A link that is dropped first sends what waits, for at most [`LinkOptions::linger`].
pub struct Link {
    peer: Peer,
    queues: Arc<Queues>,
    longest_frame: usize,
    send_timeout: Duration,
    thread: Option<JoinHandle<()>>,
}

impl Link {
    /// Connects to a host, given as `HOST:PORT`, within this time. The other host has a [`Listener`](super::Listener), and
    /// accepts the link.
    ///
    /// # Errors
    /// If the host cannot be reached, or if one of the two hosts does not trust the other one.
    pub fn connect(
        address: &str,
        identity: &Identity,
        trusted: &TrustedHosts,
        timeout: Duration,
    ) -> Result<Self, LinkError> {
        Self::connect_with(address, identity, trusted, timeout, &LinkOptions::default())
    }

    /// The same with other times and limits.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_with(
        address: &str,
        identity: &Identity,
        trusted: &TrustedHosts,
        timeout: Duration,
        options: &LinkOptions,
    ) -> Result<Self, LinkError> {
        let credentials = Credentials {
            identity: identity.clone(),
            trusted: trusted.clone(),
            longest_frame: options.longest_frame,
        };
        Self::new(connect(address, &credentials, timeout)?, options)
    }

    pub(super) fn new(established: Established, options: &LinkOptions) -> Result<Self, LinkError> {
        let peer = established.peer.clone();
        let failed = |error: std::io::Error| LinkError::Lost { peer: peer.clone(), why: error.to_string() };
        let (io_thread, queues) = IoThread::new(established, options).map_err(failed)?;
        let thread = thread::Builder::new().name("runnel-link".to_owned()).spawn(move || io_thread.run());
        let thread = Some(thread.map_err(failed)?);
        let (longest_frame, send_timeout) = (options.longest_frame, options.send_timeout);
        Ok(Self { peer, queues, longest_frame, send_timeout, thread })
    }

    /// The other host.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Queues a frame, which is sent in the background. If too much waits already, this first waits for space, at most for
    /// [`LinkOptions::send_timeout`].
    ///
    /// # Errors
    /// If the frame is too long, if there is no space in time, or if the link has ended.
    pub fn send(&self, frame: Vec<u8>) -> Result<(), LinkError> {
        let peer = || self.peer.clone();
        let (length, limit) = (frame.len(), self.longest_frame);
        if length > limit {
            return Err(LinkError::FrameTooLong { peer: peer(), length, limit });
        }
        self.queues.push(frame, self.send_timeout).map_err(|error| match error {
            NotQueued::Full(queued) => LinkError::Backlog { peer: peer(), queued, after: self.send_timeout },
            NotQueued::Ended(end) => end,
        })
    }

    /// The next frame, or `None` if none arrives within this time.
    ///
    /// # Errors
    /// If the link has ended. All frames that arrived before were received.
    pub fn receive(&self, timeout: Duration) -> Result<Option<Vec<u8>>, LinkError> {
        self.queues.pop(timeout)
    }

    /// The next frame that has arrived, if there is one.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn try_receive(&self) -> Result<Option<Vec<u8>>, LinkError> {
        self.queues.pop(Duration::ZERO)
    }

    /// Sets what is called, on the thread of the link, when a frame has arrived or the link has ended. It is called at once
    /// if there is one already. It must not block.
    pub fn set_on_received(&self, on_received: Box<dyn Fn() + Send>) {
        self.queues.set_on_received(on_received);
    }

    /// The round-trip time of the last keep-alive that has returned.
    pub fn round_trip(&self) -> Option<Duration> {
        self.queues.round_trip()
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.queues.close();
        // A callback may drop the link, on that very thread.
        let thread = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id());
        _ = thread.map(JoinHandle::join);
    }
}
