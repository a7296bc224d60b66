//! Tests of the datagrams to a reader, and of its requests.

use super::*;
use crate::wire::{
    AckNack, FragmentSet, Gap, GuidPrefix, Heartbeat, Message, NackFrag, SequenceSet, Submessage, Timestamp,
};
use alloc::vec;
use alloc::vec::Vec;

#[derive(Clone, Debug)]
struct Sample(Vec<u8>);

impl Lend for Sample {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

std::thread_local! {
    /// Number of comparisons of readers' progress.
    pub(super) static COMPARISONS: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
    /// Number of attempts to fill a datagram.
    pub(in crate::writer) static FILLS: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

const ENDS: (EntityId, EntityId) = (EntityId::user_reader(1), EntityId::user_writer(1));
const RATE: Rate = Rate { bytes_per_second: 1_000_000_000, burst: 1_000_000_000 };

fn proxy(datagram: usize) -> ReaderProxy {
    let spec = ReaderSpec {
        guid: GuidPrefix([2; 12]).with(ENDS.0),
        address: ([10, 0, 0, 2], 7410).into(),
        reliable: true,
        wants_history: false,
        datagram,
        rate: RATE,
        requests_slowly: false,
        shares_reorder_buffer: false,
        inline_qos: vec![],
        gate: Gate::Open,
        number_offset: 0,
        needs_first_number: false,
        plain: None,
        echoes: false,
    };
    ReaderProxy::new(spec, SequenceNumber::FIRST, SequenceNumber::ZERO)
}

fn history(lengths: &[usize]) -> History<Sample> {
    let mut history = History::new();
    for len in lengths {
        history.push(Sample(vec![0; *len]), Timestamp::INVALID, Instant(0));
    }
    history
}

fn fill(proxy: &mut ReaderProxy, history: &mut History<Sample>) {
    let mut out = Datagram::new();
    out.begin(GuidPrefix([1; 12]), GuidPrefix([2; 12]));
    assert_eq!(proxy.fill(Instant(0), ENDS, history, &mut 0, &mut out), Filled::Something);
}

#[test]
fn unsent_fragment_is_no_repair() {
    let (mut proxy, mut history) = (proxy(1444), history(&[10_000]));
    (0..2).for_each(|_| fill(&mut proxy, &mut history));
    let mut missing = FragmentSet::new(2);
    (2..6).for_each(|fragment| assert!(missing.insert(fragment)));
    let number = SequenceNumber::FIRST;
    assert!(
        proxy.nack_fragments(
            Instant(0),
            &NackFrag { reader: ENDS.0, writer: ENDS.1, number, missing, count: 1 }
        )
    );
    assert!(proxy.requested_fragments.iter().eq(&[(number, 2)]));
}

/// Sends until nothing is left; returns for each heartbeat whether it requests an answer, and the number of fragments.
fn heartbeats_among_fragments(proxy: &mut ReaderProxy, history: &History<Sample>) -> (Vec<bool>, usize) {
    let (mut asks, mut fragments) = (vec![], 0);
    loop {
        let mut out = Datagram::new();
        out.begin(GuidPrefix([1; 12]), GuidPrefix([2; 12]));
        if proxy.fill(Instant(0), ENDS, history, &mut 0, &mut out) == Filled::Nothing {
            return (asks, fragments);
        }
        let bytes = out.parts().concat();
        for submessage in Message::parse(&bytes).unwrap().submessages() {
            match submessage.unwrap() {
                Submessage::Heartbeat(heartbeat) => asks.push(!heartbeat.is_final),
                Submessage::DataFrag(_) => fragments += 1,
                _ => {}
            }
        }
    }
}

fn request(fragments: impl Iterator<Item = u32>, count: u32) -> NackFrag {
    let mut missing = FragmentSet::new(1);
    fragments.for_each(|fragment| assert!(missing.insert(fragment)));
    NackFrag { reader: ENDS.0, writer: ENDS.1, number: SequenceNumber::FIRST, missing, count }
}

#[test]
fn last_repair_requests_acknowledgement() {
    let (mut proxy, history) = (proxy(1444), history(&[10_000]));
    heartbeats_among_fragments(&mut proxy, &history);
    (proxy.reminder_delay, proxy.since) = (LONGEST_REMINDER, Instant(0));
    assert!(proxy.nack_fragments(Instant(5), &request([2, 4].into_iter(), 1)));
    assert_eq!((proxy.reminder_delay, proxy.since), (FIRST_REMINDER, Instant(5)), "it answers");
    let (asks, fragments) = heartbeats_among_fragments(&mut proxy, &history);
    assert_eq!((asks, fragments), (vec![false, true], 2));
}

#[test]
fn slow_reader_gets_one_heartbeat_per_sample() {
    let (mut proxy, history) = (proxy(1444), history(&[10_000]));
    (proxy.spec.requests_slowly, proxy.heartbeat) = (true, false);
    let mut first = proxy.clone();
    assert_eq!(
        heartbeats_among_fragments(&mut first, &history).0.len(),
        8,
        "it may have missed where to begin"
    );
    proxy.start = SequenceNumber::ZERO;
    let (asks, fragments) = heartbeats_among_fragments(&mut proxy, &history);
    assert_eq!((asks.len(), fragments), (1, 8));
    // Every eighth is lost: a copy of each repair follows all of them.
    assert!(proxy.nack_fragments(Instant(0), &request([1, 3, 8].into_iter(), 1)));
    let order: Vec<u32> = proxy.requested_fragments.iter().map(|(_, fragment)| *fragment).collect();
    assert_eq!(order, [1, 3, 8, 1, 3, 8]);
    let (asks, fragments) = heartbeats_among_fragments(&mut proxy, &history);
    assert_eq!((asks, fragments), (vec![true], 6));
}

#[test]
fn nonexistent_fragments_are_not_sent() {
    let (mut proxy, history) = (proxy(1444), history(&[2000]));
    proxy.next = SequenceNumber(2);
    let (number, mut missing) = (SequenceNumber::FIRST, FragmentSet::new(3));
    assert!((3..200).all(|fragment| missing.insert(fragment)));
    proxy.nack_fragments(Instant(0), &NackFrag { reader: ENDS.0, writer: ENDS.1, number, missing, count: 1 });
    proxy.heartbeat = false;
    for _ in 0..200 {
        let mut out = Datagram::new();
        out.begin(GuidPrefix([1; 12]), GuidPrefix([2; 12]));
        assert_eq!(proxy.fill(Instant(0), ENDS, &history, &mut 0, &mut out), Filled::Nothing);
    }
}

#[test]
fn best_effort_reader_gets_no_heartbeat() {
    let (mut proxy, history) = (proxy(1444), history(&[100]));
    (proxy.spec.reliable, proxy.heartbeat) = (false, false);
    let (mut heartbeats, mut out) = (0, Datagram::new());
    out.begin(GuidPrefix([1; 12]), GuidPrefix([2; 12]));
    assert_eq!(proxy.fill(Instant(0), ENDS, &history, &mut heartbeats, &mut out), Filled::Something);
    assert_eq!(heartbeats, 0);
}

#[test]
fn requested_fragments_are_limited() {
    let (mut proxy, mut history) = (proxy(300), history(&[2_000_000]));
    proxy.next = SequenceNumber(2);
    proxy.requested.insert(SequenceNumber::FIRST);
    fill(&mut proxy, &mut history);
    // One of them has been sent.
    assert_eq!(proxy.requested_fragments.iter().count(), 8191);
}

#[test]
fn suspended_reader_gets_nothing_after_final_gap() {
    let (mut proxy, mut history) = (proxy(1444), history(&[8, 8, 8]));
    history.retain(|change| change.number != SequenceNumber(2));
    proxy.suspend(SequenceNumber(3));
    fill(&mut proxy, &mut history);
    assert_eq!(proxy.next, SequenceNumber(3));
}

/// Sends until nothing is left; returns all bytes, and the length of the longest datagram.
fn sent(proxy: &mut ReaderProxy, history: &History<Sample>) -> (Vec<u8>, usize) {
    let (mut bytes, mut longest) = (vec![], 0);
    loop {
        let mut out = Datagram::new();
        out.begin(GuidPrefix([1; 12]), GuidPrefix([2; 12]));
        if proxy.fill(Instant(0), ENDS, history, &mut 0, &mut out) == Filled::Nothing {
            return (bytes, longest);
        }
        longest = longest.max(out.len());
        let head = if bytes.is_empty() { 0 } else { 20 };
        bytes.extend_from_slice(&out.parts().concat()[head..]);
    }
}

fn gaps(bytes: &[u8]) -> Vec<Gap> {
    let all = Message::parse(bytes).unwrap().submessages();
    all.filter_map(|submessage| if let Submessage::Gap(gap) = submessage.unwrap() { Some(gap) } else { None })
        .collect()
}

#[test]
fn one_gap_covers_many_requested_samples() {
    let (mut proxy, mut history) = (proxy(300), history(&[60; 400]));
    (proxy.matched_at, proxy.next) = (SequenceNumber(400), SequenceNumber(401));
    // Two samples leave less space than such a list takes.
    history.retain(|change| change.number.0 == 1 || change.number.0 % 2 == 0);
    let mut missing = SequenceSet::new(SequenceNumber(1));
    (1..=255).step_by(2).chain([2]).for_each(|number| assert!(missing.insert(SequenceNumber(number))));
    let ack = AckNack { reader: ENDS.0, writer: ENDS.1, missing, count: 1, is_final: true };
    assert!(proxy.acknowledge(Instant(0), &ack, &history));
    let (bytes, longest) = sent(&mut proxy, &history);
    let gaps = gaps(&bytes);
    assert_eq!(gaps.len(), 1);
    let announced = gaps[0].list.iter().map(|number| number.0);
    assert!(gaps[0].start.0 == 3 && announced.eq((5..=255).step_by(2)));
    assert!(longest <= 300, "{longest} bytes");
}

/// Returns the numbers of the samples in sent bytes.
fn samples(bytes: &[u8]) -> Vec<i64> {
    let all = Message::parse(bytes).unwrap().submessages();
    all.filter_map(
        |submessage| {
            if let Submessage::Data(data) = submessage.unwrap() { Some(data.number.0) } else { None }
        },
    )
    .collect()
}

#[test]
fn earliest_requests_are_kept_at_the_limit() {
    const COUNT: i64 = 6144;
    let (mut proxy, history) = (proxy(1444), history(&[8; COUNT as usize]));
    (proxy.matched_at, proxy.next) = (SequenceNumber::ZERO, SequenceNumber(COUNT + 1));
    let mut count = 0;
    let mut request = |proxy: &mut ReaderProxy, base: i64| {
        let mut missing = SequenceSet::new(SequenceNumber(base));
        (base..base + 256).for_each(|number| assert!(missing.insert(SequenceNumber(number))));
        count += 1;
        let ack = AckNack { reader: ENDS.0, writer: ENDS.1, missing, count, is_final: true };
        assert!(proxy.acknowledge(Instant(0), &ack, &history));
    };
    let bases = (0..COUNT / 256).map(|block| block * 256 + 1);
    bases.clone().rev().for_each(|base| request(&mut proxy, base));
    let kept = acknowledgement::MAX_REQUESTED as i64;
    assert!(proxy.requested.iter().map(|number| number.0).eq(1..=kept));
    let (mut first, _) = sent(&mut proxy, &history);
    assert_eq!(samples(&first), (1..=kept).collect::<Vec<_>>());
    bases.filter(|base| *base > kept).rev().for_each(|base| request(&mut proxy, base));
    (first, _) = sent(&mut proxy, &history);
    assert_eq!(samples(&first), (kept + 1..=COUNT).collect::<Vec<_>>());
}

#[test]
fn datagrams_stay_within_reader_size() {
    let (mut proxy, mut history) = (proxy(300), history(&[60; 40]));
    history.push(Sample(vec![0; 2000]), Timestamp::INVALID, Instant(0));
    (proxy.matched_at, proxy.next) = (SequenceNumber(41), SequenceNumber(42));
    history.retain(|change| ![6, 7, 8, 20].contains(&change.number.0));
    proxy.requested.extend((1..=10).map(SequenceNumber));
    let asked = [(41, 2), (20, 1), (41, 3)].map(|(number, fragment)| (SequenceNumber(number), fragment));
    asked.into_iter().for_each(|fragment| proxy.requested_fragments.push(fragment));
    let (bytes, longest) = sent(&mut proxy, &history);
    assert!(longest <= 300, "{longest} bytes");
    assert_eq!(gaps(&bytes).len(), 2);
}

/// Composes datagrams for 1000 readers of one participant; returns the number of comparisons.
fn composed_with(gate: Gate) -> usize {
    let qos = runnel_core::qos::QoS::keep_last(10);
    let mut writer = crate::writer::Writer::<Sample>::new(ENDS.1, qos, 10);
    for number in 1..=1000 {
        let ReaderProxy { spec, .. } = proxy(1444);
        let guid = spec.guid.prefix.with(EntityId::user_reader(number));
        writer.match_reader(ReaderSpec { guid, gate, reliable: false, ..spec });
    }
    let mut out = Datagram::new();
    for _ in 0..4 {
        writer.write(Instant(0), Timestamp::INVALID, Sample(vec![0; 100])).unwrap();
        COMPARISONS.set(0);
        while writer.compose(Instant(0), GuidPrefix([1; 12]), &mut out) == crate::writer::Composed::Ready {}
    }
    COMPARISONS.get()
}

#[test]
fn readers_are_compared_once_per_datagram() {
    assert_eq!([Gate::Waiting, Gate::Closed].map(composed_with), [0; 2]);
    // One comparison with the datagram, and one to find that there is no other.
    assert_eq!(composed_with(Gate::Open), 2 * 1000);
}

#[test]
fn run_of_lost_fragments_and_a_single_one_are_repaired_without_copies() {
    for lost in [1..2, 700..701, 300..556] {
        let (mut proxy, history) = (proxy(1444), history(&[1_500_000]));
        proxy.spec.requests_slowly = true;
        heartbeats_among_fragments(&mut proxy, &history);
        let mut missing = FragmentSet::new(lost.start);
        assert!(lost.clone().all(|fragment| missing.insert(fragment)));
        assert!(proxy.nack_fragments(Instant(0), &NackFrag { missing, ..request(0..0, 1) }));
        assert_eq!(proxy.requested_fragments.iter().count(), lost.len(), "{lost:?}");
    }
}

/// Fills a datagram with a limit for samples; returns its length.
fn filled_within(proxy: &mut ReaderProxy, history: &History<Sample>, limit: usize) -> usize {
    let mut out = Datagram::new();
    out.begin(GuidPrefix([1; 12]), GuidPrefix([2; 12]));
    out.limit_samples(limit);
    proxy.fill(Instant(0), ENDS, history, &mut 0, &mut out);
    out.len()
}

#[test]
fn content_beyond_credit_waits() {
    const LIMIT: usize = 40;
    let (mut fresh, long) = (proxy(1444), history(&[5000]));
    let mut repaired = fresh.clone();
    repaired.next = SequenceNumber(2);
    repaired.requested_fragments.push((SequenceNumber(1), 1));
    let mut gap = proxy(1444);
    let mut with_hole = history(&[8, 8, 8]);
    with_hole.retain(|change| change.number.0 == 3);
    gap.matched_at = SequenceNumber(3);
    gap.requested.insert(SequenceNumber(1));
    let mut plain = gap.clone();
    plain.spec.plain = Some(vec![]);
    let cases =
        [(&mut gap, &with_hole), (&mut plain, &with_hole), (&mut fresh, &long), (&mut repaired, &long)];
    for (index, (proxy, history)) in cases.into_iter().enumerate() {
        let len = filled_within(proxy, history, LIMIT);
        assert!(len <= LIMIT + Heartbeat::LEN, "case {index}: {len} bytes");
        assert!(filled_within(proxy, history, 2000) > 36 + Heartbeat::LEN, "case {index}: it waits");
    }
}
