//! Shared parts of Runnel's talker and listener: command-line options, messages, their canonical bytes, and a log.
//! They correspond to `peers/rospy/common.py` and `peers/roscpp/peer.hpp`.

use std::collections::BTreeMap;

use log::{LevelFilter, Log, Metadata, Record};
use runnel::core::Message;
use runnel::core::wire::encode;
use runnel::msgs::geometry_msgs::msg::{Twist, Vector3};
use runnel::msgs::sensor_msgs::msg::Image;
use runnel::msgs::std_msgs::{
    self,
    msg::{Header, UInt8MultiArray},
};
use runnel::{Context, Error, Time};

/// A message that is generated from a number.
pub trait Numbered: Message {
    /// The message of this number, with `size` bytes of payload if its type has a payload.
    fn numbered(number: u32, size: usize) -> Self;

    /// Publishers overwrite `Header.seq`, so it counts as 0.
    fn forget_sequence(&mut self) {}
}

impl Numbered for std_msgs::msg::String {
    fn numbered(number: u32, size: usize) -> Self {
        Self { data: format!("{:.<size$}", format!("hello {number}")) }
    }
}

impl Numbered for UInt8MultiArray {
    fn numbered(number: u32, size: usize) -> Self {
        Self { data: pattern(number, size), ..Self::default() }
    }
}

impl Numbered for Image {
    fn numbered(number: u32, size: usize) -> Self {
        let stamp = Time { sec: number as i32, nanosec: number * 1000 };
        Self {
            header: Header { seq: number, stamp, frame_id: "camera".into() },
            height: 1,
            width: size as u32,
            encoding: "mono8".into(),
            is_bigendian: 0,
            step: size as u32,
            data: pattern(number, size),
        }
    }

    fn forget_sequence(&mut self) {
        self.header.seq = 0;
    }
}

impl Numbered for Twist {
    fn numbered(number: u32, _size: usize) -> Self {
        let n = f64::from(number);
        Self {
            linear: Vector3 { x: n, y: n / 2.0, z: n / 4.0 },
            angular: Vector3 { x: -n, y: 0.1, z: 1e-300 },
        }
    }
}

fn pattern(number: u32, size: usize) -> Vec<u8> {
    (0..size).map(|index| ((number as usize + index) % 251) as u8).collect()
}

/// Length and CRC-32 of the serialized message.
pub fn describe<M: Numbered>(message: &M) -> String {
    let mut message = message.clone();
    message.forget_sequence();
    let body = encode(&message);
    format!("len {} crc {:08x}", body.len(), crc32fast::hash(&body))
}

/// `TOPIC --key value ... --flag ...`
pub struct Options {
    /// The topic.
    pub topic: String,
    values: BTreeMap<String, String>,
}

impl Options {
    /// Parses the arguments that ROS has left. `flags` are the options without a value.
    ///
    /// # Panics
    /// If the topic is missing.
    pub fn of(context: &Context, flags: &[&str]) -> Options {
        let (mut topic, mut values) = (None, BTreeMap::new());
        let mut words = context.arguments().iter().cloned();
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                topic = Some(word);
            } else if flags.contains(&word.as_str()) {
                values.insert(word, String::new());
            } else if let Some(value) = words.next() {
                values.insert(word, value);
            }
        }
        Options { topic: topic.expect("a topic"), values }
    }

    /// Whether a flag is given.
    pub fn flag(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The number given by an option, or the default.
    ///
    /// # Panics
    /// If it is not a number.
    pub fn number(&self, name: &str, otherwise: f64) -> f64 {
        let number = |text: &String| text.parse().unwrap_or_else(|_| panic!("{name} {text} is no number"));
        self.values.get(name).map_or(otherwise, number)
    }

    /// The type of the messages.
    pub fn type_name(&self) -> &str {
        self.values.get("--type").map_or("std_msgs/String", String::as_str)
    }
}

/// A program that is generic over the message type.
pub trait Program {
    /// Runs it with messages of type `M`.
    ///
    /// # Errors
    /// If Runnel fails.
    fn run<M: Numbered>(&self) -> Result<(), Error>;
}

/// Runs a program with messages of the named type.
///
/// # Errors
/// If Runnel fails.
///
/// # Panics
/// If no message type has this name.
pub fn run_with(type_name: &str, program: &impl Program) -> Result<(), Error> {
    match type_name {
        std_msgs::msg::String::TYPE => program.run::<std_msgs::msg::String>(),
        UInt8MultiArray::TYPE => program.run::<UInt8MultiArray>(),
        Image::TYPE => program.run::<Image>(),
        Twist::TYPE => program.run::<Twist>(),
        other => panic!("unknown type {other}"),
    }
}

struct StandardError;

/// Logs everything from level info upwards to standard error as `[WARN] text`.
pub fn log_to_standard_error() {
    if log::set_logger(&StandardError).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}

impl Log for StandardError {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        eprintln!("[{}] {}", record.level(), record.args());
    }

    fn flush(&self) {}
}
