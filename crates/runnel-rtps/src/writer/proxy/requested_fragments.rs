//! Requested fragments of a reader, in the order in which they are sent. A set finds whether one is already queued: one
//! datagram may request a thousand while thousands wait.

use crate::wire::SequenceNumber;
use alloc::collections::{BTreeMap, VecDeque};

/// Maximum number of queued fragments.
pub(super) const MAX: usize = 8192;

/// Fragment of a sample.
type Fragment = (SequenceNumber, u32);

/// Queue of requested fragments.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestedFragments {
    queue: VecDeque<Fragment>,
    /// Number of copies of each fragment in the queue.
    copies: BTreeMap<Fragment, u32>,
}

impl RequestedFragments {
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = &Fragment> {
        self.queue.iter()
    }

    /// Returns the next fragment to send.
    pub fn front(&self) -> Option<Fragment> {
        self.queue.front().copied()
    }

    pub fn contains(&self, fragment: Fragment) -> bool {
        self.copies.contains_key(&fragment)
    }

    /// Appends a fragment, if there is capacity.
    pub fn push(&mut self, fragment: Fragment) {
        if self.queue.len() < MAX {
            self.queue.push_back(fragment);
            *self.copies.entry(fragment).or_default() += 1;
        }
    }

    pub fn pop_front(&mut self) {
        let Some(fragment) = self.queue.pop_front() else { return };
        if let Some(copies) = self.copies.get_mut(&fragment) {
            *copies -= 1;
            if *copies == 0 {
                self.copies.remove(&fragment);
            }
        }
    }

    /// Removes the fragments of a sample.
    pub fn forget(&mut self, number: SequenceNumber) {
        if self.copies.range((number, 0)..=(number, u32::MAX)).next().is_some() {
            self.retain(|other| other != number);
        }
    }

    /// Removes the fragments of samples before this one.
    pub fn forget_before(&mut self, number: SequenceNumber) {
        if self.copies.first_key_value().is_some_and(|((first, _), _)| *first < number) {
            self.retain(|other| other >= number);
        }
    }

    fn retain(&mut self, stays: impl Fn(SequenceNumber) -> bool) {
        self.queue.retain(|(number, _)| stays(*number));
        self.copies.retain(|(number, _), _| stays(*number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragment_is_queued_until_last_copy_is_removed() {
        let at = |number, fragment| (SequenceNumber(number), fragment);
        let mut asked = RequestedFragments::default();
        [at(2, 1), at(3, 1), at(2, 1), at(4, 7)].into_iter().for_each(|fragment| asked.push(fragment));
        asked.pop_front();
        assert!(asked.contains(at(2, 1)) && !asked.contains(at(2, 2)));
        asked.forget_before(SequenceNumber(3));
        assert!(!asked.contains(at(2, 1)));
        assert_eq!(asked.front(), Some(at(3, 1)));
        asked.forget(SequenceNumber(3));
        asked.pop_front();
        assert!(asked.is_empty() && asked.copies.is_empty());
    }
}
