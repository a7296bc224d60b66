//! Gives a recording to the disk in time: on its own thread, since all others may have to wait.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use runnel_io::clock;

use crate::bag::record::sink::Sink;
use crate::streaming::lock;

/// The thread. It ends when this is dropped.
pub struct PeriodicSync {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl PeriodicSync {
    /// Starts the thread, which syncs once in this period.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn start(sink: Arc<Mutex<Sink>>, period: Duration) -> io::Result<Self> {
        let (end, ended) = mpsc::channel::<()>();
        let run = move || {
            let mut due = Instant::now() + period;
            let left = |due: Instant| due.saturating_duration_since(Instant::now());
            while ended.recv_timeout(left(due)) == Err(RecvTimeoutError::Timeout) {
                // Messages that arrive while this sync runs are not part of it.
                let begun = Instant::now();
                lock(&sink).sync(clock::monotonic());
                // A slow disk leaves half of the time to the messages, which wait for a sync.
                due = (begun + period).max(Instant::now() + begun.elapsed());
            }
        };
        let thread = thread::Builder::new().name("bag sync".to_owned()).spawn(run)?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for PeriodicSync {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // Its panic was reported.
            let _ = thread.join();
        }
    }
}
