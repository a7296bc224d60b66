//! What a peer allows.

use core::time::Duration;

use crate::http;

/// The bounds of an [`super::RpcPeer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcConfig {
    /// The longest body of a request or an answer, in bytes. [`http::DEFAULT_MAX_BODY`] unless set.
    pub max_body: usize,
    /// How many bytes all connections together may hold of messages that are not whole: past it, those that hold
    /// most are closed. It is looked at whenever 64 KiB have come in. 64 MiB unless set.
    pub max_buffered: usize,
    /// How many bytes a client may send ahead while its call is in service; past it, it is closed. 64 KiB unless
    /// set.
    pub max_pipelined: usize,
    /// How many connections of clients may be open at once. 512 unless set.
    pub max_server_connections: usize,
    /// To how many servers a connection is kept open; calls to others that ask for it have one of their own. 512
    /// unless set.
    pub max_kept_connections: usize,
    /// How many calls that do not share a kept connection may be under way to one server; others wait for their turn. A
    /// Python server has room for 5 connections that it has not accepted yet, and a connection beyond that takes a second.
    /// 4 unless set.
    pub max_connections_per_server: usize,
    /// How many calls may be under way or waiting; others fail at once. 4096 unless set.
    pub max_queued_calls: usize,
    /// How long a request may take to come in whole: the first since the connection is open, others since their
    /// first byte. 10 s unless set.
    pub request_deadline: Duration,
    /// Whether requests to any path are served, as roscpp does, or only `/` and `/RPC2`, as the Python master
    /// does. True unless set.
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
