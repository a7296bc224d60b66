//! Client side: calls that this process makes, and their connections.

use core::time::Duration;

use runnel_core::sorted::{SortedMap, SortedSet};
use runnel_core::time::Instant;

use super::shared::{Deadline, Shared};
use super::{AnswerFault, CallError, CallId, CallOptions, CallTarget, RpcEvent};
use crate::http::{self, Response, ResponseParser};
use crate::net::{ConnId, Endpoint};
use crate::xmlrpc::{self, Value};

/// Calls in progress and waiting, and the connections to servers.
#[derive(Debug, Default)]
pub(super) struct Client {
    calls: SortedMap<CallId, Call>,
    conns: SortedMap<ConnId, Link>,
    shared_queues: SortedMap<Endpoint, SharedQueue>,
    dedicated_queues: SortedMap<Endpoint, DedicatedQueue>,
    made: u64,
}

#[derive(Debug)]
struct Call {
    target: CallTarget,
    /// The HTTP request; empty once it is sent and will not be repeated.
    request: Vec<u8>,
    /// Time for the answer, from the call's turn.
    timeout: Duration,
    /// When the call times out, however long it has waited for its turn.
    deadline: Instant,
    /// The connection that carries it; `None` while it waits in a queue.
    conn: Option<ConnId>,
}

/// A connection to a server.
#[derive(Debug)]
struct Link {
    to: Endpoint,
    kept: bool,
    /// The connection is kept and has answered a call. If it ends before the next answer begins, the server may have
    /// closed it before it saw that call, which is then sent once more. A call on a connection that is not proven is
    /// not repeated.
    proven: bool,
    phase: Phase,
    parser: ResponseParser,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// To be open, for this call.
    ExpectOpen(CallId),
    /// The answer to this call.
    ExpectAnswer(CallId),
    /// Another call.
    Idle,
}

/// Queue of calls that share a kept connection to one server.
#[derive(Debug, Default)]
struct SharedQueue {
    /// `None` only inside a method.
    conn: Option<ConnId>,
    /// Waiting calls, in the order in which they were made.
    waiting: SortedSet<CallId>,
}

/// Queue of calls to one server that have a connection each.
#[derive(Debug, Default)]
struct DedicatedQueue {
    /// Connections that are open or being opened.
    open: usize,
    /// Waiting calls, in the order in which they were made.
    waiting: SortedSet<CallId>,
}

impl Client {
    pub fn has(&self, conn: ConnId) -> bool {
        self.conns.contains_key(&conn)
    }

    pub fn connection_count(&self) -> usize {
        self.conns.len()
    }

    /// Bytes that each connection buffers.
    pub fn buffered_per_connection(&self) -> impl Iterator<Item = (usize, ConnId)> {
        self.conns.iter().map(|(conn, link)| (link.parser.buffered(), *conn))
    }

    pub fn call(
        &mut self,
        target: CallTarget,
        params: &[Value],
        options: CallOptions,
        shared: &mut Shared,
    ) -> CallId {
        self.made += 1;
        let call = CallId(self.made);
        let keep = options.keep_open && self.can_keep_open(&target.uri.endpoint, shared);
        match self.encode_request(&target, params, keep, shared) {
            Ok(request) => {
                let CallOptions { timeout, total_timeout, .. } = options;
                let deadline = shared.now + total_timeout;
                shared.timers.schedule(Deadline::Answer(call), deadline);
                self.start(call, Call { target, request, timeout, deadline, conn: None }, keep, shared);
            }
            Err(error) => shared.push_event(RpcEvent::Answered { call, result: Err(error) }),
        }
        call
    }

    pub fn cancel(&mut self, call: CallId, shared: &mut Shared) {
        let of_call =
            |event: &RpcEvent| matches!(event, RpcEvent::Answered { call: ended, .. } if *ended == call);
        shared.events.retain(|event| !of_call(event));
        self.abort(call, shared);
    }

    pub fn handle_connected(&mut self, conn: ConnId, shared: &mut Shared) {
        if let Some(Phase::ExpectOpen(call)) = self.conns.get(&conn).map(|link| link.phase) {
            self.send(conn, call, shared);
        }
    }

    pub fn handle_data(&mut self, conn: ConnId, bytes: &[u8], shared: &mut Shared) {
        let Some(link) = self.conns.get_mut(&conn) else { return };
        link.parser.push(bytes);
        let Phase::ExpectAnswer(call) = link.phase else { return self.on_unsolicited(conn, shared) };
        match link.parser.step() {
            Ok(None) => {}
            Ok(Some(response)) => self.on_answer(conn, call, &response, shared),
            Err(error) => self.fail_answer(conn, call, AnswerFault::Http(error), shared),
        }
    }

    /// The host name of a connection that was to be opened has no address.
    pub fn handle_unresolved(&mut self, conn: ConnId, why: &str, shared: &mut Shared) {
        if let Some(Phase::ExpectOpen(call)) = self.conns.get(&conn).map(|link| link.phase) {
            let why = Some(why.to_owned());
            self.fail(call, |call| CallError::Unreachable { call, why, is_attempted: false }, shared);
        }
        self.handle_closed(conn, None, shared);
    }

    pub fn handle_closed(&mut self, conn: ConnId, why: Option<&str>, shared: &mut Shared) {
        let Some(mut link) = self.conns.remove(&conn) else { return };
        let rest = link.parser.finish();
        if !matches!(rest, Ok(Some(_))) {
            link.report_lost(shared);
        }
        let why = why.map(str::to_owned);
        match (link.phase, rest) {
            (Phase::Idle, _) => {}
            (Phase::ExpectOpen(call), _) => {
                self.fail(call, |call| CallError::Unreachable { call, why, is_attempted: true }, shared);
            }
            (Phase::ExpectAnswer(call), Ok(Some(response))) => self.complete(call, &response, shared),
            (Phase::ExpectAnswer(call), Ok(None)) if link.proven => self.retry(&link, call),
            (Phase::ExpectAnswer(call), Ok(None)) => {
                self.fail(call, |call| CallError::Closed { call, why }, shared);
            }
            (Phase::ExpectAnswer(call), Err(error)) => {
                let why = Some(why.unwrap_or(error.to_string()));
                self.fail(call, |call| CallError::Closed { call, why }, shared);
            }
        }
        self.release_connection(&link, shared);
    }

    /// The deadline of a call has passed.
    pub fn handle_timeout(&mut self, call: CallId, shared: &mut Shared) {
        if let Some(Call { target, .. }) = self.abort(call, shared) {
            let result = Err(CallError::TimedOut { call: target });
            shared.push_event(RpcEvent::Answered { call, result });
        }
    }

    /// The buffers of all connections exceed the limit, and this connection's is the largest.
    pub fn handle_overflow(&mut self, conn: ConnId, shared: &mut Shared) {
        if let Some(Phase::ExpectAnswer(call)) = self.conns.get(&conn).map(|link| link.phase) {
            self.fail_answer(conn, call, AnswerFault::BufferLimit, shared);
        }
    }

    fn can_keep_open(&self, to: &Endpoint, shared: &Shared) -> bool {
        self.shared_queues.contains_key(to) || self.shared_queues.len() < shared.config.max_kept_connections
    }

    /// The HTTP request of a call.
    fn encode_request(
        &self,
        target: &CallTarget,
        params: &[Value],
        keep_open: bool,
        shared: &Shared,
    ) -> Result<Vec<u8>, CallError> {
        if self.calls.len() >= shared.config.max_queued_calls {
            return Err(CallError::TooManyCalls { call: target.clone() });
        }
        let uri = &target.uri;
        match xmlrpc::encode_call(&target.method, params) {
            Ok(body) => Ok(http::request(&uri.endpoint.to_string(), &uri.path, &body, keep_open)),
            Err(error) => Err(CallError::BadRequest { call: target.clone(), why: error.problem }),
        }
    }

    fn start(&mut self, id: CallId, call: Call, keep: bool, shared: &mut Shared) {
        let to = call.target.uri.endpoint.clone();
        self.calls.insert(id, call);
        if keep {
            self.shared_queues.entry(to.clone()).or_default().waiting.insert(id);
            self.advance(&to, shared);
        } else {
            self.dedicated_queues.entry(to.clone()).or_default().waiting.insert(id);
            self.open_dedicated(&to, shared);
        }
    }

    /// Opens a connection for the next waiting call to this server, unless there are enough. Removes a queue without
    /// calls.
    fn open_dedicated(&mut self, to: &Endpoint, shared: &mut Shared) {
        let Some(queue) = self.dedicated_queues.get_mut(to) else { return };
        if queue.open < shared.config.max_connections_per_server.max(1)
            && let Some(call) = queue.waiting.pop_first()
        {
            queue.open += 1;
            self.connect(call, to.clone(), false, shared);
        } else if queue.open == 0 {
            self.dedicated_queues.remove(to);
        }
    }

    /// Opens a connection for a call.
    fn connect(&mut self, call: CallId, to: Endpoint, kept: bool, shared: &mut Shared) -> ConnId {
        let conn = shared.connect(to.clone());
        let parser = ResponseParser::new(shared.config.max_body);
        self.conns.insert(conn, Link { to, kept, proven: false, phase: Phase::ExpectOpen(call), parser });
        self.assign_connection(call, conn, shared);
        conn
    }

    /// Assigns a connection to a call and starts the time for its answer.
    fn assign_connection(&mut self, id: CallId, conn: ConnId, shared: &mut Shared) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.conn = Some(conn);
        shared.timers.schedule(Deadline::Answer(id), call.deadline.min(shared.now + call.timeout));
    }

    /// Sends a call over an open, idle connection.
    fn send(&mut self, conn: ConnId, id: CallId, shared: &mut Shared) {
        let (Some(link), Some(call)) = (self.conns.get_mut(&conn), self.calls.get_mut(&id)) else { return };
        link.phase = Phase::ExpectAnswer(id);
        let request = if link.proven { call.request.clone() } else { core::mem::take(&mut call.request) };
        shared.send(conn, request);
    }

    /// Assigns the kept connection to the next waiting call, if it is idle.
    fn advance(&mut self, to: &Endpoint, shared: &mut Shared) {
        let Some(queue) = self.shared_queues.get_mut(to) else { return };
        let phase = queue.conn.and_then(|conn| self.conns.get(&conn)).map(|link| link.phase);
        match (queue.conn, phase) {
            (Some(conn), Some(Phase::Idle)) => {
                if let Some(call) = queue.waiting.pop_first() {
                    self.assign_connection(call, conn, shared);
                    self.send(conn, call, shared);
                }
            }
            (Some(_), Some(_)) => {}
            _ => self.open_shared(to, shared),
        }
    }

    /// Opens the kept connection for the next call; removes a queue without calls.
    fn open_shared(&mut self, to: &Endpoint, shared: &mut Shared) {
        let next = self.shared_queues.get_mut(to).and_then(|queue| queue.waiting.pop_first());
        match next {
            Some(call) => {
                let conn = Some(self.connect(call, to.clone(), true, shared));
                if let Some(queue) = self.shared_queues.get_mut(to) {
                    queue.conn = conn;
                }
            }
            None => {
                self.shared_queues.remove(to);
            }
        }
    }

    /// A complete answer has arrived.
    fn on_answer(&mut self, conn: ConnId, call: CallId, response: &Response, shared: &mut Shared) {
        self.complete(call, response, shared);
        match self.conns.get_mut(&conn) {
            Some(link) if link.kept && response.keep_open && link.parser.is_idle() => {
                link.phase = Phase::Idle;
                link.proven = true;
                let to = link.to.clone();
                self.advance(&to, shared);
            }
            _ => self.close(conn, shared),
        }
    }

    /// Bytes arrived that no call waits for.
    fn on_unsolicited(&mut self, conn: ConnId, shared: &mut Shared) {
        match self.conns.get(&conn).map(|link| link.phase) {
            Some(Phase::ExpectOpen(call)) => {
                self.fail_answer(conn, call, AnswerFault::BeforeRequest, shared);
            }
            _ => {
                if let Some(link) = self.conns.get(&conn) {
                    link.report_lost(shared);
                }
                self.close(conn, shared);
            }
        }
    }

    fn fail_answer(&mut self, conn: ConnId, call: CallId, why: AnswerFault, shared: &mut Shared) {
        self.fail(call, |call| CallError::BadResponse { call, why }, shared);
        self.close(conn, shared);
    }

    /// Puts a call back into its queue, which opens another connection for it. It is the oldest and so comes first.
    fn retry(&mut self, link: &Link, id: CallId) {
        if let (Some(call), Some(queue)) = (self.calls.get_mut(&id), self.shared_queues.get_mut(&link.to)) {
            call.conn = None;
            queue.waiting.insert(id);
        }
    }

    /// Ends a call with its answer.
    fn complete(&mut self, id: CallId, response: &Response, shared: &mut Shared) {
        let Some(Call { target: call, .. }) = self.finish(id, shared) else { return };
        let result = match xmlrpc::decode_response(&response.body) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(fault)) => Err(CallError::Fault { call, fault }),
            Err(error) => Err(CallError::BadResponse { call, why: AnswerFault::Body(Box::new(error)) }),
        };
        shared.push_event(RpcEvent::Answered { call: id, result });
    }

    /// Ends a call with an error.
    fn fail(&mut self, id: CallId, error: impl FnOnce(CallTarget) -> CallError, shared: &mut Shared) {
        if let Some(Call { target, .. }) = self.finish(id, shared) {
            shared.push_event(RpcEvent::Answered { call: id, result: Err(error(target)) });
        }
    }

    /// Ends a call without an event, and closes its connection.
    fn abort(&mut self, id: CallId, shared: &mut Shared) -> Option<Call> {
        let call = self.finish(id, shared)?;
        match call.conn {
            Some(conn) => self.close(conn, shared),
            None => {
                let to = &call.target.uri.endpoint;
                let is_in_shared_queue =
                    self.shared_queues.get_mut(to).is_some_and(|queue| queue.waiting.remove(&id));
                if !is_in_shared_queue && let Some(queue) = self.dedicated_queues.get_mut(to) {
                    queue.waiting.remove(&id);
                }
            }
        }
        Some(call)
    }

    fn finish(&mut self, call: CallId, shared: &mut Shared) -> Option<Call> {
        shared.timers.cancel(&Deadline::Answer(call));
        self.calls.remove(&call)
    }

    /// Closes a connection from this side.
    fn close(&mut self, conn: ConnId, shared: &mut Shared) {
        if let Some(link) = self.conns.remove(&conn) {
            shared.close(conn);
            self.release_connection(&link, shared);
        }
    }

    /// Releases a connection that has ended, so that its queue continues on another.
    fn release_connection(&mut self, link: &Link, shared: &mut Shared) {
        if link.kept {
            if let Some(queue) = self.shared_queues.get_mut(&link.to) {
                queue.conn = None;
            }
            self.advance(&link.to, shared);
        } else {
            if let Some(queue) = self.dedicated_queues.get_mut(&link.to) {
                queue.open -= 1;
            }
            self.open_dedicated(&link.to, shared);
        }
    }
}

impl Link {
    /// Reports that the server has closed a kept connection.
    fn report_lost(&self, shared: &mut Shared) {
        if self.proven {
            shared.push_event(RpcEvent::KeptConnectionLost);
        }
    }
}
