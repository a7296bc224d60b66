//! Tests of readers with writers that announce less, or later, than Runnel's.

use super::{Arrival, Budgets, Reader, WriterProxy, WriterSpec, copy_sample};
use crate::wire::{
    DataFrag, EntityId, Gap, GuidPrefix, Heartbeat, Message, SequenceNumber, Submessage, VendorId, begin,
};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;
use runnel_core::time::Instant;

const WRITER: EntityId = EntityId::user_writer(1);
const READER: EntityId = EntityId::user_reader(1);

fn spec(reliable: bool) -> WriterSpec {
    let guid = GuidPrefix([1; 12]).with(WRITER);
    WriterSpec {
        guid,
        address: ([10, 0, 0, 1], 7410).into(),
        reliable,
        max_bytes: 1000,
        budgets: Budgets::new(1 << 20),
    }
}

fn proxy(reliable: bool) -> WriterProxy {
    WriterProxy::new(spec(reliable))
}

fn at(millis: u64) -> Instant {
    Instant(0) + Duration::from_millis(millis)
}

fn heartbeat(first: i64, last: i64, count: u32) -> Heartbeat {
    let (first, last) = (SequenceNumber(first), SequenceNumber(last));
    Heartbeat { reader: READER, writer: WRITER, first, last, count, is_final: true, liveliness: false }
}

/// Receives a sample, and holds it if it is early.
fn receive(proxy: &mut WriterProxy, now: Instant, number: i64) -> Arrival {
    let number = SequenceNumber(number);
    let arrival = proxy.arrive(now, (number, 0), true);
    if arrival == Arrival::Early {
        assert!(proxy.hold(now, number, copy_sample(&[0; 8], None, false)));
    }
    arrival
}

fn missing(proxy: &mut WriterProxy, now: Instant) -> Vec<i64> {
    let (ack, _) = proxy.take_acknack(now, READER).expect("an answer");
    ack.missing.iter().map(|number| number.0).collect()
}

#[test]
fn writer_without_heartbeat_is_asked_for_earlier_samples() {
    let mut proxy = proxy(true);
    let _ = proxy.take_acknack(at(0), READER);
    assert_eq!(receive(&mut proxy, at(1), 5), Arrival::Early);
    assert!(proxy.take_held().is_none());
    assert!(proxy.handle_timeout(at(20)));
    assert_eq!(missing(&mut proxy, at(20)), [1, 2, 3, 4]);
    proxy.gap(at(0), &Gap::range(READER, WRITER, SequenceNumber(1), SequenceNumber(5)));
    assert_eq!(proxy.take_held().map(|(number, _)| number.0), Some(5));
    assert_eq!((proxy.take_lost(), receive(&mut proxy, at(22), 6)), (0, Arrival::Deliver));
}

#[test]
fn missing_sample_is_requested_once_per_repair_time() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
    let _ = proxy.take_acknack(at(0), READER);
    assert_eq!(receive(&mut proxy, at(1), 1), Arrival::Deliver);
    assert_eq!(receive(&mut proxy, at(2), 3), Arrival::Early);
    assert_eq!(missing(&mut proxy, at(2)), [2]);
    proxy.handle_heartbeat(at(3), &heartbeat(1, 3, 2));
    assert!(!proxy.is_acknack_due(), "it is in flight");
    let retry = proxy.timeout().expect("a time");
    assert!(retry > at(2) && retry <= at(13));
    assert!(proxy.handle_timeout(retry));
    assert_eq!(missing(&mut proxy, retry), [2]);
    assert_eq!(receive(&mut proxy, at(14), 2), Arrival::Deliver);
    assert_eq!(proxy.take_held().map(|(number, _)| number.0), Some(3));
    assert_eq!(proxy.timeout(), None);
}

#[test]
fn samples_before_first_are_lost_unless_held() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
    assert_eq!(receive(&mut proxy, at(1), 3), Arrival::Early);
    proxy.gap(at(0), &Gap::range(READER, WRITER, SequenceNumber(5), SequenceNumber(7)));
    proxy.handle_heartbeat(at(2), &heartbeat(9, 9, 2));
    assert_eq!(proxy.take_held().map(|(number, _)| number.0), Some(3));
    assert_eq!(proxy.take_lost(), 5 - 1 + 4 - 3, "1, 2, 4, 7 and 8");
    assert_eq!(receive(&mut proxy, at(3), 9), Arrival::Deliver);
}

#[test]
fn best_effort_gap_is_lost_and_late_sample_ignored() {
    let mut proxy = proxy(false);
    assert_eq!(receive(&mut proxy, at(0), 10), Arrival::Deliver);
    assert_eq!(proxy.take_lost(), 0, "earlier samples are unknown");
    assert_eq!(receive(&mut proxy, at(1), 13), Arrival::Deliver);
    assert_eq!((proxy.take_lost(), receive(&mut proxy, at(2), 12)), (2, Arrival::Late));
    assert!(!proxy.is_acknack_due());
}

#[test]
fn overtaken_heartbeat_is_ignored() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 5, u32::MAX));
    proxy.handle_heartbeat(at(1), &heartbeat(3, 6, 2));
    proxy.handle_heartbeat(at(2), &heartbeat(5, 9, 1));
    assert_eq!((proxy.take_lost(), missing(&mut proxy, at(3))), (2, alloc::vec![3, 4, 5, 6]));
}

#[test]
fn held_samples_stay_within_limit() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
    assert!(proxy.hold(at(1), SequenceNumber(3), copy_sample(&[0; 900], None, false)));
    assert!(!proxy.hold(at(1), SequenceNumber(4), copy_sample(&[0; 101], None, false)));
}

#[test]
fn samples_beyond_capacity_are_requested_later() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
    assert!(proxy.hold(at(1), SequenceNumber(3), copy_sample(&[0; 900], None, false)));
    proxy.handle_heartbeat(at(1), &heartbeat(1, 9, 2));
    assert_eq!(missing(&mut proxy, at(1)), [1, 2, 4, 5, 6, 7, 8, 9]);
    assert!(!proxy.hold(at(2), SequenceNumber(4), copy_sample(&[0; 101], None, false)));
    assert!(!proxy.is_acknack_due(), "all are requested");
    proxy.handle_timeout(at(20));
    assert_eq!(missing(&mut proxy, at(20)), [1], "what is beyond would be discarded");
    assert_eq!(receive(&mut proxy, at(21), 1), Arrival::Deliver);
    assert_eq!(missing(&mut proxy, at(21)), [4, 5, 6, 7, 8, 9], "2 was requested before");
}

#[test]
fn silent_writer_is_asked_while_matched() {
    let mut proxy = proxy(true);
    let (mut now, mut requests) = (at(0), 0);
    while now < at(60_000) {
        requests += u32::from(proxy.take_acknack(now, READER).is_some());
        now = proxy.timeout().expect("it is requested again");
        proxy.handle_timeout(now);
    }
    assert!((30..60).contains(&requests), "{requests} times within a minute");
}

#[test]
fn frequent_heartbeats_do_not_delay_retry() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 1, 1));
    assert_eq!(missing(&mut proxy, at(1)), [1]);
    // Each heartbeat requires an answer, though nothing new is missing.
    for count in 2..100 {
        proxy.handle_heartbeat(at(2), &Heartbeat { is_final: false, ..heartbeat(1, 1, count) });
        assert!(missing(&mut proxy, at(2)).is_empty(), "it is in flight");
    }
    assert_eq!(proxy.timeout(), Some(at(11)));
    // Without answers the intervals grow.
    let mut now = at(11);
    for _ in 0..30 {
        assert!(proxy.handle_timeout(now));
        let _ = missing(&mut proxy, now);
        now = proxy.timeout().expect("it asks again");
    }
    assert!(proxy.handle_timeout(now));
    let _ = missing(&mut proxy, now);
    assert_eq!(proxy.timeout(), Some(now + Duration::from_millis(500)));
}

/// Declares samples before `end` irrelevant.
fn gap(proxy: &mut WriterProxy, start: i64, end: i64) {
    proxy.gap(at(0), &Gap::range(READER, WRITER, SequenceNumber(start), SequenceNumber(end)));
}

#[test]
fn gaps_beyond_limit_are_requested_again() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
    // Each second one, from 3 on: 300 ranges.
    (0..300).for_each(|index| gap(&mut proxy, 3 + 2 * index, 4 + 2 * index));
    proxy.handle_heartbeat(at(1), &heartbeat(1, 700, 2));
    assert_eq!(receive(&mut proxy, at(1), 1), Arrival::Deliver);
    // 256 of them are remembered: the last is 513. A range that touches another takes no entry, and one between two
    // frees one.
    gap(&mut proxy, 514, 515);
    gap(&mut proxy, 4, 5);
    gap(&mut proxy, 516, 518);
    assert_eq!(missing(&mut proxy, at(2))[..3], [2, 6, 8]);
    for number in [2].into_iter().chain((6..514).step_by(2)) {
        assert_eq!(receive(&mut proxy, at(3), number), Arrival::Deliver, "{number}");
    }
    proxy.acknowledge_progress();
    assert_eq!(missing(&mut proxy, at(3))[..3], [515, 518, 519]);
}

#[test]
fn gap_at_position_counts_beyond_limit() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
    (0..300).for_each(|index| gap(&mut proxy, 3 + 2 * index, 4 + 2 * index));
    gap(&mut proxy, 1, 3);
    assert_eq!(proxy.due(), Some(SequenceNumber(4)));
    proxy.handle_heartbeat(at(1), &heartbeat(1000, 1000, 2));
    assert_eq!(
        (proxy.due(), receive(&mut proxy, at(1), 1000)),
        (Some(SequenceNumber(1000)), Arrival::Deliver)
    );
}

#[test]
fn overlapping_gaps_count_losses_once() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
    for (start, end) in [(5, 9), (6, 8), (8, 11), (3, 5), (20, 21), (3, 11)] {
        gap(&mut proxy, start, end);
    }
    // 1, 2 and 11 to 19 are lost.
    proxy.handle_heartbeat(at(1), &heartbeat(21, 21, 2));
    assert_eq!((proxy.take_lost(), proxy.due()), (11, Some(SequenceNumber(21))));
}

#[test]
fn wait_for_capacity_does_not_slow_repairs() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 2, 1));
    assert_eq!(missing(&mut proxy, at(0)), [1, 2]);
    for number in [SequenceNumber(1), SequenceNumber(2)] {
        assert_eq!(proxy.arrive(at(1), (number, 0), false), Arrival::Early);
        assert!(proxy.hold(at(1), number, copy_sample(&[0; 8], None, false)));
    }
    // There is capacity five seconds later; missing samples are then requested as soon as before.
    assert!(proxy.take_held().is_some() && proxy.take_held().is_some());
    proxy.handle_heartbeat(at(5001), &heartbeat(1, 3, 2));
    assert_eq!(missing(&mut proxy, at(5001)), [3]);
    assert!(proxy.timeout().is_some_and(|retry| retry <= at(5011)));
}

/// Sends a sample each 10 ms, loses each tenth, and delivers requested ones after `takes` milliseconds; returns the
/// average number of requests for each of the last lost ones.
fn requests_per_loss(takes: u64) -> f64 {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
    let _ = proxy.take_acknack(at(0), READER);
    let mut in_flight = VecDeque::new();
    let mut requests = BTreeMap::<i64, u32>::new();
    for millis in 10..20_000 {
        let (now, sent) = (at(millis), millis as i64 / 10);
        if millis % 10 == 0 && sent % 10 != 5 {
            receive(&mut proxy, now, sent);
        }
        while let Some((_, number)) = in_flight.pop_front_if(|(then, _)| *then <= now) {
            receive(&mut proxy, now, number);
        }
        while proxy.take_held().is_some() {}
        if proxy.handle_timeout(now) {
            for number in missing(&mut proxy, now) {
                *requests.entry(number).or_default() += 1;
                in_flight.push_back((now + Duration::from_millis(takes), number));
            }
        }
    }
    let late: Vec<u32> = requests.values().rev().skip(2).take(20).copied().collect();
    f64::from(late.iter().sum::<u32>()) / late.len() as f64
}

#[test]
fn slow_repairs_are_requested_once() {
    for takes in [1, 8, 50, 200] {
        let each = requests_per_loss(takes);
        assert!(each < 1.2, "{each} times each where a repair takes {takes} ms");
    }
}

#[test]
fn fast_link_requests_lost_repair_immediately() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
    for turn in 0..20 {
        let (now, number) = (at(100 * turn), 2 * turn as i64 + 2);
        receive(&mut proxy, now, number);
        assert_eq!(missing(&mut proxy, now), [number - 1]);
        if turn < 19 {
            receive(&mut proxy, now + Duration::from_micros(300), number - 1);
            while proxy.take_held().is_some() {}
        }
    }
    assert_eq!(proxy.timeout(), Some(at(1902)));
}

#[test]
fn recent_requests_are_not_repeated_with_older_ones() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 2, 1));
    assert_eq!(missing(&mut proxy, at(0)), [1, 2]);
    proxy.handle_heartbeat(at(9), &heartbeat(1, 4, 2));
    assert_eq!(missing(&mut proxy, at(9)), [3, 4]);
    assert!(proxy.handle_timeout(at(10)));
    assert_eq!(missing(&mut proxy, at(10)), [1, 2]);
    assert!(proxy.handle_timeout(at(20)));
    assert_eq!(missing(&mut proxy, at(20)), [1, 2, 3, 4]);
}

#[test]
fn progressing_repairs_keep_retry_interval() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 30, 1));
    for turn in 0..30 {
        let now = proxy.timeout().unwrap_or(at(0));
        proxy.handle_timeout(now);
        assert_eq!(missing(&mut proxy, now).len() as i64, 30 - turn);
        let retry = proxy.timeout().expect("it asks again");
        assert!(retry.since(now) < Duration::from_millis(30), "{:?}", retry.since(now));
        // The last of them arrives each time, and waits for the earlier ones.
        assert_eq!(receive(&mut proxy, now, 30 - turn), Arrival::Early);
        if turn == 28 {
            return;
        }
    }
}

#[test]
fn reader_without_capacity_answers_only_for_losses() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
    let _ = proxy.take_acknack(at(0), READER);
    for number in 1..100 {
        let number = SequenceNumber(number);
        assert_eq!(proxy.arrive(at(1), (number, 0), false), Arrival::Early);
        assert!(proxy.hold(at(1), number, copy_sample(&[0; 8], None, false)));
        assert!(!proxy.is_acknack_due(), "nothing is missing");
    }
    assert_eq!(receive(&mut proxy, at(2), 101), Arrival::Early);
    assert_eq!(missing(&mut proxy, at(2)), [100]);
}

#[test]
fn missing_samples_are_found_up_to_greatest_number() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, i64::MAX, 1));
    proxy.gap(at(0), &Gap::range(READER, WRITER, SequenceNumber(3), SequenceNumber(i64::MAX)));
    assert_eq!(receive(&mut proxy, at(1), i64::MAX), Arrival::Early);
    assert_eq!(receive(&mut proxy, at(1), 2), Arrival::Early);
    assert_eq!(missing(&mut proxy, at(1)), [1]);
    assert_eq!(receive(&mut proxy, at(1), 1), Arrival::Deliver);
    while proxy.take_held().is_some() {}
    // The writer is asked for what only the GAP has declared irrelevant.
    assert!(
        !proxy.handle_timeout(at(2000))
            || missing(&mut proxy, at(2000)).iter().eq(&(3..259).collect::<Vec<_>>())
    );
}

#[test]
fn rematched_writer_continues_and_restarted_one_begins() {
    let mut first = proxy(true);
    first.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
    (1..=5).for_each(|number| assert_eq!(receive(&mut first, at(1), number), Arrival::Deliver));
    let last_count = first.take_acknack(at(1), READER).expect("an answer").0.count;
    let again = |last| {
        let mut proxy = WriterProxy::rematched(spec(true), first.unmatched_state());
        let requests = proxy.take_acknack(at(9), READER).expect("a greeting").0;
        assert!(requests.count > last_count, "the writer would ignore it");
        proxy.gap(at(0), &Gap::range(READER, WRITER, SequenceNumber(1), SequenceNumber(3)));
        proxy.handle_heartbeat(at(9), &heartbeat(3, last, 9));
        (proxy.due().map(|number| number.0), proxy.take_lost())
    };
    assert_eq!((again(7), again(5)), ((Some(6), 0), (Some(6), 0)));
    assert_eq!(again(4), (Some(3), 0));
}

#[test]
fn runnel_writer_never_counts_as_restarted() {
    for reliable in [true, false] {
        let prefix = GuidPrefix([1, 0x72, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]);
        let spec = WriterSpec { guid: prefix.with(WRITER), ..spec(reliable) };
        let mut first = WriterProxy::new(spec.clone());
        first.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
        (1..=50).for_each(|number| assert_eq!(receive(&mut first, at(1), number), Arrival::Deliver));
        let mut proxy = WriterProxy::rematched(spec, first.unmatched_state());
        // It begins with the samples that it holds, or the HEARTBEAT was overtaken.
        proxy.handle_heartbeat(at(9), &heartbeat(31, 33, 9));
        (31..=50).for_each(|number| assert_eq!(receive(&mut proxy, at(9), number), Arrival::Late));
        assert_eq!(receive(&mut proxy, at(9), 51), Arrival::Deliver);
        assert_eq!(proxy.take_lost(), 0);
    }
}

#[test]
fn former_position_outlasts_alternate_path() {
    let mut first = proxy(true);
    first.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
    (1..=5).for_each(|number| assert_eq!(receive(&mut first, at(1), number), Arrival::Deliver));
    let mut proxy = WriterProxy::rematched(spec(true), first.unmatched_state());
    assert!(proxy.hold(at(9), SequenceNumber(2), copy_sample(&[0; 8], None, false)));
    proxy.note_received(SequenceNumber::FIRST, SequenceNumber(3));
    assert_eq!((proxy.due(), proxy.take_lost()), (Some(SequenceNumber(6)), 0));
}

#[test]
fn alternate_path_samples_are_neither_requested_nor_lost() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 3, 1));
    assert_eq!(receive(&mut proxy, at(1), 1), Arrival::Deliver);
    proxy.note_received(SequenceNumber(4), SequenceNumber(9));
    assert_eq!(missing(&mut proxy, at(1)), [2, 3]);
    (2..=3).for_each(|number| assert_eq!(receive(&mut proxy, at(2), number), Arrival::Deliver));
    assert_eq!((proxy.due(), proxy.take_lost()), (Some(SequenceNumber(9)), 0));
}

/// Receives a fragment of 80 bytes of a sample with four.
fn receive_fragment(proxy: &mut WriterProxy, now: Instant, number: i64, fragment: u32) {
    let mut out = Vec::new();
    begin(&mut out, VendorId::RUNNEL, GuidPrefix([1; 12]));
    let number = SequenceNumber(number);
    DataFrag::emit(&mut out, (READER, WRITER), number, &[], &[0; 320], (fragment, 80));
    let Some(Ok(Submessage::DataFrag(frag))) = Message::parse(&out).unwrap().submessages().next() else {
        panic!("no fragment");
    };
    assert!(proxy.take_fragments(now, &frag, None).is_none());
}

/// Returns the requested fragments, if any.
fn missing_fragments(proxy: &mut WriterProxy, now: Instant) -> Option<(i64, Vec<u32>)> {
    let (_, nack) = proxy.take_acknack(now, READER)?;
    nack.map(|nack| (nack.number.0, nack.missing.iter().collect()))
}

#[test]
fn next_sample_triggers_fragment_requests() {
    let mut proxy = proxy(true);
    proxy.handle_heartbeat(at(0), &heartbeat(1, 0, 1));
    let _ = proxy.take_acknack(at(0), READER);
    receive_fragment(&mut proxy, at(1), 1, 1);
    receive_fragment(&mut proxy, at(1), 1, 3);
    assert_eq!(missing_fragments(&mut proxy, at(1)), None, "more may be in flight");
    receive_fragment(&mut proxy, at(2), 2, 1);
    assert_eq!(missing_fragments(&mut proxy, at(2)), Some((1, [2, 4].into())));
    receive_fragment(&mut proxy, at(3), 3, 1);
    assert_eq!(missing_fragments(&mut proxy, at(3)), Some((2, [2, 3, 4].into())), "those of 1 are in flight");
    // Fragments of other samples do not postpone it.
    (4..30).for_each(|millis| receive_fragment(&mut proxy, at(millis), 3, 1));
    assert!(proxy.handle_timeout(at(30)));
    assert_eq!(missing_fragments(&mut proxy, at(30)), Some((1, [2, 4].into())));
}

#[test]
fn overlong_sample_takes_no_memory() {
    let mut proxy = proxy(true);
    let mut takes = |number, len: usize| {
        let mut out = Vec::new();
        begin(&mut out, VendorId::RUNNEL, GuidPrefix([1; 12]));
        let number = SequenceNumber(number);
        DataFrag::emit(&mut out, (READER, WRITER), number, &[], &alloc::vec![0; len], (1, 100));
        let Some(Ok(Submessage::DataFrag(frag))) = Message::parse(&out).unwrap().submessages().next() else {
            panic!("no fragment");
        };
        proxy.take_fragments(at(0), &frag, None);
        proxy.incomplete_bytes()
    };
    // The limit of incomplete bytes is 1000.
    assert_eq!([takes(1, 1001), takes(2, 600), takes(3, 401), takes(4, 400)], [0, 600, 600, 1000]);
}

#[test]
fn acknowledgement_counts_ascend_after_forgotten_writers() {
    let mut reader = Reader::new();
    let named = |number: u32| {
        let guid = GuidPrefix([2; 12]).with(EntityId::user_writer(number));
        WriterSpec { guid, ..spec(true) }
    };
    let count = |reader: &mut Reader, number: u32| {
        let proxy = reader.writer_mut(named(number).guid).expect("it was joined");
        proxy.acknowledge_progress();
        proxy.take_acknack(at(0), READER).map(|(ack, _)| ack.count).expect("an answer")
    };
    let mut last = Vec::new();
    for number in 0..2000 {
        reader.match_writer(named(number));
        let times = if number == 7 { 90 } else { 3 };
        last.push((0..times).map(|_| count(&mut reader, number)).last().expect("a count"));
    }
    reader.unmatch_all(GuidPrefix([2; 12]));
    for number in (0..2000).rev() {
        reader.match_writer(named(number));
        assert!(count(&mut reader, number) > last[number as usize], "{number}");
    }
}
