//! What the bench tells an end.

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::path::PathBuf;

use runnel_floor::{Stamps, Trial};

/// How an end waits for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It sleeps until it is notified.
    Event,
    /// It looks for messages again and again.
    Poll,
}

/// The command line.
#[derive(Debug)]
pub struct Options {
    /// How it waits.
    pub wait: Wait,
    /// What it does.
    pub role: String,
    /// What is exchanged.
    pub trial: Trial,
    /// Messages that queues hold.
    pub depth: usize,
    named: HashMap<String, String>,
}

impl Options {
    /// Reads `event|poll ROLE --NAME VALUE...`; options that no role here knows are passed over.
    ///
    /// # Errors
    /// When one is missing or no number.
    pub fn read() -> Result<Self, Box<dyn Error>> {
        let mut arguments = env::args().skip(1);
        let wait = match arguments.next().as_deref() {
            Some("event") => Wait::Event,
            Some("poll") => Wait::Poll,
            _ => return Err("the first argument must be event or poll".into()),
        };
        let role = arguments.next().ok_or("which role?")?;
        let mut named = HashMap::new();
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} has no value"))?;
            named.insert(name, value);
        }
        let number = |name: &str| -> Result<u64, Box<dyn Error>> {
            let value = named.get(name).ok_or_else(|| format!("{name} is missing"))?;
            Ok(value.parse().map_err(|error| format!("{name} {value}: {error}"))?)
        };
        let (count, warm_up) = (number("--count")?, number("--warm-up")?);
        let trial = Trial { size: number("--size")? as usize, count, warm_up };
        let depth = number("--depth")?.max(1) as usize;
        Ok(Self { wait, role, trial, depth, named })
    }

    /// Writes down when messages were sent.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_sent(&self, stamps: &Stamps) -> Result<(), Box<dyn Error>> {
        self.write("--sent", stamps)
    }

    /// Writes down when messages were received.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_received(&self, stamps: &Stamps) -> Result<(), Box<dyn Error>> {
        self.write("--received", stamps)
    }

    fn write(&self, name: &str, stamps: &Stamps) -> Result<(), Box<dyn Error>> {
        let path = PathBuf::from(self.named.get(name).ok_or_else(|| format!("{name} is missing"))?);
        Ok(stamps.write(&path).map_err(|error| format!("cannot write {}: {error}", path.display()))?)
    }
}
