//! The position of the playing in its bags.

use std::time::Duration;

use super::kept::KeptChannels;
use super::prefetch::Next;
use super::source::{Reading, Source};
use crate::bag::damage_log::DamageLog;
use crate::bag::inputs::{Found, Wanted};

/// What comes next, of these channels.
pub struct Cursor {
    source: Source,
    channels: Vec<usize>,
    /// `None` before the first position.
    reading: Option<Reading>,
    /// What comes next.
    pub head: Head,
    /// Parts of the bags that could not be read.
    pub damage: DamageLog,
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
    /// A cursor without a position, for the messages of these channels.
    pub fn new(source: Source, channels: Vec<usize>) -> Self {
        Self { source, channels, reading: None, head: Head::Unread, damage: DamageLog::default() }
    }

    /// The last messages before a time of those that are kept for late subscribers. The cursor has no position then.
    pub fn kept_before(&mut self, kept: &KeptChannels, start: u64, goes_on: impl Fn() -> bool) -> Vec<Found> {
        // The old reading ends when it is dropped, so the thread comes to the next one. The same holds below.
        self.reading = None;
        kept.before(&self.source, start, goes_on)
    }

    /// Goes to the first of these log times, from where messages are read up to the second.
    pub fn seek(&mut self, range: (u64, u64)) {
        self.reading = None;
        self.reading = Some(self.source.read(wanted(&self.channels, range)));
        self.head = Head::Unread;
    }

    /// Reads what comes next, for which it waits at most this long.
    pub fn read(&mut self, timeout: Duration) {
        match self.reading.as_ref().map_or(Next::End, |reading| reading.next(timeout)) {
            Next::Wait => {}
            Next::End => self.head = Head::End,
            Next::Read(read) => match *read {
                Ok(found) => self.head = Head::Message(Box::new(found)),
                Err((path, error)) => self.damage.add(&path, &error),
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
