//! The command line, the contents of messages, and what is printed of them: as the other talkers and listeners do it.

use std::io::Write;
use std::path::PathBuf;

/// What is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `std_msgs/msg/String`.
    Text,
    /// `std_msgs/msg/UInt8MultiArray` without dimensions.
    Octets,
}

impl Kind {
    /// The name of its type in DDS.
    pub fn dds_name(self) -> &'static str {
        match self {
            Kind::Text => "std_msgs::msg::dds_::String_",
            Kind::Octets => "std_msgs::msg::dds_::UInt8MultiArray_",
        }
    }
}

/// `ROLE TOPIC --key value ...`
#[derive(Debug)]
pub struct Words {
    /// Whether to publish.
    pub talks: bool,
    /// The topic's name in DDS.
    pub topic: String,
    /// What is published.
    pub kind: Kind,
    /// Messages; 0 for no end.
    pub count: u64,
    /// Bytes of text or data: each message has the next, and the first follows the last.
    pub sizes: Vec<usize>,
    /// Readers to wait for.
    pub wait: i32,
    /// A file to wait for, too.
    pub after: Option<PathBuf>,
    /// Messages a second; 0 for no pause.
    pub rate: f64,
    /// Messages kept; 0 for all.
    pub depth: u32,
    /// Whether messages may be lost.
    pub best_effort: bool,
    /// Whether late readers are given what is kept.
    pub transient_local: bool,
    /// The domain.
    pub domain: u16,
}

impl Words {
    /// The command line.
    ///
    /// # Panics
    /// When it has a word that is not known.
    pub fn of_command_line() -> Words {
        let mut given = std::env::args().skip(1);
        let role = given.next().expect("talker or listener");
        let topic = given.next().expect("a topic");
        let domain = std::env::var("ROS_DOMAIN_ID").map_or(0, |number| number.parse().expect("a number"));
        let mut words = Words {
            talks: role == "talker",
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
        while let Some(key) = given.next() {
            let value = given.next().unwrap_or_else(|| panic!("{key} has no value"));
            words.set(&key, &value);
        }
        words
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

    /// Whether a talker may publish, which some readers have found.
    pub fn may_begin(&self, readers: i32) -> bool {
        readers >= self.wait && self.after.as_ref().is_none_or(|file| file.exists())
    }

    /// Whether some messages are fewer than there are to be.
    pub fn wants_more_than(&self, messages: u64) -> bool {
        self.count == 0 || messages < self.count
    }

    fn size_of(&self, number: u64) -> usize {
        self.sizes[(number as usize - 1) % self.sizes.len()]
    }

    /// The text of the message of a number.
    pub fn text(&self, number: u64) -> String {
        let hello = format!("hello {number}");
        let dots = ".".repeat(self.size_of(number).saturating_sub(hello.len()));
        hello + &dots
    }

    /// The bytes of the message of a number.
    pub fn octets(&self, number: u64) -> Vec<u8> {
        (0..self.size_of(number) as u64).map(|index| ((number + index) % 251) as u8).collect()
    }
}

/// Prints `WORD N len L crc C` of a text.
pub fn tell_text(word: &str, number: u64, text: &str) {
    let length = text.len() as u32 + 1;
    tell(word, number, &[&length.to_le_bytes()[..], text.as_bytes(), b"\0"].concat());
}

/// Prints `WORD N len L crc C` of bytes, which a layout without dimensions precedes.
pub fn tell_octets(word: &str, number: u64, octets: &[u8]) {
    let length = octets.len() as u32;
    tell(word, number, &[&[0; 8][..], &length.to_le_bytes(), octets].concat());
}

fn tell(word: &str, number: u64, body: &[u8]) {
    say(&format!("{word} {number} len {} crc {:08x}", body.len(), crc32fast::hash(body)));
}

/// Prints a line at once.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // When nobody listens any more, there is nobody to tell.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
