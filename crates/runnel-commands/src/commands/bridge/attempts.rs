//! Delay between attempts to carry what was refused before.
//!
//! Ends may change again and again, also because of what the bridge itself does. So each refusal in a row lengthens the
//! delay.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The delay after the first refusal.
const FIRST_DELAY: Duration = Duration::from_secs(1);

/// The longest delay. It is also that between attempts while the ends stay the same: a definition may have appeared in a
/// folder.
pub const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// After so much time without a refusal the next one counts as the first.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(120);

/// Refusals of each topic, service or action in a direction.
#[derive(Debug)]
pub struct Attempts<K>(BTreeMap<K, Refusals>);

#[derive(Debug)]
struct Refusals {
    in_a_row: u32,
    last: Instant,
}

impl<K> Default for Attempts<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Attempts<K> {
    /// Counts a refusal.
    pub fn refused(&mut self, key: K, now: Instant) {
        self.0.retain(|_, refusals| now.duration_since(refusals.last) < FORGOTTEN_AFTER);
        let refusals = self.0.entry(key).or_insert(Refusals { in_a_row: 0, last: now });
        refusals.in_a_row = refusals.in_a_row.saturating_add(1);
        refusals.last = now;
    }

    /// Whether it is time for the next attempt. `has_changed`: the ends are not those of the last one.
    pub fn is_due(&self, key: &K, has_changed: bool, now: Instant) -> bool {
        let Some(Refusals { in_a_row, last }) = self.0.get(key) else { return true };
        let delay = FIRST_DELAY.saturating_mul(1 << in_a_row.saturating_sub(1).min(5)).min(LONGEST_DELAY);
        now.duration_since(*last) >= if has_changed { delay } else { LONGEST_DELAY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_in_a_row_lengthen_the_delay() {
        let (mut attempts, start) = (Attempts::default(), Instant::now());
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        assert!(attempts.is_due(&"/a", true, start));
        attempts.refused("/a", start);
        assert!(!attempts.is_due(&"/a", true, start) && attempts.is_due(&"/b", true, start));
        assert!(attempts.is_due(&"/a", true, after(1)) && !attempts.is_due(&"/a", false, after(1)));
        assert!(attempts.is_due(&"/a", false, after(30)));
        for _ in 0..100 {
            attempts.refused("/a", after(1));
        }
        assert!(!attempts.is_due(&"/a", true, after(30)) && attempts.is_due(&"/a", true, after(31)));
    }

    #[test]
    fn old_refusals_are_forgotten() {
        let (mut attempts, start) = (Attempts::default(), Instant::now());
        (0..5).for_each(|_| attempts.refused("/a", start));
        let later = start + FORGOTTEN_AFTER;
        attempts.refused("/b", later);
        assert_eq!(attempts.0.len(), 1);
    }
}
