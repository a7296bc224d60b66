//! Memory budgets of all readers of a participant.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Budget in bytes, shared by clones.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    claimed: Arc<AtomicUsize>,
    size: usize,
}

/// Claimed bytes of a budget, released on drop.
#[derive(Debug)]
pub(crate) struct Claim {
    claimed: Arc<AtomicUsize>,
    bytes: usize,
}

/// Budgets of the readers of a participant, separate so that neither starves the other.
#[derive(Clone, Debug)]
pub(crate) struct Budgets {
    /// Samples that arrived before a missing one, or that exceed the user's capacity.
    pub held: Budget,
    /// Samples with missing fragments.
    pub incomplete: Budget,
}

impl Budget {
    pub fn new(size: usize) -> Self {
        Self { claimed: Arc::default(), size }
    }

    /// Returns the size of the budget in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns whether this number of bytes is free.
    pub fn has(&self, bytes: usize) -> bool {
        self.claimed.load(Ordering::Relaxed).saturating_add(bytes) <= self.size
    }

    /// Claims bytes; `None` if they are not free.
    pub fn claim(&self, bytes: usize) -> Option<Claim> {
        // Only one thread works on a participant at a time.
        self.has(bytes).then(|| {
            self.claimed.fetch_add(bytes, Ordering::Relaxed);
            Claim { claimed: self.claimed.clone(), bytes }
        })
    }
}

impl Budgets {
    pub fn new(size: usize) -> Self {
        Self { held: Budget::new(size), incomplete: Budget::new(size) }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claimed.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
