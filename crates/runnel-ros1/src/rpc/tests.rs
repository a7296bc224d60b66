//! Peers against recorded bytes, misbehaving clients and servers, and each other.

mod against_clients;
mod against_servers;
mod between_peers;
mod turns;

use core::time::Duration;
use std::net::SocketAddr;

use runnel_core::time::Instant;

use super::*;

/// The address of every client in these tests.
fn client_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 40_000))
}

fn seconds(count: u64) -> Instant {
    Instant::default() + Duration::from_secs(count)
}

fn uri(text: &str) -> Uri {
    Uri::parse(text).expect("an address")
}

/// All pending socket operations of a peer.
fn transmits(peer: &mut RpcPeer) -> Vec<Transmit> {
    std::iter::from_fn(|| peer.poll_transmit()).collect()
}

/// All pending events of a peer.
fn events(peer: &mut RpcPeer) -> Vec<RpcEvent> {
    std::iter::from_fn(|| peer.poll_event()).collect()
}

/// The text that a peer sends over one connection, and whether it closes the connection afterwards.
fn sent(peer: &mut RpcPeer, over: ConnId) -> (String, bool) {
    let mut text = String::new();
    let mut closed = false;
    for transmit in transmits(peer) {
        match transmit {
            Transmit::Send { conn, bytes } if conn == over => {
                text += &String::from_utf8(bytes).expect("text")
            }
            Transmit::Close { conn } if conn == over => closed = true,
            other => panic!("unexpected operation: {other:?}"),
        }
    }
    (text, closed)
}
