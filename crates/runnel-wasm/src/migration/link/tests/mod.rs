//! Two hosts on loopback.

mod ends;
mod exchange;
mod files;
mod hostile;
mod refusals;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use runnel_io::{Events, Interest, Reactor, Token, tcp};
use tempfile::TempDir;

use super::connect::connect;
use super::handshake::{Credentials, Established, Handshake, Progress};
use super::{Identity, Link, LinkError, LinkOptions, Listener, TrustedHosts};

/// For what must happen.
const TIMEOUT: Duration = Duration::from_secs(20);

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A host with its folder.
struct Host {
    _parent: TempDir,
    folder: PathBuf,
    identity: Identity,
    trusted: TrustedHosts,
}

impl Host {
    fn new() -> Self {
        runnel_testkit::namespace::require_private_network();
        let (parent, folder) = folder();
        let identity = Identity::load_or_create(&folder).unwrap();
        let trusted = TrustedHosts::in_folder(&folder);
        Self { _parent: parent, folder, identity, trusted }
    }

    fn trusts(&self, other: &Self, name: &str) {
        self.trusted.add(other.identity.fingerprint(), Some(name)).unwrap();
    }

    fn listen(&self, options: LinkOptions) -> Listener {
        Listener::bind(LOOPBACK, &self.identity, &self.trusted, options).unwrap()
    }

    fn connect(&self, to: SocketAddr, options: &LinkOptions) -> Result<Link, LinkError> {
        Link::connect_with(&to.to_string(), &self.identity, &self.trusted, TIMEOUT, options)
    }

    fn credentials(&self) -> Credentials {
        let (identity, trusted) = (self.identity.clone(), self.trusted.clone());
        Credentials { identity, trusted, longest_frame: LinkOptions::default().longest_frame }
    }
}

/// The folder of a host, which does not exist, in one that does.
fn folder() -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("runnel/migration");
    (parent, folder)
}

/// A robot and a station that trust each other.
fn hosts() -> (Host, Host) {
    let (robot, station) = (Host::new(), Host::new());
    robot.trusts(&station, "station");
    station.trusts(&robot, "robot");
    (robot, station)
}

/// The links of a robot and a station, with the options of each.
fn linked(robot_options: &LinkOptions, station_options: &LinkOptions) -> (Link, Link) {
    let (robot, station) = hosts();
    let listener = station.listen(station_options.clone());
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| robot.connect(listener.address(), robot_options).unwrap());
        let accepted = listener.accept(TIMEOUT).unwrap().expect("the robot connects");
        (connecting.join().unwrap(), accepted)
    })
}

/// What the handshake of two hosts leads to: for the one that connects, and for the one that listens.
fn handshake(
    client: &Credentials,
    server: &Credentials,
) -> (Result<Established, LinkError>, Result<Link, LinkError>) {
    let listener = tcp::Listener::bind(LOOPBACK).unwrap();
    let address = listener.address().to_string();
    std::thread::scope(|scope| {
        let connecting = scope.spawn(|| connect(&address, client, TIMEOUT));
        // The first frame of the link lets the client finish.
        let served = serve(&listener, server).and_then(|peer| Link::new(peer, &LinkOptions::default()));
        (connecting.join().unwrap(), served)
    })
}

/// The listener's side of one handshake.
fn serve(listener: &tcp::Listener, credentials: &Credentials) -> Result<Established, LinkError> {
    let (reactor, mut events) = (Reactor::new().unwrap(), Events::default());
    let until = Instant::now() + TIMEOUT;
    let mut wait = || {
        assert!(Instant::now() < until, "the handshake takes too long");
        reactor.wait(&mut events, Some(TIMEOUT)).unwrap();
    };
    reactor.add(listener, Token(0), Interest::Read).unwrap();
    wait();
    let (stream, address) = listener.accept().unwrap().expect("a connection");
    let mut handshake = Handshake::server(stream, address, credentials)?;
    reactor.add(handshake.socket().stream(), Token(1), Interest::Read).unwrap();
    loop {
        wait();
        handshake = match handshake.advance()? {
            Progress::Pending(handshake) => handshake,
            Progress::Done(established) => return Ok(established),
        };
        let socket = handshake.socket();
        reactor.modify(socket.stream(), Token(1), socket.interest(true)).unwrap();
    }
}

/// How a link ends. Its frames are dropped.
fn end_of(link: &Link) -> LinkError {
    let until = Instant::now() + TIMEOUT;
    while Instant::now() < until {
        if let Err(end) = link.receive(TIMEOUT) {
            return end;
        }
    }
    panic!("{link:?} does not end");
}
