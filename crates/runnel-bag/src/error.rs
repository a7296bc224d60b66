//! Errors of bags.

use std::{error, fmt, io};

/// Why a bag cannot be read or written. Positions are in bytes from the start of the file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The input or output failed.
    Io(io::Error),
    /// The file does not begin like a bag of a supported format.
    NotABag,
    /// The bag has this version of its format, which is not supported.
    UnsupportedVersion(String),
    /// The bag is encrypted by this plug-in of rosbag.
    Encrypted(String),
    /// The file ends within the record at `at`.
    Truncated {
        /// Position of the record.
        at: u64,
    },
    /// A record violates the format.
    Malformed {
        /// Position of the record, or of its chunk.
        at: u64,
        /// The violation.
        reason: &'static str,
    },
    /// A chunk has a compression that is not supported.
    UnsupportedCompression {
        /// Position of the chunk.
        at: u64,
        /// Name of the compression.
        name: String,
    },
    /// The compressed data of a chunk are damaged.
    Decompression {
        /// Position of the chunk.
        at: u64,
        /// The library's error.
        source: io::Error,
    },
    /// A message that is compressed on its own is damaged.
    MessageDecompression {
        /// Its log time in nanoseconds since 1970.
        log_time: u64,
        /// The library's error.
        source: io::Error,
    },
    /// The checksum of a chunk or another record does not match its data.
    Checksum {
        /// Position of the record.
        at: u64,
    },
    /// A message names a channel that the bag does not define.
    UndefinedChannel {
        /// Position of the chunk.
        at: u64,
        /// Id of the channel in the file.
        id: u32,
    },
    /// The format cannot have this channel.
    UnsupportedChannel {
        /// The channel's topic.
        topic: String,
        /// What the format cannot have.
        reason: &'static str,
    },
    /// The format cannot store this time.
    TooLate {
        /// The time in nanoseconds since 1970.
        time: u64,
    },
    /// The bag to write was finished before.
    Finished,
    /// What a bag says about itself is malformed or not supported.
    Metadata(String),
    /// Files that the metadata of a folder list, but that do not exist.
    MissingFiles(Vec<String>),
    /// The SQLite file is damaged, or no bag.
    Database(String),
    /// Another error, of this file.
    InFile {
        /// Path of the file.
        file: String,
        /// The error.
        source: Box<Self>,
    },
    /// A message to write names a channel that was not added.
    UnknownChannel {
        /// Position of the channel.
        index: usize,
    },
    /// A message is longer than the format allows.
    TooLong {
        /// Length of the message in bytes.
        len: usize,
        /// Longest allowed length in bytes.
        limit: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotABag => f.write_str("not a bag: the file begins with no known signature"),
            Self::UnsupportedVersion(version) => write!(f, "bag format {version} is not supported"),
            Self::Encrypted(plugin) => write!(f, "the bag is encrypted by {plugin}, which is not supported"),
            Self::Truncated { at } => write!(f, "the file ends within the record at byte {at}"),
            Self::Malformed { at, reason } => write!(f, "byte {at}: {reason}"),
            Self::UnsupportedCompression { at, name } => {
                write!(f, "chunk at byte {at}: compression {name:?} is not supported")
            }
            Self::Decompression { at, source } => write!(f, "chunk at byte {at}: damaged data: {source}"),
            Self::MessageDecompression { log_time, source } => {
                write!(f, "message of {log_time} ns since 1970: damaged data: {source}")
            }
            Self::Checksum { at } => write!(f, "record at byte {at}: damaged data: the checksum is wrong"),
            Self::UndefinedChannel { at, id } => {
                write!(f, "chunk at byte {at}: a message of channel {id}, which the bag does not define")
            }
            Self::UnsupportedChannel { topic, reason } => write!(f, "topic {topic}: {reason}"),
            Self::TooLate { time } => {
                write!(
                    f,
                    "a message of {} s since 1970 is later than the format allows",
                    time / 1_000_000_000
                )
            }
            Self::Metadata(reason) => f.write_str(reason),
            Self::MissingFiles(names) => write!(f, "files that it lists are missing: {}", names.join(", ")),
            Self::Database(reason) => write!(f, "SQLite: {reason}"),
            Self::InFile { file, source } => write!(f, "{file}: {source}"),
            Self::Finished => f.write_str("the bag is finished: nothing can be added"),
            Self::UnknownChannel { index } => write!(f, "channel {index} was not added to the bag"),
            Self::TooLong { len, limit } => {
                write!(f, "a message of {len} bytes is longer than the format allows ({limit} bytes)")
            }
        }
    }
}

impl Error {
    /// Whether files are missing. [`BagReader::missing_files`](crate::BagReader::missing_files) has them.
    pub fn is_of_missing_files(&self) -> bool {
        match self {
            Self::MissingFiles(_) => true,
            Self::InFile { source, .. } => source.is_of_missing_files(),
            _ => false,
        }
    }

    /// The error of this file.
    pub(crate) fn in_file(self, file: &str) -> Self {
        Self::InFile { file: file.to_owned(), source: Box::new(self) }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Io(source)
            | Self::Decompression { source, .. }
            | Self::MessageDecompression { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
