//! The position of the playing in its bags.

use std::time::Duration;

use super::prefetch::Next;
use super::source::{Reading, Source};
use crate::bag::inputs::{Found, Wanted};

/// Most damaged parts that are logged.
const MOST_LOGGED: u64 = 5;

/// What comes next, of these channels.
pub struct Cursor {
    source: Source,
    channels: Vec<usize>,
    reading: Reading,
    /// What comes next.
    pub head: Head,
    /// Parts of the bags that could not be read.
    pub damaged: u64,
}

/// What comes next.
pub enum Head {
    /// Not read yet.
    Unread,
    Message(Box<Found>),
    /// The end of the range.
    End,
}

impl Cursor {
    /// Begins to read the messages of these channels from a log time to another.
    pub fn new(source: Source, channels: Vec<usize>, range: (u64, u64)) -> Self {
        let reading = source.read(wanted(&channels, range));
        Self { source, channels, reading, head: Head::Unread, damaged: 0 }
    }

    /// Goes to the first of these log times.
    pub fn seek(&mut self, range: (u64, u64)) {
        // The old reading ends when it is dropped, so the thread comes to the new one.
        self.reading = self.source.read(wanted(&self.channels, range));
        self.head = Head::Unread;
    }

    /// Reads what comes next, for which it waits at most this long.
    pub fn read(&mut self, timeout: Duration) {
        match self.reading.next(timeout) {
            Next::Wait => {}
            Next::End => self.head = Head::End,
            Next::Read(read) => match *read {
                Ok(found) => self.head = Head::Message(Box::new(found)),
                Err((path, error)) => {
                    self.damaged += 1;
                    if self.damaged <= MOST_LOGGED {
                        log::warn!("{}: {error}", path.display());
                    }
                }
            },
        }
    }

    /// Takes what comes next; what follows is not read yet.
    pub fn take(&mut self) -> Head {
        std::mem::replace(&mut self.head, Head::Unread)
    }
}

fn wanted(channels: &[usize], (start, end): (u64, u64)) -> Wanted {
    Wanted { channels: Some(channels.to_vec()), start: Some(start), end: Some(end) }
}
