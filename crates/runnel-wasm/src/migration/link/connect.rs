//! The side that connects.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use runnel_io::lookup::{Family, resolve_immediately, resolve_in_background};
use runnel_io::{Events, Interest, Reactor, Stream, Token};

use super::handshake::{Credentials, Established, Handshake, Progress};
use super::{FOREVER, LinkError};

const SOCKET: Token = Token(0);

/// Connects to a host, given as `HOST:PORT`, within this time.
///
/// # Errors
/// If that fails, or if one of the hosts does not trust the other one.
pub fn connect(
    address: &str,
    credentials: &Credentials,
    timeout: Duration,
) -> Result<Established, LinkError> {
    let failed = |why: String| LinkError::Unreachable { address: address.to_owned(), why };
    let deadline = Deadline { at: Instant::now() + timeout.min(FOREVER), timeout };
    let resolved = resolve(address, deadline).map_err(failed)?;
    let (stream, reactor) = open(resolved, deadline).map_err(|error| failed(error.to_string()))?;
    let mut handshake = Handshake::client(stream, resolved, credentials)?;
    let mut events = Events::default();
    loop {
        handshake = match handshake.advance()? {
            Progress::Pending(handshake) => handshake,
            Progress::Done(established) => return Ok(established),
        };
        let late = || LinkError::Handshake { address: resolved, why: deadline.passed().to_string() };
        let left = deadline.left().ok_or_else(late)?;
        let socket = handshake.socket();
        let waited = reactor.modify(socket.stream(), SOCKET, socket.interest(true));
        let waited = waited.and_then(|()| reactor.wait(&mut events, Some(left)));
        waited.map_err(|error| failed(error.to_string()))?;
    }
}

#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    timeout: Duration,
}

impl Deadline {
    fn left(self) -> Option<Duration> {
        self.at.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    fn passed(self) -> io::Error {
        io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {:?}", self.timeout))
    }
}

fn resolve(address: &str, deadline: Deadline) -> Result<SocketAddr, String> {
    let no_address = || "an address has the form HOST:PORT".to_owned();
    let (host, port) = address.rsplit_once(':').ok_or_else(no_address)?;
    let port = port.parse().map_err(|_| no_address())?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if let Some(resolved) = resolve_immediately(host, port, Family::V4) {
        return Ok(resolved);
    }
    let (sender, receiver) = mpsc::channel();
    let done = move |found| _ = sender.send(found);
    resolve_in_background(host.to_owned(), Family::V4, done).map_err(|error| error.to_string())?;
    let found = receiver.recv_timeout(deadline.left().unwrap_or_default());
    let found = found.map_err(|_| format!("the name of the host was not found: {}", deadline.passed()))?;
    found.map(|ip| SocketAddr::new(ip, port)).map_err(|error| error.to_string())
}

/// Opens the connection, whose stream is in the reactor.
fn open(address: SocketAddr, deadline: Deadline) -> io::Result<(Stream, Reactor)> {
    let (stream, reactor) = (Stream::connect(address)?, Reactor::new()?);
    reactor.add(&stream, SOCKET, Interest::Write)?;
    let mut events = Events::default();
    while events.iter().next().is_none() {
        reactor.wait(&mut events, Some(deadline.left().ok_or_else(|| deadline.passed())?))?;
    }
    stream.finish_connect()?;
    Ok((stream, reactor))
}
