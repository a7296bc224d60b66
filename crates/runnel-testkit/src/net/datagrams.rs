//! Datagram sockets. A datagram arrives once, or is lost where a host is disconnected. Without a receiver, the sender
//! gets an error, as by ICMP.

use std::net::{IpAddr, SocketAddr};

use runnel_ros1::net::ConnId;

use super::connection_event::ConnectionEvent;
use super::wire::NetEvent;
use super::{App, Net, Socket};

/// The system's error when no socket receives a datagram.
const UNREACHABLE: &str = "Connection refused (os error 111)";

/// The system's error when no socket can be opened.
const EXHAUSTED: &str = "Too many open files (os error 24)";

/// One socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct DatagramSocket {
    address: SocketAddr,
    to: Option<SocketAddr>,
}

impl Net {
    /// Sets whether programs of a host can open datagram sockets.
    pub fn refuse_datagram_sockets(&mut self, host: &str, refuse: bool) {
        self.host(host).no_datagrams = refuse;
    }

    /// Number of datagram sockets of a program.
    pub fn datagram_sockets(&self, app: App) -> usize {
        self.datagrams.keys().filter(|(owner, _)| *owner == app).count()
    }

    /// Opens an unconnected datagram socket for a scripted peer; returns it with its port.
    pub fn open_datagrams(&mut self, app: App) -> (Socket, u16) {
        let socket = self.raw_socket(app);
        let address = self.address(app);
        self.datagrams.insert((app, socket.conn), DatagramSocket { address, to: None });
        (socket, address.port())
    }

    /// Sends a datagram from a scripted peer to a port of a host.
    pub fn send_datagram(&mut self, from: Socket, host: &str, port: u16, bytes: &[u8]) {
        let ip = IpAddr::from([10, 0, 0, self.host(host).number]);
        let (app, conn, bytes) = (from.app, from.conn, bytes.to_vec());
        let to = SocketAddr::new(ip, port);
        let at = self.now + self.latency();
        self.schedule(at, NetEvent::Datagram { app, conn, to, bytes });
    }

    pub(super) fn open_datagram(&mut self, app: App, conn: ConnId, to: Option<SocketAddr>) {
        let host = self.running[app.0].host.clone();
        if self.host(&host).no_datagrams {
            self.opening.insert((app, conn));
            return self.schedule(self.now, NetEvent::NotOpened { app, conn, why: EXHAUSTED });
        }
        let address = self.address(app);
        self.note(format!("{} has a datagram socket at {address}", self.running[app.0].name));
        self.datagrams.insert((app, conn), DatagramSocket { address, to });
        self.schedule(self.now, NetEvent::Bound { app, conn, port: address.port() });
    }

    /// Sends on a connected datagram socket; false if it is not one.
    pub(super) fn send_on_datagrams(&mut self, app: App, conn: ConnId, bytes: &[u8]) -> bool {
        let Some(to) = self.datagrams.get(&(app, conn)).and_then(|socket| socket.to) else { return false };
        let at = self.now + self.latency();
        self.schedule(at, NetEvent::Datagram { app, conn, to, bytes: bytes.to_vec() });
        true
    }

    pub(super) fn bound(&mut self, app: App, conn: ConnId, port: u16) {
        if self.datagrams.contains_key(&(app, conn)) {
            self.notify(app, ConnectionEvent::Bound { conn, port });
        }
    }

    /// Delivers a datagram at its destination host.
    pub(super) fn datagram_arrives(&mut self, app: App, conn: ConnId, to: SocketAddr, bytes: Vec<u8>) {
        let receiver = self.datagrams.iter().find(|(_, socket)| socket.address == to).map(|(key, _)| *key);
        match receiver {
            Some((app, conn)) => self.notify(app, ConnectionEvent::Data { conn, bytes }),
            None if self.datagrams.contains_key(&(app, conn)) => {
                self.notify(app, ConnectionEvent::Closed { conn, why: Some(UNREACHABLE.to_owned()) });
                self.datagrams.remove(&(app, conn));
            }
            None => {}
        }
    }

    /// The host with this address.
    pub(super) fn host_at(&self, ip: IpAddr) -> Option<&str> {
        let is_it = |(_, host): &(&String, &super::Host)| IpAddr::from([10, 0, 0, host.number]) == ip;
        self.hosts.iter().find(is_it).map(|(name, _)| name.as_str())
    }
}
