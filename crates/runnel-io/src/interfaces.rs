//! Network interfaces, and notification of their changes. All interfaces that are up are returned: the
//! caller selects those that it uses.

use crate::socket::FLAGS;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{self, AddressFamily, RecvFlags, SocketType};
use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

/// An interface that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The kernel's index: joins multicast groups, and is the scope of link-local addresses.
    pub index: u32,
    /// The name. Invalid UTF-8 is replaced.
    pub name: String,
    /// Its addresses in the kernel's order, IPv4 first.
    pub addresses: Vec<Address>,
    /// It is a loopback interface.
    pub loopback: bool,
    /// It announces multicast. Loopback interfaces seldom do, although they carry multicast.
    pub multicast: bool,
}

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// Length of the network prefix, in bits.
    pub prefix: u8,
}

/// The interfaces that are up, in order of their indices, including those without a carrier.
///
/// # Errors
/// If memory or descriptors run out.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let list = List::new()?;
    let mut found: Vec<Interface> = Vec::new();
    for entry in list.entries() {
        if entry.ifa_flags & libc::IFF_UP as libc::c_uint == 0 {
            continue;
        }
        // SAFETY: `ifa_name` is a string that ends with zero and lives as long as the list.
        let label = unsafe { CStr::from_ptr(entry.ifa_name) };
        // SAFETY: as above. The kernel takes the label of an address for the name of its interface.
        let index = unsafe { libc::if_nametoindex(label.as_ptr()) };
        if index == 0 {
            // The interface was removed meanwhile.
            continue;
        }
        let at = found.iter().position(|interface| interface.index == index).unwrap_or_else(|| {
            found.push(interface(index, label, entry.ifa_flags));
            found.len() - 1
        });
        // SAFETY: the list has addresses, or none, in both places, each as long as its family has it.
        if let Some(ip) = unsafe { ip_of(entry.ifa_addr) } {
            // SAFETY: as above.
            let mask = unsafe { ip_of(entry.ifa_netmask) };
            found[at].addresses.push(Address { ip, prefix: prefix_of(ip, mask) });
        }
    }
    found.sort_by_key(|interface| interface.index);
    Ok(found)
}

fn interface(index: u32, label: &CStr, flags: libc::c_uint) -> Interface {
    let label = label.to_string_lossy();
    let has = |flag: libc::c_int| flags & flag as libc::c_uint != 0;
    Interface {
        index,
        // An address may have a label of its own: the interface's name, a colon, and a suffix.
        name: label.split(':').next().unwrap_or_default().to_owned(),
        addresses: Vec::new(),
        loopback: has(libc::IFF_LOOPBACK),
        multicast: has(libc::IFF_MULTICAST),
    }
}

/// The prefix length of a mask; that of a single address if there is no mask.
fn prefix_of(ip: IpAddr, mask: Option<IpAddr>) -> u8 {
    let ones = match (mask, ip) {
        (Some(IpAddr::V4(mask)), _) => mask.to_bits().leading_ones(),
        (Some(IpAddr::V6(mask)), _) => mask.to_bits().leading_ones(),
        (None, IpAddr::V4(_)) => Ipv4Addr::BITS,
        (None, IpAddr::V6(_)) => Ipv6Addr::BITS,
    };
    ones as u8
}

/// The C library's list, freed when it is dropped.
struct List(*mut libc::ifaddrs);

impl List {
    fn new() -> io::Result<Self> {
        let mut first = ptr::null_mut();
        // SAFETY: the call writes one pointer to `first`.
        match unsafe { libc::getifaddrs(&raw mut first) } {
            0 => Ok(Self(first)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn entries(&self) -> impl Iterator<Item = &libc::ifaddrs> {
        // SAFETY: each pointer of the list is null or to an entry that lives, and is not written to, until the list
        // is freed, which `self` is borrowed against.
        std::iter::successors(unsafe { self.0.as_ref() }, |entry| unsafe { entry.ifa_next.as_ref() })
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: `getifaddrs` returned it, and none of it is borrowed any more.
        unsafe { libc::freeifaddrs(self.0) };
    }
}

/// The IP address, if the family is IPv4 or IPv6.
///
/// # Safety
/// `address` is null, or to an address that is as long as its family has it.
unsafe fn ip_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: every address begins with its family. It need not be aligned.
    match libc::c_int::from(unsafe { (&raw const (*address).sa_family).read_unaligned() }) {
        libc::AF_INET => {
            // SAFETY: one of this family is a `sockaddr_in`.
            let found = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(found.sin_addr.s_addr.to_ne_bytes()).into())
        }
        libc::AF_INET6 => {
            // SAFETY: one of this family is a `sockaddr_in6`.
            let found = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(found.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// Limit of messages read per call. The reactor reports a socket with more again.
const MAX_PER_CALL: usize = 256;

/// Notification of the kernel that interfaces or addresses change. It is readable after a change.
#[derive(Debug)]
pub struct InterfaceMonitor {
    fd: OwnedFd,
}

impl InterfaceMonitor {
    /// Starts to watch. A call of [`interfaces`] afterwards misses no change.
    ///
    /// # Errors
    /// If descriptors run out.
    pub fn watch() -> io::Result<Self> {
        // Without a protocol it is the first one, `NETLINK_ROUTE`.
        let fd = net::socket_with(AddressFamily::NETLINK, SocketType::RAW, FLAGS, None)?;
        let groups = libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR;
        net::bind(&fd, &SocketAddrNetlink::new(0, groups as u32))?;
        Ok(Self { fd })
    }

    /// Whether there was a change since the last call. It may concern a property that [`interfaces`] does not return.
    ///
    /// # Errors
    /// None in practice.
    pub fn any(&self) -> io::Result<bool> {
        let mut any = false;
        for _ in 0..MAX_PER_CALL {
            // The content does not matter, since `interfaces` returns the current state.
            match net::recv(&self.fd, &mut [0; 1], RecvFlags::empty()) {
                // The kernel's queue overflowed.
                Ok(_) | Err(Errno::NOBUFS) => any = true,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(any)
    }
}

impl AsFd for InterfaceMonitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
