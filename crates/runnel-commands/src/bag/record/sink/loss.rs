//! Messages that are not in the recording, by reason.

use std::collections::BTreeMap;

use runnel::Gid;
use serde_json::{Value as Json, json};

/// Most publishers of a topic whose numbers are followed: peers can be any number.
const MOST_PUBLISHERS: usize = 1000;

/// Numbers of messages of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Recorded messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Numbers of publishers that are missing in what arrived.
    pub missing: u64,
    /// Messages that the subscription dropped, because writing was slower than the publishers.
    pub dropped: u64,
    /// Messages that the subscription knows to be lost on the way.
    pub reported: u64,
    /// Messages that were not written: too many waited for the definition of their type, or they cannot be stored.
    pub refused: u64,
}

impl Counts {
    /// Messages that were lost before they reached this process. Messages that its own queue dropped leave a gap in the
    /// numbers too, which is no loss on the wire.
    pub fn lost(&self) -> u64 {
        self.missing.saturating_sub(self.dropped).max(self.reported)
    }

    /// All messages that are missing in the recording.
    pub fn absent(&self) -> u64 {
        self.lost().saturating_add(self.dropped).saturating_add(self.refused)
    }

    /// The sums of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            messages: self.messages.saturating_add(other.messages),
            bytes: self.bytes.saturating_add(other.bytes),
            missing: self.missing.saturating_add(other.missing),
            dropped: self.dropped.saturating_add(other.dropped),
            reported: self.reported.saturating_add(other.reported),
            refused: self.refused.saturating_add(other.refused),
        }
    }

    /// What came after `before`. Drops and the gaps that they leave in the numbers may be on different sides, so lost
    /// messages are those that were lost until now, but not until then.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            messages: self.messages.saturating_sub(before.messages),
            bytes: self.bytes.saturating_sub(before.bytes),
            missing: 0,
            dropped: self.dropped.saturating_sub(before.dropped),
            reported: self.lost().saturating_sub(before.lost()),
            refused: self.refused.saturating_sub(before.refused),
        }
    }

    /// What is missing, for programs.
    pub fn loss_to_json(self) -> Json {
        json!({ "lost": self.lost(), "dropped": self.dropped, "refused": self.refused })
    }

    /// For programs.
    pub fn to_json(self) -> Json {
        json!({
            "messages": self.messages,
            "bytes": self.bytes,
            "lost": self.lost(),
            "dropped": self.dropped,
            "refused": self.refused,
        })
    }
}

/// The last number of each publisher of a topic.
#[derive(Debug, Default)]
pub struct Numbers(BTreeMap<Gid, u64>);

impl Numbers {
    /// Takes the number of a message that arrived. Returns how many numbers before it are missing.
    pub fn take(&mut self, publisher: Gid, number: u64) -> u64 {
        let is_full = self.0.len() >= MOST_PUBLISHERS;
        match self.0.get_mut(&publisher) {
            // A kept message may arrive again when the path of a link changes.
            Some(last) if number <= *last => 0,
            Some(last) => number - std::mem::replace(last, number) - 1,
            None if is_full => 0,
            None => {
                self.0.insert(publisher, number);
                0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_for_each_publisher() {
        let (one, two) = (Gid([1; 16]), Gid([2; 16]));
        let mut numbers = Numbers::default();
        let arrivals =
            [(one, 5), (one, 6), (two, 1), (one, 9), (two, 2), (one, 9), (one, 4), (one, 10), (two, 4)];
        let gaps = arrivals.map(|(publisher, number)| numbers.take(publisher, number));
        assert_eq!(gaps, [0, 0, 0, 2, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn followed_publishers_are_bounded() {
        let mut numbers = Numbers::default();
        for number in 0..2 * MOST_PUBLISHERS as u128 {
            numbers.take(Gid(number.to_le_bytes()), 1);
        }
        assert_eq!(numbers.0.len(), MOST_PUBLISHERS);
        assert_eq!(numbers.take(Gid([0; 16]), 3), 1, "the first ones are still followed");
    }

    #[test]
    fn own_drops_are_no_loss_on_the_wire() {
        let counts = Counts { missing: 7, dropped: 5, reported: 1, refused: 1, ..Counts::default() };
        assert_eq!((counts.lost(), counts.absent()), (2, 8));
        let ros1 = Counts { dropped: 5, ..Counts::default() };
        assert_eq!((ros1.lost(), ros1.absent()), (0, 5));
    }

    #[test]
    fn drops_before_and_their_gap_after_are_no_loss_on_the_wire() {
        let before = Counts { dropped: 5, ..Counts::default() };
        let now = Counts { dropped: 6, missing: 7, ..before };
        let since = now.since(before);
        assert_eq!((since.lost(), since.dropped), (1, 1));
    }
}
