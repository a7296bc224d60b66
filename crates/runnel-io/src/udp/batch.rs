//! Several datagrams in one system call.

use super::Datagrams;
use crate::socket::at;
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{self, MMsgHdr, SendAncillaryBuffer, SendFlags};
use std::array;
use std::io::{self, IoSlice};
use std::net::SocketAddr;

/// Most datagrams of one call.
pub const MOST_AT_ONCE: usize = 32;

impl Datagrams {
    /// Sends several datagrams to `to`, each as [`Datagrams::send_to_vectored`] does, in one system call: how many of
    /// them the kernel took, from the first on. That is [`MOST_AT_ONCE`] at most, and 0 when it has no room now.
    ///
    /// # Errors
    /// As [`Datagrams::send_to_vectored`], of the first datagram: an error of a later one shows when the rest is sent.
    pub fn send_batch(&self, datagrams: &[&[IoSlice<'_>]], to: SocketAddr) -> io::Result<usize> {
        let address = to.as_any();
        let mut nothings: [_; MOST_AT_ONCE] = array::from_fn(|_| SendAncillaryBuffer::default());
        let mut number = 0;
        let mut messages = nothings.each_mut().map(|nothing| {
            let slices = datagrams.get(number).copied().unwrap_or_default();
            number += 1;
            MMsgHdr::new_with_addr(&address, slices, nothing)
        });
        let messages = &mut messages[..datagrams.len().min(MOST_AT_ONCE)];
        match net::sendmmsg(&self.fd, messages, SendFlags::NOSIGNAL) {
            Ok(taken) => Ok(taken),
            Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => Ok(0),
            Err(error) => Err(at(format_args!("datagrams to {to} from {}", self.address), error)),
        }
    }
}
