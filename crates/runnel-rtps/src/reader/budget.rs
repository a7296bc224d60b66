//! How much memory may wait at the readers of a participant, of all together.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};

/// So many bytes may be claimed, by whoever has a clone of this.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    claimed: Arc<AtomicUsize>,
    most: usize,
}

/// Bytes of a budget, which get free when this is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    claimed: Arc<AtomicUsize>,
    bytes: usize,
}

/// What may wait at the readers of a participant: each of both on its own, so that neither starves the other.
#[derive(Clone, Debug)]
pub(crate) struct Budgets {
    /// Samples that came before one that is missing, or that finds no room at the user.
    pub held: Budget,
    /// Samples of which some fragments are missing.
    pub incomplete: Budget,
}

impl Budget {
    pub fn new(most: usize) -> Self {
        Self { claimed: Arc::default(), most }
    }

    /// How many bytes there are, free or not.
    pub fn most(&self) -> usize {
        self.most
    }

    /// True if so many bytes are free.
    pub fn has(&self, bytes: usize) -> bool {
        self.claimed.load(Ordering::Relaxed).saturating_add(bytes) <= self.most
    }

    /// Claims so many bytes; `None` if they are not free.
    pub fn claim(&self, bytes: usize) -> Option<Claim> {
        // Only one thread works on a participant at a time.
        self.has(bytes).then(|| {
            self.claimed.fetch_add(bytes, Ordering::Relaxed);
            Claim { claimed: self.claimed.clone(), bytes }
        })
    }
}

impl Budgets {
    pub fn new(most: usize) -> Self {
        Self { held: Budget::new(most), incomplete: Budget::new(most) }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claimed.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
