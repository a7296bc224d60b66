//! What a peer tells its owner.

use std::net::SocketAddr;

use super::{CallError, CallId, ClientFault};
use crate::net::ConnId;
use crate::xmlrpc::Value;

/// Something that happened to an [`super::RpcPeer`].
#[derive(Clone, Debug, PartialEq)]
pub enum RpcEvent {
    /// A client calls a method; [`super::RpcPeer::reply`] answers it. Until then the client's next is not read.
    Called {
        /// The connection to answer on.
        conn: ConnId,
        /// The client.
        peer: SocketAddr,
        /// What it calls.
        method: String,
        /// What with.
        params: Vec<Value>,
        /// Bytes of the request, HTTP head included.
        bytes: usize,
    },
    /// A call of ours is over.
    Answered {
        /// Which.
        call: CallId,
        /// The value that the server answered, or how the call failed.
        result: Result<Value, CallError>,
    },
    /// The other side has ended a kept connection that had answered a call before: the sign that a server died.
    ///
    /// It comes once for a connection, also when a call had just been sent on it; that call is then made once more
    /// over a new connection, or fails, by itself.
    KeptLost,
    /// A client was refused; for a line in a log.
    Refused {
        /// The client.
        peer: SocketAddr,
        /// What it did.
        why: ClientFault,
    },
}
