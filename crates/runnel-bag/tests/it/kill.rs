//! Recorders that are killed: what they flushed more than a moment before can be read.

use std::cell::RefCell;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;
use std::{env, fs, io, thread};

use runnel_bag::disk::{Disk, File};
use runnel_io::clock;
use runnel_io::direct_file::Method;
use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::formats::{Format, add_channel, formats, random_message, write};
use crate::random::{Random, repetitions};
use crate::real_files::{Folder, create};

/// Set in a process that records: the number of the recording, and the file.
const RECORDS: &str = "RUNNEL_BAG_RECORDS";

/// Time between two flushes of the recorder.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Longest time until a recorder is killed, in milliseconds.
const LONGEST_LIFE: u64 = 3000;

/// Length of the disk's buffers, in bytes.
const BUFFER: usize = 1 << 20;

/// Recorders at a time.
const AT_A_TIME: u64 = 10;

/// A file whose writes the recorder can watch.
struct Watched(Rc<RefCell<File>>);

impl Disk for Watched {
    type Buffer = <File as Disk>::Buffer;

    fn block(&self) -> usize {
        self.0.borrow().block()
    }

    fn buffer(&mut self) -> io::Result<Self::Buffer> {
        self.0.borrow_mut().buffer()
    }

    fn write(&mut self, buffer: Self::Buffer, len: usize, at: u64) -> io::Result<()> {
        self.0.borrow_mut().write(buffer, len, at)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.borrow_mut().sync()
    }

    fn finish(&mut self, len: u64) -> io::Result<()> {
        self.0.borrow_mut().finish(len)
    }
}

/// The format and the method of a recording: all pairs, and neither alone for long.
fn kind(number: u64) -> (Format<Watched>, Method) {
    let (mut formats, number) = (formats(), number as usize);
    let method = Method::ALL[(number + number / formats.len()) % Method::ALL.len()];
    (formats.swap_remove(number % formats.len()), method)
}

/// Messages without one that is longer than a buffer.
const LONG_EVERY: usize = 400;

/// So short that a second of messages is less than a buffer, so that only flushing saves them. Some are longer than a
/// buffer, and get a chunk of their own.
fn message(random: &mut Random, index: usize) -> Vec<u8> {
    let (_, mut bytes) = random_message(random, index);
    if index % LONG_EVERY == LONG_EVERY - 1 {
        bytes.extend((0..BUFFER + BUFFER / 2).map(|place| (place / 7) as u8 | 1));
    } else {
        bytes.truncate(500);
    }
    bytes
}

/// Records until it is killed, about a thousand messages a second. Says how many have reached the system: those that
/// were flushed, once no write is in flight.
fn record(number: u64, path: &str) {
    let (format, method) = kind(number);
    let Some(file) = create(path.as_ref(), method, BUFFER) else { return };
    let file = Rc::new(RefCell::new(file));
    let mut writer = (format.writer)(Watched(Rc::clone(&file))).unwrap();
    let channel = add_channel(&mut *writer).unwrap();
    let (mut random, mut flush_at) = (Random::new(number), clock::monotonic() + FLUSH_EVERY);
    let mut flushed = None;
    println!("begun");
    for index in 0..100_000 {
        let now = clock::realtime().as_nanos() as u64;
        write(&mut *writer, channel, &(now, message(&mut random, index))).unwrap();
        if clock::monotonic() >= flush_at {
            writer.flush().unwrap();
            flushed = Some(index + 1);
            flush_at = clock::monotonic() + FLUSH_EVERY;
        }
        if file.borrow_mut().in_flight() == 0
            && let Some(safe) = flushed.take()
        {
            println!("safe {safe}");
        }
        sleep_millis(1);
    }
}

/// Starts a recorder, kills it, and checks the bag. Returns how many nanoseconds before the kill its last message was
/// recorded; `None` if the system refuses the method.
fn kill_one(number: u64, life: u64, folder: &Folder) -> Option<u64> {
    let path = folder.path().join(number.to_string());
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "kill::killed_recorder_keeps_what_was_flushed", "--nocapture"]);
    command.env(RECORDS, format!("{number} {}", path.display()));
    let mut recorder = Peer::spawn("recorder", command).unwrap();
    recorder
        .wait_for_line(|line| line.contains("begun") || line.contains("not tested"), deadline_in(60))
        .unwrap();
    sleep_millis(life);
    let killed = clock::realtime().as_nanos() as u64;
    recorder.signal(Signal::KILL).unwrap();
    recorder.wait_exit(deadline_in(60)).unwrap();
    let output = recorder.output();
    if output.contains("not tested") {
        return None;
    }
    let mut reports = output.lines().filter_map(|line| line.split_once("safe ")?.1.parse().ok());
    let safe: usize = reports.next_back().unwrap_or(0);
    let (format, method) = kind(number);
    let read = (format.read)(fs::read(&path).unwrap()).messages;
    fs::remove_file(&path).unwrap();
    let recording = format!("recording {number} ({}, {method}), killed after {life} ms", format.name);
    assert!(read.len() >= safe, "{recording}: {} of {safe} flushed messages", read.len());
    let mut random = Random::new(number);
    for (index, (_, bytes)) in read.iter().enumerate() {
        // What was in flight may have gaps, which checksums show.
        assert!(*bytes == message(&mut random, index), "{recording}: message {index}");
    }
    Some(read.last().map_or(life * 1_000_000, |(time, _)| killed.saturating_sub(*time)))
}

#[test]
fn killed_recorder_keeps_what_was_flushed() {
    if let Ok(recording) = env::var(RECORDS) {
        let (number, path) = recording.split_once(' ').unwrap();
        return record(number.parse().unwrap(), path);
    }
    let folder = Folder::new("kill");
    let (count, mut random) = (repetitions(5, 300), Random::new(3));
    let life = |number: u64| LONGEST_LIFE / 5 * (number % 5) + random.below(LONGEST_LIFE / 5);
    let lives: Vec<_> = (0..count).zip((0..count).map(life)).collect();
    let mut lost: Vec<u64> = Vec::new();
    for some in lives.chunks(AT_A_TIME as usize) {
        thread::scope(|scope| {
            let kills: Vec<_> = some
                .iter()
                .map(|&(number, life)| {
                    scope.spawn({
                        let folder = &folder;
                        move || kill_one(number, life, folder)
                    })
                })
                .collect();
            lost.extend(kills.into_iter().filter_map(|kill| kill.join().unwrap()));
        });
    }
    let longest = lost.iter().max().map_or(0, |nanos| nanos / 1_000_000);
    println!("{} of {count} recorders killed; at most the last {longest} ms lost", lost.len());
    assert!(!lost.is_empty());
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kill comes at a random time, and the recorder is not to take all of a processor"
)]
fn sleep_millis(millis: u64) {
    thread::sleep(Duration::from_millis(millis));
}
