//! State that the server and the client of a peer share.

use std::collections::VecDeque;

use runnel_core::time::Instant;
use runnel_core::timers::Timers;

use super::{CallId, RpcConfig, RpcEvent};
use crate::net::{ConnId, Endpoint, Transmit};

/// Limits, pending socket operations and events, and deadlines.
#[derive(Debug)]
pub(super) struct Shared {
    pub config: RpcConfig,
    pub transmits: VecDeque<Transmit>,
    pub events: VecDeque<RpcEvent>,
    pub timers: Timers<Deadline>,
    /// The latest time that the driver passed in.
    pub now: Instant,
    conns: u64,
}

/// A deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// For a whole request of a client.
    Request(ConnId),
    /// For the answer to a call.
    Answer(CallId),
}

impl Shared {
    pub fn new(config: RpcConfig) -> Self {
        Self {
            config,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            timers: Timers::default(),
            now: Instant::default(),
            conns: 0,
        }
    }

    pub fn new_conn_id(&mut self) -> ConnId {
        self.conns += 1;
        ConnId(self.conns)
    }

    pub fn connect(&mut self, to: Endpoint) -> ConnId {
        let conn = self.new_conn_id();
        self.transmits.push_back(Transmit::Connect { conn, to });
        conn
    }

    pub fn send(&mut self, conn: ConnId, bytes: Vec<u8>) {
        self.transmits.push_back(Transmit::Send { conn, bytes });
    }

    pub fn close(&mut self, conn: ConnId) {
        self.transmits.push_back(Transmit::Close { conn });
    }

    pub fn push_event(&mut self, event: RpcEvent) {
        self.events.push_back(event);
    }
}
