//! Ping-pong with several messages in flight.

use std::io;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::splitter::MessageSplitter;
use crate::stamps::{Stamps, now, set_number};
use crate::{Course, Streams, Transport};

/// Bytes per read.
const BUFFER: usize = 64 * 1024;

const SECOND: u64 = 1_000_000_000;

impl<S: Transport> Streams<S> {
    /// Sends each message when it is due, with at most `watermark` unanswered; returns when each was sent and when
    /// its answer arrived. Needs one connection per direction.
    ///
    /// # Errors
    /// If the other end closes before all are answered.
    pub fn flow(&mut self, course: &Course, watermark: u64) -> io::Result<(Stamps, Stamps)> {
        let ([sends], [receives]) = (self.sends.as_mut_slice(), self.receives.as_mut_slice()) else {
            return Err(io::Error::other("this exchange needs one connection per direction"));
        };
        // With blocking sends, both ends could send simultaneously and neither would receive.
        sends.set_nonblocking(true)?;
        receives.set_nonblocking(true)?;
        let mut flow = Flow::new(course, watermark.max(1));
        while flow.answers.count() < course.trial.total() {
            flow.send(sends)?;
            flow.wait(sends, receives)?;
            flow.receive(receives)?;
        }
        Ok((flow.sent, flow.received))
    }
}

struct Flow {
    course: Course,
    watermark: u64,
    /// The number of the message after the one being sent.
    next: u64,
    message: Vec<u8>,
    /// Its bytes that were sent.
    offset: usize,
    answers: MessageSplitter,
    buffer: Vec<u8>,
    sent: Stamps,
    received: Stamps,
}

impl Flow {
    fn new(course: &Course, watermark: u64) -> Self {
        Self {
            watermark,
            next: 0,
            message: Vec::with_capacity(course.trial.size),
            offset: 0,
            answers: MessageSplitter::new(course),
            buffer: vec![0; BUFFER],
            sent: Stamps::of(course.trial),
            received: Stamps::of(course.trial),
            course: course.clone(),
        }
    }

    fn is_sending(&self) -> bool {
        self.offset < self.message.len()
    }

    /// When the next message may be sent, unless an answer must arrive first.
    fn due(&mut self) -> Option<u64> {
        let unanswered = self.next - self.answers.count();
        let may = self.next < self.course.trial.total() && unanswered < self.watermark;
        may.then(|| self.course.pace.due(self.next))
    }

    /// Begins the next message if it is due, and sends as much as the connection accepts.
    fn send(&mut self, to: &mut impl Transport) -> io::Result<()> {
        if !self.is_sending() && self.due().is_some_and(|due| due <= now()) {
            self.begin();
        }
        while self.is_sending() {
            match to.write(&self.message[self.offset..]) {
                Ok(count) => self.offset += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn begin(&mut self) {
        let number = self.next;
        self.message.resize(self.course.sizes.size(number), 0);
        set_number(&mut self.message, number);
        self.sent.take(number);
        (self.offset, self.next) = (0, number + 1);
    }

    /// Waits for an answer, for space to send, or until the next message is due.
    fn wait(&mut self, sends: &impl Transport, receives: &impl Transport) -> io::Result<()> {
        let due = if self.is_sending() { None } else { self.due() };
        let timeout = due
            .map(|due| due.saturating_sub(now()))
            .map(|left| Timespec { tv_sec: (left / SECOND) as i64, tv_nsec: (left % SECOND) as i64 });
        let out = if self.is_sending() { PollFlags::OUT } else { PollFlags::empty() };
        let mut both = [PollFd::new(receives, PollFlags::IN), PollFd::new(sends, out)];
        match poll(&mut both, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the available answers.
    fn receive(&mut self, from: &mut impl Transport) -> io::Result<()> {
        match from.read(&mut self.buffer) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                let received = &mut self.received;
                self.answers.each(&self.buffer[..count], |number| received.take(number));
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::tests::{ends, written};
    use crate::{Connections, Pace, Sizes, Trial};
    use std::net::TcpStream;
    use std::os::unix::net::UnixStream;

    fn flow<S: Transport<Listener: Send> + 'static>(connections: Connections, rate: u32, watermark: u64) {
        let trial = Trial { size: 3_000_000, count: 60, warm_up: 0 };
        let (sizes, pace) = (Sizes::of(trial, &[10, 400_000, 3_000_000]), Pace::new(Some(rate)));
        let course = Course { sizes, pace, ..Course::plain(trial) };
        let answering = course.clone();
        let (mut near, far) = ends::<S, _>(connections, move |mut far| far.pong(&answering).unwrap());
        let start = now();
        let (sent, received) = near.flow(&course, watermark).unwrap();
        far.join().unwrap();
        let (sent, received) = (written(&sent), written(&received));
        assert_eq!((sent.len(), received.len()), (60, 60));
        let period = SECOND / u64::from(rate);
        for (index, stamp) in sent.iter().enumerate() {
            assert!(stamp.nanos >= start + stamp.number * period, "message {index} is early");
            let answered = received.iter().filter(|answer| answer.nanos < stamp.nanos).count();
            assert!(index + 1 - answered <= watermark as usize, "message {index} of {answered} answered");
        }
    }

    #[test]
    fn messages_larger_than_buffers_flow_both_ways() {
        flow::<TcpStream>(Connections::Pair, 100_000, 50);
        flow::<UnixStream>(Connections::One, 100_000, 50);
    }

    #[test]
    fn message_waits_for_deadline_and_answers() {
        flow::<TcpStream>(Connections::One, 100_000, 1);
        flow::<UnixStream>(Connections::One, 1000, 50);
    }
}
