//! Join of sent and received messages, and their latencies.

use super::log::TopicLog;
use super::recorder::Record;

/// How many sent messages are searched for one received message.
const SEARCH: usize = 4096;

/// The messages of a topic that were found in both logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Nanoseconds from sending to receiving, one per message, in the order of receipt.
    pub latencies_ns: Vec<u64>,
    /// Received messages without a matching sent message.
    pub unmatched: usize,
    /// Sent messages between the first and the last match that were not received.
    pub missing: usize,
}

/// Matches the messages received on a topic to those that were sent.
///
/// A receiver may have joined late, so its first message is matched to the newest one sent before it with the same
/// digest. From there both logs advance together. Where the digests differ, messages were lost, and the next sent
/// message with the right digest is used. A message is never matched to one that was sent after its receipt.
///
/// If all messages are identical, losses cannot be detected and later latencies read too long; if the very first
/// message took longer than the period, all read too short. Judge by topics with varying messages.
pub fn join(sent: &TopicLog, received: &TopicLog) -> Joined {
    let mut joined = Joined::default();
    let mut last: Option<Pair> = None;
    let mut first_sent = 0;
    for (index, record) in received.records.iter().enumerate() {
        let Some(found) = find(&sent.records, *record, index, last) else {
            joined.unmatched += 1;
            continue;
        };
        first_sent = last.map_or(found, |_| first_sent);
        last = Some(Pair { sent: found, received: index });
        joined.latencies_ns.push(record.stamp_ns - sent.records[found].stamp_ns);
    }
    joined.missing = last.map_or(0, |pair| pair.sent + 1 - first_sent - joined.latencies_ns.len());
    joined
}

/// The indices of one message in both logs.
#[derive(Clone, Copy)]
struct Pair {
    sent: usize,
    received: usize,
}

/// The index, among the sent messages, of `record`, which is the received message number `index`.
fn find(sent: &[Record], record: Record, index: usize, last: Option<Pair>) -> Option<usize> {
    let by_then = sent.partition_point(|candidate| candidate.stamp_ns <= record.stamp_ns);
    // The stamps of an unordered log are not sorted, so a binary search may land anywhere; check each.
    let same = |candidate: &usize| {
        sent[*candidate].digest == record.digest && sent[*candidate].stamp_ns <= record.stamp_ns
    };
    let earliest = by_then.saturating_sub(SEARCH);
    let Some(pair) = last else {
        return (earliest..by_then).rev().find(same);
    };
    let in_step = pair.sent + (index - pair.received);
    let next = earliest.max(pair.sent + 1);
    Some(in_step)
        .filter(|candidate| *candidate < by_then && same(candidate))
        .or_else(|| (next..by_then).find(same))
}

#[cfg(test)]
mod tests {
    use super::super::recorder::Direction;
    use super::*;

    const MS: u64 = 1_000_000;

    fn topic(direction: Direction, records: impl IntoIterator<Item = (u64, u64)>) -> TopicLog {
        let records = records.into_iter().map(|(stamp_ns, digest)| Record { stamp_ns, digest }).collect();
        TopicLog { name: "/light_sensors".into(), direction, overwritten: 0, records }
    }

    /// Messages 0 to 99, one each 10 ms, all different.
    fn sent() -> TopicLog {
        topic(Direction::Sent, (0..100).map(|n| (n * 10 * MS, n)))
    }

    fn received(numbers: impl IntoIterator<Item = u64>, latency: u64) -> TopicLog {
        topic(Direction::Received, numbers.into_iter().map(|n| (n * 10 * MS + latency, n)))
    }

    #[test]
    fn every_message_matches_itself() {
        let joined = join(&sent(), &received(0..100, MS));
        assert_eq!(joined, Joined { latencies_ns: vec![MS; 100], unmatched: 0, missing: 0 });
    }

    #[test]
    fn latencies_longer_than_the_period_are_found() {
        assert_eq!(join(&sent(), &received(0..100, 35 * MS)).latencies_ns, vec![35 * MS; 100]);
    }

    #[test]
    fn late_receiver_and_truncated_log_are_aligned() {
        let joined = join(&sent(), &received(40..100, MS));
        assert_eq!(joined, Joined { latencies_ns: vec![MS; 60], unmatched: 0, missing: 0 });
    }

    #[test]
    fn lost_messages_are_counted_without_shifting_others() {
        let joined = join(&sent(), &received((0..100).filter(|n| n % 10 != 5), MS));
        assert_eq!(joined, Joined { latencies_ns: vec![MS; 90], unmatched: 0, missing: 10 });
    }

    #[test]
    fn identical_messages_are_matched_by_count() {
        let identical =
            |direction, from: u64, shift| topic(direction, (from..50).map(move |n| (n * 10 * MS + shift, 1)));
        let sent = identical(Direction::Sent, 0, 0);
        let late = identical(Direction::Received, 20, 2 * MS);
        assert_eq!(join(&sent, &late).latencies_ns, vec![2 * MS; 30]);
    }

    #[test]
    fn delayed_batch_of_identical_messages_is_matched_by_count() {
        let sent = topic(Direction::Sent, (0..10).map(|n| (n * 10 * MS, 1)));
        let arrivals = [1, 11, 65, 65, 65, 65, 65, 71, 81, 91];
        let received = topic(Direction::Received, arrivals.map(|ms| (ms * MS, 1)));
        let expected = [1, 1, 45, 35, 25, 15, 5, 1, 1, 1].map(|ms| ms * MS);
        assert_eq!(join(&sent, &received).latencies_ns, expected);
    }

    #[test]
    fn unmatched_message_keeps_its_position() {
        let sent = topic(Direction::Sent, (0..10).map(|n| (n * 10 * MS, 1)));
        let received =
            topic(Direction::Received, (0..10).map(|n| (n * 10 * MS + MS, if n == 4 { 777 } else { 1 })));
        let joined = join(&sent, &received);
        assert_eq!(joined, Joined { latencies_ns: vec![MS; 9], unmatched: 1, missing: 1 });
    }

    #[test]
    fn message_never_sent_is_unmatched() {
        let joined = join(&sent(), &received([0, 1, 777, 3], MS));
        assert_eq!((joined.latencies_ns.len(), joined.unmatched, joined.missing), (3, 1, 1));
    }

    #[test]
    fn message_never_matches_one_sent_later() {
        let early = topic(Direction::Received, [(5 * MS, 1), (15 * MS, 1), (15 * MS, 2)]);
        let joined = join(&sent(), &early);
        assert_eq!((joined.latencies_ns, joined.unmatched), (vec![5 * MS], 2));
    }

    #[test]
    fn unordered_log_is_joined_without_panic() {
        let shuffled = topic(Direction::Sent, (0..100).map(|n| (n * 37 % 100 * MS, n % 3)));
        let received = topic(Direction::Received, (0..100).map(|n| (n * 53 % 100 * MS, n % 3)));
        let joined = join(&shuffled, &received);
        assert_eq!(joined.latencies_ns.len() + joined.unmatched, 100);
    }

    #[test]
    fn empty_logs_join_to_nothing() {
        let nothing = topic(Direction::Received, []);
        assert_eq!(join(&sent(), &nothing), Joined::default());
        assert_eq!(join(&nothing, &received(0..2, MS)).unmatched, 2);
    }
}
