//! The bags that are played, read on a thread of their own: no read delays Ctrl-C, keys or services.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use runnel_bag::Message;

use super::prefetch::{Next, Prefetch};
use super::sent_order::{MessageOrder, SentOrder};
use crate::bag::inputs::{Found, Inputs, Read, Wanted};

/// The thread that reads.
pub struct Source {
    requests: Sender<(Wanted, Arc<Prefetch>)>,
}

/// Messages that are being read. Dropping this ends the reading.
pub struct Reading(Arc<Prefetch>);

impl Source {
    /// Reads these bags, in this order. `window` is that of [`SentOrder`].
    pub fn new(mut inputs: Inputs, order: MessageOrder, window: usize) -> Self {
        Self::spawn(move |wanted, prefetch| {
            let messages = inputs.messages(wanted).map(detached);
            let range = (wanted.start.unwrap_or_default(), wanted.end.unwrap_or(u64::MAX));
            match order {
                MessageOrder::Received => prefetch.fill(messages),
                MessageOrder::Sent => prefetch.fill(SentOrder::new(messages, window, range)),
            }
        })
    }

    fn spawn(mut read: impl FnMut(&Wanted, &Prefetch) + Send + 'static) -> Self {
        let (requests, requested) = mpsc::channel::<(Wanted, Arc<Prefetch>)>();
        // Not joined: the program ends although a read may take long.
        thread::spawn(move || {
            for (wanted, prefetch) in requested {
                read(&wanted, &prefetch);
            }
        });
        Self { requests }
    }

    /// Begins to read. What is still being read for another [`Reading`] comes first, unless that was dropped.
    pub fn read(&self, wanted: Wanted) -> Reading {
        let prefetch = Arc::new(Prefetch::default());
        if self.requests.send((wanted, Arc::clone(&prefetch))).is_err() {
            // The thread has panicked.
            prefetch.complete();
        }
        Reading(prefetch)
    }
}

impl Reading {
    /// As [`Prefetch::next`].
    pub fn next(&self, timeout: Duration) -> Next {
        self.0.next(timeout)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A message that does not keep its chunk in memory while it waits.
fn detached(read: Read) -> Read {
    read.map(|Found { channel, message }| {
        let data = message.data.detached();
        Found { channel, message: Message { data, ..message } }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// A source whose reads end when something is sent.
    fn blocked() -> (Source, Sender<()>) {
        let (release, released): (Sender<()>, Receiver<()>) = mpsc::channel();
        let read = move |_: &Wanted, prefetch: &Prefetch| {
            // Also without a sender: the test is over.
            _ = released.recv();
            prefetch.fill(std::iter::empty::<Read>());
        };
        (Source::spawn(read), release)
    }

    #[test]
    fn end_does_not_wait_for_a_read() {
        let (source, release) = blocked();
        let reading = source.read(Wanted::default());
        assert!(matches!(reading.next(Duration::ZERO), Next::Wait));
        drop((reading, source));
        // The thread is still in its read.
        assert!(release.send(()).is_ok());
    }

    #[test]
    fn later_read_follows_one_that_was_dropped() {
        let (source, release) = blocked();
        drop(source.read(Wanted::default()));
        let second = source.read(Wanted::default());
        (0..2).for_each(|_| release.send(()).expect("the thread reads"));
        assert!(matches!(second.next(LONG), Next::End));
    }

    #[test]
    fn panic_of_the_reader_ends_the_messages() {
        let source = Source::spawn(|_, prefetch| {
            prefetch.fill(std::iter::from_fn(|| -> Option<Read> { panic!("on purpose") }));
        });
        let reading = source.read(Wanted::default());
        assert!(matches!(reading.next(LONG), Next::End));
    }
}
