//! Calls between processes: XML-RPC over HTTP, as a server and as a client, without sockets.
//!
//! [`RpcPeer`] is one process's end of all its connections. It is driven like every engine here: `handle_*` takes
//! what happened to a connection, `poll_transmit` says what is to be done with connections, `poll_event` what
//! came of it, and `poll_timeout` when it must be told the time again.
//!
//! What peers can make it hold is bounded by [`RpcConfig`], but for one thing that only the owner of the sockets
//! sees: answers that a peer does not read stay queued there, and the owner has to close such a connection.

mod call;
mod client;
mod config;
mod event;
mod fault;
mod server;
mod shared;
mod uri;

#[cfg(test)]
mod tests;

pub use call::{CallError, CallId, CallOptions, CallTarget};
pub use config::RpcConfig;
pub use event::RpcEvent;
pub use fault::{AnswerFault, ClientFault};
pub use uri::{MAX_HOST, MAX_URI, Uri, UriError, UriProblem};

use std::net::SocketAddr;

use runnel_core::time::Instant;

use crate::net::{ConnId, Transmit};
use crate::xmlrpc::{Fault, Value};
use client::Client;
use server::Server;
use shared::{Alarm, Shared};

/// How many bytes come in, over all connections, until [`RpcConfig::max_buffered`] is looked at again.
const UNCOUNTED: usize = 64 * 1024;

/// One process's end of its calls, those it serves and those it makes.
#[derive(Debug)]
pub struct RpcPeer {
    server: Server,
    client: Client,
    shared: Shared,
    /// Bytes that came in since it was looked at how many all connections hold.
    uncounted: usize,
}

impl RpcPeer {
    /// A peer without connections.
    pub fn new(config: RpcConfig) -> Self {
        let (server, client) = (Server::default(), Client::default());
        Self { server, client, shared: Shared::new(config), uncounted: 0 }
    }

    /// A name for a connection that no other has. Whoever has connections of its own beside these takes their
    /// names from here too.
    pub fn new_conn_id(&mut self) -> ConnId {
        self.shared.new_conn_id()
    }

    /// Whether a connection is one of calls, and open as far as this peer knows.
    pub fn owns(&self, conn: ConnId) -> bool {
        self.server.has(conn) || self.client.has(conn)
    }

    /// How many connections are open or being opened, as far as this peer knows.
    pub fn connection_count(&self) -> usize {
        self.server.connection_count() + self.client.connection_count()
    }

    /// A client has connected: gives the connection's name, or `None` when there are too many and it is to be
    /// closed.
    ///
    /// Where [`RpcConfig::max_server_connections`] are open, the oldest that has not sent a whole request yet is closed
    /// for it, or else the one that has been idle for longest.
    pub fn handle_accepted(&mut self, now: Instant, peer: SocketAddr) -> Option<ConnId> {
        self.server.handle_accepted(now, peer, &mut self.shared)
    }

    /// A connection that [`Transmit::Connect`] asked for is open.
    pub fn handle_connected(&mut self, now: Instant, conn: ConnId) {
        self.shared.now = now;
        self.client.handle_connected(conn, &mut self.shared);
    }

    /// Bytes have come in on a connection. Those of an unknown one are passed over.
    pub fn handle_data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]) {
        self.shared.now = now;
        self.server.handle_data(now, conn, bytes, &mut self.shared);
        self.client.handle_data(conn, bytes, &mut self.shared);
        self.uncounted += bytes.len();
        if self.uncounted >= UNCOUNTED {
            self.uncounted = 0;
            self.bound_buffers();
        }
    }

    /// A connection has ended or could not be opened; `why` is the error, if it was one.
    pub fn handle_closed(&mut self, now: Instant, conn: ConnId, why: Option<&str>) {
        self.shared.now = now;
        self.server.handle_closed(conn, &mut self.shared);
        self.client.handle_closed(conn, why, &mut self.shared);
    }

    /// A connection that [`Transmit::Connect`] asked for was not even tried: its host has no address.
    pub fn handle_unresolved(&mut self, now: Instant, conn: ConnId, why: &str) {
        self.shared.now = now;
        self.client.handle_unresolved(conn, why, &mut self.shared);
    }

    /// Does what is due at this time.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.shared.now = now;
        while let Some((_, alarm)) = self.shared.timers.pop_due(now) {
            match alarm {
                Alarm::Served(conn) => self.server.handle_timeout(conn, &mut self.shared),
                Alarm::Called(call) => self.client.handle_timeout(call, &mut self.shared),
            }
        }
    }

    /// When [`Self::handle_timeout`] is to be called next; `None` while nothing is awaited but bytes.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.shared.timers.next_deadline()
    }

    /// The next thing to do with a connection.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.shared.transmits.pop_front()
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<RpcEvent> {
        self.shared.events.pop_front()
    }

    /// Calls a method of a server. [`RpcEvent::Answered`] brings what comes of it, once, unless
    /// [`Self::cancel`] comes first; that is so too when the call cannot even be sent.
    ///
    /// With `keep_open`, calls to one host and port share a connection, one after another, which then stays open.
    /// When the server turns out to have closed it, before any byte of the answer, the call is sent once more over
    /// a new one. Without, the call has a connection of its own.
    pub fn call(
        &mut self,
        now: Instant,
        to: &Uri,
        method: &str,
        params: &[Value],
        options: CallOptions,
    ) -> CallId {
        let target = CallTarget { uri: to.clone(), method: method.to_owned() };
        self.shared.now = now;
        self.client.call(target, params, options, &mut self.shared)
    }

    /// Gives a call up: nothing is heard of it any more. The server may have carried it out.
    pub fn cancel(&mut self, call: CallId) {
        self.client.cancel(call, &mut self.shared);
    }

    /// Answers the call that [`RpcEvent::Called`] brought on this connection. Passed over when the connection has
    /// ended since.
    ///
    /// An answer that cannot be written as XML is sent as a fault that says so.
    pub fn reply(&mut self, now: Instant, conn: ConnId, answer: Result<Value, Fault>) {
        self.server.reply(now, conn, &answer, &mut self.shared);
    }

    /// Closes the connections that hold most until all together hold no more than they may.
    fn bound_buffers(&mut self) {
        let holdings = || self.server.holdings().chain(self.client.holdings());
        let mut total: usize = holdings().map(|(bytes, _)| bytes).sum();
        if total <= self.shared.config.max_buffered {
            return;
        }
        let mut held: Vec<(usize, ConnId)> = holdings().collect();
        held.sort_unstable();
        while total > self.shared.config.max_buffered {
            let Some((bytes, conn)) = held.pop() else { break };
            self.server.handle_overflow(conn, &mut self.shared);
            self.client.handle_overflow(conn, &mut self.shared);
            total -= bytes;
        }
    }
}
