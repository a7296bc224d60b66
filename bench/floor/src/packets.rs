//! Sockets that preserve message boundaries, without epoll: one read and one write per message.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept, bind, connect,
    listen, recv, recvfrom, send, socket_with,
};

use crate::Trial;
use crate::stamps::{Stamps, number, set_number};
use crate::transport::unix_name;

/// Type of socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// UDP over loopback.
    Udp,
    /// Unix datagrams.
    Datagram,
    /// Unix sequenced packets.
    Sequenced,
}

/// One end.
#[derive(Debug)]
pub struct Packets(OwnedFd);

impl Packets {
    /// Creates a socket that waits for another end; returns its address.
    ///
    /// # Errors
    /// If the operating system refuses; the same in all of these.
    pub fn listen(kind: PacketKind) -> io::Result<(Self, String)> {
        let (socket, address) = match kind {
            PacketKind::Udp => {
                let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
                let address = socket.local_addr()?.to_string();
                (socket.into(), address)
            }
            PacketKind::Datagram => named(SocketType::DGRAM)?,
            PacketKind::Sequenced => {
                let (socket, name) = named(SocketType::SEQPACKET)?;
                listen(&socket, 1)?;
                (socket, name)
            }
        };
        Ok((Self(socket), address))
    }

    /// Waits until another end has connected.
    ///
    /// # Errors
    /// As above.
    pub fn accept(self, kind: PacketKind) -> io::Result<Self> {
        if kind == PacketKind::Sequenced {
            return Ok(Self(accept(&self.0)?));
        }
        let (_, _, from) = recvfrom(&self.0, &mut [0; 1], RecvFlags::empty())?;
        let from = from.ok_or_else(|| io::Error::other("a datagram without a sender"))?;
        connect(&self.0, &from)?;
        Ok(self)
    }

    /// Connects to the end at an address.
    ///
    /// # Errors
    /// If no end waits there.
    pub fn connect(kind: PacketKind, address: &str) -> io::Result<Self> {
        let name = || SocketAddrUnix::new_abstract_name(address.as_bytes());
        let socket = match kind {
            PacketKind::Udp => {
                let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
                let address = address.parse::<SocketAddr>().map_err(io::Error::other)?;
                socket.connect(address)?;
                socket.into()
            }
            PacketKind::Datagram => {
                // The other end replies to this socket's name.
                let (socket, _) = named(SocketType::DGRAM)?;
                connect(&socket, &name()?)?;
                socket
            }
            PacketKind::Sequenced => {
                let socket =
                    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
                connect(&socket, &name()?)?;
                return Ok(Self(socket));
            }
        };
        send(&socket, &[0], SendFlags::empty())?;
        Ok(Self(socket))
    }

    /// Sends each message when the previous one has come back; returns when each was sent and when it came back.
    ///
    /// # Errors
    /// If the other end closes, or a message is longer than these sockets carry.
    pub fn ping(&self, trial: Trial) -> io::Result<(Stamps, Stamps)> {
        let (mut sent, mut received) = (Stamps::of(trial), Stamps::of(trial));
        let mut message = trial.message();
        for number in 0..trial.total() {
            set_number(&mut message, number);
            sent.take(number);
            send(&self.0, &message, SendFlags::empty())?;
            self.receive(&mut message)?;
            received.take(number);
        }
        Ok((sent, received))
    }

    /// Sends back every message; returns when each arrived.
    ///
    /// # Errors
    /// As above.
    pub fn pong(&self, trial: Trial) -> io::Result<Stamps> {
        let mut received = Stamps::of(trial);
        let mut message = trial.message();
        for _ in 0..trial.total() {
            self.receive(&mut message)?;
            received.take(number(&message).unwrap_or_default());
            send(&self.0, &message, SendFlags::empty())?;
        }
        Ok(received)
    }

    fn receive(&self, message: &mut [u8]) -> io::Result<()> {
        let size = message.len();
        let (_, count) = recv(&self.0, message, RecvFlags::empty())?;
        if count == size { Ok(()) } else { Err(io::Error::other(format!("{count} B instead of {size}"))) }
    }
}

/// A Unix socket with a unique name.
fn named(kind: SocketType) -> io::Result<(OwnedFd, String)> {
    let name = unix_name();
    let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
    Ok((socket, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::tests::written;
    use std::thread;

    const KINDS: [PacketKind; 3] = [PacketKind::Udp, PacketKind::Datagram, PacketKind::Sequenced];

    #[test]
    fn every_packet_comes_back() {
        for (kind, size) in KINDS.into_iter().flat_map(|kind| [(kind, 10), (kind, 60_000)]) {
            let trial = Trial { size, count: 20, warm_up: 2 };
            let (waiting, address) = Packets::listen(kind).unwrap();
            let far = thread::spawn(move || waiting.accept(kind).unwrap().pong(trial).unwrap());
            let (sent, received) = Packets::connect(kind, &address).unwrap().ping(trial).unwrap();
            for stamps in [sent, received, far.join().unwrap()] {
                let numbers: Vec<u64> = written(&stamps).iter().map(|stamp| stamp.number).collect();
                assert_eq!(numbers, (2..22).collect::<Vec<_>>(), "{kind:?} {size} B");
            }
        }
    }

    #[test]
    fn message_of_wrong_size_is_an_error() {
        let trial = Trial { size: 10, count: 1, warm_up: 0 };
        for kind in KINDS {
            let (waiting, address) = Packets::listen(kind).unwrap();
            let far = thread::spawn(move || waiting.accept(kind).unwrap().pong(trial));
            let near = Packets::connect(kind, &address).unwrap();
            send(&near.0, &[0; 9], SendFlags::empty()).unwrap();
            assert_eq!(far.join().unwrap().unwrap_err().to_string(), "9 B instead of 10");
        }
    }
}
