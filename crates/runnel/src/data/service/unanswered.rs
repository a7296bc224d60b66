//! Limit of the unanswered requests of a service: the user may hold each one's responder for any time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::occurrences::Occurrences;
use super::requester::Holder;
use crate::sync::{Class, Mutex, lock};

/// Maximum number of requests of all clients, also of those that are gone, that wait or whose responder the user holds.
pub(super) const MOST_UNANSWERED: usize = 1000;

/// Numbers of unanswered requests of a service.
pub(super) struct Unanswered(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    all: usize,
    of_holders: BTreeMap<Holder, usize>,
    refused: Occurrences,
}

/// Counts one request until it is dropped.
pub(super) struct Counted {
    counts: Arc<Mutex<Counts>>,
    holder: Holder,
}

impl Default for Unanswered {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Class::UnansweredRequests, Counts::default())))
    }
}

impl Unanswered {
    /// Counts a further request. `None` if there are too many.
    pub(super) fn admit(&self, holder: Holder) -> Option<Counted> {
        let mut counts = lock(&self.0);
        if counts.all >= MOST_UNANSWERED {
            return None;
        }
        counts.add(holder);
        Some(Counted { counts: Arc::clone(&self.0), holder })
    }

    /// The one of these holders with the most requests, if a further request of `by` is to displace one of its requests:
    /// that leaves it as many as `by` has then, or more.
    pub(super) fn displaced(&self, holders: BTreeSet<Holder>, by: Holder) -> Option<Holder> {
        let counts = lock(&self.0);
        let largest = holders.into_iter().max_by_key(|holder| counts.of(*holder))?;
        (counts.of(largest) > counts.of(by) + 1).then_some(largest)
    }

    /// Records a refused request. Returns their number if it is to be logged.
    pub(super) fn note_refused(&self) -> Option<u64> {
        lock(&self.0).refused.note()
    }
}

impl Counted {
    /// Counts a request of another holder in place of this one.
    pub(super) fn pass_to(mut self, holder: Holder) -> Self {
        let mut counts = lock(&self.counts);
        counts.remove(self.holder);
        counts.add(holder);
        drop(counts);
        self.holder = holder;
        self
    }
}

impl Counts {
    fn of(&self, holder: Holder) -> usize {
        self.of_holders.get(&holder).copied().unwrap_or(0)
    }

    fn add(&mut self, holder: Holder) {
        self.all += 1;
        *self.of_holders.entry(holder).or_default() += 1;
    }

    fn remove(&mut self, holder: Holder) {
        self.all -= 1;
        if let Some(count) = self.of_holders.get_mut(&holder) {
            *count -= 1;
            if *count == 0 {
                self.of_holders.remove(&holder);
            }
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        lock(&self.counts).remove(self.holder);
    }
}
