//! Interleavings of two processes, modelled as two threads of loom, which runs all of them with every value that a
//! load may return.
//!
//! In loom, no load returns a later store, so a word that is overwritten too early would look unchanged. Therefore
//! payload words are also cells whose unordered use by both sides loom reports.

use std::sync::atomic::AtomicUsize;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use super::super::cells::{Cells, OwnCells};
use super::super::flow_control::{self, AnsweredRequests, Teardown};
use super::super::returns::{self, ReturnReader, ReturnWriter};
use super::super::ring::{self, RingReader, RingWriter};
use super::super::sleep_flag::{NotifiedEpoch, fall_asleep, wake_up};

const CAPACITY: usize = 8;

/// Words of a process's memory besides its ring.
const WORDS: usize = 18;

/// Words of the model.
struct Words(Vec<(AtomicU64, UnsafeCell<()>)>);

impl Words {
    fn new(count: usize) -> Arc<Self> {
        Arc::new(Self((0..count).map(|_| (AtomicU64::new(0), UnsafeCell::new(()))).collect()))
    }
}

impl Cells for Words {
    fn load(&self, index: usize) -> u64 {
        self.0[index].1.with(|_| ());
        self.0[index].0.load(Ordering::Relaxed)
    }

    fn load_acquire(&self, index: usize) -> u64 {
        self.0[index].0.load(Ordering::Acquire)
    }

    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}

impl OwnCells for Words {
    fn store(&self, index: usize, value: u64) {
        self.0[index].1.with_mut(|_| ());
        self.0[index].0.store(value, Ordering::Relaxed);
    }

    fn store_release(&self, index: usize, value: u64) {
        self.0[index].1.with_mut(|_| ());
        self.0[index].0.store(value, Ordering::Release);
    }
}

/// Words of the model that both sides use without order.
struct Page(Vec<AtomicU64>);

impl Page {
    fn new(count: usize) -> Arc<Self> {
        Arc::new(Self((0..count).map(|_| AtomicU64::new(0)).collect()))
    }
}

impl Cells for Page {
    fn load(&self, index: usize) -> u64 {
        self.0[index].load(Ordering::Relaxed)
    }

    fn load_acquire(&self, index: usize) -> u64 {
        self.0[index].load(Ordering::Acquire)
    }

    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}

impl OwnCells for Page {
    fn store(&self, index: usize, value: u64) {
        self.0[index].store(value, Ordering::Relaxed);
    }

    fn store_release(&self, index: usize, value: u64) {
        self.0[index].store(value, Ordering::Release);
    }
}

/// Runs every interleaving of a model, whose loops must therefore be short.
fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    // Independent of the environment.
    builder.preemption_bound = None;
    builder.max_permutations = None;
    builder.max_duration = None;
    builder.check(model);
}

/// A message: its number, in 13 bytes.
fn message(number: u8) -> [u8; 13] {
    [number; 13]
}

/// The number of the next message, if there is one. Checks all its bytes.
fn take(reader: &mut RingReader, words: &Words) -> Option<u8> {
    let record = reader.peek(words).unwrap()?;
    let mut bytes = Vec::new();
    reader.copy(words, &record, &mut bytes);
    assert_eq!((bytes.as_slice(), record.channel), (message(record.kind).as_slice(), 5));
    reader.advance(&record);
    Some(record.kind)
}

fn put(writer: &mut RingWriter, words: &Words, number: u8, read: impl FnOnce() -> u64) -> bool {
    let bytes = message(number);
    writer.push(words, (number, 5), &[&bytes[..5], &bytes[5..]], read).unwrap()
}

#[test]
fn wrapping_ring_delivers_each_record_once_in_order() {
    static WRITTEN_BEHIND_THE_READER: AtomicUsize = AtomicUsize::new(0);
    explore(|| {
        let (words, reported) = (Words::new(CAPACITY), Words::new(1));
        let (mut writer, mut reader) = (RingWriter::new(CAPACITY), RingReader::new(CAPACITY));
        // The ring has wrapped once already, so it contains more than zeros.
        for number in 1..4 {
            assert!(put(&mut writer, &words, number, || reader.position()));
            assert_eq!(take(&mut reader, &words), Some(number));
        }
        reader.report(&*reported, 0);
        let consumer = thread::spawn({
            let (words, reported) = (words.clone(), reported.clone());
            move || {
                let mut taken = Vec::new();
                for _ in 0..3 {
                    taken.extend(take(&mut reader, &words));
                    reader.report(&*reported, 0);
                }
                (reader, taken)
            }
        });
        let put: Vec<u8> = (4..8)
            .filter(|&number| put(&mut writer, &words, number, || ring::reported(&*reported, 0)))
            .collect();
        let (mut reader, mut taken) = consumer.join().unwrap();
        WRITTEN_BEHIND_THE_READER.fetch_max(put.len(), Ordering::Relaxed);
        while let Some(number) = take(&mut reader, &words) {
            taken.push(number);
        }
        assert_eq!(taken, put);
        assert_eq!(reader.position(), writer.written());
    });
    // More than fit into the ring at once: the writer continued behind the reader.
    assert!(WRITTEN_BEHIND_THE_READER.load(Ordering::Relaxed) > 2);
}

/// A doorbell that is never emptied, like an eventfd watched for edges.
struct Bell {
    rung: Mutex<u32>,
    changed: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap() += 1;
        self.changed.notify_one();
    }

    /// Waits until it was rung more often than `seen` times.
    fn wait(&self, seen: &mut u32) {
        let mut rung = self.rung.lock().unwrap();
        while *rung == *seen {
            rung = self.changed.wait(rung).unwrap();
        }
        *seen = *rung;
    }
}

#[test]
fn sleeping_reader_is_woken_for_every_record() {
    static SLEEPS: AtomicUsize = AtomicUsize::new(0);
    explore(|| {
        let words = Words::new(CAPACITY);
        let page = Page::new(1);
        let doorbell = Arc::new(Bell { rung: Mutex::new(0), changed: Condvar::new() });
        let ringer = thread::spawn({
            let (words, page, doorbell) = (words.clone(), page.clone(), doorbell.clone());
            move || {
                let (mut writer, mut rung) = (RingWriter::new(CAPACITY), NotifiedEpoch::default());
                for number in 1..3 {
                    assert!(put(&mut writer, &words, number, || unreachable!()));
                    if rung.should_ring(&*page) {
                        doorbell.ring();
                    }
                }
            }
        });
        let (mut reader, mut taken, mut seen, mut sleeps) = (RingReader::new(CAPACITY), 0, 0, 0);
        while taken < 2 {
            fall_asleep(&*page);
            if reader.peek(&*words).unwrap().is_none() {
                // If no one rings any more, loom reports a deadlock.
                doorbell.wait(&mut seen);
                sleeps += 1;
            }
            wake_up(&*page);
            while let Some(number) = take(&mut reader, &words) {
                taken += 1;
                assert_eq!(number, taken);
            }
        }
        ringer.join().unwrap();
        SLEEPS.fetch_max(sleeps, Ordering::Relaxed);
    });
    assert_eq!(SLEEPS.load(Ordering::Relaxed), 2);
}

#[test]
fn writer_waiting_for_space_is_woken() {
    static SLEEPS: AtomicUsize = AtomicUsize::new(0);
    explore(|| {
        let (words, writers, readers) = (Words::new(CAPACITY), Page::new(WORDS), Page::new(WORDS));
        let doorbell = Arc::new(Bell { rung: Mutex::new(0), changed: Condvar::new() });
        let mut writer = RingWriter::new(CAPACITY);
        assert!(
            put(&mut writer, &words, 1, || unreachable!()) && put(&mut writer, &words, 2, || unreachable!())
        );
        let consumer = thread::spawn({
            let (words, writers, readers, doorbell) =
                (words.clone(), writers.clone(), readers.clone(), doorbell.clone());
            move || {
                let (mut reader, mut answered) = (RingReader::new(CAPACITY), AnsweredRequests::default());
                for number in 1..3 {
                    assert_eq!(take(&mut reader, &words), Some(number));
                    if answered.should_ring(flow_control::report_position(&reader, &*readers, &*writers)) {
                        doorbell.ring();
                    }
                }
            }
        });
        let (mut seen, mut sleeps) = (0, 0);
        let mut fits = || put(&mut writer, &words, 3, || flow_control::position(&*readers));
        while !fits() {
            flow_control::request_space(&*writers);
            if fits() {
                break;
            }
            // If no one rings any more, loom reports a deadlock.
            doorbell.wait(&mut seen);
            sleeps += 1;
        }
        consumer.join().unwrap();
        SLEEPS.fetch_max(sleeps, Ordering::Relaxed);
    });
    assert_eq!(SLEEPS.load(Ordering::Relaxed), 1);
}

#[test]
fn final_position_separates_read_from_unread() {
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    explore(|| {
        let (words, reported) = (Words::new(CAPACITY), Page::new(WORDS));
        let consumer = thread::spawn({
            let (words, reported) = (words.clone(), reported.clone());
            move || {
                let (mut reader, mut taken) = (RingReader::new(CAPACITY), Vec::new());
                for _ in 0..2 {
                    taken.extend(take(&mut reader, &words));
                    reader.report(&*reported, 0);
                }
                flow_control::announce_teardown(&*reported, Teardown::Read);
                taken
            }
        });
        let mut writer = RingWriter::new(CAPACITY);
        for number in 1..3 {
            assert!(put(&mut writer, &words, number, || flow_control::position(&*reported)));
        }
        let position =
            flow_control::has_reached(&*reported, Teardown::Read).then(|| flow_control::position(&*reported));
        let mut all = consumer.join().unwrap();
        if let Some(position) = position {
            let mut rest = RingReader::starting_at(CAPACITY, position);
            LEFT.fetch_max(2 - all.len(), Ordering::Relaxed);
            while rest.position() < writer.written() {
                all.extend(take(&mut rest, &words));
            }
            assert_eq!(all, [1, 2]);
        }
    });
    assert_eq!(LEFT.load(Ordering::Relaxed), 2);
}

/// Payload slots of the model: loom reports a read while the owner writes.
type Slots = Arc<[UnsafeCell<()>; 2]>;

/// The borrower: reads each slot lent to it, and releases it.
fn borrow(slots: &Slots, words: &Words, reported: &Words, back: &Words) {
    let (mut reader, mut returns) = (RingReader::new(CAPACITY), ReturnWriter::new(2));
    for _ in 0..3 {
        let Some(record) = reader.peek(words).unwrap() else {
            continue;
        };
        let [slot] = reader.words(words, &record).unwrap();
        assert!(returns.borrow());
        reader.advance(&record);
        reader.report(reported, 0);
        slots[slot as usize].with(|_| ());
        assert!(returns.push(back, slot));
    }
}

#[test]
fn slot_is_used_by_one_side_at_a_time() {
    static LENT_AGAIN: AtomicUsize = AtomicUsize::new(0);
    explore(|| {
        let slots: Slots = Arc::new([UnsafeCell::new(()), UnsafeCell::new(())]);
        let (words, reported, back) = (Words::new(CAPACITY), Words::new(1), Words::new(returns::words(2)));
        let borrower = thread::spawn({
            let (slots, words, reported, back) =
                (slots.clone(), words.clone(), reported.clone(), back.clone());
            move || borrow(&slots, &words, &reported, &back)
        });
        let (mut writer, mut returns) = (RingWriter::new(CAPACITY), ReturnReader::new(2));
        let mut lend = |slot: u64| {
            slots[slot as usize].with_mut(|_| ());
            let place = slot.to_le_bytes();
            writer.push(&*words, (1, 0), &[&place], || ring::reported(&*reported, 0)).unwrap()
        };
        assert!(lend(0) && lend(1));
        let (mut lent, mut again) = (vec![0, 1], 0);
        for _ in 0..3 {
            if let Some(slot) = returns.next(&*back, lent.len()).unwrap() {
                assert_eq!(lent.remove(0), slot);
                assert!(lend(slot));
                lent.push(slot);
                again += 1;
            }
        }
        borrower.join().unwrap();
        LENT_AGAIN.fetch_max(again, Ordering::Relaxed);
    });
    // More often than there are entries: an entry was overwritten after it had been read.
    assert!(LENT_AGAIN.load(Ordering::Relaxed) > 2);
}
