//! Several datagrams in one system call.

use super::directed::last_error;
use super::{Datagrams, Received};
use crate::socket::{at, to_std};
use rustix::fd::AsRawFd;
use rustix::io::Errno;
use rustix::net::addr::{SocketAddrArg, SocketAddrStorage};
use rustix::net::{self, MMsgHdr, SendAncillaryBuffer, SendFlags, SocketAddrAny};
use std::array;
use std::io::{self, IoSlice};
use std::mem::{self, MaybeUninit};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ptr;

/// Most datagrams of one call.
pub const MOST_AT_ONCE: usize = 32;

/// Datagrams of a small batch, which costs less to prepare.
const FEW: usize = 4;

/// A datagram to be sent, from several buffers.
#[derive(Clone, Copy, Debug)]
pub struct Addressed<'a> {
    /// The bytes.
    pub slices: &'a [IoSlice<'a>],
    /// The destination.
    pub to: SocketAddr,
}

impl Datagrams {
    /// Sends several datagrams in one system call and without allocation, each as [`Datagrams::send_to_vectored`]
    /// does. Returns how many the kernel accepted, from the first on: at most [`MOST_AT_ONCE`], and 0 when its buffer
    /// is full.
    ///
    /// # Errors
    /// As [`Datagrams::send_to_vectored`], for the first datagram. The error of a later one appears when the rest is
    /// sent.
    pub fn send_batch(&self, datagrams: &[Addressed<'_>]) -> io::Result<usize> {
        let sent = match datagrams {
            [] => return Ok(0),
            few if few.len() <= FEW => self.send_some::<FEW>(few),
            many => self.send_some::<MOST_AT_ONCE>(many),
        };
        match sent {
            Ok(taken) => Ok(taken),
            Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => Ok(0),
            Err(error) => {
                let (to, from) = (datagrams[0].to, self.address);
                Err(at(format_args!("datagrams, the first to {to}, from {from}"), error))
            }
        }
    }

    fn send_some<const MOST: usize>(&self, datagrams: &[Addressed<'_>]) -> rustix::io::Result<usize> {
        let address = |index| datagrams.get(index).map_or(UNKNOWN, |datagram: &Addressed<'_>| datagram.to);
        let addresses: [_; MOST] = array::from_fn(|index| address(index).as_any());
        let mut nothings: [_; MOST] = array::from_fn(|_| SendAncillaryBuffer::default());
        let mut number = 0;
        let mut messages = nothings.each_mut().map(|nothing| {
            let slices = datagrams.get(number).map_or(&[][..], |datagram| datagram.slices);
            number += 1;
            MMsgHdr::new_with_addr(&addresses[number - 1], slices, nothing)
        });
        net::sendmmsg(&self.fd, &mut messages[..datagrams.len().min(MOST)], SendFlags::NOSIGNAL)
    }

    /// Receives waiting datagrams from any sender into `batch`, up to its capacity, in one system call and without
    /// allocation. Returns their number. The previous content of `batch` is lost.
    ///
    /// # Errors
    /// None in practice.
    pub fn recv_batch(&self, batch: &mut Batch) -> io::Result<usize> {
        self.recv_batch_of(batch, MOST_AT_ONCE)
    }

    /// As [`Datagrams::recv_batch`], but at most `most` datagrams: a small request costs less.
    ///
    /// # Errors
    /// None in practice.
    pub fn recv_batch_of(&self, batch: &mut Batch, most: usize) -> io::Result<usize> {
        let filled = match most {
            0..=FEW => self.fill::<FEW>(batch, most),
            _ => self.fill::<MOST_AT_ONCE>(batch, most),
        };
        match filled {
            Ok(()) => Ok(batch.found.len()),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(at(format_args!("receiving at {}", self.address), error)),
        }
    }

    fn fill<const MOST: usize>(&self, batch: &mut Batch, most: usize) -> rustix::io::Result<()> {
        batch.found.clear();
        let mut names = [MaybeUninit::<SocketAddrStorage>::zeroed(); MOST];
        let mut slices = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; MOST];
        // SAFETY: structures of numbers and pointers, for which zero is a value.
        let mut messages: [libc::mmsghdr; MOST] = unsafe { mem::zeroed() };
        let mut count = 0;
        let places = names.iter_mut().zip(&mut slices).zip(&mut messages).take(most);
        for (room, ((name, slice), message)) in batch.room.chunks_exact_mut(batch.bytes).zip(places) {
            *slice = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
            message.msg_hdr.msg_name = name.as_mut_ptr().cast();
            message.msg_hdr.msg_namelen = size_of_val(name) as _;
            message.msg_hdr.msg_iov = slice;
            message.msg_hdr.msg_iovlen = 1;
            count += 1;
        }
        let (fd, first) = (self.fd.as_raw_fd(), messages.as_mut_ptr());
        // SAFETY: each of the first `count` messages has its own pointers to a name and to a slice, and the slice to
        // a buffer, each with its length. All outlive the call, and no other code uses them during it.
        let found = unsafe { libc::recvmmsg(fd, first, count, 0, ptr::null_mut()) };
        let found = usize::try_from(found).map_err(|_| last_error())?;
        batch.found.extend(messages.iter().zip(names).take(found).map(|(message, name)| {
            // SAFETY: all of it is initialized, with zeros where the kernel wrote nothing, and zeros are an address
            // of no family.
            let name = unsafe { SocketAddrAny::new(name, size_of_val(&name) as _) };
            let cut = message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            Received { len: message.msg_len as usize, from: to_std(name).unwrap_or(UNKNOWN), cut }
        }));
        Ok(())
    }
}

/// The sender of a datagram without an IP address, which does not occur on UDP sockets; and the destination of an
/// unused entry.
const UNKNOWN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// Buffers for several datagrams, and those received last.
#[derive(Debug)]
pub struct Batch {
    room: Box<[u8]>,
    /// Capacity of each datagram.
    bytes: usize,
    found: Vec<Received>,
}

impl Batch {
    /// Buffers for `datagrams` datagrams, 1 to [`MOST_AT_ONCE`], of at most `bytes` bytes each.
    pub fn new(datagrams: usize, bytes: usize) -> Self {
        let (datagrams, bytes) = (datagrams.clamp(1, MOST_AT_ONCE), bytes.max(1));
        let room = vec![0; datagrams * bytes].into_boxed_slice();
        Self { room, bytes, found: Vec::with_capacity(datagrams) }
    }

    /// The datagrams received last, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Received)> {
        let rooms = self.room.chunks_exact(self.bytes);
        rooms.zip(&self.found).map(|(room, received)| (&room[..received.len], *received))
    }
}
