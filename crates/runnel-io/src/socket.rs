//! What sockets of every kind are opened with.

use rustix::fd::OwnedFd;
use rustix::net::{self, AddressFamily, SocketAddrAny, SocketFlags, SocketType};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// They never block, and end with a program that this process becomes.
pub(crate) const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// A socket for addresses of the family of this one.
///
/// # Errors
/// When descriptors run out, or the kernel does not know the family.
pub(crate) fn open(ip: IpAddr, kind: SocketType) -> io::Result<OwnedFd> {
    let family = if ip.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(net::socket_with(family, kind, FLAGS, None)?)
}

/// The address; `None` if it is not one of the Internet.
pub(crate) fn to_std(address: SocketAddrAny) -> Option<SocketAddr> {
    address.try_into().ok()
}

/// The error, with what was being done before it. Its kind stays.
pub(crate) fn at(what: fmt::Arguments<'_>, error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
