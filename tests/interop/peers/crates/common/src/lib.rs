//! Command line, contents of messages, and printed lines, as in the other talkers and listeners.

use std::io::Write;
use std::path::PathBuf;

/// Type of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `std_msgs/msg/String`.
    Text,
    /// `std_msgs/msg/UInt8MultiArray` without dimensions.
    Octets,
}

impl Kind {
    /// The DDS name of the type.
    pub fn dds_name(self) -> &'static str {
        match self {
            Kind::Text => "std_msgs::msg::dds_::String_",
            Kind::Octets => "std_msgs::msg::dds_::UInt8MultiArray_",
        }
    }
}

/// `ROLE TOPIC --key value ...`
#[derive(Debug)]
pub struct Options {
    /// Whether to publish; otherwise to subscribe.
    pub publishes: bool,
    /// The DDS name of the topic.
    pub topic: String,
    /// Type of the messages.
    pub kind: Kind,
    /// Number of messages; 0: without end.
    pub count: u64,
    /// Bytes of text or data per message; used round-robin.
    pub sizes: Vec<usize>,
    /// Number of readers to wait for.
    pub wait: i32,
    /// A file to wait for.
    pub after: Option<PathBuf>,
    /// Messages per second; 0: without pauses.
    pub rate: f64,
    /// History depth; 0: keep all.
    pub depth: u32,
    /// Best-effort reliability.
    pub best_effort: bool,
    /// Transient-local durability.
    pub transient_local: bool,
    /// The DDS domain.
    pub domain: u16,
}

impl Options {
    /// Parses the command line.
    ///
    /// # Panics
    /// If an argument is unknown or invalid.
    pub fn from_command_line() -> Options {
        let mut arguments = std::env::args().skip(1);
        let role = arguments.next().expect("talker or listener");
        let topic = arguments.next().expect("a topic");
        let domain = std::env::var("ROS_DOMAIN_ID").map_or(0, |number| number.parse().expect("a number"));
        let mut options = Options {
            publishes: role == "talker",
            topic: format!("rt{topic}"),
            kind: Kind::Text,
            count: 0,
            sizes: vec![0],
            wait: 1,
            after: None,
            rate: 0.0,
            depth: 1000,
            best_effort: false,
            transient_local: false,
            domain,
        };
        while let Some(key) = arguments.next() {
            let value = arguments.next().unwrap_or_else(|| panic!("{key} has no value"));
            options.set(&key, &value);
        }
        options
    }

    fn set(&mut self, key: &str, value: &str) {
        let number = || value.parse().unwrap_or_else(|_| panic!("{key} {value}: no number"));
        match (key, value) {
            ("--type", "std_msgs/msg/String") => self.kind = Kind::Text,
            ("--type", "std_msgs/msg/UInt8MultiArray") => self.kind = Kind::Octets,
            ("--count", _) => self.count = number(),
            ("--size" | "--sizes", _) => {
                self.sizes = value.split(',').map(|size| size.parse().expect("a size")).collect();
            }
            ("--wait", _) => self.wait = number() as i32,
            ("--after", file) => self.after = Some(file.into()),
            ("--rate", _) => self.rate = value.parse().expect("a rate"),
            ("--depth", _) => self.depth = number() as u32,
            ("--reliability", _) => self.best_effort = value == "best_effort",
            ("--durability", _) => self.transient_local = value == "transient_local",
            _ => panic!("{key} {value}: unknown"),
        }
    }

    /// Whether a talker with this number of matched readers may publish.
    pub fn may_publish(&self, readers: i32) -> bool {
        readers >= self.wait && self.after.as_ref().is_none_or(|file| file.exists())
    }

    /// Whether further messages follow after `messages`.
    pub fn is_incomplete(&self, messages: u64) -> bool {
        self.count == 0 || messages < self.count
    }

    fn size_of(&self, number: u64) -> usize {
        self.sizes[(number as usize - 1) % self.sizes.len()]
    }

    /// The text of message `number`.
    pub fn text(&self, number: u64) -> String {
        let hello = format!("hello {number}");
        let dots = ".".repeat(self.size_of(number).saturating_sub(hello.len()));
        hello + &dots
    }

    /// The bytes of message `number`.
    pub fn octets(&self, number: u64) -> Vec<u8> {
        (0..self.size_of(number) as u64).map(|index| ((number + index) % 251) as u8).collect()
    }
}

/// Prints `EVENT N len L crc C` for a text.
pub fn print_text(event: &str, number: u64, text: &str) {
    let length = text.len() as u32 + 1;
    print_message(event, number, &[&length.to_le_bytes()[..], text.as_bytes(), b"\0"].concat());
}

/// Prints `EVENT N len L crc C` for bytes, which a layout without dimensions precedes.
pub fn print_octets(event: &str, number: u64, octets: &[u8]) {
    let length = octets.len() as u32;
    print_message(event, number, &[&[0; 8][..], &length.to_le_bytes(), octets].concat());
}

fn print_message(event: &str, number: u64, body: &[u8]) {
    print_line(&format!("{event} {number} len {} crc {:08x}", body.len(), crc32fast::hash(body)));
}

/// Prints a line and flushes it.
pub fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    // An error means that the reader of the pipe has exited.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
