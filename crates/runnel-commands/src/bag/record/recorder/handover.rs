//! Handover of a topic from one subscription to another. For a while both receive, and each message is recorded once.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use runnel::Gid;

use crate::bag::record::sink::Arrival;
use crate::streaming::lock;

/// Most publishers whose messages are known: peers can be any number. When there are more, all are forgotten.
const MOST_PUBLISHERS: usize = 1000;

/// How many of the last latched messages of a publisher are known.
const MOST_LATCHED: usize = 2;

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
    /// By publisher without numbers, the hashes of the last two latched messages of the earlier subscription, the newest
    /// behind. The later one receives the last one again. It receives both if it has joined between them.
    latched: BTreeMap<String, Vec<u64>>,
    hasher: RandomState,
}

impl Handover {
    /// The later subscription receives from now on.
    pub fn begin(&self) {
        lock(&self.0).has_begun = true;
    }

    /// Whether a subscription records a message: the other one has not.
    pub fn takes(&self, side: Side, message: &Arrival<'_>) -> bool {
        let mut taken = lock(&self.0);
        match message.number {
            Some((publisher, number)) => taken.takes_number(side, publisher, number),
            None => taken.takes_unnumbered(side, message),
        }
    }
}

impl Taken {
    fn takes_number(&mut self, side: Side, publisher: Gid, number: u64) -> bool {
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

    /// Without a number, only a latched message can be compared.
    fn takes_unnumbered(&mut self, side: Side, message: &Arrival<'_>) -> bool {
        let publisher = message.source.publisher;
        let hash = |hasher: &RandomState| {
            let data = message.content.data.try_to_vec().ok().filter(|_| message.source.is_latching)?;
            Some(hasher.hash_one(data))
        };
        match side {
            Side::Earlier if self.has_begun => false,
            Side::Earlier => {
                if let Some(hash) = hash(&self.hasher) {
                    if self.latched.len() >= MOST_PUBLISHERS && !self.latched.contains_key(publisher) {
                        self.latched.clear();
                    }
                    let latched = self.latched.entry(publisher.to_owned()).or_default();
                    if latched.len() >= MOST_LATCHED {
                        latched.remove(0);
                    }
                    latched.push(hash);
                }
                true
            }
            Side::Later => {
                let Some(mut earlier) = self.latched.remove(publisher) else { return true };
                let hash = hash(&self.hasher);
                let known = earlier.iter().rposition(|known| Some(*known) == hash);
                // Those before it do not come any more.
                if let Some(newer) = known.map(|position| earlier.split_off(position + 1))
                    && !newer.is_empty()
                {
                    self.latched.insert(publisher.to_owned(), newer);
                }
                known.is_none()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::record::sink::Source;
    use crate::bag::record::sink::fixture::{arrival, source};

    const ONE: Gid = Gid([1; 16]);
    const TWO: Gid = Gid([2; 16]);

    fn numbered(publisher: Gid, number: u64) -> Arrival<'static> {
        Arrival { number: Some((publisher, number)), ..arrival(source("/one"), 1, "x") }
    }

    #[test]
    fn each_message_is_taken_once() {
        use Side::{Earlier, Later};
        let handover = Handover::default();
        let taken = |side, publisher, numbers: &[u64]| {
            let numbers = numbers.iter().copied();
            numbers.filter(|number| handover.takes(side, &numbered(publisher, *number))).collect::<Vec<u64>>()
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
        let (handover, message) = (Handover::default(), arrival(source("/one"), 1, "x"));
        assert!(handover.takes(Side::Earlier, &message));
        handover.begin();
        assert!(!handover.takes(Side::Earlier, &message) && handover.takes(Side::Later, &message));
    }

    #[test]
    fn latched_message_is_taken_once() {
        let handover = Handover::default();
        let latched = |publisher, text| arrival(Source { is_latching: true, ..source(publisher) }, 1, text);
        for text in ["old", "map"] {
            assert!(handover.takes(Side::Earlier, &latched("/one", text)));
        }
        handover.begin();
        assert!(handover.takes(Side::Later, &latched("/two", "map")), "of another publisher");
        assert!(!handover.takes(Side::Later, &latched("/one", "map")));
        assert!(handover.takes(Side::Later, &latched("/one", "map")), "it is published again");
        let handover = Handover::default();
        assert!(handover.takes(Side::Earlier, &latched("/one", "old")));
        assert!(handover.takes(Side::Later, &latched("/one", "map")), "the earlier one missed it");
    }

    #[test]
    fn latched_messages_on_both_sides_of_the_join_are_taken_once() {
        let handover = Handover::default();
        let latched = |text| arrival(Source { is_latching: true, ..source("/one") }, 1, text);
        for text in ["older", "old", "map"] {
            assert!(handover.takes(Side::Earlier, &latched(text)));
        }
        handover.begin();
        // It has joined before the second one was published.
        let texts = ["old", "map", "map", "old"];
        assert_eq!(texts.map(|text| handover.takes(Side::Later, &latched(text))), [false, false, true, true]);
    }

    #[test]
    fn known_publishers_are_bounded() {
        let handover = Handover::default();
        for number in 0..3 * MOST_PUBLISHERS as u128 {
            assert!(handover.takes(Side::Earlier, &numbered(Gid(number.to_le_bytes()), 1)));
            let (publisher, text) = (number.to_string(), "x");
            let latched = arrival(Source { is_latching: true, ..source(&publisher) }, 1, text);
            assert!(handover.takes(Side::Earlier, &latched));
            let taken = lock(&handover.0);
            assert!(taken.numbers.len() <= MOST_PUBLISHERS && taken.latched.len() <= MOST_PUBLISHERS);
        }
    }
}
