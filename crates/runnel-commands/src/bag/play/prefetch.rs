//! Messages that are read ahead, so that a slow disk does not delay those that are due.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::bag::inputs::{Found, Read};
use crate::streaming::lock;

/// Limits of what is read ahead.
const MOST_MESSAGES: usize = 100_000;
const MOST_BYTES: usize = 64 << 20;

/// A bounded queue between the thread that reads and the thread that publishes.
#[derive(Default)]
pub struct Prefetch {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Read>,
    bytes: usize,
    /// The reader has nothing more.
    is_complete: bool,
    /// The publisher wants nothing more.
    is_closed: bool,
}

/// What the queue has.
#[derive(Debug)]
pub enum Next {
    /// A message, or why a part of a bag cannot be read. Boxed: it is much larger than the others.
    Read(Box<Read>),
    /// Nothing yet.
    Wait,
    /// Nothing more.
    End,
}

impl Prefetch {
    /// Reads ahead until the end, or until [`Prefetch::close`].
    pub fn fill(&self, messages: impl Iterator<Item = Read>) {
        // Also when the reading panics: the publisher must not wait for ever.
        let _completes = Completes(self);
        if lock(&self.state).is_closed {
            return;
        }
        for read in messages {
            let mut state = lock(&self.state);
            while state.is_full() && !state.is_closed {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.is_closed {
                return;
            }
            state.bytes += len(&read);
            state.waiting.push_back(read);
            self.changed.notify_all();
        }
    }

    /// Says that nothing more comes.
    pub fn complete(&self) {
        lock(&self.state).is_complete = true;
        self.changed.notify_all();
    }

    /// Takes the next message, for which it waits at most this long.
    pub fn next(&self, timeout: Duration) -> Next {
        let mut state = lock(&self.state);
        if state.waiting.is_empty() && !state.is_complete {
            let waited = self.changed.wait_timeout(state, timeout);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        match state.waiting.pop_front() {
            Some(read) => {
                state.bytes -= len(&read);
                self.changed.notify_all();
                Next::Read(Box::new(read))
            }
            None if state.is_complete => Next::End,
            None => Next::Wait,
        }
    }

    /// Ends the reading.
    pub fn close(&self) {
        lock(&self.state).is_closed = true;
        self.changed.notify_all();
    }
}

/// Completes the queue when it is dropped.
struct Completes<'a>(&'a Prefetch);

impl Drop for Completes<'_> {
    fn drop(&mut self) {
        self.0.complete();
    }
}

impl State {
    fn is_full(&self) -> bool {
        self.waiting.len() >= MOST_MESSAGES || self.bytes >= MOST_BYTES
    }
}

fn len(read: &Read) -> usize {
    match read {
        Ok(Found { message, .. }) => message.data.len(),
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use runnel_bag::Error;

    use super::*;

    fn reads(count: usize) -> impl Iterator<Item = Read> {
        (0..count).map(|at| Err(("x".into(), Error::Truncated { at: at as u64 })))
    }

    #[test]
    fn reading_waits_for_the_publisher() {
        let prefetch = Prefetch::default();
        thread::scope(|scope| {
            scope.spawn(|| prefetch.fill(reads(2 * MOST_MESSAGES)));
            let mut count = 0;
            loop {
                match prefetch.next(Duration::from_secs(60)) {
                    Next::Read(_) => count += 1,
                    Next::Wait => panic!("the reader is stuck after {count}"),
                    Next::End => break,
                }
                assert!(lock(&prefetch.state).waiting.len() <= MOST_MESSAGES);
            }
            assert_eq!(count, 2 * MOST_MESSAGES);
        });
    }

    #[test]
    fn close_ends_the_reading() {
        let prefetch = Prefetch::default();
        thread::scope(|scope| {
            let reader = scope.spawn(|| prefetch.fill(reads(usize::MAX)));
            assert!(matches!(prefetch.next(Duration::from_secs(60)), Next::Read(_)));
            prefetch.close();
            reader.join().expect("it ends");
        });
    }

    #[test]
    fn nothing_yet_is_not_the_end() {
        let prefetch = Prefetch::default();
        assert!(matches!(prefetch.next(Duration::ZERO), Next::Wait));
        prefetch.fill(reads(0));
        assert!(matches!(prefetch.next(Duration::ZERO), Next::End));
    }
}
