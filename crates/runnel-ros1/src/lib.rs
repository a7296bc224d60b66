//! The ROS 1 protocols without I/O: XML-RPC over HTTP, the master and its parameter server (feature `master`), the slave API,
//! connection headers, TCPROS and UDPROS framing.
//!
//! The crate does no I/O: bytes and the time go in, bytes and events come out. The engines ([`master::Master`],
//! [`node::Node`]) have methods of four kinds: getters, `handle_*(now, ..)`, mutators and `poll_*`. The driver owns
//! the sockets and the clock.
#![forbid(unsafe_code)]

pub mod answer;
pub mod header;
pub mod http;
#[cfg(feature = "master")]
pub mod master;
pub mod net;
pub mod node;
pub mod peer_text;
pub mod rpc;
pub mod tcpros;
pub mod udpros;
pub mod xmlrpc;
