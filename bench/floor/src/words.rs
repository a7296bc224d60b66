//! Two words of shared memory: only the hand-over. No payload is copied, so its size makes no difference.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::Trial;
use crate::futex::{self, SharedWords, WORDS};
use crate::stamps::{Stamps, now};

/// Time without progress after which the other end is considered dead.
const PEER_TIMEOUT: Duration = Duration::from_secs(20);

/// Polls between two checks of the clock in a spinning end.
const POLLS: u32 = 1 << 20;

/// How an end waits for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// It sleeps until it is woken.
    Futex,
    /// It polls. Both ends need their own CPU.
    Spin,
}

/// One end.
#[derive(Debug)]
pub struct Words {
    shared: SharedWords,
    waiting: Waiting,
}

impl Words {
    /// Creates the words; returns the address for the other end.
    ///
    /// # Errors
    /// If the operating system refuses; the same in all of these.
    pub fn listen(waiting: Waiting) -> io::Result<(Self, String)> {
        let shared = SharedWords::new()?;
        let address = shared.path().display().to_string();
        Ok((Self { shared, waiting }, address))
    }

    /// Opens the words of the other end.
    ///
    /// # Errors
    /// If this address has none.
    pub fn connect(waiting: Waiting, address: &str) -> io::Result<Self> {
        Ok(Self { shared: SharedWords::open(Path::new(address))?, waiting })
    }

    /// The word that `ping` writes and the word that `pong` writes, in separate cache lines.
    fn both(&self) -> (&AtomicU32, &AtomicU32) {
        let words = self.shared.words();
        (&words[0], &words[WORDS / 2])
    }

    /// Writes each number when `pong` has written the previous one; returns when each was written and when it came
    /// back.
    ///
    /// # Errors
    /// If the other end does not respond.
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

    /// Writes each number after `ping` has; returns when that was seen.
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
                    futex::wait(word, value.wrapping_sub(1), PEER_TIMEOUT)?;
                }
                Ok(())
            }
            Waiting::Spin => spin(|| word.load(Ordering::Acquire) == value),
        }
    }
}

/// The value for a number: not 0, the initial value, except after four billion messages.
fn value(number: u64) -> u32 {
    (number as u32).wrapping_add(1)
}

/// Polls until the condition holds. There is no pause hint to the CPU: it would cost more than the whole round trip.
fn spin(is_met: impl Fn() -> bool) -> io::Result<()> {
    let mut end = None;
    loop {
        if (0..POLLS).any(|_| is_met()) {
            return Ok(());
        }
        if now() > *end.get_or_insert_with(|| now() + PEER_TIMEOUT.as_nanos() as u64) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the other end does not respond"));
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
