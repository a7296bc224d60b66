//! Two words of shared memory: the hand-over alone. No payload is copied, so that its size makes no difference.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::Trial;
use crate::futex::{self, SharedWords, WORDS};
use crate::stamps::{Stamps, now};

/// How long the other end may take before it counts as gone.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often a spinning end looks between two looks at the clock.
const LOOKS: u32 = 1 << 20;

/// How an end waits for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// It sleeps until it is woken.
    Futex,
    /// It looks again and again. Both ends need a CPU of their own.
    Spin,
}

/// One end.
#[derive(Debug)]
pub struct Words {
    shared: SharedWords,
    waiting: Waiting,
}

impl Words {
    /// New words, and where the other end finds them.
    ///
    /// # Errors
    /// When the operating system refuses, as in all of these.
    pub fn listen(waiting: Waiting) -> io::Result<(Self, String)> {
        let shared = SharedWords::new()?;
        let address = shared.path().display().to_string();
        Ok((Self { shared, waiting }, address))
    }

    /// The words of the other end.
    ///
    /// # Errors
    /// When there are none at this address.
    pub fn connect(waiting: Waiting, address: &str) -> io::Result<Self> {
        Ok(Self { shared: SharedWords::open(Path::new(address))?, waiting })
    }

    /// The word that `ping` writes and the one that `pong` writes, in a cache line each.
    fn both(&self) -> (&AtomicU32, &AtomicU32) {
        let words = self.shared.words();
        (&words[0], &words[WORDS / 2])
    }

    /// Writes each number when `pong` has written the one before; gives when each was written and when it was back.
    ///
    /// # Errors
    /// When the other end is gone.
    pub fn ping(&self, trial: Trial) -> io::Result<(Stamps, Stamps)> {
        let (mut sent, mut received) = (Stamps::of(trial), Stamps::of(trial));
        let (ping, pong) = self.both();
        for number in 0..trial.total() {
            sent.take(number);
            self.write(ping, number)?;
            self.wait(pong, number)?;
            received.take(number);
        }
        Ok((sent, received))
    }

    /// Writes each number when `ping` has; gives when that was seen.
    ///
    /// # Errors
    /// As above.
    pub fn pong(&self, trial: Trial) -> io::Result<Stamps> {
        let mut received = Stamps::of(trial);
        let (ping, pong) = self.both();
        for number in 0..trial.total() {
            self.wait(ping, number)?;
            received.take(number);
            self.write(pong, number)?;
        }
        Ok(received)
    }

    fn write(&self, word: &AtomicU32, number: u64) -> io::Result<()> {
        word.store(value(number), Ordering::Release);
        if self.waiting == Waiting::Futex { futex::wake(word) } else { Ok(()) }
    }

    fn wait(&self, word: &AtomicU32, number: u64) -> io::Result<()> {
        let value = value(number);
        match self.waiting {
            Waiting::Futex => {
                while word.load(Ordering::Acquire) != value {
                    futex::wait(word, value.wrapping_sub(1), PATIENCE)?;
                }
                Ok(())
            }
            Waiting::Spin => spin(|| word.load(Ordering::Acquire) == value),
        }
    }
}

/// What is written for a number: never the 0 that a word begins with, unless four billion have passed.
fn value(number: u64) -> u32 {
    (number as u32).wrapping_add(1)
}

/// Looks until it is so. Not a hint to the CPU in between: it would cost more than the whole round trip.
fn spin(is_so: impl Fn() -> bool) -> io::Result<()> {
    let mut end = None;
    loop {
        if (0..LOOKS).any(|_| is_so()) {
            return Ok(());
        }
        if now() > *end.get_or_insert_with(|| now() + PATIENCE.as_nanos() as u64) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the other end is gone"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::tests::written;
    use std::thread;

    #[test]
    fn every_number_comes_back() {
        for waiting in [Waiting::Futex, Waiting::Spin] {
            let trial = Trial { size: 10, count: 20, warm_up: 2 };
            let (far, address) = Words::listen(waiting).unwrap();
            let near = Words::connect(waiting, &address).unwrap();
            let far = thread::spawn(move || far.pong(trial).unwrap());
            let (sent, received) = near.ping(trial).unwrap();
            for stamps in [sent, received, far.join().unwrap()] {
                let numbers: Vec<u64> = written(&stamps).iter().map(|stamp| stamp.number).collect();
                assert_eq!(numbers, (2..22).collect::<Vec<_>>());
            }
        }
    }
}
