//! Time stamps and deadlines of messages.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Bytes at the start of a message that hold its number, little-endian.
pub const NUMBER: usize = 8;

const SECOND: u64 = 1_000_000_000;

/// The current time, in nanoseconds of `CLOCK_MONOTONIC`.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// The number in a message; 0 if the message is too short.
pub fn number(message: &[u8]) -> u64 {
    message.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The stamps of one end and direction, without those of the warm-up.
#[derive(Debug)]
pub struct Stamps {
    recorded: Vec<(u64, u64)>,
    warm_up: u64,
}

impl Stamps {
    /// Preallocates `count` stamps, so that recording one does not allocate.
    pub fn new(count: u64, warm_up: u64) -> Self {
        Self { recorded: Vec::with_capacity(count as usize), warm_up }
    }

    /// Records that a message was sent or received now.
    pub fn record(&mut self, number: u64) {
        if number >= self.warm_up {
            self.recorded.push((number, now()));
        }
    }

    /// Writes the stamps to a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        for (number, nanos) in &self.recorded {
            file.write_all(&number.to_le_bytes())?;
            file.write_all(&nanos.to_le_bytes())?;
        }
        file.flush()
    }
}

/// Deadlines of messages; a late message does not shift the others. At rate 0 each is due immediately.
#[derive(Debug)]
pub struct Pace {
    rate: u64,
    start: Option<u64>,
}

impl Pace {
    /// `rate` messages per second.
    pub fn new(rate: u64) -> Self {
        Self { rate, start: None }
    }

    /// The deadline of a message, in nanoseconds of `CLOCK_MONOTONIC`. The first call sets the origin: its message is
    /// due now.
    pub fn due(&mut self, number: u64) -> u64 {
        if self.rate == 0 {
            return 0;
        }
        *self.start.get_or_insert_with(now) + number * SECOND / self.rate
    }

    /// Sleeps until a message is due.
    pub fn wait(&mut self, number: u64) {
        let due = self.due(number);
        let time = Timespec { tv_sec: (due / SECOND) as i64, tv_nsec: (due % SECOND) as i64 };
        // A signal ends it early.
        while now() < due && clock_nanosleep_absolute(ClockId::Monotonic, &time).is_err() {}
    }
}
