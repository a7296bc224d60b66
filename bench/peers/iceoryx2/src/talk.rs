//! What an end and the bench say to each other: lines on standard output, one line and then the end of the stream on
//! standard input.

use std::error::Error;
use std::io::{self, Read, Write};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::topic::{self, Outlet, Topics};

/// How long this end may take to end once it was asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tells the bench that this end is joined to the other.
///
/// # Errors
/// When the bench has gone.
pub fn say_ready() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    writeln!(out, "ready")?;
    Ok(out.flush()?)
}

/// Waits for the other ends, and tells the bench that this end is joined to them.
///
/// # Errors
/// When they do not come, or the bench has gone.
pub fn join(topics: &[&Topics], outlet: &Outlet) -> Result<(), Box<dyn Error>> {
    for topic in topics {
        topic.wait_for_ends()?;
    }
    outlet.connect()?;
    say_ready()
}

/// Waits for the bench to give the start.
///
/// # Errors
/// When the bench has gone.
pub fn wait_for_go() -> Result<(), Box<dyn Error>> {
    match io::stdin().read_line(&mut String::new())? {
        0 => Err("the bench has gone".into()),
        _ => Ok(()),
    }
}

/// Waits until the bench closes our standard input.
pub fn wait_for_end() {
    // Whether the stream ended or failed, nobody is there any more.
    let _ = io::stdin().read_to_end(&mut Vec::new());
}

/// Whether the bench has closed our standard input.
#[derive(Clone, Debug, Default)]
pub struct End {
    asked: Arc<AtomicBool>,
}

impl End {
    /// Begins to wait for it.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn notice(topic: &'static str) -> io::Result<Self> {
        let end = Self::default();
        end.watch(topic)?;
        Ok(end)
    }

    /// Begins to wait for it; then whoever waits for a message of `topic` is woken.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn watch(&self, topic: &'static str) -> io::Result<()> {
        let asked = Arc::clone(&self.asked);
        thread::Builder::new().name("bench".into()).spawn(move || {
            wait_for_end();
            asked.store(true, Ordering::Release);
            if let Err(error) = topic::wake(topic) {
                // Whoever was awake has seen it by itself and takes its topics down: then the process ends meanwhile.
                thread::sleep(PATIENCE);
                eprintln!("cannot end: {error}");
                process::exit(1);
            }
        })?;
        Ok(())
    }

    /// Whether it is time to end.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}
