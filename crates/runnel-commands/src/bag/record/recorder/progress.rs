//! State of a recording.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::bag::record::sink::{Counts, Sink};
use crate::streaming::lock;

/// State of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Numbers of messages by topic.
    pub topics: BTreeMap<String, Counts>,
    /// Length of all bags in bytes.
    pub len: u64,
    /// Their files.
    pub files: Vec<PathBuf>,
}

impl Progress {
    /// The state now.
    pub fn of(sink: &Mutex<Sink>) -> Self {
        let sink = lock(sink);
        Self {
            topics: sink.counts().map(|(topic, counts)| (topic.to_owned(), counts)).collect(),
            len: sink.len(),
            files: sink.files(),
        }
    }
}
