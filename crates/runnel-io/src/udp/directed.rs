//! Sending by a chosen interface (`IP_PKTINFO`), a control message that rustix lacks.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use std::io::IoSlice;
use std::mem;
use std::net::{Ipv4Addr, SocketAddr};

/// A control message that holds a `T`, laid out as `CMSG_DATA` expects: the data follow the header at the header's
/// alignment, which suffices for every `T` here.
#[repr(C)]
struct Control<T> {
    header: libc::cmsghdr,
    data: T,
}

impl<T> Control<T> {
    fn new(level: libc::c_int, kind: libc::c_int, data: T) -> Self {
        const { assert!(align_of::<T>() <= align_of::<libc::cmsghdr>()) };
        // SAFETY: a structure of numbers, for which zero is a value. Some C libraries have named padding in it.
        let mut header: libc::cmsghdr = unsafe { mem::zeroed() };
        header.cmsg_len = (mem::offset_of!(Self, data) + size_of::<T>()) as _;
        (header.cmsg_level, header.cmsg_type) = (level, kind);
        Self { header, data }
    }
}

/// Sends one datagram by an interface, from an address of it. Without an address the kernel chooses one, which fails
/// for a group on loopback. With IPv6 it always chooses.
pub(super) fn send(
    fd: &OwnedFd,
    interface: u32,
    source: Option<Ipv4Addr>,
    slices: &[IoSlice<'_>],
    to: SocketAddr,
) -> rustix::io::Result<usize> {
    if to.is_ipv4() {
        let any = libc::in_addr { s_addr: 0 };
        // The kernel's index of an interface is an `int`: a larger one belongs to no interface.
        let ipi_ifindex = libc::c_int::try_from(interface).map_err(|_| Errno::NODEV)?;
        let source = source.map_or(0, |ip| u32::from_ne_bytes(ip.octets()));
        let ipi_spec_dst = libc::in_addr { s_addr: source };
        let info = libc::in_pktinfo { ipi_ifindex, ipi_spec_dst, ipi_addr: any };
        send_with(fd, &Control::new(libc::IPPROTO_IP, libc::IP_PKTINFO, info), slices, to)
    } else {
        let any = libc::in6_addr { s6_addr: [0; 16] };
        let info = libc::in6_pktinfo { ipi6_addr: any, ipi6_ifindex: interface as _ };
        send_with(fd, &Control::new(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info), slices, to)
    }
}

fn send_with<T>(
    fd: &OwnedFd,
    control: &Control<T>,
    slices: &[IoSlice<'_>],
    to: SocketAddr,
) -> rustix::io::Result<usize> {
    let address = to.as_any();
    // SAFETY: a structure of numbers and pointers, for which zero is a value.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_name = address.as_ptr().cast_mut().cast();
    message.msg_namelen = address.addr_len();
    // The standard library guarantees that an `IoSlice` is laid out as the kernel's `iovec`.
    message.msg_iov = slices.as_ptr().cast_mut().cast();
    message.msg_iovlen = slices.len() as _;
    message.msg_control = (&raw const *control).cast_mut().cast();
    message.msg_controllen = size_of_val(control) as _;
    // SAFETY: every pointer is to as many bytes as the length that follows it, and all outlive the call, which writes
    // to none of them.
    let sent = unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| last_error())
}

/// The error of the C library's last call.
pub(super) fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
