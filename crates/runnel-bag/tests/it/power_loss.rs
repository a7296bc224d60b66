//! A disk that loses power: everything up to the last sync can be read.

use std::cell::RefCell;
use std::rc::Rc;

use runnel_bag::disk::Disk;

use crate::formats::{Format, Logged, Read, add_channel, formats, random_message, write};
use crate::random::{Random, repetitions};

/// A disk writes a sector whole or not at all.
const SECTOR: usize = 512;

/// What the disk was asked for, in order.
#[derive(Clone)]
pub enum Request {
    Write { at: usize, bytes: Vec<u8> },
    Sync,
    SetLen(usize),
}

pub type Log = Rc<RefCell<Vec<Request>>>;

/// A disk that logs what it is asked for.
pub struct LoggedDisk {
    block: usize,
    buffer: usize,
    log: Log,
}

impl LoggedDisk {
    pub fn new(random: &mut Random, log: &Log) -> Self {
        let block = [SECTOR, 4096][random.below(2) as usize];
        Self { block, buffer: 16 << 10, log: Rc::clone(log) }
    }
}

impl Disk for LoggedDisk {
    type Buffer = Vec<u8>;

    fn block(&self) -> usize {
        self.block
    }

    fn buffer(&mut self) -> std::io::Result<Vec<u8>> {
        Ok(vec![0xAA; self.buffer])
    }

    fn write(&mut self, mut buffer: Vec<u8>, len: usize, at: u64) -> std::io::Result<()> {
        assert_eq!([len % self.block, at as usize % self.block], [0, 0], "only whole blocks are written");
        buffer.truncate(len);
        self.log.borrow_mut().push(Request::Write { at: at as usize, bytes: buffer });
        Ok(())
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.log.borrow_mut().push(Request::Sync);
        Ok(())
    }

    fn finish(&mut self, len: u64) -> std::io::Result<()> {
        self.log.borrow_mut().push(Request::SetLen(len as usize));
        self.sync()
    }
}

/// A recording: its messages, the requests, and how many messages were safe after how many requests.
struct Recording {
    messages: Vec<Logged>,
    log: Vec<Request>,
    safe: Vec<(usize, usize)>,
}

fn record(format: &Format<LoggedDisk>, random: &mut Random) -> Recording {
    let log = Log::default();
    let mut writer = (format.writer)(LoggedDisk::new(random, &log)).unwrap();
    let mut recording = Recording { messages: Vec::new(), log: Vec::new(), safe: Vec::new() };
    let channel = add_channel(&mut *writer).unwrap();
    for number in 0..30 + random.below(60) as usize {
        let message = random_message(random, number);
        write(&mut *writer, channel, &message).unwrap();
        recording.messages.push(message);
        if random.percent(10) {
            writer.flush().unwrap();
        }
        if random.percent(10) {
            writer.sync().unwrap();
            recording.safe.push((log.borrow().len(), recording.messages.len()));
        }
    }
    if random.percent(50) {
        writer.finish().unwrap();
        recording.safe.push((log.borrow().len(), recording.messages.len()));
    }
    recording.log = log.borrow().clone();
    recording
}

/// The file after a power failure: the requests up to the last sync are done, of the later ones any sectors.
pub fn remains(log: &[Request], random: &mut Random) -> Vec<u8> {
    let synced = log.iter().rposition(|request| matches!(request, Request::Sync)).unwrap_or(0);
    let (safe, pending) = log.split_at(synced);
    let mut file = Vec::new();
    safe.iter().for_each(|request| carry_out(request, &mut file, || true));
    let safe_len = file.len();
    let chance = [0, 10, 50, 90, 100][random.below(5) as usize];
    pending.iter().for_each(|request| carry_out(request, &mut file, || random.percent(chance)));
    // The length is not written together with the data.
    if file.len() > safe_len && random.percent(50) {
        file.truncate(safe_len + random.below((file.len() - safe_len) as u64 + 1) as usize);
    }
    file
}

/// Carries a request out, of a write only the sectors for which `is_written`.
fn carry_out(request: &Request, file: &mut Vec<u8>, mut is_written: impl FnMut() -> bool) {
    match request {
        Request::Write { at, bytes } => {
            for (number, sector) in bytes.chunks(SECTOR).enumerate().filter(|_| is_written()) {
                let start = at + number * SECTOR;
                let end = start + sector.len();
                file.resize(file.len().max(end), 0);
                file[start..end].copy_from_slice(sector);
            }
        }
        Request::SetLen(len) if is_written() => file.resize(*len, 0),
        Request::SetLen(_) | Request::Sync => {}
    }
}

/// Whether all `expected` are among `messages`, in their order.
pub fn are_among(expected: &[Logged], messages: &[Logged]) -> bool {
    let mut left = messages.iter();
    expected.iter().all(|message| left.any(|other| other == message))
}

#[test]
fn messages_before_last_sync_survive_power_failure() {
    for format in formats::<LoggedDisk>() {
        for seed in 0..repetitions(100 / format.share, 1000) {
            let mut random = Random::new(seed);
            let recording = record(&format, &mut random);
            let requests = random.below(recording.log.len() as u64 + 1) as usize;
            let safe = recording.safe.iter().rfind(|(needed, _)| *needed <= requests);
            let (expected, later) = recording.messages.split_at(safe.map_or(0, |(_, messages)| *messages));
            let Read { messages, is_damaged } =
                (format.read)(remains(&recording.log[..requests], &mut random));
            let name = format.name;
            assert!(are_among(expected, &messages), "{name}, seed {seed}: messages are lost");
            let surplus = messages.len().checked_sub(expected.len()).unwrap();
            assert!(surplus <= later.len(), "{name}, seed {seed}: {surplus} messages more");
            if !is_damaged {
                let is_sound = are_among(&messages, &recording.messages);
                assert!(is_sound, "{name}, seed {seed}: messages that were not recorded");
            }
        }
    }
}
