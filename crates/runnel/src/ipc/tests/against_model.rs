//! Random sequences on plain words, compared with a queue.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;

use super::super::returns::{self, ReturnReader, ReturnWriter};
use super::super::ring::{Record, RingReader, RingWriter, longest};
use super::{Random, in_parts, zeros};

const CASES: u64 = 3000;

type Message = (u8, u32, Vec<u8>);

/// Both ends of a ring, and its expected content.
struct Pair {
    random: Random,
    capacity: usize,
    cells: Box<[AtomicU64]>,
    writer: RingWriter,
    reader: RingReader,
    /// The reported position, and the messages behind it.
    reported: u64,
    unreported: VecDeque<Message>,
    unread: VecDeque<Message>,
}

impl Pair {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let capacity = 8 << random.below(4);
        Self {
            random,
            capacity,
            cells: zeros(capacity),
            writer: RingWriter::new(capacity),
            reader: RingReader::new(capacity),
            reported: 0,
            unreported: VecDeque::new(),
            unread: VecDeque::new(),
        }
    }

    fn step(&mut self) {
        match self.random.below(8) {
            0..4 => self.write(),
            4..7 => self.read(),
            _ => self.report(),
        }
    }

    fn write(&mut self) {
        let longest = longest(self.capacity);
        let len = match self.random.below(4) {
            0 => self.random.below(longest + 20),
            _ => self.random.below(30),
        };
        let bytes = self.random.bytes(len);
        let (kind, channel) = (1 + self.random.below(255) as u8, self.random.below(1 << 24) as u32);
        let parts = in_parts(&mut self.random, &bytes);
        let fits = len.div_ceil(8) + 2 <= self.free();
        let pushed = self.writer.push(&*self.cells, (kind, channel), &parts, || self.reported);
        assert_eq!(pushed, Ok(fits), "{len} bytes in {} words", self.capacity);
        if fits {
            self.unread.push_back((kind, channel, bytes));
        }
        let available = self.free().saturating_sub(2) * 8;
        assert_eq!(self.writer.available(|| self.reported), Ok(available));
    }

    /// Words that may be written. A record needs two besides its payload: its header and the zero of the next one.
    fn free(&self) -> usize {
        self.capacity - (self.writer.written() - self.reported) as usize
    }

    fn read(&mut self) {
        let Some(expected) = self.unread.pop_front() else {
            assert_eq!(self.reader.peek(&*self.cells), Ok(None));
            return;
        };
        assert_eq!(next(&mut self.reader, &self.cells), Some(expected.clone()));
        self.unreported.push_back(expected);
    }

    fn report(&mut self) {
        self.reported = self.reader.position();
        self.unreported.clear();
    }

    /// Reads the writer's own ring again.
    fn reread(&self) -> Vec<Message> {
        let mut reader = RingReader::starting_at(self.capacity, self.reported);
        let found = std::iter::from_fn(|| next(&mut reader, &self.cells)).collect();
        assert_eq!(reader.position(), self.writer.written());
        found
    }
}

/// The next message, appended to a byte that was there before.
fn next(reader: &mut RingReader, cells: &[AtomicU64]) -> Option<Message> {
    let record @ Record { kind, channel, len } = reader.peek(cells).unwrap()?;
    let mut bytes = vec![42];
    reader.copy(cells, &record, &mut bytes);
    assert_eq!((bytes.remove(0), bytes.len()), (42, len as usize));
    reader.advance(&record);
    Some((kind, channel, bytes))
}

#[test]
fn records_are_read_whole_once_and_in_order() {
    for seed in 0..CASES {
        let mut pair = Pair::new(seed);
        for _ in 0..100 {
            pair.step();
        }
        let left: Vec<Message> = pair.unreported.iter().chain(&pair.unread).cloned().collect();
        assert_eq!(pair.reread(), left, "seed {seed}");
    }
}

#[test]
fn longest_record_fills_ring_except_one_word() {
    let (cells, mut writer) = (zeros(8), RingWriter::new(8));
    assert_eq!(longest(8), 48);
    assert_eq!(writer.push(&*cells, (1, 2), &[&[7; 49]], || unreachable!()), Ok(false));
    assert_eq!(writer.push(&*cells, (1, 2), &[&[7; 20], &[7; 28]], || unreachable!()), Ok(true));
    assert_eq!((writer.available(|| 0), writer.push(&*cells, (1, 2), &[], || 0)), (Ok(0), Ok(false)));
    let mut reader = RingReader::new(8);
    assert_eq!(next(&mut reader, &cells), Some((1, 2, vec![7; 48])));
    assert_eq!(writer.push(&*cells, (1, 2), &[&[8; 48]], || reader.position()), Ok(true));
    assert_eq!(next(&mut reader, &cells), Some((1, 2, vec![8; 48])));
}

#[test]
fn position_is_read_only_when_ring_seems_full() {
    let (cells, mut writer) = (zeros(16), RingWriter::new(16));
    for _ in 0..7 {
        assert_eq!(writer.push(&*cells, (1, 0), &[&[0; 8]], || unreachable!()), Ok(true));
    }
    assert_eq!(writer.push(&*cells, (1, 0), &[&[0; 8]], || 14), Ok(true));
}

#[test]
fn words_are_read_only_at_exact_length() {
    let (cells, mut writer, mut reader) = (zeros(8), RingWriter::new(8), RingReader::new(8));
    for turn in 0..20_u64 {
        let (first, second) = (turn.to_le_bytes(), (turn << 40).to_le_bytes());
        let pushed = writer.push(&*cells, (9, 1), &[&first, &second], || reader.position());
        assert_eq!(pushed, Ok(true));
        let record = reader.peek(&*cells).unwrap().unwrap();
        assert_eq!(reader.words(&*cells, &record), Some([turn, turn << 40]));
        assert_eq!(reader.words::<1>(&*cells, &record), None);
        assert_eq!(reader.words::<3>(&*cells, &record), None);
        assert_eq!(reader.words::<2>(&*cells, &Record { len: 15, ..record }), None);
        reader.advance(&record);
    }
}

#[test]
fn slots_return_in_order_of_release() {
    for seed in 0..CASES {
        let mut random = Random(seed);
        let capacity = 1 << random.below(4);
        let cells = zeros(returns::words(capacity));
        let (mut writer, mut reader) = (ReturnWriter::new(capacity), ReturnReader::new(capacity));
        let (mut held, mut back) = (0, VecDeque::new());
        for entry in 0..200 {
            match random.below(3) {
                0 if held + back.len() < capacity => {
                    assert!(writer.borrow());
                    held += 1;
                }
                1 => {
                    assert_eq!(writer.push(&*cells, entry), held > 0);
                    if held > 0 {
                        back.push_back(entry);
                        held -= 1;
                    }
                }
                _ => assert_eq!(reader.next(&*cells, held + back.len()), Ok(back.pop_front())),
            }
        }
    }
}
