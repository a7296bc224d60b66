//! Which sent message a received one is, and how long it took.

use super::log::TopicLog;
use super::recorder::Record;

/// How many sent messages are searched for one received.
const SEARCH: usize = 4096;

/// The messages of a topic that were found at both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Nanoseconds from sending to receiving, one a message, in the order of receiving.
    pub latencies_ns: Vec<u64>,
    /// Received messages that no sent one could be found for.
    pub unmatched: usize,
    /// Sent messages between the first and the last matched that were not received.
    pub missing: usize,
}

/// Joins what was sent on a topic to what was received.
///
/// A receiver may have joined late, so its first message is paired with the newest one that had been sent by then
/// and has the same digest. From there both count in step. Where the digests of a pair differ, messages were lost,
/// and the next one sent with the right digest is taken; a message is never paired with one sent after it came.
///
/// Where messages are all alike, a loss cannot be seen, and what follows it reads too long; and if the very first
/// one took longer than the time between two, all read too short. Judge by topics whose messages differ.
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

/// The indices of one message at both ends.
#[derive(Clone, Copy)]
struct Pair {
    sent: usize,
    received: usize,
}

/// The index of `record`, the received message number `index`, among those sent.
fn find(sent: &[Record], record: Record, index: usize, last: Option<Pair>) -> Option<usize> {
    let by_then = sent.partition_point(|candidate| candidate.stamp_ns <= record.stamp_ns);
    // The stamps of a log that is out of order divide nowhere, so each is looked at again.
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
    fn every_message_is_paired_with_itself() {
        let joined = join(&sent(), &received(0..100, MS));
        assert_eq!(joined, Joined { latencies_ns: vec![MS; 100], unmatched: 0, missing: 0 });
    }

    #[test]
    fn latencies_longer_than_the_period_are_found() {
        assert_eq!(join(&sent(), &received(0..100, 35 * MS)).latencies_ns, vec![35 * MS; 100]);
    }

    #[test]
    fn a_receiver_that_joins_late_or_whose_oldest_records_are_gone_is_aligned() {
        let joined = join(&sent(), &received(40..100, MS));
        assert_eq!(joined, Joined { latencies_ns: vec![MS; 60], unmatched: 0, missing: 0 });
    }

    #[test]
    fn lost_messages_are_counted_and_put_nothing_out_of_step() {
        let joined = join(&sent(), &received((0..100).filter(|n| n % 10 != 5), MS));
        assert_eq!(joined, Joined { latencies_ns: vec![MS; 90], unmatched: 0, missing: 10 });
    }

    #[test]
    fn messages_all_alike_are_paired_by_their_count() {
        let alike =
            |direction, from: u64, shift| topic(direction, (from..50).map(move |n| (n * 10 * MS + shift, 1)));
        let sent = alike(Direction::Sent, 0, 0);
        let late = alike(Direction::Received, 20, 2 * MS);
        assert_eq!(join(&sent, &late).latencies_ns, vec![2 * MS; 30]);
    }

    #[test]
    fn a_delayed_batch_of_messages_all_alike_is_paired_by_its_count() {
        let sent = topic(Direction::Sent, (0..10).map(|n| (n * 10 * MS, 1)));
        let arrivals = [1, 11, 65, 65, 65, 65, 65, 71, 81, 91];
        let received = topic(Direction::Received, arrivals.map(|ms| (ms * MS, 1)));
        let expected = [1, 1, 45, 35, 25, 15, 5, 1, 1, 1].map(|ms| ms * MS);
        assert_eq!(join(&sent, &received).latencies_ns, expected);
    }

    #[test]
    fn an_unmatched_message_counts_in_the_step() {
        let sent = topic(Direction::Sent, (0..10).map(|n| (n * 10 * MS, 1)));
        let received =
            topic(Direction::Received, (0..10).map(|n| (n * 10 * MS + MS, if n == 4 { 777 } else { 1 })));
        let joined = join(&sent, &received);
        assert_eq!(joined, Joined { latencies_ns: vec![MS; 9], unmatched: 1, missing: 1 });
    }

    #[test]
    fn a_message_that_nobody_sent_is_unmatched() {
        let joined = join(&sent(), &received([0, 1, 777, 3], MS));
        assert_eq!((joined.latencies_ns.len(), joined.unmatched, joined.missing), (3, 1, 1));
    }

    #[test]
    fn a_message_is_never_paired_with_one_sent_after_it_came() {
        let early = topic(Direction::Received, [(5 * MS, 1), (15 * MS, 1), (15 * MS, 2)]);
        let joined = join(&sent(), &early);
        assert_eq!((joined.latencies_ns, joined.unmatched), (vec![5 * MS], 2));
    }

    #[test]
    fn a_log_out_of_order_is_joined_without_a_panic() {
        let shuffled = topic(Direction::Sent, (0..100).map(|n| (n * 37 % 100 * MS, n % 3)));
        let received = topic(Direction::Received, (0..100).map(|n| (n * 53 % 100 * MS, n % 3)));
        let joined = join(&shuffled, &received);
        assert_eq!(joined.latencies_ns.len() + joined.unmatched, 100);
    }

    #[test]
    fn nothing_recorded_is_nothing_joined() {
        let nothing = topic(Direction::Received, []);
        assert_eq!(join(&sent(), &nothing), Joined::default());
        assert_eq!(join(&nothing, &received(0..2, MS)).unmatched, 2);
    }
}
