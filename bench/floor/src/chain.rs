//! Three ends in a row: the first sends two integers, the second adds them, the third receives the sum.

use std::io;

use crate::stamps::Stamps;
use crate::{Course, NUMBER, Streams, Transport};

/// One of the three ends.
#[derive(Debug)]
pub struct Chain<S>(pub Streams<S>);

impl<S: Transport> Chain<S> {
    /// Sends each number, and 1, when it is due; returns when each was sent.
    ///
    /// # Errors
    /// If the next end closes before all are sent.
    pub fn begin(&mut self, course: &Course) -> io::Result<Stamps> {
        let (mut sent, mut pace) = (Stamps::of(course.trial), course.pace);
        for number in 0..course.trial.total() {
            pace.wait(number);
            sent.take(number);
            self.0.sends[0].write_all(&join(number as u32, 1))?;
        }
        Ok(sent)
    }

    /// Forwards the first integer of each pair to the next end, with the sum.
    ///
    /// # Errors
    /// If either end closes before all are received.
    pub fn add(&mut self, next: &mut Self, course: &Course) -> io::Result<()> {
        for _ in 0..course.trial.total() {
            let [a, b] = self.receive()?;
            next.0.sends[0].write_all(&join(a, a.wrapping_add(b)))?;
        }
        Ok(())
    }

    /// Receives all sums; returns when each arrived.
    ///
    /// # Errors
    /// If a sum is wrong, or the previous end closes before all are received.
    pub fn end(&mut self, course: &Course) -> io::Result<Stamps> {
        let mut received = Stamps::of(course.trial);
        for _ in 0..course.trial.total() {
            let [number, sum] = self.receive()?;
            received.take(number.into());
            if sum != number.wrapping_add(1) {
                return Err(io::Error::other(format!("the sum of {number} and 1 is not {sum}")));
            }
        }
        Ok(received)
    }

    fn receive(&mut self) -> io::Result<[u32; 2]> {
        let mut message = [0; NUMBER];
        self.0.wait()?.read_exact(&mut message)?;
        let both = u64::from_le_bytes(message);
        Ok([both as u32, (both >> 32) as u32])
    }
}

fn join(a: u32, b: u32) -> [u8; NUMBER] {
    (u64::from(a) | u64::from(b) << 32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::tests::{ends, written};
    use crate::{Connections, Trial};
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn every_sum_arrives() {
        let course = Course::plain(Trial { size: NUMBER, count: 40, warm_up: 2 });
        let [adding, ending] = [course.clone(), course.clone()];
        let (to_last, last) =
            ends::<UnixStream, _>(Connections::One, move |far| Chain(far).end(&ending).unwrap());
        let (first, middle) = ends::<UnixStream, _>(Connections::One, move |far| {
            Chain(far).add(&mut Chain(to_last), &adding).unwrap();
        });
        let sent = written(&Chain(first).begin(&course).unwrap());
        middle.join().unwrap();
        let received = written(&last.join().unwrap());
        assert_eq!((sent.len(), received.len()), (40, 40));
        assert!(sent.iter().zip(&received).all(|(sent, came)| sent.number == came.number));
    }

    #[test]
    fn wrong_sum_is_an_error() {
        let course = Course::plain(Trial { size: NUMBER, count: 1, warm_up: 0 });
        let ending = course.clone();
        let (mut near, far) = ends::<UnixStream, _>(Connections::One, move |far| Chain(far).end(&ending));
        near.sends[0].write_all(&join(3, 5)).unwrap();
        assert_eq!(far.join().unwrap().unwrap_err().to_string(), "the sum of 3 and 1 is not 5");
    }
}
