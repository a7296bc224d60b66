//! Limit of the unanswered requests of a service: the user may hold each one's responder for any time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of requests of all clients, also of those that are gone, that wait or whose responder the user holds.
pub(super) const MOST_UNANSWERED: usize = 1000;

/// Number of unanswered requests of a service.
#[derive(Default)]
pub(super) struct Unanswered {
    count: Arc<AtomicUsize>,
    refused: AtomicUsize,
}

/// Counts one request until it is dropped.
pub(super) struct Counted(Arc<AtomicUsize>);

impl Unanswered {
    /// Counts a further request. `None` if there are too many.
    pub(super) fn admit(&self) -> Option<Counted> {
        let counted = Counted(Arc::clone(&self.count));
        (self.count.fetch_add(1, Ordering::Relaxed) < MOST_UNANSWERED).then_some(counted)
    }

    /// Records a refused request. Returns their number if it is to be logged: only powers of two are.
    pub(super) fn note_refused(&self) -> Option<usize> {
        let count = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
        count.is_power_of_two().then_some(count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
