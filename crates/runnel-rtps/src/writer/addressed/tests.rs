//! Tests of addressed writers.

mod shared_buffer;

use super::*;
use crate::datagram::Datagram;
use crate::history::STEPS;
use crate::wire::{AckNack, EntityId, SequenceSet};
use crate::writer::proxy::FILLS;
use crate::writer::{Composed, Gate, Rate, ReaderSpec};
use alloc::vec;
use core::time::Duration;
use runnel_core::qos::QoS;

const WRITER: EntityId = EntityId::user_writer(1);
const SENDER: GuidPrefix = GuidPrefix([1; 12]);

#[derive(Clone, Debug)]
struct Sample(Vec<u8>);

impl Lend for Sample {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

fn writer(limit: usize) -> Writer<Sample> {
    Writer::new(WRITER, QoS::keep_last(10), limit).addressed()
}

fn prefix(number: u32) -> GuidPrefix {
    let mut bytes = [2; 12];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    GuidPrefix(bytes)
}

fn spec(guid: Guid) -> ReaderSpec {
    ReaderSpec {
        guid,
        address: ([10, 0, 0, 2], 7410).into(),
        reliable: true,
        wants_history: false,
        datagram: 1444,
        rate: Rate { bytes_per_second: 1_000_000_000, burst: 1_000_000_000 },
        requests_slowly: false,
        shares_reorder_buffer: false,
        inline_qos: vec![],
        gate: Gate::Open,
        number_offset: 0,
        needs_first_number: false,
        plain: None,
        echoes: false,
    }
}

fn reader(number: u32) -> Guid {
    prefix(number).with(EntityId::user_reader(1))
}

/// A writer with a reader in each of so many participants.
fn writer_to(readers: u32, limit: usize) -> Writer<Sample> {
    let mut writer = writer(limit);
    (0..readers).for_each(|number| writer.match_reader(spec(reader(number))));
    writer
}

fn write(writer: &mut Writer<Sample>, now: Instant, to: Guid, len: usize) -> Result<SequenceNumber, NotSent> {
    writer.write_to(now, Timestamp::INVALID, Sample(vec![0; len]), (to, vec![]))
}

fn write_many(writer: &mut Writer<Sample>, now: Instant, to: Guid, count: usize) {
    for _ in 0..count {
        write(writer, now, to, 20).unwrap();
    }
}

/// Sends everything.
fn send(writer: &mut Writer<Sample>, now: Instant) {
    let mut out = Datagram::new();
    while writer.compose(now, SENDER, &mut out) == Composed::Ready {}
}

fn acknowledge(writer: &mut Writer<Sample>, now: Instant, of: Guid, count: u32) {
    let missing = SequenceSet::new(writer.history().last().next());
    let ack = AckNack { reader: of.entity, writer: WRITER, missing, count, is_final: true };
    writer.acknowledge(now, of, &ack);
}

/// Work for one reply to one of many readers, each of which has an unacknowledged one: served readers and lookups.
fn work_of_one_reply(readers: u32) -> (usize, usize) {
    let now = Instant(1_000_000);
    let mut writer = writer_to(readers, 10_000);
    send(&mut writer, now);
    (0..readers).for_each(|number| write_many(&mut writer, now, reader(number), 1));
    send(&mut writer, now);
    FILLS.set(0);
    STEPS.set(0);
    let middle = reader(readers / 2);
    write(&mut writer, now, middle, 20).unwrap();
    send(&mut writer, now);
    assert!(writer.timeout().is_some());
    (1..3).for_each(|count| acknowledge(&mut writer, now, middle, count));
    send(&mut writer, now);
    assert_eq!(writer.unacknowledged_by(middle), 0);
    assert!(!writer.handle_timeout(now));
    (FILLS.get(), STEPS.get())
}

#[test]
fn work_of_a_reply_does_not_grow_with_readers() {
    let of_few = work_of_one_reply(3);
    assert!(of_few.0 <= 4 && of_few.1 <= 12, "{of_few:?}");
    assert_eq!(work_of_one_reply(2000), of_few);
}

#[test]
fn silent_participant_fills_half_of_writer() {
    let now = Instant(1_000_000);
    let mut writer = writer_to(2, 20);
    let written = (0..).take_while(|_| write(&mut writer, now, reader(0), 20).is_ok()).count();
    assert_eq!(written, 10);
    assert_eq!(write(&mut writer, now, reader(0), 20), Err(NotSent::Full));
    assert!(write(&mut writer, now, reader(1), 20).is_ok());
    send(&mut writer, now);
    acknowledge(&mut writer, now, reader(0), 1);
    assert!(write(&mut writer, now, reader(0), 20).is_ok(), "acknowledged samples are released");
    assert_eq!(writer.take_evicted(), None);
}

#[test]
fn bytes_of_silent_participant_are_bounded() {
    let now = Instant(1_000_000);
    let mut writer = writer_to(2, 1000).with_byte_limit(10_000);
    let written = (0..).take_while(|_| write(&mut writer, now, reader(0), 1000).is_ok()).count();
    assert_eq!(written, 5);
    assert!(write(&mut writer, now, reader(1), 1000).is_ok());
}

/// Participants 0 to 2 acknowledge nothing, and fill the writer.
#[test]
fn oldest_sample_of_largest_participant_is_evicted() {
    let now = Instant(1_000_000);
    let mut writer = writer_to(4, 20);
    for (number, count) in [(1, 6), (0, 9), (2, 5)] {
        write_many(&mut writer, now, reader(number), count);
    }
    assert_eq!(write(&mut writer, now, reader(3), 20), Err(NotSent::Full), "they may just be slow");
    let later = now + Duration::from_secs(2);
    write(&mut writer, later, reader(3), 20).unwrap();
    let held = [0, 1, 2, 3].map(|number| writer.unacknowledged_by(reader(number)));
    assert_eq!(held, [8, 6, 5, 1]);
    assert_eq!(writer.history().get(SequenceNumber(7)).map(|change| change.number), None);
    assert_eq!(writer.take_evicted(), Some(reader(0)));
    // It is reported once.
    write(&mut writer, later, reader(3), 20).unwrap();
    assert_eq!((writer.unacknowledged_by(reader(0)), writer.take_evicted()), (7, None));
    // And again after it was matched again.
    writer.unmatch_readers(reader(0)..=reader(0));
    for seconds in [0, 10] {
        writer.handle_timeout(later + Duration::from_secs(seconds));
    }
    assert_eq!(writer.history().len(), 13);
    writer.match_reader(spec(reader(0)));
    let last = later + Duration::from_secs(20);
    write_many(&mut writer, later, reader(0), 7);
    write(&mut writer, last, reader(3), 20).unwrap();
    assert_eq!(writer.take_evicted(), Some(reader(0)));
}

/// An alternate path takes over what a reader has not acknowledged.
#[test]
fn unacknowledged_samples_of_other_readers_are_not_handed_over() {
    let now = Instant(1_000_000);
    let mut writer = writer_to(2, 20);
    for number in [0, 1, 1, 0] {
        write(&mut writer, now, reader(number), 20).unwrap();
    }
    let of_first = writer.unacknowledged_of(reader(0)).map(|(number, _)| number.0);
    assert!(of_first.eq([1, 4]));
}

/// An alternate path carries the samples of a suspended reader: they are neither held nor sent here.
#[test]
fn sample_for_suspended_reader_only_takes_its_number() {
    let now = Instant(1_000_000);
    let mut writer = writer_to(2, 20);
    send(&mut writer, now);
    writer.suspend(reader(0)).unwrap();
    assert_eq!(write(&mut writer, now, reader(0), 20), Ok(SequenceNumber(1)));
    assert_eq!(write(&mut writer, now, reader(1), 20), Ok(SequenceNumber(2)));
    assert_eq!([0, 1].map(|number| writer.unacknowledged_by(reader(number))), [0, 1]);
}
