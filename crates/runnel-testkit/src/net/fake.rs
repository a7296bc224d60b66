//! Scripted peers: they make calls, answer calls as the test specifies, and exchange raw bytes.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use runnel_core::time::Instant;
use runnel_ros1::header::ConnectionHeader;
use runnel_ros1::net::{ConnId, Endpoint};
use runnel_ros1::node::Port;
use runnel_ros1::rpc::{CallError, CallId, CallOptions, RpcConfig, RpcEvent, RpcPeer, Uri};
use runnel_ros1::tcpros::FrameReader;
use runnel_ros1::xmlrpc::{Fault, Value};

use super::program::Program;
use super::{App, Net, secs};

/// A call that a scripted peer received.
#[derive(Clone, Debug, PartialEq)]
pub struct FakeCall {
    /// The time of arrival.
    pub at: Instant,
    /// The method.
    pub method: String,
    /// Its parameters.
    pub params: Vec<Value>,
}

/// A scripted peer's end of a raw connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    pub(super) app: App,
    pub(super) conn: ConnId,
}

type Answers = Box<dyn FnMut(&str, &[Value]) -> Option<Result<Value, Fault>>>;

/// A scripted peer.
pub(super) struct Fake {
    pub(super) rpc: RpcPeer,
    answers: Answers,
    calls: Vec<FakeCall>,
    replies: BTreeMap<CallId, Result<Value, CallError>>,
    raw: BTreeMap<ConnId, Raw>,
    /// Raw connections opened by other programs, oldest first.
    accepted: Vec<ConnId>,
}

#[derive(Debug, Default)]
struct Raw {
    connected: bool,
    received: Vec<u8>,
    /// The peer sends nothing more, or the connection is broken.
    over: bool,
}

impl Fake {
    fn new() -> Self {
        Self {
            rpc: RpcPeer::new(RpcConfig::default()),
            answers: Box::new(|_, _| Some(Ok(Value::Array(vec![1.into(), "".into(), 0.into()])))),
            calls: Vec::new(),
            replies: BTreeMap::new(),
            raw: BTreeMap::new(),
            accepted: Vec::new(),
        }
    }

    pub(super) fn is_raw(&self, conn: ConnId) -> bool {
        self.raw.contains_key(&conn)
    }

    pub(super) fn handle_accepted(&mut self, now: Instant, port: Port, peer: SocketAddr) -> Option<ConnId> {
        if port == Port::Rpc {
            return self.rpc.handle_accepted(now, peer);
        }
        let conn = self.rpc.new_conn_id();
        self.raw.insert(conn, Raw { connected: true, ..Raw::default() });
        self.accepted.push(conn);
        Some(conn)
    }

    pub(super) fn handle_connected(&mut self, now: Instant, conn: ConnId) {
        match self.raw.get_mut(&conn) {
            Some(raw) => raw.connected = true,
            None => self.rpc.handle_connected(now, conn),
        }
    }

    pub(super) fn handle_data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]) {
        match self.raw.get_mut(&conn) {
            Some(raw) => raw.received.extend_from_slice(bytes),
            None => self.rpc.handle_data(now, conn, bytes),
        }
    }

    pub(super) fn handle_closed(&mut self, now: Instant, conn: ConnId, why: Option<&str>) {
        match self.raw.get_mut(&conn) {
            Some(raw) => raw.over = true,
            None => self.rpc.handle_closed(now, conn, why),
        }
    }

    pub(super) fn take_event(&mut self, now: Instant) -> bool {
        let Some(event) = self.rpc.poll_event() else { return false };
        match event {
            RpcEvent::Called { conn, method, params, .. } => {
                if let Some(answer) = (self.answers)(&method, &params) {
                    self.rpc.reply(now, conn, answer);
                }
                self.calls.push(FakeCall { at: now, method, params });
            }
            RpcEvent::Answered { call, result } => {
                self.replies.insert(call, result);
            }
            RpcEvent::KeptConnectionLost | RpcEvent::Refused { .. } => {}
        }
        true
    }
}

impl Net {
    /// Starts a scripted peer on a host. It listens on no port (see [`Net::listen`]: [`Port::Rpc`] for calls,
    /// [`Port::Tcpros`] for raw bytes), and answers every call with `[1, '', 0]`.
    pub fn fake(&mut self, name: &str, host: &str) -> App {
        self.start(name, host, &[], Program::Fake(Box::new(Fake::new())))
    }

    /// Sets how a scripted peer answers a call of this method with these parameters; `None` is no answer.
    pub fn answer_with(
        &mut self,
        app: App,
        answers: impl FnMut(&str, &[Value]) -> Option<Result<Value, Fault>> + 'static,
    ) {
        self.fake_mut(app).answers = Box::new(answers);
    }

    /// The calls that a scripted peer received, oldest first.
    pub fn calls(&self, app: App) -> &[FakeCall] {
        &self.fake_of(app).calls
    }

    /// Makes a scripted peer call a server, and waits for the result, at most a minute.
    ///
    /// # Errors
    /// If the call fails.
    pub fn call(&mut self, app: App, to: &str, method: &str, params: &[Value]) -> Result<Value, CallError> {
        let to = Uri::parse(to).expect("an address");
        let (now, options) =
            (self.now, CallOptions { timeout: secs(60), total_timeout: secs(60), keep_open: false });
        let call = self.fake_mut(app).rpc.call(now, &to, method, params, options);
        self.pump(app);
        self.run_until("the call is answered", secs(61), |net| net.fake_of(app).replies.contains_key(&call));
        self.fake_mut(app).replies.remove(&call).expect("the reply that was waited for")
    }

    /// Connects a scripted peer, and waits until the connection is open.
    ///
    /// # Panics
    /// If it is not open within 10 s.
    pub fn connect_socket(&mut self, app: App, host: &str, port: u16) -> Socket {
        let socket = self.begin_connect(app, host, port);
        self.run_until("the socket is connected", secs(10), |net| {
            net.raw(socket).is_some_and(|raw| raw.connected)
        });
        socket
    }

    /// Starts to connect a scripted peer.
    pub fn begin_connect(&mut self, app: App, host: &str, port: u16) -> Socket {
        let fake = self.fake_mut(app);
        let conn = fake.rpc.new_conn_id();
        fake.raw.insert(conn, Raw::default());
        self.connect(app, conn, &Endpoint { host: host.to_owned(), port });
        Socket { app, conn }
    }

    /// A raw connection of a scripted peer that is not yet opened.
    pub(super) fn raw_socket(&mut self, app: App) -> Socket {
        let fake = self.fake_mut(app);
        let conn = fake.rpc.new_conn_id();
        fake.raw.insert(conn, Raw { connected: true, ..Raw::default() });
        Socket { app, conn }
    }

    /// Waits for the next raw connection to a scripted peer, at most a minute.
    pub fn accept_socket(&mut self, app: App) -> Socket {
        self.run_until("a peer connects", secs(60), |net| !net.fake_of(app).accepted.is_empty());
        let conn = self.fake_mut(app).accepted.remove(0);
        Socket { app, conn }
    }

    /// Number of raw connections to a scripted peer that were not accepted yet.
    pub fn accepted_count(&self, app: App) -> usize {
        self.fake_of(app).accepted.len()
    }

    /// Sends bytes.
    pub fn write(&mut self, socket: Socket, bytes: &[u8]) {
        self.send(socket.app, socket.conn, bytes.to_vec());
    }

    /// Sends a connection header.
    pub fn write_header(&mut self, socket: Socket, fields: &[(&str, &str)]) {
        let header = ConnectionHeader::new(fields.iter().copied());
        self.write(socket, &header.emit());
    }

    /// Ends sending, but still receives.
    pub fn finish_writing(&mut self, socket: Socket) {
        if let Some(&(wire, side)) = self.ends.get(&(socket.app, socket.conn)) {
            self.finish(wire, side);
        }
    }

    /// Closes a socket.
    pub fn close_socket(&mut self, socket: Socket) {
        self.close(socket.app, socket.conn);
        if let Some(raw) = self.fake_mut(socket.app).raw.get_mut(&socket.conn) {
            raw.over = true;
        }
    }

    /// All bytes received on a socket.
    pub fn received(&self, socket: Socket) -> &[u8] {
        self.raw(socket).map_or(&[], |raw| &raw.received)
    }

    /// Whether the peer has closed or broken the connection.
    pub fn is_over(&self, socket: Socket) -> bool {
        self.raw(socket).is_none_or(|raw| raw.over)
    }

    /// The complete length-prefixed frames received on a socket: a header, then messages.
    pub fn pieces_received(&self, socket: Socket) -> Vec<Vec<u8>> {
        let (mut reader, mut bytes) = (FrameReader::new(1 << 24), self.received(socket));
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            pieces.extend(reader.take(&mut bytes, Vec::new).expect("short pieces"));
        }
        pieces
    }

    /// The connection header received on a socket, if it is complete.
    pub fn header_received(&self, socket: Socket) -> Option<ConnectionHeader> {
        let pieces = self.pieces_received(socket);
        pieces.first().map(|bytes| ConnectionHeader::parse(bytes).expect("a connection header"))
    }

    fn raw(&self, socket: Socket) -> Option<&Raw> {
        self.fake_of(socket.app).raw.get(&socket.conn)
    }

    fn fake_of(&self, app: App) -> &Fake {
        match &self.running[app.0].program {
            Program::Fake(fake) => fake,
            _ => panic!("{} is no scripted peer", self.running[app.0].name),
        }
    }

    fn fake_mut(&mut self, app: App) -> &mut Fake {
        let running = &mut self.running[app.0];
        match &mut running.program {
            Program::Fake(fake) => fake,
            _ => panic!("{} is no scripted peer", running.name),
        }
    }
}
