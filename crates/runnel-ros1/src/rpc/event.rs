//! Events of an XML-RPC peer.

use std::net::SocketAddr;

use super::{CallError, CallId, ClientFault};
use crate::net::ConnId;
use crate::xmlrpc::Value;

/// An event of an [`super::RpcPeer`].
#[derive(Clone, Debug, PartialEq)]
pub enum RpcEvent {
    /// A client calls a method; [`super::RpcPeer::reply`] answers it. The client's next request is not read until
    /// then.
    Called {
        /// The connection to answer on.
        conn: ConnId,
        /// The client.
        peer: SocketAddr,
        /// The method.
        method: String,
        /// Its parameters.
        params: Vec<Value>,
        /// Bytes of the request, HTTP head included.
        bytes: usize,
    },
    /// A call of this process has ended.
    Answered {
        /// The call.
        call: CallId,
        /// The value that the server returned, or how the call failed.
        result: Result<Value, CallError>,
    },
    /// The server has closed a kept connection that had answered a call before, which is how a server's death shows.
    ///
    /// It is reported once per connection. A call that had just been sent on it is repeated over a new connection, or
    /// fails, independently of this event.
    KeptConnectionLost,
    /// A client was refused. For the log.
    Refused {
        /// The client.
        peer: SocketAddr,
        /// The reason.
        why: ClientFault,
    },
}
