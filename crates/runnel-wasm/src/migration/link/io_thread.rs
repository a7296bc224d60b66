//! The thread that owns the connection of a link.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use runnel_io::{Events, Interest, Reactor, Token};

use super::frames::{Decoder, Frame, HEADER};
use super::handshake::Established;
use super::keep_alive::KeepAlive;
use super::queues::Queues;
use super::tls_socket::{Broken, TlsSocket};
use super::{LinkError, LinkOptions, Peer};

const SOCKET: Token = Token(0);

/// Sends and receives the frames of one link.
pub struct IoThread {
    peer: Peer,
    reactor: Reactor,
    interest: Interest,
    socket: TlsSocket,
    decoder: Decoder,
    keep_alive: KeepAlive,
    queues: Arc<Queues>,
    /// The frame that is being sent.
    sending: Option<Outgoing>,
    /// The last keep-alive of the peer that has no answer yet. Earlier ones need none.
    pong: Option<u64>,
    silence: Duration,
    linger: Duration,
    closing: Closing,
}

/// A frame, and how much of it TLS has taken.
struct Outgoing {
    header: [u8; HEADER],
    body: Vec<u8>,
    taken: usize,
}

/// How far the end has come that the program wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    No,
    /// What waits is sent, until this time.
    Flushing(Instant),
    /// All is sent. The peer receives it and closes the connection, until this time.
    AwaitingPeer(Instant),
}

impl Outgoing {
    fn new(frame: Frame) -> Self {
        let (header, body) = frame.encode();
        Self { header, body, taken: 0 }
    }

    /// Gives bytes to TLS. Returns whether it took all.
    fn write(&mut self, socket: &mut TlsSocket) -> bool {
        if self.taken < HEADER {
            self.taken += socket.write(&self.header[self.taken..]);
        }
        if self.taken >= HEADER && self.taken < HEADER + self.body.len() {
            self.taken += socket.write(&self.body[self.taken - HEADER..]);
        }
        self.taken == HEADER + self.body.len()
    }
}

impl IoThread {
    /// The thread of a connection, and what the program has of it.
    ///
    /// # Errors
    /// If descriptors run out.
    pub fn new(established: Established, options: &LinkOptions) -> io::Result<(Self, Arc<Queues>)> {
        let Established { socket, peer, decoder, frames } = established;
        let reactor = Reactor::new()?;
        reactor.add(socket.stream(), SOCKET, Interest::Both)?;
        let queues = Arc::new(Queues::new(options.queue, reactor.waker().clone()));
        let mut thread = Self {
            peer,
            reactor,
            interest: Interest::Both,
            socket,
            decoder,
            keep_alive: KeepAlive::new(options.keep_alive, options.silence, Instant::now()),
            queues: Arc::clone(&queues),
            sending: None,
            pong: None,
            silence: options.silence,
            linger: options.linger,
            closing: Closing::No,
        };
        thread.handle(frames, Instant::now());
        Ok((thread, queues))
    }

    /// Until the link ends.
    pub fn run(mut self) {
        let mut events = Events::default();
        // The handshake may have received the end of TLS, after which nothing arrives that would wake the thread.
        let mut link = self.receive().map(drop);
        while link.is_ok() {
            link = self.turn(&mut events);
        }
        link.unwrap_or_else(|end| self.queues.end(end));
    }

    /// Sends, waits, and receives.
    fn turn(&mut self, events: &mut Events) -> Result<(), LinkError> {
        // Nothing is queued after this has been found.
        if self.closing == Closing::No && self.queues.is_closing() {
            self.closing = Closing::Flushing(Instant::now() + self.linger);
        }
        let has_more = self.fill(Instant::now());
        if let Err(broken) = self.socket.flush() {
            // What the peer had sent before its end comes first, and its end may be a proper one.
            while self.receive()? {}
            return Err(self.broken(&broken));
        }
        if let Closing::Flushing(until) = self.closing
            && !has_more
        {
            self.socket.close();
            self.closing = Closing::AwaitingPeer(until);
        }
        let can_receive = self.queues.can_receive();
        let timeout = match has_more && !self.socket.tls().wants_write() {
            true => Duration::ZERO,
            false => self.next_deadline().saturating_duration_since(Instant::now()),
        };
        self.wait(events, can_receive, timeout)?;
        if events.iter().any(|ready| ready.readable) {
            self.receive()?;
        }
        self.check_time(can_receive)
    }

    /// Gives TLS what there is to send. Returns whether there is more than it takes.
    fn fill(&mut self, now: Instant) -> bool {
        loop {
            if let Some(outgoing) = &mut self.sending {
                if !outgoing.write(&mut self.socket) {
                    return true;
                }
                self.sending = None;
            }
            let Some(frame) = self.next_frame(now) else { return false };
            self.sending = Some(Outgoing::new(frame));
        }
    }

    fn next_frame(&mut self, now: Instant) -> Option<Frame> {
        if matches!(self.closing, Closing::AwaitingPeer(_)) {
            return None;
        }
        let pong = self.pong.take().map(Frame::Pong);
        let frame = pong.or_else(|| self.queues.next_outgoing().map(Frame::Data));
        let is_idle = frame.is_none() && !self.socket.tls().wants_write();
        let ping = self.keep_alive.poll_ping(is_idle, now);
        frame.or_else(|| ping.map(Frame::Ping))
    }

    fn wait(&mut self, events: &mut Events, can_receive: bool, timeout: Duration) -> Result<(), LinkError> {
        let interest = self.socket.interest(can_receive);
        let mut waited = Ok(());
        if interest != self.interest {
            waited = self.reactor.modify(self.socket.stream(), SOCKET, interest);
            self.interest = interest;
        }
        let waited = waited.and_then(|()| self.reactor.wait(events, Some(timeout)));
        waited.map_err(|error| self.broken(&Broken::Failed(error)))
    }

    fn next_deadline(&self) -> Instant {
        let next = self.keep_alive.poll_timeout();
        match self.closing {
            Closing::No => next,
            Closing::Flushing(until) | Closing::AwaitingPeer(until) => next.min(until),
        }
    }

    fn check_time(&mut self, can_receive: bool) -> Result<(), LinkError> {
        let now = Instant::now();
        if !can_receive {
            // Whatever the peer has sent is not read.
            self.keep_alive.handle_received(now);
        }
        if self.keep_alive.is_silent(now) {
            return Err(LinkError::Silent { peer: self.peer.clone(), after: self.silence });
        }
        match self.closing {
            Closing::Flushing(until) | Closing::AwaitingPeer(until) if now >= until => {
                Err(LinkError::Lost { peer: self.peer.clone(), why: "not all was sent".to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Receives what has arrived. Returns whether there was anything.
    fn receive(&mut self) -> Result<bool, LinkError> {
        let (mut frames, mut fault, mut has_received) = (Vec::new(), Ok(()), false);
        let decoder = &mut self.decoder;
        let received = self.socket.receive(|bytes| {
            has_received = true;
            if fault.is_ok() {
                fault = decoder.decode(bytes, |frame| frames.push(frame));
            }
        });
        let now = Instant::now();
        if has_received {
            self.keep_alive.handle_received(now);
        }
        self.handle(frames, now);
        fault.map_err(|fault| LinkError::PeerMisbehaved {
            peer: self.peer.clone(),
            what: fault.to_string(),
        })?;
        received.map_err(|broken| self.broken(&broken))?;
        Ok(has_received)
    }

    fn handle(&mut self, frames: Vec<Frame>, now: Instant) {
        let mut received = Vec::new();
        for frame in frames {
            match frame {
                Frame::Data(bytes) => received.push(bytes),
                Frame::Ping(number) => self.pong = Some(number),
                Frame::Pong(number) => {
                    if let Some(round_trip) = self.keep_alive.handle_pong(number, now) {
                        self.queues.set_round_trip(round_trip);
                    }
                }
            }
        }
        self.queues.deliver(received);
    }

    fn broken(&self, broken: &Broken) -> LinkError {
        let peer = self.peer.clone();
        match broken {
            Broken::Closed => LinkError::Closed { peer },
            Broken::Ended => {
                LinkError::Lost { peer, why: "the process of the peer ended without closing it".to_owned() }
            }
            Broken::Failed(error) => LinkError::Lost { peer, why: error.to_string() },
            Broken::Tls(error) => LinkError::Lost { peer, why: format!("TLS: {error}") },
        }
    }
}
