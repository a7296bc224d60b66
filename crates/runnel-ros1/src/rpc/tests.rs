//! Peers against bytes of the originals and of bad clients and servers, and against one another.

mod against_clients;
mod against_servers;
mod between_peers;
mod turns;

use core::time::Duration;
use std::net::SocketAddr;

use runnel_core::time::Instant;

use super::*;

/// The address of every client here.
fn somebody() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 40_000))
}

fn seconds(count: u64) -> Instant {
    Instant::default() + Duration::from_secs(count)
}

fn uri(text: &str) -> Uri {
    Uri::parse(text).expect("an address")
}

/// Everything that a peer wants done.
fn transmits(peer: &mut RpcPeer) -> Vec<Transmit> {
    std::iter::from_fn(|| peer.poll_transmit()).collect()
}

/// Everything that a peer has to tell.
fn events(peer: &mut RpcPeer) -> Vec<RpcEvent> {
    std::iter::from_fn(|| peer.poll_event()).collect()
}

/// What a peer sends, as text, over one connection, and whether it closes it after.
fn sent(peer: &mut RpcPeer, over: ConnId) -> (String, bool) {
    let mut text = String::new();
    let mut closed = false;
    for transmit in transmits(peer) {
        match transmit {
            Transmit::Send { conn, bytes } if conn == over => {
                text += &String::from_utf8(bytes).expect("text")
            }
            Transmit::Close { conn } if conn == over => closed = true,
            other => panic!("nothing else is done: {other:?}"),
        }
    }
    (text, closed)
}
