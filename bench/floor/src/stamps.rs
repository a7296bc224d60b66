//! Time stamps of sent and received messages, in the format of every contestant's ends.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

use crate::Trial;

/// Bytes at the start of a message that hold its number, little-endian.
pub const NUMBER: usize = 8;

/// Bytes of one stamp in a file.
const STAMP: usize = 16;

/// The current time, in nanoseconds of `CLOCK_MONOTONIC`.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // The monotonic clock starts near 0 at boot.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The number of a message; `None` if it is too short for one.
pub fn number(message: &[u8]) -> Option<u64> {
    message.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Writes a message's number; does nothing if it is too short.
pub fn set_number(message: &mut [u8], number: u64) {
    if let Some(place) = message.first_chunk_mut() {
        *place = number.to_le_bytes();
    }
}

/// A message's number and when it was sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The message.
    pub number: u64,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub nanos: u64,
}

/// The stamps of one end and direction, in the order in which they were taken, without the warm-up.
#[derive(Debug)]
pub struct Stamps {
    taken: Vec<Stamp>,
    warm_up: u64,
}

impl Stamps {
    /// Preallocates for a whole trial, so that taking a stamp does not allocate.
    pub fn of(trial: Trial) -> Self {
        Self { taken: Vec::with_capacity(trial.count as usize), warm_up: trial.warm_up }
    }

    /// Records that a message was sent or received now.
    pub fn take(&mut self, number: u64) {
        if number >= self.warm_up {
            self.taken.push(Stamp { number, nanos: now() });
        }
    }

    /// Writes the stamps to a file: number and nanoseconds of each as two 64-bit words, little-endian.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        for stamp in &self.taken {
            file.write_all(&stamp.number.to_le_bytes())?;
            file.write_all(&stamp.nanos.to_le_bytes())?;
        }
        file.flush()
    }

    /// Reads a file of stamps, at most `limit` of them.
    ///
    /// # Errors
    /// If the file cannot be read, or ends within a stamp.
    pub fn read(path: &Path, limit: u64) -> io::Result<Vec<Stamp>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(limit.saturating_mul(STAMP as u64)).read_to_end(&mut bytes)?;
        let (words, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() || words.len() % 2 != 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends within a stamp"));
        }
        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        let (pairs, _) = words.as_chunks::<2>();
        Ok(pairs.iter().map(|[number, nanos]| Stamp { number: word(number), nanos: word(nanos) }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_is_at_the_start_of_a_message() {
        let mut message = [9; 10];
        set_number(&mut message, 0x0102);
        assert_eq!(message, [2, 1, 0, 0, 0, 0, 0, 0, 9, 9]);
        assert_eq!(number(&message), Some(0x0102));
        assert_eq!(number(&message[..7]), None);
    }

    #[test]
    fn stamps_are_read_back_without_warm_up() {
        let path = std::env::temp_dir().join(format!("runnel-floor-stamps-{}", std::process::id()));
        let mut stamps = Stamps::of(Trial { size: 10, count: 2, warm_up: 1 });
        (0..3).for_each(|number| stamps.take(number));
        stamps.write(&path).unwrap();
        let read = Stamps::read(&path, 10).unwrap();
        assert_eq!(read, stamps.taken);
        assert_eq!(read.iter().map(|stamp| stamp.number).collect::<Vec<_>>(), [1, 2]);
        assert!(read[0].nanos <= read[1].nanos);
        assert_eq!(Stamps::read(&path, 1).unwrap().len(), 1);
        std::fs::write(&path, [0; 24]).unwrap();
        assert!(Stamps::read(&path, 10).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
