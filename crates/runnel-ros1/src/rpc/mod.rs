//! XML-RPC over HTTP, as a server and as a client, without sockets.
//!
//! [`RpcPeer`] holds all XML-RPC connections of one process. Like every engine, it takes connection events by
//! `handle_*` and returns socket operations by `poll_transmit`, events by `poll_event` and its next deadline by
//! `poll_timeout`.
//!
//! [`RpcConfig`] bounds the memory that peers can make it use. One queue is outside of it: answers that a peer does
//! not read stay with the driver, which must close such a connection.

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
use shared::{Deadline, Shared};

/// Bytes received, over all connections, between two checks of [`RpcConfig::max_buffered`].
const BUFFER_CHECK_INTERVAL: usize = 64 * 1024;

/// The XML-RPC server and client of one process.
#[derive(Debug)]
pub struct RpcPeer {
    server: Server,
    client: Client,
    shared: Shared,
    /// Bytes received since the last check of the buffered total.
    bytes_since_check: usize,
}

impl RpcPeer {
    /// A peer without connections.
    pub fn new(config: RpcConfig) -> Self {
        let (server, client) = (Server::default(), Client::default());
        Self { server, client, shared: Shared::new(config), bytes_since_check: 0 }
    }

    /// Allocates a connection id. A driver that has connections of its own takes their ids here too.
    pub fn new_conn_id(&mut self) -> ConnId {
        self.shared.new_conn_id()
    }

    /// Whether a connection belongs to this peer and is not known to be closed.
    pub fn owns(&self, conn: ConnId) -> bool {
        self.server.has(conn) || self.client.has(conn)
    }

    /// Connections that are open or being opened.
    pub fn connection_count(&self) -> usize {
        self.server.connection_count() + self.client.connection_count()
    }

    /// A client has connected. Returns the connection's id, or `None` if there are too many connections and this one
    /// must be closed.
    ///
    /// At [`RpcConfig::max_server_connections`], the oldest connection without a whole request is closed instead, or
    /// else the one that has been idle the longest.
    pub fn handle_accepted(&mut self, now: Instant, peer: SocketAddr) -> Option<ConnId> {
        self.server.handle_accepted(now, peer, &mut self.shared)
    }

    /// A connection requested by [`Transmit::Connect`] is open.
    pub fn handle_connected(&mut self, now: Instant, conn: ConnId) {
        self.shared.now = now;
        self.client.handle_connected(conn, &mut self.shared);
    }

    /// Bytes have arrived on a connection. Bytes of an unknown connection are ignored.
    pub fn handle_data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]) {
        self.shared.now = now;
        self.server.handle_data(now, conn, bytes, &mut self.shared);
        self.client.handle_data(conn, bytes, &mut self.shared);
        self.bytes_since_check += bytes.len();
        if self.bytes_since_check >= BUFFER_CHECK_INTERVAL {
            self.bytes_since_check = 0;
            self.enforce_buffer_limit();
        }
    }

    /// A connection has ended or could not be opened. `why` is the error, if there was one.
    pub fn handle_closed(&mut self, now: Instant, conn: ConnId, why: Option<&str>) {
        self.shared.now = now;
        self.server.handle_closed(conn, &mut self.shared);
        self.client.handle_closed(conn, why, &mut self.shared);
    }

    /// A connection requested by [`Transmit::Connect`] was not attempted: its host name has no address.
    pub fn handle_unresolved(&mut self, now: Instant, conn: ConnId, why: &str) {
        self.shared.now = now;
        self.client.handle_unresolved(conn, why, &mut self.shared);
    }

    /// Does the work that is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.shared.now = now;
        while let Some((_, deadline)) = self.shared.timers.pop_due(now) {
            match deadline {
                Deadline::Request(conn) => self.server.handle_timeout(conn, &mut self.shared),
                Deadline::Answer(call) => self.client.handle_timeout(call, &mut self.shared),
            }
        }
    }

    /// When [`Self::handle_timeout`] is to be called next; `None` if no deadline runs.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.shared.timers.next_deadline()
    }

    /// The next socket operation.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.shared.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<RpcEvent> {
        self.shared.events.pop_front()
    }

    /// Calls a method of a server. [`RpcEvent::Answered`] follows exactly once, even if the call cannot be sent,
    /// unless [`Self::cancel`] is called first.
    ///
    /// With `keep_open`, calls to one host and port share a connection, one at a time, and it stays open. If the
    /// server turns out to have closed it before it sent any byte of the answer, the call is sent once more over a
    /// new connection. Without `keep_open`, each call has a connection of its own.
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

    /// Cancels a call: no event follows. The server may still have carried it out.
    pub fn cancel(&mut self, call: CallId) {
        self.client.cancel(call, &mut self.shared);
    }

    /// Answers the call that [`RpcEvent::Called`] reported on this connection. Ignored if the connection has ended
    /// since.
    ///
    /// An answer that cannot be written as XML is sent as a fault that gives the reason.
    pub fn reply(&mut self, now: Instant, conn: ConnId, answer: Result<Value, Fault>) {
        self.server.reply(now, conn, &answer, &mut self.shared);
    }

    /// Closes the connections that buffer the most until the total is within the limit.
    fn enforce_buffer_limit(&mut self) {
        let buffered_per_connection =
            || self.server.buffered_per_connection().chain(self.client.buffered_per_connection());
        let mut total: usize = buffered_per_connection().map(|(bytes, _)| bytes).sum();
        if total <= self.shared.config.max_buffered {
            return;
        }
        let mut held: Vec<(usize, ConnId)> = buffered_per_connection().collect();
        held.sort_unstable();
        while total > self.shared.config.max_buffered {
            let Some((bytes, conn)) = held.pop() else { break };
            self.server.handle_overflow(conn, &mut self.shared);
            self.client.handle_overflow(conn, &mut self.shared);
            total -= bytes;
        }
    }
}
