//! Command line and output that Runnel's ROS 2 talker and listener share with the others.

use std::env;
use std::io::{self, Write};
use std::time::Duration;

use runnel::core::Message;
use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::std_msgs::msg::{String as Text, UInt8MultiArray};
use runnel::{Context, ContextOptions, Error, Graphs, QoS};

/// See `peers/rclpy/common.py`.
pub struct PeerOptions {
    /// The topic.
    pub topic: String,
    /// Such as `std_msgs/msg/String`.
    pub type_name: String,
    /// Number of messages; 0 for no end.
    pub count: u32,
    /// Messages per second; 0 for no pause.
    pub rate: f64,
    /// Sizes of text or data: the messages use them in turn.
    pub sizes: Vec<usize>,
    /// Subscriptions to wait for.
    pub wait: usize,
    /// A file to wait for.
    pub after: Option<String>,
    /// The quality of service.
    pub qos: QoS,
}

impl PeerOptions {
    /// Parses the arguments of this process, up to `--ros-args`.
    ///
    /// # Panics
    /// If an argument is unknown.
    pub fn from_command_line() -> PeerOptions {
        let mut all = env::args().skip(1).take_while(|word| word != "--ros-args");
        let topic = all.next().expect("a topic");
        let (type_name, qos) = ("std_msgs/msg/String".to_owned(), QoS::keep_last(1000));
        let mut options =
            PeerOptions { topic, type_name, count: 0, rate: 0.0, sizes: vec![0], wait: 1, after: None, qos };
        while let (Some(word), Some(value)) = (all.next(), all.next()) {
            options.set(&word, &value);
        }
        options
    }

    fn set(&mut self, word: &str, value: &str) {
        let number = || value.parse().expect("a number");
        match (word, value) {
            ("--type", _) => value.clone_into(&mut self.type_name),
            ("--count", _) => self.count = number(),
            ("--size" | "--sizes", _) => {
                self.sizes = value.split(',').map(|size| size.parse().expect("a size")).collect();
            }
            ("--wait", _) => self.wait = number() as usize,
            ("--rate", _) => self.rate = value.parse().expect("a rate"),
            ("--after", _) => self.after = Some(value.to_owned()),
            ("--reliability", "best_effort") => self.qos = self.qos.best_effort(),
            ("--durability", "transient_local") => self.qos = self.qos.transient_local(),
            ("--depth", "0") => self.qos = QoS { history: QoS::keep_all().history, ..self.qos },
            ("--depth", _) => self.qos = QoS { depth: number() as usize, ..self.qos },
            ("--deadline", _) => {
                self.qos = self.qos.deadline(Duration::from_secs_f64(value.parse().expect("seconds")))
            }
            ("--reliability", "reliable") | ("--durability", "volatile") => {}
            _ => panic!("{word} {value} is not known here"),
        }
    }

    /// The size of the message of a number.
    pub fn size_of(&self, number: u32) -> usize {
        self.sizes[(number as usize - 1) % self.sizes.len()]
    }

    /// A context in ROS 2 only.
    ///
    /// # Errors
    /// If the environment is invalid.
    pub fn context(&self) -> Result<Context, Error> {
        Context::with_options(ContextOptions::default().graphs(Graphs::Ros2))
    }
}

/// Length and CRC-32 of a message in CDR.
///
/// # Panics
/// If it cannot be encoded.
pub fn crc(message: &impl Message) -> String {
    let payload = cdr::encode(message, Encoding::Xcdr1).expect("a form in ROS 2");
    let body = &payload[4..];
    format!("len {} crc {:08x}", body.len(), crc32fast::hash(body))
}

/// The text of a number.
pub fn text(number: u32, size: usize) -> Text {
    let mut data = format!("hello {number}");
    data.extend(std::iter::repeat_n('.', size.saturating_sub(data.len())));
    Text { data }
}

/// The bytes of a number.
pub fn bytes(number: u32, size: usize) -> UInt8MultiArray {
    let data = (0..size).map(|index| ((number as usize + index % 251) % 251) as u8).collect();
    UInt8MultiArray { data, ..UInt8MultiArray::default() }
}

/// Prints and flushes a line.
pub fn print_line(line: &str) {
    let mut out = io::stdout().lock();
    // The reader may be gone.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
