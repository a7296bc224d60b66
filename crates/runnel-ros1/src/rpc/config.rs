//! Limits of an XML-RPC peer.

use core::time::Duration;

use crate::http;

/// Limits of an [`super::RpcPeer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcConfig {
    /// Longest body of a request or an answer, in bytes. Default: [`http::DEFAULT_MAX_BODY`].
    pub max_body: usize,
    /// Bytes of incomplete messages that all connections together may hold. Past it, the connections that hold the
    /// most are closed. Checked after every 64 KiB received. Default: 64 MiB.
    pub max_buffered: usize,
    /// Bytes that a client may send ahead while its call is in service; past it, its connection is closed. Default:
    /// 64 KiB.
    pub max_pipelined: usize,
    /// Client connections that may be open at a time. Default: 512.
    pub max_server_connections: usize,
    /// Servers to which a connection is kept open; calls to further ones get a connection each. Default: 512.
    pub max_kept_connections: usize,
    /// Calls to one server, each with its own connection, that may be in progress; others wait in a queue. A Python
    /// server has a backlog of 5 connections, and connecting beyond that takes a second. Default: 4.
    pub max_connections_per_server: usize,
    /// Calls that may be in progress or waiting; others fail immediately. Default: 4096.
    pub max_queued_calls: usize,
    /// Time in which a whole request must arrive: for the first one from the opening of the connection, for others
    /// from their first byte. Default: 10 s.
    pub request_deadline: Duration,
    /// Whether requests to any path are served, as in roscpp. If false, only `/` and `/RPC2`, as in the Python
    /// master. Default: true.
    pub any_path: bool,
}

impl Default for RpcConfig {
    fn default() -> Self {
        Self {
            max_body: http::DEFAULT_MAX_BODY,
            max_buffered: 64 * 1024 * 1024,
            max_pipelined: 64 * 1024,
            max_server_connections: 512,
            max_kept_connections: 512,
            max_connections_per_server: 4,
            max_queued_calls: 4096,
            request_deadline: Duration::from_secs(10),
            any_path: true,
        }
    }
}
