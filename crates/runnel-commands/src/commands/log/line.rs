//! A log line of either generation.

use runnel::core::dynamic::{DynamicMessage, ValueRef};
use runnel::core::schema::Generation;
use runnel::core::time::Time;
use runnel::logging::Level;
use serde_json::{Value as Json, json};

use crate::output::shown;

/// A log line: `rosgraph_msgs/Log` of ROS 1, or `rcl_interfaces/msg/Log` of ROS 2.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub generation: Generation,
    pub stamp: Time,
    pub level: Level,
    /// The node in ROS 1, the logger in ROS 2.
    pub name: String,
    pub msg: String,
    file: String,
    function: String,
    line: u64,
    topics: Vec<String>,
}

impl Line {
    /// The line of a message.
    pub fn of(generation: Generation, message: &DynamicMessage) -> Self {
        let text = |path: &str| match message.get(path) {
            Ok(ValueRef::String(text)) => text.to_owned(),
            _ => String::new(),
        };
        let number = |path: &str| match message.get(path) {
            Ok(ValueRef::Int(number)) => number.unsigned_abs(),
            Ok(ValueRef::UInt(number)) => number,
            _ => 0,
        };
        let stamp = match generation {
            Generation::Ros1 => message.get("header.stamp"),
            Generation::Ros2 => message.get("stamp"),
        };
        let topics = match message.get("topics") {
            Ok(ValueRef::Array(topics)) => {
                topics.iter().filter_map(|topic| topic.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        Self {
            generation,
            stamp: if let Ok(ValueRef::Time(stamp)) = stamp { stamp } else { Time::default() },
            level: level(generation, number("level")),
            name: text("name"),
            msg: text("msg"),
            file: text("file"),
            function: text("function"),
            line: number("line"),
            topics,
        }
    }

    /// The name of its node, or of a logger below it: `/robot/camera`.
    pub fn node(&self) -> String {
        match self.generation {
            Generation::Ros1 => self.name.clone(),
            Generation::Ros2 => format!("/{}", self.name.replace('.', "/")),
        }
    }

    /// The line for people.
    pub fn text(&self, place: bool) -> String {
        let mut text = format!("[{}] [{}] [{}]: {}", self.level, self.stamp, shown(&self.name), self.msg);
        if place && !self.file.is_empty() {
            text += &shown(&format!(" ({}:{} {})", self.file, self.line, self.function));
        }
        text
    }

    /// The line for programs.
    pub fn json(&self) -> Json {
        json!({
            "stamp": { "secs": self.stamp.sec, "nsecs": self.stamp.nanosec },
            "level": self.level.name(),
            "node": self.name,
            "msg": self.msg,
            "file": self.file,
            "line": self.line,
            "function": self.function,
            "topics": self.topics,
        })
    }
}

/// The level of this number.
fn level(generation: Generation, number: u64) -> Level {
    let number = u8::try_from(number).unwrap_or(u8::MAX);
    match generation {
        Generation::Ros1 => Level::from_number(number),
        // Numbers between two levels belong to the lower one.
        Generation::Ros2 => ros2_level(number.into()),
    }
}

/// The most severe level whose number in ROS 2 is not greater. There are ten numbers for each level.
pub fn ros2_level(number: u32) -> Level {
    let is_within = |level: &Level| u32::from(level.ros2_number()) <= number;
    Level::ALL.into_iter().filter(is_within).max().unwrap_or(Level::Debug)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A line of a node in a generation.
    pub fn line(generation: Generation, name: &str, level: Level, msg: &str) -> Line {
        Line {
            generation,
            stamp: Time::default(),
            level,
            name: name.into(),
            msg: msg.into(),
            file: String::new(),
            function: String::new(),
            line: 0,
            topics: Vec::new(),
        }
    }

    #[test]
    fn line_shows_its_place_on_request() {
        let mut line = line(Generation::Ros1, "/a", Level::Info, "hello");
        assert_eq!(line.text(true), "[INFO] [0.000000000] [/a]: hello", "there is none");
        (line.file, line.line, line.function) = ("m.rs".into(), 3, "f".into());
        assert_eq!(line.text(true), "[INFO] [0.000000000] [/a]: hello (m.rs:3 f)");
        line.name = "/a\n[ERROR] [/b".into();
        assert_eq!(line.text(true), r"[INFO] [0.000000000] [/a\n[ERROR] [/b]: hello (m.rs:3 f)");
    }

    #[test]
    fn levels_have_numbers_of_their_generation() {
        for level in Level::ALL {
            assert_eq!(ros2_level(level.ros2_number().into()), level);
        }
        let numbers = [(Generation::Ros1, 4), (Generation::Ros2, 30), (Generation::Ros2, 35)];
        assert_eq!(numbers.map(|(generation, number)| level(generation, number)), [Level::Warn; 3]);
    }
}
