//! Messages of several files in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Error, Message};

/// Messages of one file.
pub(super) type FileMessages<'a> = Box<dyn Iterator<Item = Result<Message, Error>> + Send + 'a>;

/// Iterates over the messages of files, each of which is in the order of time. A file is not read before its first
/// message may be next.
pub(super) struct Merge<'a> {
    files: Vec<FileMessages<'a>>,
    /// The next message of each file.
    next: Vec<Option<Message>>,
    /// Files with a next message, by its time.
    ready: BinaryHeap<Reverse<(u64, usize)>>,
    /// Files whose next message is unknown, by a time before it.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<'a> Merge<'a> {
    /// Files with the times of their first messages.
    pub(super) fn new(files: impl IntoIterator<Item = (u64, FileMessages<'a>)>) -> Self {
        let (starts, files): (Vec<_>, Vec<_>) = files.into_iter().unzip();
        let waiting = starts.into_iter().enumerate().map(|(file, start)| Reverse((start, file))).collect();
        let next = files.iter().map(|_| None).collect();
        Self { files, next, ready: BinaryHeap::new(), waiting }
    }

    /// The first waiting file, if its next message may precede those of all others.
    fn file_to_read(&mut self) -> Option<(u64, usize)> {
        let Reverse(file) = *self.waiting.peek()?;
        let Reverse((ready, _)) = *self.ready.peek().unwrap_or(&Reverse((u64::MAX, 0)));
        if file.0 > ready {
            return None;
        }
        self.waiting.pop();
        Some(file)
    }
}

impl Iterator for Merge<'_> {
    type Item = Result<Message, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some((time, file)) = self.file_to_read() {
            match self.files[file].next() {
                None => {}
                Some(Err(error)) => {
                    self.waiting.push(Reverse((time, file)));
                    return Some(Err(error));
                }
                Some(Ok(message)) => {
                    self.ready.push(Reverse((message.log_time, file)));
                    self.next[file] = Some(message);
                }
            }
        }
        let Reverse((time, file)) = self.ready.pop()?;
        self.waiting.push(Reverse((time, file)));
        self.next[file].take().map(Ok)
    }
}
