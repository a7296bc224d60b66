//! Hostile peers, which write anything.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::Falsified;
use super::super::returns::{self, ReturnReader, ReturnWriter};
use super::super::ring::{BadRecord, RingReader, RingWriter, longest};
use super::super::sleep_flag::NotifiedEpoch;
use super::{Random, in_parts, zeros};

const CASES: u64 = 3000;

/// An arbitrary word: often one that looks like a header, or like a count.
fn word(random: &mut Random, capacity: usize) -> u64 {
    let length = random.below(8 * capacity + 16) as u64;
    match random.below(6) {
        0 => 0,
        1 => random.word(),
        2 => length,
        3 => 1 << random.below(64),
        4 => u64::MAX - length,
        _ => random.word() << 32 | length,
    }
}

fn scribble(random: &mut Random, cells: &[AtomicU64]) {
    for cell in cells {
        if random.below(2) == 0 {
            cell.store(word(random, cells.len()), Ordering::Relaxed);
        }
    }
}

#[test]
fn reader_of_random_words_stays_within_ring() {
    let (mut records, mut refused) = (0, 0);
    for seed in 0..CASES {
        let mut random = Random(seed);
        let capacity = 8 << random.below(4);
        let cells = zeros(capacity);
        let start = if seed % 3 == 0 { word(&mut random, capacity) } else { 0 };
        let mut reader = RingReader::starting_at(capacity, start);
        for _ in 0..50 {
            scribble(&mut random, &cells);
            match reader.peek(&*cells) {
                Ok(None) => {}
                Err(_) => refused += 1,
                Ok(Some(record)) => {
                    scribble(&mut random, &cells);
                    let mut out = Vec::new();
                    reader.copy(&*cells, &record, &mut out);
                    assert_eq!(out.len(), record.len as usize);
                    assert!(out.len() <= longest(capacity) && out.capacity() <= 2 * 8 * capacity);
                    assert_eq!(reader.words::<2>(&*cells, &record).is_some(), record.len == 16);
                    let (before, words) = (reader.position(), 1 + u64::from(record.len).div_ceil(8));
                    reader.advance(&record);
                    assert_eq!(reader.position(), before.wrapping_add(words));
                    records += 1;
                }
            }
        }
    }
    assert!(records > 1000 && refused > 1000, "{records} records, {refused} refused");
}

#[test]
fn invalid_headers_are_refused() {
    let (cells, reader) = (zeros(8), RingReader::new(8));
    let peek = |word| {
        cells[0].store(word, Ordering::Relaxed);
        reader.peek(&*cells)
    };
    assert_eq!(peek(5), Err(BadRecord::Kind));
    assert_eq!(peek(0x00ff_ffff_0000_0000), Err(BadRecord::Kind));
    assert_eq!(peek(1 << 56 | 49), Err(BadRecord::Length(49)));
    assert_eq!(peek(u64::MAX), Err(BadRecord::Length(u32::MAX)));
    assert_eq!(peek(1 << 56 | 48).unwrap().map(|record| record.len), Some(48));
}

/// The words from `from` to `to`.
fn between(cells: &[AtomicU64], from: u64, to: u64) -> Vec<u64> {
    (from..to).map(|at| cells[at as usize % cells.len()].load(Ordering::Relaxed)).collect()
}

#[test]
fn writer_never_overwrites_unread_words() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..CASES {
        let mut random = Random(seed);
        let capacity = 8 << random.below(3);
        let (cells, mut writer, read) = (zeros(capacity), RingWriter::new(capacity), Cell::new(0_u64));
        for _ in 0..60 {
            let longest = longest(capacity);
            let len = random.below(longest + 1);
            let (bytes, written) = (random.bytes(len), writer.written());
            let reported = match random.below(8) {
                0 => random.word(),
                1 => read.get().wrapping_sub(1),
                2 => written + 1,
                _ => read.get() + random.below((written - read.get()) as usize + 1) as u64,
            };
            let possible = (read.get()..=written).contains(&reported);
            let before = between(&cells, read.get(), written);
            let parts = in_parts(&mut random, &bytes);
            let asked = Cell::new(false);
            let pushed = writer.push(&*cells, (1, 1), &parts, || {
                asked.set(true);
                reported
            });
            assert_eq!(pushed == Err(Falsified), asked.get() && !possible);
            if asked.get() && possible {
                read.set(reported);
                accepted += 1;
            }
            refused += u32::from(pushed.is_err());
            let still = before.len() as u64 - (written - read.get());
            let now = between(&cells, read.get(), written);
            assert_eq!(now, before[still as usize..], "seed {seed}");
            assert!(writer.written() - read.get() < capacity as u64);
            assert_eq!(between(&cells, writer.written(), writer.written() + 1), [0]);
            assert_eq!(writer.written() != written, pushed == Ok(true));
        }
    }
    assert!(accepted > 1000 && refused > 1000, "{accepted} accepted, {refused} refused");
}

#[test]
fn falsified_position_is_refused() {
    let (cells, mut writer) = (zeros(8), RingWriter::new(8));
    assert_eq!(writer.push(&*cells, (1, 1), &[&[1; 24]], || 0), Ok(true));
    assert_eq!(writer.available(|| 5), Err(Falsified));
    assert_eq!(writer.available(|| 4), Ok(48));
    assert_eq!(writer.available(|| 3), Err(Falsified));
    assert_eq!(writer.available(|| u64::MAX), Err(Falsified));
    assert_eq!(writer.available(|| 4), Ok(48));
}

#[test]
fn owner_reclaims_only_lent_slots() {
    for seed in 0..CASES {
        let mut random = Random(seed);
        let capacity = 1 << random.below(4);
        let (cells, mut reader) = (zeros(returns::words(capacity)), ReturnReader::new(capacity));
        let (mut lent, mut back) = (0, 0);
        for _ in 0..50 {
            lent += random.below(capacity - lent + 1);
            if random.below(2) == 0 {
                scribble(&mut random, &cells);
                cells[0].store(back + random.below(2 * capacity) as u64, Ordering::Relaxed);
            }
            while let Ok(Some(_)) = reader.next(&*cells, lent) {
                back += 1;
                lent = lent.checked_sub(1).expect("more came back than were out");
            }
        }
    }
}

#[test]
fn impossible_counts_of_returned_slots_are_refused() {
    let (cells, mut reader) = (zeros(returns::words(4)), ReturnReader::new(4));
    let mut next = |reported, lent| {
        cells[0].store(reported, Ordering::Relaxed);
        reader.next(&*cells, lent)
    };
    assert_eq!(next(3, 2), Err(Falsified));
    assert_eq!(next(5, 100), Err(Falsified));
    assert_eq!(next(u64::MAX, 4), Err(Falsified));
    assert_eq!(next(1, 2), Ok(Some(0)));
    assert_eq!(next(1, 1), Ok(None));
    assert_eq!(next(0, 1), Err(Falsified));
}

#[test]
fn borrower_releases_only_received_slots() {
    let (cells, mut writer) = (zeros(returns::words(2)), ReturnWriter::new(2));
    assert!(!writer.push(&*cells, 7));
    assert_eq!([writer.borrow(), writer.borrow(), writer.borrow()], [true, true, false]);
    let pushed = [writer.push(&*cells, 1), writer.push(&*cells, 2), writer.push(&*cells, 3)];
    assert_eq!(pushed, [true, true, false]);
    assert_eq!(between(&cells, 0, 3), [2, 1, 2]);
}

#[test]
fn falsified_epoch_rings_at_most_once_per_record() {
    let (page, mut random, mut notified) = (zeros(1), Random(1), NotifiedEpoch::default());
    for _ in 0..1000 {
        let epoch = word(&mut random, 8);
        page[0].store(epoch, Ordering::Relaxed);
        let rang = notified.should_ring(&*page);
        assert!(!rang || epoch % 2 == 1);
        assert!(!notified.should_ring(&*page));
    }
}
