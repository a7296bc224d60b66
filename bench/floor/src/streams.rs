//! Byte streams over loopback with epoll: one wait, one read and one write per message.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::event::epoll;

use crate::splitter::MessageSplitter;
use crate::stamps::{Stamps, number, set_number};
use crate::{Course, Transport, Trial};

/// Bytes per read of the sink.
const BUFFER: usize = 64 * 1024;

/// One end, with the epoll instance of its receiving connections. Messages have no frames: both ends know the sizes.
#[derive(Debug)]
pub struct Streams<S> {
    pub(crate) sends: Vec<S>,
    pub(crate) receives: Vec<S>,
    /// Connections without traffic.
    quiet: Vec<S>,
    epoll: OwnedFd,
}

/// The connections between two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// One for both directions.
    One,
    /// One per direction, as two topics have over TCPROS: acknowledgements cannot be piggybacked on answers.
    Pair,
    /// This many in one direction, at least one; the first also carries the answers.
    Topics(usize),
}

impl<S: Transport> Streams<S> {
    /// Accepts the connections of the other end.
    ///
    /// # Errors
    /// If the operating system refuses; the same in all of these.
    pub fn accept(listener: &S::Listener, connections: Connections) -> io::Result<Self> {
        let first = S::accept(listener)?;
        let (sends, receives) = match connections {
            Connections::One => (first.duplicate()?, vec![first]),
            Connections::Pair => (S::accept(listener)?, vec![first]),
            Connections::Topics(count) => {
                let sends = first.duplicate()?;
                let more = (1..count).map(|_| S::accept(listener));
                (sends, [Ok(first)].into_iter().chain(more).collect::<io::Result<_>>()?)
            }
        };
        Self::new(vec![sends], receives)
    }

    /// Connects to other ends; it receives from the first.
    ///
    /// # Errors
    /// If nothing listens there.
    pub fn connect(addresses: &[String], connections: Connections) -> io::Result<Self> {
        let first = addresses.first().ok_or_else(|| io::Error::other("there is no other end"))?;
        let sends: Vec<S> = match connections {
            Connections::Topics(count) => (0..count).map(|_| S::connect(first)).collect::<io::Result<_>>()?,
            _ => addresses.iter().map(|address| S::connect(address)).collect::<io::Result<_>>()?,
        };
        let receives = match connections {
            Connections::Pair => S::connect(first)?,
            _ => sends.first().ok_or_else(|| io::Error::other("there is no topic"))?.duplicate()?,
        };
        Self::new(sends, vec![receives])
    }

    fn new(sends: Vec<S>, receives: Vec<S>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (index, stream) in receives.iter().enumerate() {
            epoll::add(&epoll, stream, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
        }
        Ok(Self { sends, receives, quiet: Vec::new(), epoll })
    }

    /// Sends only on the first connection from now on; the other end still watches all of them.
    #[must_use]
    pub fn only_first(mut self) -> Self {
        self.quiet.extend(self.sends.drain(1..));
        self
    }

    /// Waits until a connection is readable, and returns it.
    pub(crate) fn wait(&mut self) -> io::Result<&mut S> {
        let mut events = [MaybeUninit::<epoll::Event>::uninit()];
        let (ready, _) = epoll::wait(&self.epoll, &mut events, None)?;
        let index = ready.first().map_or(0, |event| event.data.u64());
        self.receives
            .get_mut(index as usize)
            .ok_or_else(|| io::Error::other("an event of an unknown connection"))
    }

    /// Sends each message when the previous one has come back; returns when each was sent and when it came back.
    /// Several streams are used round-robin.
    ///
    /// # Errors
    /// If the other end closes before all are back.
    pub fn ping(&mut self, trial: Trial) -> io::Result<(Stamps, Stamps)> {
        let (mut sent, mut received) = (Stamps::of(trial), Stamps::of(trial));
        let mut message = trial.message();
        let topics = self.sends.len();
        for number in 0..trial.total() {
            set_number(&mut message, number);
            sent.take(number);
            self.sends[number as usize % topics].write_all(&message)?;
            self.wait()?.read_exact(&mut message)?;
            received.take(number);
        }
        Ok((sent, received))
    }

    /// Sends back every message; returns when each arrived.
    ///
    /// # Errors
    /// If the other end closes before all are received.
    pub fn pong(&mut self, course: &Course) -> io::Result<Stamps> {
        let mut received = Stamps::of(course.trial);
        let mut message = course.trial.message();
        for index in 0..course.trial.total() {
            message.resize(course.sizes.size(index), 0);
            self.wait()?.read_exact(&mut message)?;
            received.take(number(&message).unwrap_or_default());
            self.sends[0].write_all(&message)?;
        }
        Ok(received)
    }

    /// Sends each message to every other end when it is due; returns when each was given to the kernel.
    ///
    /// # Errors
    /// If another end closes before all are sent.
    pub fn source(&mut self, course: &Course) -> io::Result<Stamps> {
        let mut sent = Stamps::of(course.trial);
        let (mut message, mut pace) = (course.trial.message(), course.pace);
        for number in 0..course.trial.total() {
            message.resize(course.sizes.size(number), 0);
            set_number(&mut message, number);
            pace.wait(number);
            sent.take(number);
            course.touch.fill(&mut message, number);
            self.sends.iter_mut().try_for_each(|stream| stream.write_all(&message))?;
        }
        Ok(sent)
    }

    /// Receives messages until all are complete or the other end closes; returns when each was complete.
    ///
    /// # Errors
    /// If reading fails, or the payload is not what was sent.
    pub fn sink(&mut self, course: &Course) -> io::Result<Stamps> {
        let mut received = Stamps::of(course.trial);
        let (mut splitter, mut buffer) = (MessageSplitter::new(course), vec![0; BUFFER]);
        while splitter.count() < course.trial.total() {
            let count = self.wait()?.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            splitter.each(&buffer[..count], |number| received.take(number));
        }
        if splitter.is_intact() {
            Ok(received)
        } else {
            Err(io::Error::other("a payload is not what was sent"))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::net::TcpStream;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use crate::{Pace, Sizes, Stamp, Touch, now};

    /// Runs the connecting end and the listening end in two threads.
    pub(crate) fn ends<S: Transport<Listener: Send> + 'static, A: Send + 'static>(
        connections: Connections,
        far: impl FnOnce(Streams<S>) -> A + Send + 'static,
    ) -> (Streams<S>, thread::JoinHandle<A>) {
        let (listener, address) = S::listen().unwrap();
        let far = thread::spawn(move || far(Streams::accept(&listener, connections).unwrap()));
        (Streams::connect(&[address], connections).unwrap(), far)
    }

    /// The stamps as read back from a file.
    pub(crate) fn written(stamps: &Stamps) -> Vec<Stamp> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stamps");
        stamps.write(&path).unwrap();
        Stamps::read(&path, 100_000).unwrap()
    }

    fn numbers(stamps: &Stamps) -> Vec<u64> {
        written(stamps).iter().map(|stamp| stamp.number).collect()
    }

    fn ping_pong<S: Transport<Listener: Send> + 'static>(connections: Connections) {
        let trial = Trial { size: 10, count: 20, warm_up: 3 };
        let (mut near, far) =
            ends::<S, _>(connections, move |mut far| far.pong(&Course::plain(trial)).unwrap());
        let (sent, received) = near.ping(trial).unwrap();
        for stamps in [sent, received, far.join().unwrap()] {
            assert_eq!(numbers(&stamps), (3..23).collect::<Vec<_>>());
        }
    }

    #[test]
    fn both_ping_pong_ends_stamp_every_message() {
        for connections in [Connections::One, Connections::Pair, Connections::Topics(7)] {
            ping_pong::<TcpStream>(connections);
            ping_pong::<UnixStream>(connections);
        }
    }

    #[test]
    fn burst_arrives_completely() {
        let trial = Trial { size: 60_000, count: 50, warm_up: 0 };
        for touch in [Touch::None, Touch::Write, Touch::Read] {
            let course = Course { touch, ..Course::plain(trial) };
            let sinking = course.clone();
            let (mut near, far) =
                ends::<UnixStream, _>(Connections::One, move |mut far| far.sink(&sinking).unwrap());
            near.source(&course).unwrap();
            assert_eq!(numbers(&far.join().unwrap()).len(), 50);
        }
    }

    #[test]
    fn quiet_connections_stay_open() {
        let course = Course::plain(Trial { size: 100, count: 30, warm_up: 0 });
        let sinking = course.clone();
        let (near, far) =
            ends::<TcpStream, _>(Connections::Topics(5), move |mut far| far.sink(&sinking).unwrap());
        let mut near = near.only_first();
        near.source(&course).unwrap();
        assert_eq!((near.sends.len(), near.quiet.len()), (1, 4));
        assert_eq!(numbers(&far.join().unwrap()), (0..30).collect::<Vec<_>>());
    }

    #[test]
    fn every_sink_receives_every_message() {
        let course = Course::plain(Trial { size: 100, count: 30, warm_up: 0 });
        let (listeners, addresses): (Vec<_>, Vec<_>) =
            (0..3).map(|_| <TcpStream as Transport>::listen().unwrap()).unzip();
        let sink = |listener| {
            let course = course.clone();
            thread::spawn(move || {
                let mut sink = Streams::<TcpStream>::accept(&listener, Connections::One).unwrap();
                sink.sink(&course).unwrap()
            })
        };
        let sinks: Vec<_> = listeners.into_iter().map(sink).collect();
        Streams::<TcpStream>::connect(&addresses, Connections::One).unwrap().source(&course).unwrap();
        for sink in sinks {
            assert_eq!(numbers(&sink.join().unwrap()), (0..30).collect::<Vec<_>>());
        }
    }

    #[test]
    fn sizes_and_rates_are_kept() {
        let trial = Trial { size: 5000, count: 20, warm_up: 0 };
        let (sizes, pace) = (Sizes::of(trial, &[10, 5000]), Pace::new(Some(2000)));
        let course = Course { sizes, pace, ..Course::plain(trial) };
        let sinking = course.clone();
        let (mut near, far) =
            ends::<TcpStream, _>(Connections::One, move |mut far| far.sink(&sinking).unwrap());
        let start = now();
        let sent = written(&near.source(&course).unwrap());
        assert!(sent.iter().all(|stamp| stamp.nanos >= start + stamp.number * 500_000));
        assert_eq!(numbers(&far.join().unwrap()).len(), 20);
    }
}
