//! Command line of an end.

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::path::PathBuf;

use crate::stamps::{NUMBER, Stamps};

/// How an end waits for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It sleeps until it is notified.
    Event,
    /// It polls.
    Poll,
}

/// Use of the payload after the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// The sender copies it into loaned memory.
    Copy,
    /// The loaned memory is sent without being written.
    None,
    /// The sender writes every byte in the loaned memory.
    Write,
    /// The receiver also reads every byte.
    Read,
}

/// The command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the end waits.
    pub wait: Wait,
    /// The end's role.
    pub role: String,
    /// Bytes of the largest message.
    pub size: usize,
    /// Messages of the warm-up, which are not measured.
    pub warm_up: u64,
    /// Total number of messages.
    pub total: u64,
    /// Capacity of queues, in messages.
    pub depth: usize,
    /// Messages per second; unlimited if 0.
    pub rate: u64,
    /// Maximum number of unanswered messages; if 0, each is answered before the next is sent.
    pub watermark: u64,
    /// Number of topics; if 0, one topic without a number in its name.
    pub topics: usize,
    /// Number of subscribing ends per topic.
    pub subscribers: usize,
    /// Use of the payload.
    pub touch: Touch,
    sizes: Vec<usize>,
    named: HashMap<String, String>,
}

impl Options {
    /// Parses `event|poll ROLE --NAME VALUE...`; unknown options are ignored.
    ///
    /// # Errors
    /// If an argument is missing or invalid.
    pub fn read() -> Result<Self, Box<dyn Error>> {
        let mut arguments = env::args().skip(1);
        let wait = match arguments.next().as_deref() {
            Some("event") => Wait::Event,
            Some("poll") => Wait::Poll,
            _ => return Err("the first argument must be event or poll".into()),
        };
        let role = arguments.next().ok_or("the role is missing")?;
        let mut named = HashMap::new();
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} has no value"))?;
            named.insert(name, value);
        }
        let or_zero = |name: &str| named.get(name).map_or(Ok(0), |value| number(name, value));
        let warm_up = or_zero("--warm-up")?;
        Ok(Self {
            wait,
            role,
            size: (or_zero("--size")? as usize).max(NUMBER),
            warm_up,
            total: warm_up + or_zero("--count")?,
            depth: or_zero("--depth")?.max(1) as usize,
            rate: or_zero("--rate")?,
            watermark: or_zero("--watermark")?,
            topics: or_zero("--topics")? as usize,
            subscribers: or_zero("--subscribers")?.max(1) as usize,
            touch: touch(named.get("--touch").map(String::as_str))?,
            sizes: sizes(named.get("--sizes").map(String::as_str))?,
            named,
        })
    }

    /// A message with a written payload, so that it has its own memory: untouched pages of zeros all share one page,
    /// which fits any cache.
    pub fn message(&self) -> Vec<u8> {
        vec![1; self.size]
    }

    /// Bytes of a message: the sizes follow each other in equal shares.
    pub fn size_of(&self, number: u64) -> usize {
        let each = (self.total / self.sizes.len().max(1) as u64).max(1);
        let size = self.sizes.get((number / each) as usize).or(self.sizes.last());
        size.map_or(self.size, |size| (*size).max(NUMBER))
    }

    /// Preallocates stamps for all measured messages.
    pub fn stamps(&self) -> Stamps {
        Stamps::new(self.total - self.warm_up, self.warm_up)
    }

    /// Writes the stamps of sent messages.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_sent(&self, stamps: &Stamps) -> Result<(), Box<dyn Error>> {
        self.write("--sent", stamps)
    }

    /// Writes the stamps of received messages.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_received(&self, stamps: &Stamps) -> Result<(), Box<dyn Error>> {
        self.write("--received", stamps)
    }

    fn write(&self, name: &str, stamps: &Stamps) -> Result<(), Box<dyn Error>> {
        let path = PathBuf::from(self.named.get(name).ok_or_else(|| format!("{name} is missing"))?);
        Ok(stamps.write(&path).map_err(|error| format!("cannot write {}: {error}", path.display()))?)
    }
}

fn number(name: &str, value: &str) -> Result<u64, Box<dyn Error>> {
    Ok(value.parse().map_err(|error| format!("{name} {value}: {error}"))?)
}

fn sizes(list: Option<&str>) -> Result<Vec<usize>, Box<dyn Error>> {
    let each = list.into_iter().flat_map(|list| list.split(','));
    each.map(|size| Ok(number("--sizes", size)? as usize)).collect()
}

fn touch(value: Option<&str>) -> Result<Touch, Box<dyn Error>> {
    match value {
        None => Ok(Touch::Copy),
        Some("none") => Ok(Touch::None),
        Some("write") => Ok(Touch::Write),
        Some("read") => Ok(Touch::Read),
        Some(other) => Err(format!("--touch {other}: expected none, write or read").into()),
    }
}
