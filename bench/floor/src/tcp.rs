//! TCP over loopback with epoll: one wait, one read and one write a message, and nothing else.

use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use rustix::event::epoll;

use crate::stamps::{Stamps, number, set_number};
use crate::{NUMBER, Trial};

/// Bytes that the sink reads at once.
const BUFFER: usize = 64 * 1024;

/// One end, and the epoll instance that watches what it receives on. Messages have no frames: both ends know the size.
#[derive(Debug)]
pub struct Tcp {
    sends: TcpStream,
    receives: TcpStream,
    epoll: OwnedFd,
}

/// The connections between two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// One for both ways.
    One,
    /// One for each way, as two topics have over TCPROS: what acknowledges a message cannot ride on the answer to it.
    Pair,
}

impl Tcp {
    /// Takes the connections of the other end.
    ///
    /// # Errors
    /// When the operating system refuses, as in all of these.
    pub fn accept(listener: &TcpListener, connections: Connections) -> io::Result<Self> {
        let (receives, _) = listener.accept()?;
        let sends = match connections {
            Connections::One => receives.try_clone()?,
            Connections::Pair => listener.accept()?.0,
        };
        Self::new(sends, receives)
    }

    /// Connects to the other end.
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn connect(address: SocketAddr, connections: Connections) -> io::Result<Self> {
        let sends = TcpStream::connect(address)?;
        let receives = match connections {
            Connections::One => sends.try_clone()?,
            Connections::Pair => TcpStream::connect(address)?,
        };
        Self::new(sends, receives)
    }

    fn new(sends: TcpStream, receives: TcpStream) -> io::Result<Self> {
        sends.set_nodelay(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &receives, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        Ok(Self { sends, receives, epoll })
    }

    fn wait(&self) -> io::Result<()> {
        let mut events = [MaybeUninit::<epoll::Event>::uninit()];
        epoll::wait(&self.epoll, &mut events, None)?;
        Ok(())
    }

    /// Sends each message when the one before has come back; gives when each was sent and when it was back.
    ///
    /// # Errors
    /// When the other end goes before all are back.
    pub fn ping(&mut self, trial: Trial) -> io::Result<(Stamps, Stamps)> {
        let (mut sent, mut received) = (Stamps::of(trial), Stamps::of(trial));
        let mut message = trial.message();
        for number in 0..trial.total() {
            set_number(&mut message, number);
            sent.take(number);
            self.sends.write_all(&message)?;
            self.wait()?;
            self.receives.read_exact(&mut message)?;
            received.take(number);
        }
        Ok((sent, received))
    }

    /// Sends back what comes; gives when each message came.
    ///
    /// # Errors
    /// When the other end goes before all have come.
    pub fn pong(&mut self, trial: Trial) -> io::Result<Stamps> {
        let mut received = Stamps::of(trial);
        let mut message = trial.message();
        for _ in 0..trial.total() {
            self.wait()?;
            self.receives.read_exact(&mut message)?;
            received.take(number(&message).unwrap_or_default());
            self.sends.write_all(&message)?;
        }
        Ok(received)
    }

    /// Sends all messages without a pause; gives when each was given to the kernel.
    ///
    /// # Errors
    /// When the other end goes before all are sent.
    pub fn source(&mut self, trial: Trial) -> io::Result<Stamps> {
        let mut sent = Stamps::of(trial);
        let mut message = trial.message();
        for number in 0..trial.total() {
            set_number(&mut message, number);
            sent.take(number);
            self.sends.write_all(&message)?;
        }
        Ok(sent)
    }

    /// Takes messages until all have come or the other end goes; gives when each was complete.
    ///
    /// # Errors
    /// When reading fails.
    pub fn sink(&mut self, trial: Trial) -> io::Result<Stamps> {
        let mut received = Stamps::of(trial);
        let (mut cut, mut buffer) = (Cut::new(trial.message().len()), vec![0; BUFFER]);
        let mut complete = 0;
        while complete < trial.total() {
            self.wait()?;
            let count = self.receives.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            cut.each(&buffer[..count], |number| {
                received.take(number);
                complete += 1;
            });
        }
        Ok(received)
    }
}

/// Cuts a stream into messages of one size, keeping nothing of them but their numbers.
struct Cut {
    size: usize,
    /// Bytes of the current message so far.
    filled: usize,
    number: [u8; NUMBER],
}

impl Cut {
    fn new(size: usize) -> Self {
        Self { size, filled: 0, number: [0; NUMBER] }
    }

    fn each(&mut self, mut bytes: &[u8], mut complete: impl FnMut(u64)) {
        while !bytes.is_empty() {
            let taken = bytes.len().min(self.size - self.filled);
            let (now, rest) = bytes.split_at(taken);
            if let Some(place) = self.number.get_mut(self.filled..) {
                let count = place.len().min(taken);
                place[..count].copy_from_slice(&now[..count]);
            }
            self.filled += taken;
            bytes = rest;
            if self.filled == self.size {
                self.filled = 0;
                complete(u64::from_le_bytes(self.number));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::thread;

    #[test]
    fn messages_are_cut_wherever_the_bytes_are_split() {
        let stream: Vec<u8> =
            (0..5u64).flat_map(|number| [&number.to_le_bytes()[..], &[7, 7]].concat()).collect();
        for piece in 1..stream.len() {
            let (mut cut, mut numbers) = (Cut::new(10), Vec::new());
            stream.chunks(piece).for_each(|bytes| cut.each(bytes, |number| numbers.push(number)));
            assert_eq!(numbers, [0, 1, 2, 3, 4], "in pieces of {piece}");
        }
    }

    fn ends<A: Send + 'static>(
        connections: Connections,
        far: impl FnOnce(Tcp) -> A + Send + 'static,
    ) -> (Tcp, thread::JoinHandle<A>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let far = thread::spawn(move || far(Tcp::accept(&listener, connections).unwrap()));
        (Tcp::connect(address, connections).unwrap(), far)
    }

    #[test]
    fn both_ends_of_a_ping_pong_stamp_every_message() {
        let trial = Trial { size: 10, count: 20, warm_up: 3 };
        let folder = std::env::temp_dir();
        for connections in [Connections::One, Connections::Pair] {
            let (mut near, far) = ends(connections, move |mut far| far.pong(trial).unwrap());
            let (sent, received) = near.ping(trial).unwrap();
            for stamps in [sent, received, far.join().unwrap()] {
                let path = folder.join(format!("runnel-floor-ping-{}", std::process::id()));
                stamps.write(&path).unwrap();
                let numbers: Vec<u64> =
                    Stamps::read(&path, 100).unwrap().iter().map(|stamp| stamp.number).collect();
                assert_eq!(numbers, (3..23).collect::<Vec<_>>());
                std::fs::remove_file(&path).unwrap();
            }
        }
    }

    #[test]
    fn a_burst_arrives_whole() {
        let trial = Trial { size: 60_000, count: 50, warm_up: 0 };
        let (mut near, far) = ends(Connections::One, move |mut far| far.sink(trial).unwrap());
        near.source(trial).unwrap();
        let path = std::env::temp_dir().join(format!("runnel-floor-burst-{}", std::process::id()));
        far.join().unwrap().write(&path).unwrap();
        assert_eq!(Stamps::read(&path, 100).unwrap().len(), 50);
        std::fs::remove_file(&path).unwrap();
    }
}
