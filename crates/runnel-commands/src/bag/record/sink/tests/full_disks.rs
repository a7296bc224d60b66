//! Disks that are full.

use std::collections::VecDeque;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel::core::time::Instant;
use runnel_bag::disk::{Disk, MemoryDisk};
use runnel_bag::mcap::{self, Profile};
use runnel_bag::{BagReader, BagWriter, Channel, Error};
use serde_json::Value as Json;

use crate::bag::files;
use crate::bag::record::sink::arrival::{Arrival, Source};
use crate::bag::record::sink::fixture::{arrival, source};
use crate::bag::record::sink::{
    Bags, Counts, DiskFull, LOSS, Limits, Removed, Sink, SinkOptions, Space, Written,
};
use crate::error::CliError;
use crate::streaming::lock;

/// Bytes of the disk.
const TOTAL: u64 = 1 << 18;

/// What is on the disk.
#[derive(Default)]
struct Content {
    /// Bytes of each file; 0 if it is removed.
    files: Vec<u64>,
    /// The files, also those that are removed.
    disks: Vec<Arc<Mutex<MemoryDisk>>>,
    /// Whether it was full since somebody asked for its space.
    was_full: bool,
}

type Usage = Arc<Mutex<Content>>;

/// A file on a disk that may be full.
struct FileOfDisk {
    content: Arc<Mutex<MemoryDisk>>,
    number: usize,
    usage: Usage,
}

impl Disk for FileOfDisk {
    type Buffer = Vec<u8>;

    fn block(&self) -> usize {
        lock(&self.content).block()
    }

    fn buffer(&mut self) -> io::Result<Vec<u8>> {
        lock(&self.content).buffer()
    }

    fn write(&mut self, buffer: Vec<u8>, len: usize, at: u64) -> io::Result<()> {
        let mut usage = lock(&self.usage);
        let grown = (at + len as u64).saturating_sub(usage.files[self.number]);
        if usage.files.iter().sum::<u64>() + grown > TOTAL {
            usage.was_full = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        usage.files[self.number] += grown;
        lock(&self.content).write(buffer, len, at)
    }

    fn sync(&mut self) -> io::Result<()> {
        lock(&self.content).sync()
    }

    fn finish(&mut self, len: u64) -> io::Result<()> {
        lock(&self.content).finish(len)
    }
}

/// Bags on such a disk.
#[derive(Default)]
struct FullBags {
    usage: Usage,
    /// Whether the disk says how much is free before it is full.
    warns: bool,
    closed: VecDeque<usize>,
    removed: Arc<Mutex<usize>>,
}

impl FullBags {
    fn close(&mut self) {
        let newest = lock(&self.usage).files.len() - 1;
        self.closed.push_back(newest);
    }
}

impl Bags for FullBags {
    fn begin(&mut self, _channels: &[Channel]) -> Result<Box<dyn BagWriter + Send>, CliError> {
        let mut usage = lock(&self.usage);
        usage.files.push(0);
        let content = Arc::new(Mutex::new(MemoryDisk::new(512, 1 << 16)));
        usage.disks.push(Arc::clone(&content));
        let disk = FileOfDisk { content, number: usage.files.len() - 1, usage: Arc::clone(&self.usage) };
        Ok(Box::new(mcap::Writer::on_disk(disk, Profile::None).expect("there is space")))
    }

    fn complete(&mut self, _written: Written) -> Result<(), CliError> {
        self.close();
        Ok(())
    }

    fn abandon(&mut self, _written: Written) {
        self.close();
    }

    fn remove_oldest(&mut self) -> Result<Option<Removed>, CliError> {
        let Some(oldest) = self.closed.pop_front() else { return Ok(None) };
        let len = std::mem::take(&mut lock(&self.usage).files[oldest]);
        *lock(&self.removed) += 1;
        Ok(Some(Removed { file: PathBuf::from(format!("{oldest}.mcap")), len }))
    }

    fn space(&self) -> Option<Space> {
        let mut usage = lock(&self.usage);
        let is_known = std::mem::take(&mut usage.was_full) || self.warns;
        let free = TOTAL - usage.files.iter().sum::<u64>();
        is_known.then_some(Space { free, total: TOTAL })
    }

    fn failed(&self, error: &Error) -> CliError {
        files::failed(Path::new("full.mcap"), error)
    }

    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Records 1000 messages of 1000 bytes, in bags of 50 kB. Returns whether it ended early, and the numbers.
fn record(bags: FullBags, disk_full: DiskFull) -> (Sink, bool, Counts) {
    let limits = Limits { size: Some(50_000), split: true, ..Limits::default() };
    let options = SinkOptions { limits, disk_full, ..SinkOptions::default() };
    let mut sink = Sink::new(Box::new(bags), options).expect("there is space");
    let topic = sink.add_topic("/a");
    let text = "x".repeat(1000);
    for second in 0..1000 {
        sink.take(topic, &arrival(source("/one"), second, &text));
        sink.sync(Instant::default());
    }
    let has_ended = sink.has_ended();
    let (_, counts) = sink.counts().next().expect("a topic");
    (sink, has_ended, counts)
}

#[test]
fn full_disk_ends_the_recording_with_its_error() {
    let (mut sink, has_ended, counts) = record(FullBags::default(), DiskFull::Stop);
    assert!(has_ended && counts.messages < 1000, "{counts:?}");
    let why = sink.finish().expect_err("the disk is full").to_string();
    assert!(why.starts_with("full.mcap: ") && why.contains("storage"), "{why}");
}

#[test]
fn oldest_bags_are_removed_before_the_disk_is_full() {
    let bags = FullBags { warns: true, ..FullBags::default() };
    let removed = Arc::clone(&bags.removed);
    let (mut sink, has_ended, counts) = record(bags, DiskFull::DropOldest);
    assert!(!has_ended, "{:?}", sink.finish());
    assert_eq!((counts.messages, counts.absent()), (1000, 0));
    assert!(*lock(&removed) > 10, "{removed:?}");
    sink.finish().expect("there is space");
}

#[test]
fn full_disk_without_a_warning_costs_the_oldest_bag() {
    let bags = FullBags::default();
    let removed = Arc::clone(&bags.removed);
    let (mut sink, has_ended, counts) = record(bags, DiskFull::DropOldest);
    assert!(!has_ended, "{:?}", sink.finish());
    assert_eq!(counts.messages + counts.refused, 1000, "{counts:?}");
    assert!(counts.refused > 0 && counts.refused <= *lock(&removed) as u64, "{counts:?} {removed:?}");
    sink.finish().expect("there is space");
}

#[test]
fn each_loss_is_in_one_bag() {
    let limits = Limits { size: Some(50_000), split: true, ..Limits::default() };
    let options = SinkOptions { limits, disk_full: DiskFull::DropOldest, ..SinkOptions::default() };
    let bags = FullBags::default();
    let usage = Arc::clone(&bags.usage);
    let mut sink = Sink::new(Box::new(bags), options).expect("there is space");
    let topic = sink.add_topic("/a");
    let text = "x".repeat(1000);
    for second in 0..1000 {
        sink.set_lost(topic, second, 0);
        sink.take(topic, &arrival(source("/one"), second, &text));
        // Some bags fail with a record of their losses, some without, and some after more losses.
        sink.sync(Instant::default() + Duration::from_secs(7 * second));
    }
    sink.finish().expect("there is space");
    let (_, counts) = sink.counts().next().expect("a topic");
    let failed: Vec<bool> = bags_of(&usage).map(|bag| !bag.summary().is_finished).collect();
    assert!(counts.refused > 0 && failed.iter().filter(|has_failed| **has_failed).count() > 3, "{failed:?}");
    let [mut dropped, mut refused] = [0, 0];
    for mut bag in bags_of(&usage) {
        for record in bag.metadata().expect("sound").iter().filter(|record| record.name == LOSS) {
            let loss: Json = serde_json::from_str(&record.values["/a"]).expect("JSON");
            dropped += loss["dropped"].as_u64().expect("a number");
            refused += loss["refused"].as_u64().expect("a number");
        }
    }
    assert_eq!((dropped, refused), (counts.dropped, counts.refused));
}

/// All bags of a disk, also those that are removed, but for those of which nothing was written.
fn bags_of(usage: &Usage) -> impl Iterator<Item = mcap::Reader<Cursor<Vec<u8>>>> {
    let files: Vec<Vec<u8>> =
        lock(usage).disks.iter().map(|content| lock(content).bytes().to_vec()).collect();
    let written = files.into_iter().filter(|bytes| !bytes.is_empty());
    written.map(|bytes| mcap::Reader::open(Cursor::new(bytes)).expect("a bag"))
}

#[test]
fn latched_messages_that_the_next_bag_begins_with_are_not_lost() {
    let limits = Limits { size: Some(50_000), split: true, ..Limits::default() };
    let options = SinkOptions { limits, disk_full: DiskFull::DropOldest, ..SinkOptions::default() };
    let bags = FullBags::default();
    let removed = Arc::clone(&bags.removed);
    let mut sink = Sink::new(Box::new(bags), options).expect("there is space");
    let [plain, latched] = ["/plain", "/latched"].map(|name| sink.add_topic(name));
    let text = "x".repeat(1000);
    for second in 0..500 {
        let message = arrival(source("/one"), second, &text);
        sink.take(plain, &message);
        let source = Source { is_latching: true, ..message.source };
        sink.take(latched, &Arrival { source, ..message });
        // The last two are not safe when the disk is full.
        if second % 2 == 0 {
            sink.sync(Instant::default());
        }
    }
    assert!(!sink.has_ended() && *lock(&removed) > 1, "{removed:?}");
    let counts: Vec<Counts> = sink.counts().map(|(_, counts)| counts).collect();
    for counts in &counts {
        assert_eq!(counts.messages + counts.refused, 500, "{counts:?}");
    }
    let [of_plain, of_latched] = [0, 1].map(|topic: usize| counts[topic].refused);
    assert!(of_latched < of_plain, "the last one of each failed bag is in the next: {counts:?}");
}

#[test]
fn full_disk_without_older_bags_ends_the_recording() {
    let options = SinkOptions { disk_full: DiskFull::DropOldest, ..SinkOptions::default() };
    let mut sink = Sink::new(Box::new(FullBags::default()), options).expect("there is space");
    let topic = sink.add_topic("/a");
    let text = "x".repeat(1000);
    for second in 0..1000 {
        sink.take(topic, &arrival(source("/one"), second, &text));
        sink.sync(Instant::default());
    }
    assert!(sink.has_ended());
    assert!(sink.finish().is_err());
}

#[test]
fn space_that_has_to_stay_free_ends_the_recording_and_its_bag_is_complete() {
    let record = |disk_full| {
        let limits = Limits { size: Some(50_000), split: true, ..Limits::default() };
        let options = SinkOptions { limits, disk_full, min_space: Some(TOTAL / 2), ..SinkOptions::default() };
        let bags = FullBags { warns: true, ..FullBags::default() };
        let usage = Arc::clone(&bags.usage);
        let mut sink = Sink::new(Box::new(bags), options).expect("there is space");
        let topic = sink.add_topic("/a");
        let text = "x".repeat(1000);
        for second in 0..1000 {
            sink.take(topic, &arrival(source("/one"), second, &text));
            sink.sync(Instant::default());
            assert!(sink.has_ended() || lock(&usage).files.iter().sum::<u64>() <= TOTAL / 2 + 50_000);
        }
        sink
    };
    let mut stopped = record(DiskFull::Stop);
    assert!(stopped.has_ended());
    let why = stopped.finish().expect_err("too little is free").to_string();
    assert!(why.contains("--min-space is 128.0 KiB"), "{why}");
    let mut dropping = record(DiskFull::DropOldest);
    assert!(!dropping.has_ended(), "the oldest bags are removed: {:?}", dropping.finish());
}
