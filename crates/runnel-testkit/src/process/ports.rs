//! Ports for test programs.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

/// Ports to hand out, below those that the system uses for outgoing connections (32768 and up), so that no connection
/// of a test can take a port before it is bound.
const PORTS: std::ops::Range<u16> = 20_000..30_000;

/// A port of 127.0.0.1 that is free for TCP and UDP. This process does not hand it out again.
///
/// # Panics
/// If none is free.
pub fn free_port() -> u16 {
    static HANDED_OUT: AtomicU16 = AtomicU16::new(0);
    // Test programs that run side by side start at different ports.
    let start = (std::process::id() % 97) as u16 * 103;
    PORTS
        .map(|_| HANDED_OUT.fetch_add(1, Ordering::Relaxed))
        .map(|count| PORTS.start + (start.wrapping_add(count)) % PORTS.len() as u16)
        .find(|&port| is_free(port))
        .unwrap_or_else(|| panic!("no port of {PORTS:?} is free"))
}

fn is_free(port: u16) -> bool {
    let address = (Ipv4Addr::LOCALHOST, port);
    TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_differ() {
        let (first, second) = (free_port(), free_port());
        assert_ne!(first, second);
        assert!(is_free(first) && is_free(second));
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, first)).unwrap();
        assert!(!is_free(first));
    }
}
