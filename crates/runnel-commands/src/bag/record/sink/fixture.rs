//! Recordings without a graph, into files of a temporary folder.

use std::fs;
use std::path::{Path, PathBuf};

use runnel::core::schema::Generation;
use runnel_bag::mcap::Profile;
use runnel_bag::{Compression, Message, Selection};
use tempfile::TempDir;

use super::arrival::{Arrival, Content, Source};
use super::{Limits, Sink, SinkOptions};
use crate::bag::files;
use crate::bag::record::output::OutputFiles;
use crate::bag::storage::Storage;

/// A recording, and the folder of its files.
pub struct Recording {
    folder: TempDir,
    pub sink: Sink,
}

impl Recording {
    pub fn new(limits: Limits) -> Self {
        Self::of(Storage::Mcap, limits)
    }

    pub fn of(storage: Storage, limits: Limits) -> Self {
        let only = (storage == Storage::Rosbag).then_some(Generation::Ros1);
        Self::with(storage, SinkOptions { limits, only, ..SinkOptions::default() })
    }

    pub fn with(storage: Storage, options: SinkOptions) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().join("a");
        let files = OutputFiles::new(base, (storage, Compression::None.into()), Profile::None);
        let is_numbered = options.limits.split || options.memory.is_some();
        let files = if is_numbered { files.numbered() } else { files };
        let sink = Sink::new(Box::new(files), options).expect("a bag");
        Self { folder, sink }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("a folder");
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.map(|entry| name(entry.expect("a file"))).collect();
        names.sort();
        names
    }
}

pub fn source(publisher: &str) -> Source<'_> {
    Source {
        generation: Generation::Ros1,
        type_name: "std_msgs/String",
        sum: "992ce8a1687cec8c8bd883ec73ca41d1",
        definition: "string data\n",
        publisher,
        is_latching: false,
    }
}

pub fn ros2(publisher: &str) -> Source<'_> {
    let (type_name, sum) = ("std_msgs/msg/String", "RIHS01_ab");
    Source { generation: Generation::Ros2, type_name, sum, definition: "", ..source(publisher) }
}

/// A message with this text, received at a number of seconds.
pub fn arrival<'a>(source: Source<'a>, seconds: u64, text: &'a str) -> Arrival<'a> {
    let log_time = seconds * 1_000_000_000;
    let content = Content { log_time, publish_time: log_time, sequence: 0, data: text.as_bytes().into() };
    Arrival { source, number: None, content }
}

pub fn messages(path: &Path) -> Vec<Message> {
    let mut reader = files::open(path).expect("a bag");
    reader.messages(&Selection::default()).collect::<Result<_, _>>().expect("sound")
}

pub fn texts(path: &Path) -> Vec<String> {
    let text = |message: Message| String::from_utf8(message.data.to_vec()).expect("a text");
    messages(path).into_iter().map(text).collect()
}
