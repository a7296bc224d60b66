//! Handover of a topic from one subscription to another. For a while both receive, and each message is recorded once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use runnel::Gid;

use crate::streaming::lock;

/// Most publishers whose messages are known: peers can be any number. When there are more, all are forgotten.
const MOST_PUBLISHERS: usize = 1000;

/// See the module's documentation. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Handover(Arc<Mutex<Taken>>);

/// Which of the two subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Earlier,
    Later,
}

/// The messages that the subscriptions have taken.
#[derive(Debug, Default)]
struct Taken {
    has_begun: bool,
    /// By publisher, the first and the last number of the earlier and of the later subscription.
    numbers: BTreeMap<Gid, [Option<(u64, u64)>; 2]>,
}

impl Handover {
    /// The later subscription receives from now on.
    pub fn begin(&self) {
        lock(&self.0).has_begun = true;
    }

    /// Whether a subscription records a message with this number at its publisher, if it has one: the other one has not.
    pub fn takes(&self, side: Side, number: Option<(Gid, u64)>) -> bool {
        lock(&self.0).takes(side, number)
    }
}

impl Taken {
    fn takes(&mut self, side: Side, number: Option<(Gid, u64)>) -> bool {
        // Without a number, the two cannot be compared.
        let Some((publisher, number)) = number else { return side == Side::Later || !self.has_begun };
        if self.numbers.len() >= MOST_PUBLISHERS && !self.numbers.contains_key(&publisher) {
            self.numbers.clear();
        }
        let [earlier, later] = self.numbers.entry(publisher).or_default();
        let (own, other) = match side {
            Side::Earlier => (earlier, later),
            Side::Later => (later, earlier),
        };
        let (first, last) = own.get_or_insert((number, number));
        (*first, *last) = ((*first).min(number), (*last).max(number));
        other.is_none_or(|(first, last)| !(first..=last).contains(&number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Gid = Gid([1; 16]);
    const TWO: Gid = Gid([2; 16]);

    #[test]
    fn each_message_is_taken_once() {
        use Side::{Earlier, Later};
        let handover = Handover::default();
        let taken = |side, publisher, numbers: &[u64]| {
            let numbers = numbers.iter().copied();
            numbers.filter(|number| handover.takes(side, Some((publisher, *number)))).collect::<Vec<u64>>()
        };
        assert_eq!(taken(Earlier, ONE, &[3, 4]), [3, 4]);
        handover.begin();
        assert_eq!(taken(Later, ONE, &[1, 2, 3, 4, 5]), [1, 2, 5], "the kept ones are new");
        assert_eq!(taken(Earlier, ONE, &[5, 6]), [6]);
        assert_eq!(taken(Later, ONE, &[6, 7]), [7]);
        assert_eq!(taken(Later, TWO, &[3, 4]), [3, 4]);
        assert_eq!(taken(Earlier, TWO, &[4, 5]), [5]);
    }

    #[test]
    fn messages_without_number_are_taken_by_one_side() {
        let handover = Handover::default();
        assert!(handover.takes(Side::Earlier, None));
        handover.begin();
        assert!(!handover.takes(Side::Earlier, None) && handover.takes(Side::Later, None));
    }

    #[test]
    fn known_publishers_are_bounded() {
        let handover = Handover::default();
        for number in 0..3 * MOST_PUBLISHERS as u128 {
            assert!(handover.takes(Side::Earlier, Some((Gid(number.to_le_bytes()), 1))));
            assert!(lock(&handover.0).numbers.len() <= MOST_PUBLISHERS);
        }
    }
}
