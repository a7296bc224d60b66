//! Server side: connections on which clients call this process.

use std::net::SocketAddr;

use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;

use super::shared::{Deadline, Shared};
use super::{ClientFault, RpcEvent};
use crate::http::{self, Request, RequestParser, RequestStep};
use crate::net::ConnId;
use crate::xmlrpc::{self, Fault, Value};

/// Fault code for calls that cannot be parsed and answers that cannot be written; the code is roscpp's.
const FAULT: i32 = -1;

/// The client connections.
#[derive(Debug, Default)]
pub(super) struct Server {
    conns: SortedMap<ConnId, ClientConnection>,
    /// Connections without a whole request. Ids grow, so the first is the oldest.
    without_request: Vec<ConnId>,
}

#[derive(Debug)]
struct ClientConnection {
    peer: SocketAddr,
    parser: RequestParser,
    phase: Phase,
    /// When its last request was answered, or else when it was opened.
    idle_since: Instant,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first byte of a request.
    ExpectRequest,
    /// The rest of a request, or a new connection's first one, until the deadline.
    ExpectRest,
    /// The answer from this process.
    InService {
        /// Whether the connection stays open after it.
        keep_open: bool,
    },
}

impl Server {
    pub fn has(&self, conn: ConnId) -> bool {
        self.conns.contains_key(&conn)
    }

    pub fn connection_count(&self) -> usize {
        self.conns.len()
    }

    /// Bytes that a connection buffers.
    fn buffered(&self, conn: ConnId) -> usize {
        self.conns.get(&conn).map_or(0, |client| client.parser.buffered())
    }

    /// Bytes that each connection buffers.
    pub fn buffered_per_connection(&self) -> impl Iterator<Item = (usize, ConnId)> {
        self.conns.iter().map(|(conn, client)| (client.parser.buffered(), *conn))
    }

    pub fn handle_accepted(&mut self, now: Instant, peer: SocketAddr, shared: &mut Shared) -> Option<ConnId> {
        if self.conns.len() >= shared.config.max_server_connections && !self.evict_client(shared) {
            let why = ClientFault::TooManyConnections { open: self.conns.len() };
            shared.push_event(RpcEvent::Refused { peer, why });
            return None;
        }
        let conn = shared.new_conn_id();
        let parser = RequestParser::new(shared.config.max_body);
        self.conns.insert(conn, ClientConnection { peer, parser, phase: Phase::ExpectRest, idle_since: now });
        self.without_request.push(conn);
        shared.timers.schedule(Deadline::Request(conn), now + shared.config.request_deadline);
        Some(conn)
    }

    pub fn handle_data(&mut self, now: Instant, conn: ConnId, bytes: &[u8], shared: &mut Shared) {
        if let Some(client) = self.conns.get_mut(&conn) {
            client.parser.push(bytes);
            self.advance(now, conn, shared);
        }
    }

    pub fn handle_closed(&mut self, conn: ConnId, shared: &mut Shared) {
        self.forget(conn, shared);
    }

    /// The deadline of a request has passed.
    pub fn handle_timeout(&mut self, conn: ConnId, shared: &mut Shared) {
        let why = ClientFault::RequestTimedOut { within: shared.config.request_deadline };
        self.drop_client(conn, why, shared);
    }

    /// The buffers of all connections exceed the limit, and this connection's is the largest.
    pub fn handle_overflow(&mut self, conn: ConnId, shared: &mut Shared) {
        let bytes = self.buffered(conn);
        self.drop_client(conn, ClientFault::BufferLimit { bytes }, shared);
    }

    pub fn reply(&mut self, now: Instant, conn: ConnId, answer: &Result<Value, Fault>, shared: &mut Shared) {
        if let Some(Phase::InService { keep_open }) = self.conns.get(&conn).map(|client| client.phase) {
            self.answer(now, conn, answer, keep_open, shared);
            self.advance(now, conn, shared);
        }
    }

    /// Parses requests until one is in service, more bytes are needed, or the connection is closed.
    fn advance(&mut self, now: Instant, conn: ConnId, shared: &mut Shared) {
        while let Some(client) = self.conns.get_mut(&conn) {
            if let Phase::InService { .. } = client.phase {
                return self.enforce_pipeline_limit(conn, shared);
            }
            match client.parser.step() {
                Ok(RequestStep::Incomplete) => return self.await_rest(now, conn, shared),
                Ok(RequestStep::Continue) => shared.send(conn, http::CONTINUE.to_vec()),
                Ok(RequestStep::Whole(request)) => self.serve(now, conn, &request, shared),
                Err(error) => {
                    return self.refuse(conn, error.status(), ClientFault::BadRequest(error), shared);
                }
            }
        }
    }

    /// Starts the deadline at the first byte of a request.
    fn await_rest(&mut self, now: Instant, conn: ConnId, shared: &mut Shared) {
        if let Some(client) = self.conns.get_mut(&conn)
            && client.phase == Phase::ExpectRequest
            && !client.parser.is_idle()
        {
            client.phase = Phase::ExpectRest;
            shared.timers.schedule(Deadline::Request(conn), now + shared.config.request_deadline);
        }
    }

    fn enforce_pipeline_limit(&mut self, conn: ConnId, shared: &mut Shared) {
        if self.buffered(conn) > shared.config.max_pipelined {
            let limit = shared.config.max_pipelined;
            self.drop_client(conn, ClientFault::PipelinedBeyondLimit { limit }, shared);
        }
    }

    fn serve(&mut self, now: Instant, conn: ConnId, request: &Request, shared: &mut Shared) {
        self.without_request.retain(|other| *other != conn);
        shared.timers.cancel(&Deadline::Request(conn));
        if !shared.config.any_path && request.path != "/" && request.path != "/RPC2" {
            let path: String = request.path.chars().take(64).collect();
            return self.refuse(conn, (404, "Not Found"), ClientFault::UnknownPath(path), shared);
        }
        let Some(client) = self.conns.get_mut(&conn) else { return };
        let peer = client.peer;
        match xmlrpc::decode_call(&request.body) {
            Ok(call) => {
                client.phase = Phase::InService { keep_open: request.keep_open };
                let xmlrpc::Call { method, params, .. } = call;
                shared.push_event(RpcEvent::Called { conn, peer, method, params, bytes: request.length });
            }
            Err(error) => {
                let fault = Fault { code: FAULT, message: error.to_string() };
                shared.push_event(RpcEvent::Refused { peer, why: ClientFault::BadCall(error) });
                self.answer(now, conn, &Err(fault), request.keep_open, shared);
            }
        }
    }

    /// Sends an answer, then closes the connection or waits for the next request.
    fn answer(
        &mut self,
        now: Instant,
        conn: ConnId,
        answer: &Result<Value, Fault>,
        keep_open: bool,
        shared: &mut Shared,
    ) {
        shared.send(conn, http::response(&encode_answer(answer), keep_open));
        if !keep_open {
            return self.close(conn, shared);
        }
        if let Some(client) = self.conns.get_mut(&conn) {
            client.phase = Phase::ExpectRequest;
            client.idle_since = now;
        }
    }

    /// Sends an HTTP error, then closes the connection.
    fn refuse(&mut self, conn: ConnId, (code, reason): (u16, &str), why: ClientFault, shared: &mut Shared) {
        shared.send(conn, http::refusal(code, reason, &why.to_string()));
        self.drop_client(conn, why, shared);
    }

    /// Closes the oldest connection without a whole request, or else the one that has been idle the longest. Clients
    /// reconnect when they call again.
    fn evict_client(&mut self, shared: &mut Shared) -> bool {
        if let Some(oldest) = self.without_request.first().copied() {
            self.drop_client(oldest, ClientFault::EvictedWithoutRequest, shared);
            return true;
        }
        let idle = self.conns.iter().filter(|(_, client)| client.phase == Phase::ExpectRequest);
        let Some((longest_idle, _)) = idle.min_by_key(|(_, client)| client.idle_since) else { return false };
        let longest_idle = *longest_idle;
        self.drop_client(longest_idle, ClientFault::EvictedIdle, shared);
        true
    }

    /// Closes a connection and reports the reason for the log.
    fn drop_client(&mut self, conn: ConnId, why: ClientFault, shared: &mut Shared) {
        if let Some(client) = self.conns.get(&conn) {
            shared.push_event(RpcEvent::Refused { peer: client.peer, why });
            self.close(conn, shared);
        }
    }

    fn close(&mut self, conn: ConnId, shared: &mut Shared) {
        self.forget(conn, shared);
        shared.close(conn);
    }

    fn forget(&mut self, conn: ConnId, shared: &mut Shared) {
        self.conns.remove(&conn);
        self.without_request.retain(|other| *other != conn);
        shared.timers.cancel(&Deadline::Request(conn));
    }
}

/// The body of an answer. An answer that cannot be written becomes a fault that gives the reason.
fn encode_answer(answer: &Result<Value, Fault>) -> Vec<u8> {
    let unwritable = |error: xmlrpc::EncodeError| {
        let fault = Fault { code: FAULT, message: error.to_string() };
        xmlrpc::encode_response(&Err(fault)).unwrap_or_default()
    };
    xmlrpc::encode_response(answer).unwrap_or_else(unwritable)
}
