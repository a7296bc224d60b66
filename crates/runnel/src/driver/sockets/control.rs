//! Connections between ROS 1 engines and peers: XML-RPC, and TCPROS until both headers are accepted.
//!
//! The engines limit the time of connecting and of handshakes. Here is the limit for peers that read nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use runnel_io::lookup::resolve_immediately;
use runnel_io::{Interest, Stream, Token};
use runnel_ros1::net::{ConnId, Endpoint};

use super::socket::{Control, Socket};
use super::{Received, Sockets};
use crate::data::Unsent;
use crate::driver::effect::{Effect, Effects};
use crate::driver::table::Key;
use crate::log_output::console;

#[cfg(test)]
mod tests;

/// Limit on unsent bytes on all engine connections together. Beyond it, the connection with the most is closed.
const MAX_UNSENT: usize = 64 << 20;

/// Unsent bytes up to which a connection does not trigger that check.
const UNCOUNTED: usize = 64 << 10;

/// Time without progress after which a connection with unsent bytes is closed.
const LINGER: Duration = Duration::from_secs(10);

impl Sockets {
    /// Adds an accepted connection to which the engine has given an id.
    pub(in crate::driver) fn add_accepted(
        &mut self,
        of: (Key, ConnId),
        stream: Stream,
        peer: SocketAddr,
        effects: &mut Effects,
    ) {
        set_options(&stream);
        self.add_control(of, stream, peer, false, effects);
    }

    fn add_control(
        &mut self,
        (engine, conn): (Key, ConnId),
        stream: Stream,
        peer: SocketAddr,
        connecting: bool,
        effects: &mut Effects,
    ) {
        let (stream, unsent) = (Arc::new(stream), Unsent::default());
        let control =
            Control { engine, conn, peer, stream, connecting, closing: false, watched: connecting, unsent };
        let key = self.insert(Socket::Control(control));
        self.conns.insert((engine, conn), key);
        let interest = if connecting { Interest::Write } else { Interest::Read };
        if let Err(error) = self.watch(key, interest) {
            self.ended(key, Some(error.to_string()), effects);
        }
    }

    /// Connects for an engine.
    pub(in crate::driver) fn connect(
        &mut self,
        engine: Key,
        conn: ConnId,
        to: &Endpoint,
        effects: &mut Effects,
    ) {
        if let Some(address) = resolve_immediately(&to.host, to.port, self.family) {
            return self.connect_address(engine, conn, address, effects);
        }
        if let Err(error) = self.lookups.begin(engine, conn, to) {
            effects.push_back(Effect::Unresolved { engine, conn, why: error.to_string() });
        }
    }

    fn connect_address(&mut self, engine: Key, conn: ConnId, address: SocketAddr, effects: &mut Effects) {
        match Stream::connect(address) {
            Ok(stream) => {
                set_options(&stream);
                self.add_control((engine, conn), stream, address, true, effects);
            }
            Err(error) => {
                effects.push_back(Effect::Closed { engine, conn, why: Some(error.to_string()) });
            }
        }
    }

    /// Connects to the hosts that have been resolved.
    pub(in crate::driver) fn finish_lookups(&mut self, effects: &mut Effects) {
        while let Some(found) = self.lookups.next() {
            let (engine, conn) = (found.engine, found.conn);
            match found.address {
                Ok(address) => self.connect_address(engine, conn, address, effects),
                Err(error) => {
                    effects.push_back(Effect::Unresolved { engine, conn, why: error.to_string() });
                }
            }
        }
    }

    /// Sends bytes of an engine.
    pub(in crate::driver) fn send(&mut self, engine: Key, conn: ConnId, bytes: &[u8], effects: &mut Effects) {
        let Some(key) = self.key_of(engine, conn) else { return };
        let Some(Socket::Control(control)) = self.table.get_mut(key) else { return };
        control.unsent.push(bytes);
        if !control.connecting {
            self.flush(key, effects);
        }
        if self.get(key).is_some_and(|socket| unsent(socket) > UNCOUNTED) {
            self.bound_unsent(effects);
        }
    }

    fn bound_unsent(&mut self, effects: &mut Effects) {
        while self.iter().map(unsent).sum::<usize>() > MAX_UNSENT {
            let unsent_on = |key: &Key| self.get(*key).map_or(0, unsent);
            let Some(most) = self.keys().into_iter().max_by_key(unsent_on) else { return };
            let Some(Socket::Control(Control { peer, unsent, .. })) = self.get(most) else { return };
            console::warning!("peer {peer}: connection closed: the peer has not read {} bytes", unsent.len());
            self.ended(most, Some("the peer does not read".to_owned()), effects);
        }
    }

    fn flush(&mut self, key: Key, effects: &mut Effects) {
        let Some(Socket::Control(control)) = self.table.get_mut(key) else { return };
        if let Err(error) = control.unsent.flush(|bytes| control.stream.send(bytes)) {
            return self.ended(key, Some(error.to_string()), effects);
        }
        if control.unsent.is_empty() && control.closing {
            return self.remove(key, effects);
        }
        let watch = !control.unsent.is_empty();
        if control.watched != watch {
            control.watched = watch;
            // A peer that does not read answers gets no more requests read.
            let interest = if watch { Interest::Write } else { Interest::Read };
            let _ = self.reactor.modify(&*control.stream, Token(key.to_bits()), interest);
        }
    }

    /// Closes a connection for its engine, once all bytes are sent.
    pub(in crate::driver) fn close(&mut self, engine: Key, conn: ConnId, effects: &mut Effects) {
        let Some(key) = self.key_of(engine, conn) else { return self.lookups.forget(engine, conn) };
        match self.get_mut(key) {
            Some(Socket::Control(control)) if !control.unsent.is_empty() => {
                control.closing = true;
                // The engine has forgotten it, so only this deadline ends it.
                let _ = control.stream.set_send_deadline(LINGER);
            }
            _ => self.remove(key, effects),
        }
    }

    pub(super) fn control_writable(&mut self, key: Key, effects: &mut Effects) {
        let Some(Socket::Control(control)) = self.table.get_mut(key) else { return };
        if control.connecting {
            if let Err(error) = control.stream.finish_connect() {
                return self.ended(key, Some(error.to_string()), effects);
            }
            control.connecting = false;
            effects.push_back(Effect::Connected { engine: control.engine, conn: control.conn });
        }
        self.flush(key, effects);
    }

    pub(super) fn control_readable(&mut self, key: Key, effects: &mut Effects) -> Option<Received> {
        let Some(Socket::Control(control)) = self.get(key) else { return None };
        if control.connecting {
            return None;
        }
        let (engine, conn, stream) = (control.engine, control.conn, Arc::clone(&control.stream));
        let count = self.receive(key, &stream, effects);
        (count > 0).then_some(Received { engine, conn, count })
    }
}

/// Disables Nagle's algorithm, since messages may be small, and enables keep-alive, to detect lost hosts. A socket that
/// refuses this is about to end.
fn set_options(stream: &Stream) {
    let _ = stream.set_nodelay().and_then(|()| stream.set_keepalive());
}

/// Bytes that a peer has not accepted yet.
fn unsent(socket: &Socket) -> usize {
    match socket {
        Socket::Control(control) => control.unsent.len(),
        _ => 0,
    }
}
