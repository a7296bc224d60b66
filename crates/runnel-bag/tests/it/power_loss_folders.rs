//! A disk that loses power while a folder of `ros2 bag` is written to it: everything up to the last sync can be read.

use std::cell::RefCell;
use std::io::{self, Cursor};
use std::rc::Rc;

use runnel_bag::mcap::{self, Profile};
use runnel_bag::rosbag2::{BagFile, BagMetadata, Folder, Reader, Writer};
use runnel_bag::{BagReader, BagWriter, Compression, Selection};

use crate::formats::{Logged, add_channel, random_message, write};
use crate::power_loss::{Log, LoggedDisk, are_among, remains};
use crate::random::{Random, repetitions};

/// What a folder was asked for: the requests of each file, and the last metadata.
#[derive(Clone, Default)]
struct Contents {
    files: Rc<RefCell<Vec<Log>>>,
    metadata: Rc<RefCell<Option<String>>>,
}

/// A folder whose disk logs what it is asked for. Its metadata are written as a whole.
struct LoggedFolder {
    contents: Contents,
    random: Random,
}

impl Folder for LoggedFolder {
    type Disk = LoggedDisk;

    fn create(&mut self, _name: &str) -> io::Result<LoggedDisk> {
        let log = Log::default();
        self.contents.files.borrow_mut().push(Rc::clone(&log));
        Ok(LoggedDisk::new(&mut self.random, &log))
    }

    fn write_metadata(&mut self, text: &str) -> io::Result<()> {
        *self.contents.metadata.borrow_mut() = Some(text.to_owned());
        Ok(())
    }
}

/// The state after a call of the writer.
#[derive(Clone)]
struct Step {
    /// The number of requests of each file.
    requests: Vec<usize>,
    metadata: Option<String>,
    /// The number of messages that are safe.
    safe: usize,
}

struct Recording {
    messages: Vec<Logged>,
    contents: Contents,
    steps: Vec<Step>,
}

impl Recording {
    fn new(random: &mut Random) -> Self {
        let contents = Contents::default();
        let folder = LoggedFolder { contents: contents.clone(), random: Random::new(random.next()) };
        let mut writer = Writer::new(folder, "run", Profile::Ros2, "").unwrap();
        let compression = [Compression::None, Compression::Lz4, Compression::Zstd][random.below(3) as usize];
        writer.set_compression(compression).unwrap();
        let mut recording = Self { messages: Vec::new(), contents, steps: Vec::new() };
        recording.end_step(0);
        let channel = add_channel(&mut writer).unwrap();
        let mut safe = 0;
        for number in 0..30 + random.below(60) as usize {
            let message = random_message(random, number);
            write(&mut writer, channel, &message).unwrap();
            recording.messages.push(message);
            recording.end_step(safe);
            match random.below(20) {
                0 => writer.flush().unwrap(),
                1 | 2 => {
                    writer.sync().unwrap();
                    safe = recording.messages.len();
                }
                3 => {
                    writer.split().unwrap();
                    safe = recording.messages.len();
                }
                _ => continue,
            }
            recording.end_step(safe);
        }
        if random.percent(50) {
            writer.finish().unwrap();
            recording.end_step(recording.messages.len());
        }
        recording
    }

    fn end_step(&mut self, safe: usize) {
        let Contents { files, metadata } = &self.contents;
        let requests = files.borrow().iter().map(|log| log.borrow().len()).collect();
        self.steps.push(Step { requests, metadata: metadata.borrow().clone(), safe });
    }

    /// What can be read after a power failure, and how many messages must be among it.
    fn after_power_failure(&self, random: &mut Random) -> (Vec<Logged>, usize) {
        let step = random.below(self.steps.len() as u64) as usize;
        let (before, after) = (&self.steps[step], self.steps.get(step + 1).unwrap_or(&self.steps[step]));
        let (mut files, mut is_after) = (Vec::new(), true);
        for (position, log) in self.contents.files.borrow().iter().enumerate() {
            let requests = |step: &Step| step.requests.get(position).copied().unwrap_or(0);
            let done =
                requests(before) + random.below((requests(after) - requests(before)) as u64 + 1) as usize;
            is_after &= done == requests(after);
            let file = remains(&log.borrow()[..done], random);
            // Nothing of a file is safe whose start is lost.
            if let Ok(reader) = mcap::Reader::open(Cursor::new(file)) {
                files.push(BagFile { path: format!("run_{position}.mcap"), reader: Box::new(reader) });
            }
        }
        let metadata = if is_after && random.percent(50) { &after.metadata } else { &before.metadata };
        let metadata = metadata.as_ref().map(|text| BagMetadata::parse(text).unwrap());
        let mut reader = Reader::new(metadata.as_ref(), files).unwrap();
        let messages = reader.messages(&Selection::default()).filter_map(Result::ok);
        (messages.map(|message| (message.log_time, message.data.to_vec())).collect(), before.safe)
    }
}

#[test]
fn messages_of_folder_before_last_sync_survive_power_failure() {
    let mut read = 0;
    for seed in 0..repetitions(60, 1000) {
        let mut random = Random::new(seed);
        let recording = Recording::new(&mut random);
        let (messages, safe) = recording.after_power_failure(&mut random);
        let expected = &recording.messages[..safe];
        assert!(are_among(expected, &messages), "seed {seed}: of {safe} messages some are lost");
        read += safe;
    }
    assert!(read > 0, "no power failure followed a sync");
}
