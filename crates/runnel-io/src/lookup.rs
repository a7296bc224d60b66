//! From host names to addresses, never on the caller's thread when it could take long.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::thread;

/// What is known of a host at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Its address.
    Known(SocketAddr),
    /// Nothing: the resolver must be asked.
    Unknown,
}

/// The address of a host that is written as an address or called `localhost`.
pub fn at_once(host: &str, port: u16) -> Lookup {
    if host.eq_ignore_ascii_case("localhost") {
        return Lookup::Known(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    }
    host.parse::<IpAddr>().map_or(Lookup::Unknown, |address| Lookup::Known(SocketAddr::new(address, port)))
}

/// Asks the system's resolver on a thread of its own and passes the first address of `host`, IPv4 before IPv6, to
/// `done`.
///
/// # Errors
/// When no thread can be started.
pub fn in_background(host: String, done: impl FnOnce(io::Result<IpAddr>) + Send + 'static) -> io::Result<()> {
    thread::Builder::new()
        .name("runnel-lookup".into())
        .stack_size(128 * 1024)
        .spawn(move || done(resolve(&host)))
        .map(drop)
}

fn resolve(host: &str) -> io::Result<IpAddr> {
    let addresses = (host, 0).to_socket_addrs()?.map(|address| address.ip());
    addresses
        .min_by_key(IpAddr::is_ipv6)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("host name {host} has no address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_localhost_are_known_at_once() {
        assert_eq!(at_once("127.0.0.1", 5), Lookup::Known(([127, 0, 0, 1], 5).into()));
        assert_eq!(at_once("LocalHost", 5), Lookup::Known(([127, 0, 0, 1], 5).into()));
        assert!(matches!(at_once("::1", 5), Lookup::Known(SocketAddr::V6(_))));
        assert_eq!(at_once("robot", 5), Lookup::Unknown);
    }

    #[test]
    fn a_name_that_does_not_exist_is_an_error() {
        let (send, receive) = std::sync::mpsc::channel();
        in_background("no-such-host.invalid".into(), move |result| send.send(result.is_err()).unwrap())
            .unwrap();
        assert!(receive.recv_timeout(std::time::Duration::from_secs(60)).unwrap());
    }
}
