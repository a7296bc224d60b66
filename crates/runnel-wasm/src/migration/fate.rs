//! Whether a node that comes goes on here: decided once, by its source, by a user or by the end of the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const OPEN: u8 = 0;
/// The connection has broken between the cut and the commitment.
const IN_DOUBT: u8 = 1;
const COMMITTED: u8 = 2;
const GIVEN_UP: u8 = 3;

/// See the module's documentation. Clones are the same.
#[derive(Clone, Default)]
pub struct Fate(Arc<AtomicU8>);

impl Fate {
    /// The node goes on here, and nowhere else. False if the opposite is decided.
    pub fn commit(&self) -> bool {
        self.decide(&[OPEN, IN_DOUBT], COMMITTED)
    }

    /// The node does not go on here. False if the opposite is decided.
    pub fn give_up(&self) -> bool {
        self.decide(&[OPEN, IN_DOUBT], GIVEN_UP)
    }

    /// Nobody knows.
    pub fn doubt(&self) {
        self.decide(&[OPEN], IN_DOUBT);
    }

    /// A user decides while nobody knows. False if somebody does.
    pub fn resolve(&self, is_here: bool) -> bool {
        self.change(IN_DOUBT, if is_here { COMMITTED } else { GIVEN_UP })
    }

    pub fn is_committed(&self) -> bool {
        self.0.load(Ordering::SeqCst) == COMMITTED
    }

    pub fn is_given_up(&self) -> bool {
        self.0.load(Ordering::SeqCst) == GIVEN_UP
    }

    fn decide(&self, before: &[u8], fate: u8) -> bool {
        before.iter().any(|before| self.change(*before, fate)) || self.0.load(Ordering::SeqCst) == fate
    }

    fn change(&self, before: u8, fate: u8) -> bool {
        self.0.compare_exchange(before, fate, Ordering::SeqCst, Ordering::SeqCst).is_ok()
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

    #[test]
    fn users_decide_only_in_doubt() {
        let fate = Fate::default();
        assert!(!fate.resolve(true) && !fate.is_committed(), "all is well");
        fate.doubt();
        assert!(fate.resolve(true) && fate.is_committed() && !fate.resolve(false));
        fate.doubt();
        assert!(fate.is_committed(), "it stays so");
        let returned = Fate::default();
        returned.doubt();
        assert!(returned.commit() && !returned.resolve(false), "the source has come back");
    }
}
