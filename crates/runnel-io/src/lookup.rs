//! Host name look-up, on a thread of its own when it could take long.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::thread;

/// Stack size of the look-up thread, in bytes: the resolver may run unknown code (NSS modules).
const STACK: usize = 1 << 20;

/// Preferred address family of a host with several addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// IPv4, if there is such an address.
    #[default]
    V4,
    /// IPv6, if there is such an address.
    V6,
}

impl Family {
    /// The loopback address.
    pub fn loopback(self) -> IpAddr {
        match self {
            Self::V4 => Ipv4Addr::LOCALHOST.into(),
            Self::V6 => Ipv6Addr::LOCALHOST.into(),
        }
    }

    /// The address of all interfaces. With IPv6, it normally includes IPv4.
    pub fn unspecified(self) -> IpAddr {
        match self {
            Self::V4 => Ipv4Addr::UNSPECIFIED.into(),
            Self::V6 => Ipv6Addr::UNSPECIFIED.into(),
        }
    }

    /// The preferred address.
    pub fn choose(self, addresses: impl IntoIterator<Item = IpAddr>) -> Option<IpAddr> {
        addresses.into_iter().min_by_key(|address| address.is_ipv6() != (self == Self::V6))
    }
}

/// The address of a host given as an address or as `localhost`; `None` if the resolver must be asked.
pub fn resolve_immediately(host: &str, port: u16, family: Family) -> Option<SocketAddr> {
    if host.eq_ignore_ascii_case("localhost") {
        return Some(SocketAddr::new(family.loopback(), port));
    }
    host.parse().ok().map(|address| SocketAddr::new(address, port))
}

/// Whether a host, as written, is a loopback address or `localhost`.
pub fn is_loopback(host: &str) -> bool {
    resolve_immediately(host, 0, Family::V4).is_some_and(|address| address.ip().is_loopback())
}

/// Resolves `host` on a thread of its own and passes the result to `done`.
///
/// # Errors
/// If no thread can be started.
pub fn resolve_in_background(
    host: String,
    family: Family,
    done: impl FnOnce(io::Result<IpAddr>) + Send + 'static,
) -> io::Result<()> {
    thread::Builder::new()
        .name("runnel-lookup".into())
        .stack_size(STACK)
        .spawn(move || done(resolve(&host, family)))
        .map(drop)
}

fn resolve(host: &str, family: Family) -> io::Result<IpAddr> {
    let addresses = (host, 0).to_socket_addrs()?.map(|address| address.ip());
    family
        .choose(addresses)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("host name {host} has no address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_localhost_need_no_resolver() {
        assert_eq!(resolve_immediately("127.0.0.1", 5, Family::V4), Some(([127, 0, 0, 1], 5).into()));
        assert_eq!(resolve_immediately("LocalHost", 5, Family::V4), Some(([127, 0, 0, 1], 5).into()));
        assert!(matches!(resolve_immediately("::1", 5, Family::V4), Some(SocketAddr::V6(_))));
        assert_eq!(resolve_immediately("robot", 5, Family::V4), None);
        assert_eq!(
            resolve_immediately("localhost", 5, Family::V6),
            Some(([0, 0, 0, 0, 0, 0, 0, 1], 5).into())
        );
    }

    #[test]
    fn loopback_is_recognized_by_address_or_name() {
        assert!(["localhost", "LOCALHOST", "127.0.0.1", "127.0.1.1", "::1"].into_iter().all(is_loopback));
        assert!(!["", "robot", "localhost.robot", "0.0.0.0", "10.0.0.1", "::"].into_iter().any(is_loopback));
    }

    #[test]
    fn preferred_family_is_chosen_if_present() {
        let [four, six]: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        for addresses in [[four, six], [six, four]] {
            assert_eq!((Family::V4.choose(addresses), Family::V6.choose(addresses)), (Some(four), Some(six)));
        }
        assert_eq!((Family::V4.choose([six]), Family::V6.choose([four])), (Some(six), Some(four)));
        assert_eq!(Family::V4.choose([]), None);
    }

    #[test]
    fn unknown_name_is_an_error() {
        // This calls the system's resolver.
        runnel_testkit::namespace::require_private_network();
        let (send, receive) = std::sync::mpsc::channel();
        resolve_in_background("no-such-host.invalid".into(), Family::V4, move |result| {
            send.send(result.is_err()).unwrap()
        })
        .unwrap();
        assert!(receive.recv_timeout(std::time::Duration::from_secs(60)).unwrap());
    }
}
