//! Text format of a process's records, written while it runs and read by the program that joins the logs.
//!
//! ```text
//! line_trace records 1
//! sent 0 /light_sensors
//! 81273645112 85944171f73967e8
//! ```
//! After the first line, each topic has one line with direction, number of records overwritten, and name, then one
//! line per remaining record: the stamp in nanoseconds and the digest in hexadecimal. The whole text may be repeated,
//! with the records made since.

use super::recorder::{Direction, Record};
use std::fmt;
use std::io::{self, Read, Write};

const HEADING: &str = "line_trace records 1";
/// Largest log that is read, bytes: over a million records.
const MAX_BYTES: u64 = 64 << 20;

/// The records of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Its topics, in the order in which they were added.
    pub topics: Vec<TopicLog>,
}

/// The records of one topic in one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicLog {
    /// The topic's name.
    pub name: String,
    /// Whether the process published or subscribed.
    pub direction: Direction,
    /// How many older records were overwritten: the first record belongs to the message of this number.
    pub overwritten: u64,
    /// The remaining records, one per message, in order.
    pub records: Vec<Record>,
}

/// Why a log cannot be read.
#[derive(Debug)]
pub enum LogError {
    /// Reading failed.
    Io(io::Error),
    /// The log is longer than any that is written.
    TooLong,
    /// The log does not begin with the heading.
    NoHeading,
    /// The line of this number, counted from 1, is neither a topic nor a record.
    BadLine(usize),
    /// The line of this number is a record without a topic.
    NoTopic(usize),
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the records cannot be read: {error}"),
            Self::TooLong => write!(f, "the records are longer than {MAX_BYTES} bytes"),
            Self::NoHeading => write!(f, "the records do not begin with '{HEADING}'"),
            Self::BadLine(number) => write!(f, "line {number} of the records is neither topic nor record"),
            Self::NoTopic(number) => write!(f, "the record in line {number} comes before any topic"),
        }
    }
}

impl std::error::Error for LogError {}

impl From<io::Error> for LogError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Log {
    /// The records of a topic in one direction.
    pub fn topic(&self, name: &str, direction: Direction) -> Option<&TopicLog> {
        self.topics.iter().find(|topic| topic.name == name && topic.direction == direction)
    }

    /// Appends the records made since.
    pub fn add(&mut self, later: Log) {
        for topic in later.topics {
            match self.topics.iter_mut().find(|known| known.is_same_topic(&topic)) {
                Some(known) => known.add(topic),
                None => self.topics.push(topic),
            }
        }
    }

    /// Keeps at least the newest `most` records of each topic, and truncates only when many more have accumulated.
    pub fn keep_newest(&mut self, most: usize) {
        for topic in self.topics.iter_mut().filter(|topic| topic.records.len() > most + most / 8) {
            let left_out = topic.records.len() - most;
            topic.records.drain(..left_out);
            topic.overwritten = topic.overwritten.saturating_add(left_out as u64);
        }
    }

    /// Writes the log as text.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, mut writer: impl Write) -> io::Result<()> {
        writeln!(writer, "{HEADING}")?;
        for topic in &self.topics {
            let direction = if topic.direction == Direction::Sent { "sent" } else { "received" };
            writeln!(writer, "{direction} {} {}", topic.overwritten, topic.name)?;
            for record in &topic.records {
                writeln!(writer, "{} {:x}", record.stamp_ns, record.digest)?;
            }
        }
        writer.flush()
    }

    /// The offset of the last repetition in a text, which may be incomplete.
    pub fn last_piece(text: &[u8]) -> usize {
        text.windows(HEADING.len()).rposition(|window| window == HEADING.as_bytes()).unwrap_or(0)
    }

    /// Reads a log up to the end of `reader`.
    ///
    /// # Errors
    /// [`LogError`] if reading fails, the log is longer than 64 MiB, or a line is not as written by [`Log::write`].
    pub fn read(reader: impl Read) -> Result<Self, LogError> {
        let mut text = String::new();
        reader.take(MAX_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(LogError::TooLong);
        }
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, LogError> {
        let mut lines = text.lines().zip(1..);
        if lines.next().is_none_or(|(heading, _)| heading != HEADING) {
            return Err(LogError::NoHeading);
        }
        let mut log = Self::default();
        let mut part = Self::default();
        for (line, number) in lines {
            match parse_line(line).ok_or(LogError::BadLine(number))? {
                Line::Heading => log.add(std::mem::take(&mut part)),
                Line::Topic(topic) => part.topics.push(topic),
                Line::Record(record) => {
                    part.topics.last_mut().ok_or(LogError::NoTopic(number))?.records.push(record);
                }
            }
        }
        log.add(part);
        Ok(log)
    }
}

impl TopicLog {
    /// The newest records of each topic, at most `most`.
    pub fn newest(&self, most: usize) -> Self {
        let left_out = self.records.len().saturating_sub(most);
        let Self { name, direction, overwritten, records } = self;
        Self {
            name: name.clone(),
            direction: *direction,
            overwritten: overwritten.saturating_add(left_out as u64),
            records: records[left_out..].to_vec(),
        }
    }

    fn is_same_topic(&self, other: &Self) -> bool {
        self.name == other.name && self.direction == other.direction
    }

    fn add(&mut self, later: Self) {
        self.overwritten = self.overwritten.saturating_add(later.overwritten);
        self.records.extend(later.records);
    }
}

enum Line {
    Heading,
    Topic(TopicLog),
    Record(Record),
}

fn parse_line(line: &str) -> Option<Line> {
    if line == HEADING {
        return Some(Line::Heading);
    }
    let (first, rest) = line.split_once(' ')?;
    let direction = match first {
        "sent" => Direction::Sent,
        "received" => Direction::Received,
        stamp => return Some(Line::Record(parse_record(stamp, rest)?)),
    };
    let (overwritten, name) = rest.split_once(' ')?;
    let overwritten = overwritten.parse().ok()?;
    Some(Line::Topic(TopicLog { name: name.to_owned(), direction, overwritten, records: Vec::new() }))
}

fn parse_record(stamp: &str, digest: &str) -> Option<Record> {
    Some(Record { stamp_ns: stamp.parse().ok()?, digest: u64::from_str_radix(digest, 16).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> Log {
        let record = |stamp_ns, digest| Record { stamp_ns, digest };
        let sensors = TopicLog {
            name: "/light_sensors".into(),
            direction: Direction::Sent,
            overwritten: 7,
            records: vec![record(0, 0), record(u64::MAX, u64::MAX), record(12, 0xab)],
        };
        let leds = TopicLog {
            name: "/leds".into(),
            direction: Direction::Received,
            overwritten: 0,
            records: Vec::new(),
        };
        Log { topics: vec![sensors, leds] }
    }

    fn written() -> String {
        let mut bytes = Vec::new();
        log().write(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn written_log_is_read_back() {
        assert_eq!(Log::read(written().as_bytes()).unwrap(), log());
    }

    #[test]
    fn text_matches_the_documentation() {
        let text = written();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["line_trace records 1", "sent 7 /light_sensors", "0 0"]);
        assert_eq!(lines[4..], ["12 ab", "received 0 /leds"]);
    }

    #[test]
    fn later_records_are_added_by_topic() {
        let mut text = written();
        text.push_str("line_trace records 1\nsent 2 /light_sensors\n99 ff\nsent 0 /new\n");
        let read = Log::read(text.as_bytes()).unwrap();
        let topic = read.topic("/light_sensors", Direction::Sent).unwrap();
        assert_eq!(topic.records.last(), Some(&Record { stamp_ns: 99, digest: 255 }));
        assert!(read.topic("/new", Direction::Sent).is_some());
        assert_eq!(topic.newest(1).records, [Record { stamp_ns: 99, digest: 255 }]);
        assert_eq!(&text[Log::last_piece(text.as_bytes())..][..HEADING.len()], HEADING);
    }

    #[test]
    fn excessive_counts_are_saturated() {
        let text = format!("{HEADING}\nsent {0} /a\n1 1\n2 2\n{HEADING}\nsent {0} /a\n", u64::MAX);
        let read = Log::read(text.as_bytes()).unwrap();
        assert_eq!(read.topics[0].newest(1).overwritten, u64::MAX);
    }

    #[test]
    fn topic_is_found_by_name_and_direction() {
        let log = log();
        assert_eq!(log.topic("/leds", Direction::Received), Some(&log.topics[1]));
        assert_eq!(log.topic("/leds", Direction::Sent), None);
    }

    #[test]
    fn invalid_line_is_named_by_number() {
        for bad in ["x", "12", "12 xyz", "-1 0", "sent /leds", "sent x /leds", "12 0 0", ""] {
            let text = format!("{}{bad}\n", written());
            let number = text.lines().count();
            let error = Log::read(text.as_bytes()).unwrap_err();
            assert!(matches!(error, LogError::BadLine(line) if line == number), "{bad:?}: {error}");
        }
    }

    #[test]
    fn log_without_heading_or_topic_is_refused() {
        assert!(matches!(Log::read(&b""[..]), Err(LogError::NoHeading)));
        assert!(matches!(Log::read(&b"line_trace records 2\n"[..]), Err(LogError::NoHeading)));
        assert!(matches!(Log::read(format!("{HEADING}\n1 2\n").as_bytes()), Err(LogError::NoTopic(2))));
    }

    #[test]
    fn endless_log_is_refused_at_the_limit() {
        assert!(matches!(Log::read(io::repeat(b'1')), Err(LogError::TooLong)));
    }

    #[test]
    fn log_truncated_at_any_byte_does_not_panic() {
        let text = written();
        for end in 0..text.len() {
            let _ = Log::read(&text.as_bytes()[..end]);
        }
    }

    #[test]
    fn newest_records_are_kept_and_older_counted() {
        let mut log = log();
        let before = log.topics[0].clone();
        log.keep_newest(before.records.len());
        assert_eq!(log.topics[0], before);
        log.keep_newest(1);
        let left_out = before.records.len() as u64 - 1;
        assert_eq!(log.topics[0].overwritten, before.overwritten + left_out);
        assert_eq!(log.topics[0].records, before.records[before.records.len() - 1..]);
    }
}
