//! Delays packets so that later ones overtake: packets queued by the kernel (iptables' target NFQUEUE) are released
//! after a while. Sources: `linux/netfilter/nfnetlink.h` and `nfnetlink_queue.h`.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rustix::fd::OwnedFd;
use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};

use crate::protocol::send_ready;
use crate::{Failure, failed};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The number of the queue
    #[arg(long)]
    queue: u16,
    /// Delay of each packet, in milliseconds
    #[arg(long)]
    milliseconds: u64,
}

/// Most packets held at a time; the kernel drops further ones.
const MOST: u32 = 4096;

/// Message types of the queue subsystem.
const PACKET: u16 = 0x300;
const VERDICT: u16 = 0x301;
const CONFIG: u16 = 0x302;

/// Attributes of these messages, and their values.
const CONFIG_COMMAND: u16 = 1;
const CONFIG_COPY: u16 = 2;
const CONFIG_MOST: u16 = 3;
const PACKET_HEADER: u16 = 1;
const VERDICT_HEADER: u16 = 2;
const BIND: u8 = 1;
const COPY_NOTHING: [u8; 5] = [0, 0, 0, 0, 1];
const ACCEPT: u32 = 1;

/// Bytes before the attributes.
const HEADERS: usize = 20;

/// Holds packets until the process is killed.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let queue = Queue::bind(args.queue)?;
    let held_for = Duration::from_millis(args.milliseconds);
    let mut held = VecDeque::new();
    send_ready()?;
    loop {
        if let Some(packet) = queue.packet(held.front().map(|(due, _)| *due))? {
            held.push_back((Instant::now() + held_for, packet));
        }
        while let Some((_, packet)) = held.pop_front_if(|(due, _)| *due <= Instant::now()) {
            queue.send(VERDICT, false, &[attribute(VERDICT_HEADER, &pair(ACCEPT, packet))].concat())?;
        }
    }
}

/// A netfilter queue.
struct Queue {
    socket: OwnedFd,
    number: u16,
}

impl Queue {
    fn bind(number: u16) -> Result<Self, Failure> {
        let socket =
            socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(NETFILTER))?;
        bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        let queue = Self { socket, number };
        for (attribute_type, value) in [
            (CONFIG_COMMAND, &[BIND, 0, 0, 0][..]),
            (CONFIG_COPY, &COPY_NOTHING),
            (CONFIG_MOST, &MOST.to_be_bytes()),
        ] {
            queue.send(CONFIG, true, &attribute(attribute_type, value))?;
            queue.answer()?;
        }
        Ok(queue)
    }

    /// Sends a message; with `answered`, the kernel acknowledges it.
    fn send(&self, kind: u16, answered: bool, attributes: &[u8]) -> Result<(), Failure> {
        const REQUEST: u16 = 1;
        const ACKNOWLEDGE: u16 = 4;
        let mut message = ((HEADERS + attributes.len()) as u32).to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend((if answered { REQUEST | ACKNOWLEDGE } else { REQUEST }).to_ne_bytes());
        // No sequence number and no sender; unspecified family, version 0.
        message.extend([0; 10]);
        message.extend(self.number.to_be_bytes());
        message.extend(attributes);
        send(&self.socket, &message, SendFlags::empty())?;
        Ok(())
    }

    /// Reads the kernel's acknowledgement: length, type, flags, sequence number, sender, and an error or 0.
    fn answer(&self) -> Result<(), Failure> {
        let mut answer = [0; 256];
        let (_, _) = recv(&self.socket, &mut answer, RecvFlags::empty())?;
        match word(&answer, 16).map(i32::from_ne_bytes) {
            Some(0) => Ok(()),
            Some(error) => Err(std::io::Error::from_raw_os_error(-error).into()),
            None => Err(failed("the kernel does not answer")),
        }
    }

    /// The id of the next packet, if one arrives before `until`.
    fn packet(&self, until: Option<Instant>) -> Result<Option<u32>, Failure> {
        // Without a time-out the read would block for ever.
        let least = Duration::from_micros(1);
        let wait = until.map(|until| until.saturating_duration_since(Instant::now()).max(least));
        set_socket_timeout(&self.socket, Timeout::Recv, wait)?;
        let mut message = [0; 4096];
        match recv(&self.socket, &mut message, RecvFlags::empty()) {
            Ok((_, length)) => Ok(packet_of(&message[..length.min(message.len())])),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR | rustix::io::Errno::NOBUFS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The packet id in a message.
fn packet_of(message: &[u8]) -> Option<u32> {
    let kind = message.get(4..6)?;
    let mut attributes = message.get(HEADERS..).filter(|_| kind == PACKET.to_ne_bytes())?;
    while let [l0, l1, t0, t1, value @ ..] = attributes {
        let length = usize::from(u16::from_ne_bytes([*l0, *l1]));
        if u16::from_ne_bytes([*t0, *t1]) == PACKET_HEADER {
            return value.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        }
        attributes = attributes.get(length.max(4).next_multiple_of(4)..)?;
    }
    None
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn pair(first: u32, second: u32) -> [u8; 8] {
    let [a, b] = [first.to_be_bytes(), second.to_be_bytes()];
    [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]
}

fn word(bytes: &[u8], at: usize) -> Option<[u8; 4]> {
    bytes.get(at..at + 4)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_id_is_found_after_other_attributes() {
        let mut message = vec![0; HEADERS];
        message[4..6].copy_from_slice(&PACKET.to_ne_bytes());
        message.extend(attribute(7, &[1, 2, 3]));
        message.extend(attribute(PACKET_HEADER, &[0, 0, 1, 2, 8, 0, 3]));
        assert_eq!(packet_of(&message), Some(258));
        for length in 0..message.len() - 7 {
            assert_eq!(packet_of(&message[..length]), None, "cut at {length}");
        }
        message[4] ^= 1;
        assert_eq!(packet_of(&message), None, "a message of another kind");
    }
}
