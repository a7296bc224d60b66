//! Helpers to open sockets of every kind.

use rustix::fd::OwnedFd;
use rustix::net::{self, AddressFamily, SocketAddrAny, SocketFlags, SocketType};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Flags of all sockets: non-blocking, and closed on exec.
pub(crate) const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// A socket for the address family of `ip`.
///
/// # Errors
/// If descriptors run out, or the kernel does not know the family.
pub(crate) fn open(ip: IpAddr, kind: SocketType) -> io::Result<OwnedFd> {
    let family = if ip.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(net::socket_with(family, kind, FLAGS, None)?)
}

/// The address; `None` if it is not an IP address.
pub(crate) fn to_std(address: SocketAddrAny) -> Option<SocketAddr> {
    address.try_into().ok()
}

/// Adds the operation to an error. Its kind stays.
pub(crate) fn at(what: fmt::Arguments<'_>, error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
