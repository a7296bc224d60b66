//! Connections that carry an engine's own bytes: XML-RPC, and TCPROS until both headers are good.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use runnel_io::lookup::at_once;
use runnel_io::{Interest, Stream, Token};
use runnel_ros1::net::{ConnId, Endpoint, Transmit};
use runnel_ros1::node::Port;

use super::Driver;
use super::socket::{Control, Socket};
use super::table::Key;
use crate::data::Unsent;
use crate::log_output::console;

#[cfg(test)]
mod tests;

/// Bytes that peers may leave unread on all connections of engines together; past it, the one with most is closed.
const MAX_UNSENT: usize = 64 << 20;

/// A connection with fewer is never looked at for that.
const UNCOUNTED: usize = 64 << 10;

/// How long a peer may take none of what it is still to get before its connection is closed.
const LINGER: Duration = Duration::from_secs(10);

impl Driver {
    /// A connection came in: the engine names it or refuses it.
    pub(super) fn accepted(&mut self, engine: Key, port: Port, stream: Stream, peer: SocketAddr) {
        let named = self.with_engine(engine, |engine, now| engine.verbs().handle_accepted(now, port, peer));
        if let Some(Some(conn)) = named {
            set_options(&stream);
            self.add_control(engine, conn, stream, peer, false);
        }
    }

    fn add_control(&mut self, engine: Key, conn: ConnId, stream: Stream, peer: SocketAddr, connecting: bool) {
        let (stream, unsent) = (Arc::new(stream), Unsent::default());
        let control =
            Control { engine, conn, peer, stream, connecting, closing: false, watched: connecting, unsent };
        let key = self.sockets.insert_with(|_| Socket::Control(control));
        if let Some(slot) = self.engines.get_mut(engine) {
            slot.conns.insert(conn, key);
        }
        let interest = if connecting { Interest::Write } else { Interest::Read };
        if let Err(error) = self.watch(key, interest) {
            self.ended(key, Some(&error.to_string()));
        }
    }

    /// Does one thing that an engine asks for.
    pub(super) fn transmit(&mut self, engine: Key, transmit: Transmit) {
        match transmit {
            Transmit::Connect { conn, to } => self.connect(engine, conn, &to),
            Transmit::OpenDatagram { conn, to } => self.open_datagram(engine, conn, to),
            Transmit::Send { conn, bytes } => self.send(engine, conn, &bytes),
            Transmit::Close { conn } => self.close(engine, conn),
        }
    }

    fn connect(&mut self, engine: Key, conn: ConnId, to: &Endpoint) {
        let Some(address) = at_once(&to.host, to.port, self.family) else {
            if let Err(error) = self.lookups.begin(engine, conn, to) {
                self.not_resolved(engine, conn, &error);
            }
            return;
        };
        if let Err(error) = self.connect_address(engine, conn, address) {
            self.not_connected(engine, conn, &error);
        }
    }

    fn connect_address(&mut self, engine: Key, conn: ConnId, address: SocketAddr) -> io::Result<()> {
        let stream = Stream::connect(address)?;
        set_options(&stream);
        self.add_control(engine, conn, stream, address, true);
        Ok(())
    }

    pub(super) fn not_connected(&mut self, engine: Key, conn: ConnId, error: &io::Error) {
        self.with_engine(engine, |engine, now| {
            engine.verbs().handle_closed(now, conn, Some(&error.to_string()))
        });
    }

    fn not_resolved(&mut self, engine: Key, conn: ConnId, error: &io::Error) {
        self.with_engine(engine, |engine, now| {
            engine.verbs().handle_unresolved(now, conn, &error.to_string())
        });
    }

    pub(super) fn finish_lookups(&mut self) {
        while let Some(found) = self.lookups.next() {
            let (engine, conn) = (found.engine, found.conn);
            match found.address {
                Ok(address) => {
                    if let Err(error) = self.connect_address(engine, conn, address) {
                        self.not_connected(engine, conn, &error);
                    }
                }
                Err(error) => self.not_resolved(engine, conn, &error),
            }
        }
    }

    fn send(&mut self, engine: Key, conn: ConnId, bytes: &[u8]) {
        let Some(key) = self.key_of(engine, conn) else { return };
        let Some(Socket::Control(control)) = self.sockets.get_mut(key) else { return };
        control.unsent.push(bytes);
        if !control.connecting {
            self.flush(key);
        }
        if self.sockets.get(key).is_some_and(|socket| unsent(socket) > UNCOUNTED) {
            self.bound_unsent();
        }
    }

    fn bound_unsent(&mut self) {
        while self.sockets.iter().map(unsent).sum::<usize>() > MAX_UNSENT {
            let unsent_on = |key: &Key| self.sockets.get(*key).map_or(0, unsent);
            let Some(most) = self.sockets.keys().into_iter().max_by_key(unsent_on) else { return };
            let Some(Socket::Control(Control { peer, unsent, .. })) = self.sockets.get(most) else { return };
            console::warning!("peer {peer} does not read the {} bytes that it is sent: closed", unsent.len());
            self.ended(most, Some("it does not read what it is sent"));
        }
    }

    fn flush(&mut self, key: Key) {
        let Some(Socket::Control(control)) = self.sockets.get_mut(key) else { return };
        if let Err(error) = control.unsent.flush(|bytes| control.stream.send(bytes)) {
            return self.ended(key, Some(&error.to_string()));
        }
        if control.unsent.is_empty() && control.closing {
            return self.remove_socket(key);
        }
        let watch = !control.unsent.is_empty();
        if control.watched != watch {
            control.watched = watch;
            // Who does not read what we answer is not asked for more.
            let interest = if watch { Interest::Write } else { Interest::Read };
            let _ = self.reactor.modify(&*control.stream, Token(key.to_bits()), interest);
        }
    }

    fn close(&mut self, engine: Key, conn: ConnId) {
        let Some(key) = self.key_of(engine, conn) else { return self.lookups.forget(engine, conn) };
        match self.sockets.get_mut(key) {
            Some(Socket::Control(control)) if !control.unsent.is_empty() => {
                control.closing = true;
                // The engine has forgotten it, so nobody else would end it.
                let _ = control.stream.set_send_deadline(LINGER);
            }
            Some(Socket::Input(_)) => {
                // The publisher has left its topic. What it sent before that counts.
                self.read_all(key);
                self.hear_the_rest(key);
                self.remove_socket(key);
            }
            _ => self.remove_socket(key),
        }
    }

    pub(super) fn key_of(&self, engine: Key, conn: ConnId) -> Option<Key> {
        self.engines.get(engine)?.conns.get(&conn).copied()
    }

    pub(super) fn control_writable(&mut self, key: Key) {
        let Some(Socket::Control(control)) = self.sockets.get_mut(key) else { return };
        if !control.connecting {
            return self.flush(key);
        }
        if let Err(error) = control.stream.finish_connect() {
            return self.ended(key, Some(&error.to_string()));
        }
        control.connecting = false;
        let (engine, conn) = (control.engine, control.conn);
        self.with_engine(engine, |engine, now| engine.verbs().handle_connected(now, conn));
        self.flush(key);
    }

    pub(super) fn control_readable(&mut self, key: Key) {
        if let Some(Socket::Control(Control { connecting: false, stream, .. })) = self.sockets.get(key) {
            self.receive(key, &Arc::clone(stream), Self::engine_bytes);
        }
    }

    fn engine_bytes(&mut self, key: Key, bytes: &[u8]) {
        let Some(Socket::Control(Control { engine, conn, .. })) = self.sockets.get(key) else { return };
        let (engine, conn) = (*engine, *conn);
        self.with_engine(engine, |engine, now| engine.verbs().handle_data(now, conn, bytes));
    }
}

/// Small messages are not to wait for more, and a host that is gone is to be noticed. A socket that refuses is about to
/// end anyway.
fn set_options(stream: &Stream) {
    let _ = stream.set_nodelay().and_then(|()| stream.set_keepalive());
}

/// Bytes that a peer has not taken yet.
fn unsent(socket: &Socket) -> usize {
    match socket {
        Socket::Control(control) => control.unsent.len(),
        _ => 0,
    }
}
