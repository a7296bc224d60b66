//! Whether a node that comes goes on here: decided once, by its source, by a user or by the end of the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const OPEN: u8 = 0;
const COMMITTED: u8 = 1;
const GIVEN_UP: u8 = 2;

/// See the module's documentation. Clones are the same.
#[derive(Clone, Default)]
pub struct Fate(Arc<AtomicU8>);

impl Fate {
    /// The node goes on here, and nowhere else. False if the opposite is decided.
    pub fn commit(&self) -> bool {
        self.decide(COMMITTED)
    }

    /// The node does not go on here. False if the opposite is decided.
    pub fn give_up(&self) -> bool {
        self.decide(GIVEN_UP)
    }

    pub fn is_committed(&self) -> bool {
        self.0.load(Ordering::SeqCst) == COMMITTED
    }

    pub fn is_given_up(&self) -> bool {
        self.0.load(Ordering::SeqCst) == GIVEN_UP
    }

    fn decide(&self, fate: u8) -> bool {
        match self.0.compare_exchange(OPEN, fate, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => true,
            Err(decided) => decided == fate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_decision_counts() {
        let fate = Fate::default();
        assert!(!fate.is_committed() && !fate.is_given_up());
        assert!(fate.commit() && fate.commit() && !fate.give_up() && fate.is_committed());
        let other = Fate::default();
        assert!(other.give_up() && !other.clone().commit() && other.is_given_up());
    }
}
