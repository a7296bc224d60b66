//! The engines that the driver can drive, behind the verbs they share.

use std::any::Any;
use std::net::SocketAddr;

use runnel_core::time::Instant;
#[cfg(feature = "master")]
use runnel_ros1::master::{Master, MasterEvent};
use runnel_ros1::net::{ConnId, Transmit};
use runnel_ros1::node::{Node, Port};
use runnel_ros1::rpc::{CallError, CallId, RpcEvent, RpcPeer};
use runnel_ros1::xmlrpc::Value;

/// One engine. Those that most programs do without are behind a trait object, so that the code of the master is in a
/// program only if the program starts one: a node's memory is mostly its code.
pub(crate) enum Engine {
    /// A ROS 1 node.
    Node(Box<Node>),
    /// Any other.
    Other(Box<dyn Verbs>),
}

impl Engine {
    /// What the driver does with any engine.
    pub(in crate::driver) fn verbs(&mut self) -> &mut dyn Verbs {
        match self {
            Self::Node(node) => &mut **node,
            Self::Other(other) => &mut **other,
        }
    }

    /// The node, if it is one.
    pub(crate) fn as_node(&mut self) -> Option<&mut Node> {
        match self {
            Self::Node(node) => Some(node),
            Self::Other(_) => None,
        }
    }

    /// The engine for calls that belong to no node, if it is that.
    pub(crate) fn as_client(&mut self) -> Option<&mut RpcPeer> {
        match self {
            Self::Node(_) => None,
            Self::Other(other) => (&mut **other as &mut dyn Any).downcast_mut(),
        }
    }
}

/// The verbs of an engine.
pub(crate) trait Verbs: Any + Send {
    fn handle_accepted(&mut self, now: Instant, port: Port, peer: SocketAddr) -> Option<ConnId>;
    fn handle_connected(&mut self, now: Instant, conn: ConnId);
    fn handle_data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]);
    fn handle_closed(&mut self, now: Instant, conn: ConnId, why: Option<&str>);
    /// A connection was not even tried, since its host has no address.
    fn handle_unresolved(&mut self, now: Instant, conn: ConnId, why: &str) {
        self.handle_closed(now, conn, Some(why));
    }
    fn handle_timeout(&mut self, now: Instant);
    fn poll_timeout(&self) -> Option<Instant>;
    fn poll_transmit(&mut self) -> Option<Transmit>;
    /// What engines other than nodes tell.
    fn poll_notice(&mut self) -> Option<Notice>;
}

/// What engines other than nodes tell.
#[cfg_attr(not(feature = "master"), allow(dead_code, reason = "only a master gives them all"))]
pub(crate) enum Notice {
    /// A call is answered.
    Answered(CallId, Result<Value, CallError>),
    /// What users may have to act on.
    Warning(String),
    /// What they may want to know.
    Info(String),
    /// Somebody asks the program to end.
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

impl Verbs for Node {
    forward!();
    fn handle_accepted(&mut self, now: Instant, port: Port, peer: SocketAddr) -> Option<ConnId> {
        self.handle_accepted(now, port, peer)
    }
    fn poll_notice(&mut self) -> Option<Notice> {
        None
    }
}

#[cfg(feature = "master")]
impl Verbs for Master {
    forward!();
    fn handle_unresolved(&mut self, now: Instant, conn: ConnId, why: &str) {
        self.handle_unresolved(now, conn, why);
    }
    fn handle_accepted(&mut self, now: Instant, _: Port, peer: SocketAddr) -> Option<ConnId> {
        self.handle_accepted(now, peer)
    }
    fn poll_notice(&mut self) -> Option<Notice> {
        use MasterEvent::{NodeLost, ParamNotStored, Refused, ShutdownRequested, UpdateFailed, Withheld};
        let event = self.poll_event()?;
        let line = format!("master: {event}");
        Some(match event {
            ShutdownRequested { .. } => Notice::StopRequested,
            NodeLost { .. }
            | ParamNotStored { .. }
            | UpdateFailed { .. }
            | Withheld { .. }
            | Refused { .. } => Notice::Warning(line),
            _ => Notice::Info(line),
        })
    }
}

impl Verbs for RpcPeer {
    forward!();
    fn handle_accepted(&mut self, now: Instant, _: Port, peer: SocketAddr) -> Option<ConnId> {
        self.handle_accepted(now, peer)
    }
    fn poll_notice(&mut self) -> Option<Notice> {
        loop {
            if let RpcEvent::Answered { call, result } = self.poll_event()? {
                return Some(Notice::Answered(call, result));
            }
        }
    }
}
