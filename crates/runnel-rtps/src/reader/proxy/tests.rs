//! Tests of positions set by forged datagrams.

use super::{Arrival, WriterProxy, WriterSpec, copy_sample};
use crate::reader::Budgets;
use crate::wire::{DataFrag, EntityId, Gap, GuidPrefix, Heartbeat, Parameters, SequenceNumber, VendorId};
use alloc::vec::Vec;
use core::time::Duration;
use runnel_core::time::Instant;

const WRITER: EntityId = EntityId::user_writer(1);
const READER: EntityId = EntityId::user_reader(1);
const FAR: i64 = 1 << 40;

/// A Runnel writer, which never restarts with the same GUID.
fn spec() -> WriterSpec {
    let prefix = GuidPrefix([1, 0x72, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]);
    assert!(prefix.is_of(VendorId::RUNNEL));
    WriterSpec {
        guid: prefix.with(WRITER),
        address: ([10, 0, 0, 1], 7410).into(),
        reliable: true,
        max_bytes: 1000,
        budgets: Budgets::new(1 << 20),
    }
}

fn at(millis: u64) -> Instant {
    Instant(0) + Duration::from_millis(millis)
}

fn number(number: i64) -> SequenceNumber {
    SequenceNumber(number)
}

fn heartbeat(proxy: &mut WriterProxy, now: Instant, first: i64, last: i64, count: u32) {
    let (first, last) = (number(first), number(last));
    let heartbeat =
        Heartbeat { reader: READER, writer: WRITER, first, last, count, is_final: true, liveliness: false };
    proxy.handle_heartbeat(now, &heartbeat);
}

fn skip(proxy: &mut WriterProxy, now: Instant, start: i64, end: i64) {
    proxy.gap(now, &Gap::range(READER, WRITER, number(start), number(end)));
}

/// One of 20 fragments of a sample.
fn fragment(sample: i64, first_fragment: u32) -> DataFrag<'static> {
    DataFrag {
        reader: READER,
        writer: WRITER,
        number: number(sample),
        first_fragment,
        fragments: 1,
        fragment_len: 10,
        sample_len: 200,
        is_key: false,
        inline_qos: Parameters::none(),
        bytes: &[7; 10],
    }
}

/// Sends this number of HEARTBEATs with the last sample 5.
fn contradict(proxy: &mut WriterProxy, times: u32) {
    (2..2 + times).for_each(|count| heartbeat(proxy, at(1000 * u64::from(count)), 1, 5, count));
}

#[test]
fn first_heartbeat_of_fast_dds_is_requested_with_base_zero() {
    let of_vendor = |vendor: VendorId| {
        let mut spec = spec();
        spec.guid.prefix.0[..2].copy_from_slice(&vendor.0);
        WriterProxy::new(spec)
    };
    let base = |proxy: &mut WriterProxy, now| {
        proxy.handle_timeout(now);
        let (ack, _) = proxy.take_acknack(now, READER).expect("a request");
        assert!(ack.missing.is_empty() && !ack.is_final);
        ack.missing.base
    };
    for (vendor, expected) in [(VendorId::FAST_DDS, 0), (VendorId::CYCLONE_DDS, 1), (VendorId::RUNNEL, 1)] {
        let mut proxy = of_vendor(vendor);
        let bases = [0, 1000, 2000].map(|millis| base(&mut proxy, at(millis)));
        assert_eq!(bases, [number(expected); 3], "{vendor:?}");
        heartbeat(&mut proxy, at(2001), 12, 11, 1);
        proxy.probe(at(2001));
        assert_eq!(base(&mut proxy, at(2001)), number(12), "{vendor:?}");
    }
}

#[test]
fn far_first_heartbeat_is_reverted() {
    let mut proxy = WriterProxy::new(spec());
    heartbeat(&mut proxy, at(0), FAR, FAR, 1);
    contradict(&mut proxy, 3);
    assert_eq!(proxy.due(), Some(number(1)));
}

#[test]
fn far_first_gap_is_reverted() {
    let mut proxy = WriterProxy::new(spec());
    skip(&mut proxy, at(0), 1, FAR);
    contradict(&mut proxy, 3);
    assert_eq!(proxy.due(), Some(number(1)));
}

#[test]
fn gap_before_first_heartbeat_is_reverted() {
    let mut first = WriterProxy::new(spec());
    heartbeat(&mut first, at(0), 1, 0, 1);
    (1..=5).for_each(|sample| assert_eq!(first.arrive(at(1), (number(sample), 0), true), Arrival::Deliver));
    let mut proxy = WriterProxy::rematched(spec(), first.unmatched_state());
    skip(&mut proxy, at(500), 6, FAR);
    // The first one sets the position.
    contradict(&mut proxy, 4);
    assert_eq!(proxy.due(), Some(number(6)));
}

/// Each time that it is matched again its HEARTBEAT ends before the position.
#[test]
fn far_gap_is_reverted_after_rematch() {
    let mut proxy = WriterProxy::new(spec());
    heartbeat(&mut proxy, at(0), 1, 0, 1);
    (1..=5).for_each(|sample| assert_eq!(proxy.arrive(at(1), (number(sample), 0), true), Arrival::Deliver));
    skip(&mut proxy, at(500), 6, FAR);
    for count in 2..6 {
        proxy = WriterProxy::rematched(spec(), proxy.unmatched_state());
        heartbeat(&mut proxy, at(1000 * u64::from(count)), 1, 5, count);
    }
    assert_eq!(proxy.due(), Some(number(FAR)));
    (6..9).for_each(|count| heartbeat(&mut proxy, at(1000 * u64::from(count)), 1, 5, count));
    assert_eq!(proxy.due(), Some(number(6)));
}

/// The HEARTBEAT ends before samples that wait for the reader's user, and drops them.
#[test]
fn samples_dropped_by_heartbeat_are_requested_again() {
    let mut proxy = WriterProxy::new(spec());
    heartbeat(&mut proxy, at(0), 1, 4, 1);
    for sample in (1..=4).map(number) {
        assert_eq!(proxy.arrive(at(1), (sample, 0), false), Arrival::Early);
        assert!(proxy.hold(at(1), sample, copy_sample(b"sample", None, false)));
    }
    (2..5).for_each(|count| heartbeat(&mut proxy, at(1000 * u64::from(count)), 1, 2, count));
    heartbeat(&mut proxy, at(5000), 1, 4, 5);
    let (ack_nack, _) = proxy.take_acknack(at(5000), READER).unwrap();
    assert_eq!(ack_nack.missing.iter().collect::<Vec<_>>(), [number(3), number(4)]);
}

/// A fragment may be forged: the writer may announce its sample late only while more of them follow.
#[test]
fn stalled_incomplete_sample_is_contradicted() {
    for (pause, is_corrected) in [(20, false), (1000, true)] {
        let mut proxy = WriterProxy::new(spec());
        heartbeat(&mut proxy, at(0), 1, 5, 1);
        (1..=5)
            .for_each(|sample| assert_eq!(proxy.arrive(at(1), (number(sample), 0), true), Arrival::Deliver));
        for count in 1..10 {
            let now = at(1000 + pause * u64::from(count));
            if count == 1 || !is_corrected {
                assert!(proxy.take_fragments(now, &fragment(6, count), None).is_none());
            }
            heartbeat(&mut proxy, now, 1, 5, 1 + count);
        }
        assert_eq!(proxy.take_corrections() > 0, is_corrected, "{pause} ms apart");
        assert_eq!(proxy.has_all(), is_corrected, "{pause} ms apart");
    }
}

/// The intervals between the requests have become long, and a sample arrives before the HEARTBEAT.
#[test]
fn late_first_heartbeat_resets_retry_interval() {
    let mut proxy = WriterProxy::new(spec());
    let mut now = at(0);
    for _ in 0..30 {
        proxy.take_acknack(now, READER).unwrap();
        now = proxy.timeout().unwrap();
        proxy.handle_timeout(now);
    }
    proxy.take_acknack(now, READER).unwrap();
    let now = now + Duration::from_millis(10);
    assert_eq!(proxy.arrive(now, (number(5), 0), true), Arrival::Early);
    assert!(proxy.hold(now, number(5), copy_sample(b"sample", None, false)));
    heartbeat(&mut proxy, now, 1, 5, 1);
    proxy.take_acknack(now, READER).unwrap();
    assert!(proxy.timeout().unwrap() < now + Duration::from_millis(500));
}

fn best_effort() -> WriterSpec {
    WriterSpec { reliable: false, ..spec() }
}

/// Receives one sample each 20 ms from `from` on; returns the first that is delivered.
fn first_delivered(proxy: &mut WriterProxy, from: u64, numbers: core::ops::Range<i64>) -> Option<i64> {
    numbers.zip(0..).find_map(|(sample, index)| {
        let arrival = proxy.arrive(at(from + 20 * index), (number(sample), sample as u32), true);
        (arrival == Arrival::Deliver).then_some(sample)
    })
}

/// It was unmatched a little ahead of its writer, and no sample has arrived since.
#[test]
fn rematched_best_effort_reader_ahead_receives_again() {
    let mut first = WriterProxy::new(best_effort());
    assert_eq!(first.arrive(at(0), (number(200), 0), true), Arrival::Deliver);
    let mut proxy = WriterProxy::rematched(best_effort(), first.unmatched_state());
    // For a moment they may have been overtaken.
    assert_eq!(first_delivered(&mut proxy, 1000, 100..150), Some(105));
}

/// Forged samples that do not follow each other leave the position unchanged.
#[test]
fn best_effort_reader_recovers_from_far_samples() {
    let mut proxy = WriterProxy::new(best_effort());
    assert_eq!(proxy.arrive(at(0), (number(200), 0), true), Arrival::Deliver);
    for (index, far) in [FAR, FAR / 2, FAR / 4].into_iter().enumerate() {
        proxy.arrive(at(500 + index as u64), (number(far), 1), true);
    }
    assert_eq!(first_delivered(&mut proxy, 1000, 100..150), Some(100));
}

/// While an alternate path delivers, RTPS is quiet. The writer repeats by RTPS the samples that it does not know to be received.
#[test]
fn best_effort_sample_of_alternate_path_is_not_repeated() {
    let mut proxy = WriterProxy::new(WriterSpec { reliable: false, ..spec() });
    assert_eq!(proxy.arrive(at(0), (number(1), 1), true), Arrival::Deliver);
    proxy.note_received(number(1), number(6));
    let mut rematched =
        WriterProxy::rematched(WriterSpec { reliable: false, ..spec() }, proxy.unmatched_state());
    for proxy in [&mut proxy, &mut rematched] {
        assert!(proxy.take_fragments(at(1000), &fragment(5, 1), None).is_none());
        assert_eq!(proxy.incomplete_bytes(), 0);
        assert_eq!(proxy.arrive(at(1000), (number(5), 5), true), Arrival::Late);
        assert_eq!(proxy.arrive(at(1000), (number(6), 6), true), Arrival::Deliver);
    }
    assert_eq!(proxy.take_lost(), 0);
}

/// A HEARTBEAT to all readers may state the position of another reader of this participant.
#[test]
fn reader_begins_with_its_own_heartbeat() {
    let mut proxy = WriterProxy::new(spec());
    let for_other_readers = Heartbeat {
        reader: EntityId::UNKNOWN,
        writer: WRITER,
        first: number(3),
        last: number(4),
        count: 1,
        is_final: false,
        liveliness: false,
    };
    proxy.handle_heartbeat(at(0), &for_other_readers);
    proxy.gap(at(0), &Gap::range(EntityId::UNKNOWN, WRITER, number(1), number(3)));
    assert_eq!(proxy.due(), None);
    for sample in [3, 6].map(number) {
        assert_eq!(proxy.arrive(at(1), (sample, 0), true), Arrival::Early);
        assert!(proxy.hold(at(1), sample, copy_sample(b"sample", None, false)));
    }
    heartbeat(&mut proxy, at(2), 6, 6, 2);
    assert_eq!(proxy.take_held().map(|(sample, _)| sample), Some(number(6)));
    assert_eq!((proxy.take_held(), proxy.take_lost()), (None, 0));
}

fn to_all(proxy: &mut WriterProxy, now: Instant, first: i64, last: i64, count: u32) {
    let (first, last, reader) = (number(first), number(last), EntityId::UNKNOWN);
    let (is_final, liveliness) = (true, false);
    proxy.handle_heartbeat(
        now,
        &Heartbeat { reader, writer: WRITER, first, last, count, is_final, liveliness },
    );
}

/// Version 0.1.0 addresses nothing to a reader that has the same progress as others of its participant.
#[test]
fn reader_begins_without_its_own_heartbeat_after_a_while() {
    let mut proxy = WriterProxy::new(spec());
    to_all(&mut proxy, at(0), 3, 4, 1);
    to_all(&mut proxy, at(1_999), 3, 4, 2);
    assert_eq!(proxy.due(), None);
    to_all(&mut proxy, at(2_000), 3, 4, 3);
    assert_eq!(proxy.due(), Some(number(3)));
}

/// The other readers have acknowledged the first samples, so that the HEARTBEAT begins after those that this one holds.
#[test]
fn reader_without_its_own_heartbeat_begins_at_first_held_sample() {
    let mut proxy = WriterProxy::new(spec());
    to_all(&mut proxy, at(0), 1, 0, 1);
    for sample in [1, 2, 4].map(number) {
        assert_eq!(proxy.arrive(at(1), (sample, 0), true), Arrival::Early);
        assert!(proxy.hold(at(1), sample, copy_sample(b"sample", None, false)));
    }
    to_all(&mut proxy, at(2_000), 6, 7, 2);
    let delivered: Vec<_> = core::iter::from_fn(|| proxy.take_held()).map(|(sample, _)| sample).collect();
    assert_eq!(delivered, [1, 2, 4].map(number));
    assert_eq!((proxy.due(), proxy.take_lost()), (Some(number(6)), 2));
}
