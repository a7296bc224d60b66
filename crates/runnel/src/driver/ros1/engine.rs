//! Protocol engines that the driver runs, behind a common interface.

use std::any::Any;
use std::net::SocketAddr;

use runnel_core::time::Instant;
#[cfg(feature = "master")]
use runnel_ros1::master::{Master, MasterEvent};
use runnel_ros1::net::{ConnId, Transmit};
use runnel_ros1::node::{Node, Port};
use runnel_ros1::rpc::{CallError, CallId, RpcEvent, RpcPeer};
use runnel_ros1::xmlrpc::Value;

/// An engine. Engines that most programs do not use are behind a trait object: so the master's code is only in programs
/// that start a master. The memory of a node is mostly code.
pub(crate) enum Engine {
    /// A ROS 1 node.
    Node(Box<Node>),
    /// Another engine.
    Other(Box<dyn ProtocolEngine>),
}

impl Engine {
    /// The common interface of engines.
    pub(in crate::driver) fn protocol(&mut self) -> &mut dyn ProtocolEngine {
        match self {
            Self::Node(node) => &mut **node,
            Self::Other(other) => &mut **other,
        }
    }

    /// The node's engine, if it is one.
    pub(crate) fn as_node(&mut self) -> Option<&mut Node> {
        match self {
            Self::Node(node) => Some(node),
            Self::Other(_) => None,
        }
    }

    /// The engine for calls that belong to no node, if it is one.
    pub(crate) fn as_client(&mut self) -> Option<&mut RpcPeer> {
        match self {
            Self::Node(_) => None,
            Self::Other(other) => (&mut **other as &mut dyn Any).downcast_mut(),
        }
    }
}

/// Interface of a protocol engine.
pub(crate) trait ProtocolEngine: Any + Send {
    fn handle_accepted(&mut self, now: Instant, port: Port, peer: SocketAddr) -> Option<ConnId>;
    fn handle_connected(&mut self, now: Instant, conn: ConnId);
    fn handle_data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]);
    fn handle_closed(&mut self, now: Instant, conn: ConnId, why: Option<&str>);
    /// A connection was not attempted, since the host name has no address.
    fn handle_unresolved(&mut self, now: Instant, conn: ConnId, why: &str) {
        self.handle_closed(now, conn, Some(why));
    }
    fn handle_timeout(&mut self, now: Instant);
    fn poll_timeout(&self) -> Option<Instant>;
    fn poll_transmit(&mut self) -> Option<Transmit>;
    /// Event of an engine that is not a node's.
    fn poll_engine_event(&mut self) -> Option<EngineEvent>;
}

/// Events of engines that are not a node's.
#[cfg_attr(not(feature = "master"), allow(dead_code, reason = "only a master gives them all"))]
pub(crate) enum EngineEvent {
    /// A call has a result.
    Answered(CallId, Result<Value, CallError>),
    /// A warning for the user.
    Warning(String),
    /// Information for the user.
    Info(String),
    /// A peer requests that the program ends.
    StopRequested,
}

macro_rules! forward {
    () => {
        fn handle_connected(&mut self, now: Instant, conn: ConnId) {
            self.handle_connected(now, conn);
        }
        fn handle_data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]) {
            self.handle_data(now, conn, bytes);
        }
        fn handle_closed(&mut self, now: Instant, conn: ConnId, why: Option<&str>) {
            self.handle_closed(now, conn, why);
        }
        fn handle_timeout(&mut self, now: Instant) {
            self.handle_timeout(now);
        }
        fn poll_timeout(&self) -> Option<Instant> {
            self.poll_timeout()
        }
        fn poll_transmit(&mut self) -> Option<Transmit> {
            self.poll_transmit()
        }
    };
}

impl ProtocolEngine for Node {
    forward!();
    fn handle_accepted(&mut self, now: Instant, port: Port, peer: SocketAddr) -> Option<ConnId> {
        self.handle_accepted(now, port, peer)
    }
    fn poll_engine_event(&mut self) -> Option<EngineEvent> {
        None
    }
}

#[cfg(feature = "master")]
impl ProtocolEngine for Master {
    forward!();
    fn handle_unresolved(&mut self, now: Instant, conn: ConnId, why: &str) {
        self.handle_unresolved(now, conn, why);
    }
    fn handle_accepted(&mut self, now: Instant, _: Port, peer: SocketAddr) -> Option<ConnId> {
        self.handle_accepted(now, peer)
    }
    fn poll_engine_event(&mut self) -> Option<EngineEvent> {
        use MasterEvent::{NodeLost, ParamNotStored, Refused, ShutdownRequested, UpdateFailed, Withheld};
        let event = self.poll_event()?;
        let line = format!("master: {event}");
        Some(match event {
            ShutdownRequested { .. } => EngineEvent::StopRequested,
            NodeLost { .. }
            | ParamNotStored { .. }
            | UpdateFailed { .. }
            | Withheld { .. }
            | Refused { .. } => EngineEvent::Warning(line),
            _ => EngineEvent::Info(line),
        })
    }
}

impl ProtocolEngine for RpcPeer {
    forward!();
    fn handle_accepted(&mut self, now: Instant, _: Port, peer: SocketAddr) -> Option<ConnId> {
        self.handle_accepted(now, peer)
    }
    fn poll_engine_event(&mut self) -> Option<EngineEvent> {
        loop {
            if let RpcEvent::Answered { call, result } = self.poll_event()? {
                return Some(EngineEvent::Answered(call, result));
            }
        }
    }
}
