//! The ROS 1 protocols without I/O: XML-RPC over HTTP, the master and its parameter server (feature `master`), the slave API,
//! connection headers, TCPROS and UDPROS framing.
//!
//! Everything here takes bytes and the time and gives bytes and events back. The engines ([`master::Master`],
//! [`node::Node`]) have methods of four kinds: getters, `handle_*(now, ..)`, mutators and `poll_*`; whoever
//! drives them owns the sockets and the clock.
#![forbid(unsafe_code)]

pub mod answer;
pub mod header;
pub mod http;
#[cfg(feature = "master")]
pub mod master;
pub mod net;
pub mod node;
pub mod rpc;
pub mod tcpros;
pub mod told;
pub mod udpros;
pub mod xmlrpc;
