//! Protocol between an end and the bench: lines on standard output; one line and then end of file on standard input.

use std::error::Error;
use std::io::{self, Read, Write};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::topic::{self, Publishers, Topics};

/// Time limit for this end to exit after the stop request.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Reports to the bench that this end is connected to the other.
///
/// # Errors
/// If the bench has ended.
pub fn send_ready() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    writeln!(out, "ready")?;
    Ok(out.flush()?)
}

/// Waits for the other ends, and reports to the bench that this end is connected to them.
///
/// # Errors
/// If they do not appear, or the bench has ended.
pub fn join(topics: &[&Topics], publishers: &Publishers) -> Result<(), Box<dyn Error>> {
    for topic in topics {
        topic.wait_for_ends()?;
    }
    publishers.connect()?;
    send_ready()
}

/// Waits for the start signal of the bench.
///
/// # Errors
/// If the bench has ended.
pub fn wait_for_start() -> Result<(), Box<dyn Error>> {
    match io::stdin().read_line(&mut String::new())? {
        0 => Err("the bench has ended".into()),
        _ => Ok(()),
    }
}

/// Waits until the bench closes standard input.
pub fn wait_for_end() {
    // End of file and errors both mean that the bench has ended.
    let _ = io::stdin().read_to_end(&mut Vec::new());
}

/// Stop request of the bench: it closes standard input.
#[derive(Clone, Debug, Default)]
pub struct StopSignal {
    requested: Arc<AtomicBool>,
}

impl StopSignal {
    /// Starts a thread that waits for the request.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn on_eof(topic: &'static str) -> io::Result<Self> {
        let stop = Self::default();
        stop.watch(topic)?;
        Ok(stop)
    }

    /// Starts a thread that waits for the request, and then wakes the thread that waits for messages of `topic`.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn watch(&self, topic: &'static str) -> io::Result<()> {
        let requested = Arc::clone(&self.requested);
        thread::Builder::new().name("bench".into()).spawn(move || {
            wait_for_end();
            requested.store(true, Ordering::Release);
            if let Err(error) = topic::wake(topic) {
                // A thread that was awake has seen the request and closes its topics; the process then exits meanwhile.
                thread::sleep(STOP_TIMEOUT);
                eprintln!("cannot wake the receiving thread: {error}");
                process::exit(1);
            }
        })?;
        Ok(())
    }

    /// Whether the bench has requested the stop.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Acquire)
    }
}
