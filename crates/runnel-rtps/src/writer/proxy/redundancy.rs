//! Redundant repairs for readers that ask again only after a long delay.
//!
//! Cyclone DDS names at most 256 fragments in one NACK_FRAG. It asks for the next range at once when the whole range has
//! arrived, but for the same fragment again only after its `NackDelay` (100 ms). A single lost repair therefore costs
//! 100 ms, and a copy of it some microseconds.

use crate::wire::FragmentSet;

/// The most copies of a repair.
const MOST_COPIES: usize = 3;

/// How many copies of each requested fragment let the whole request arrive more often than not, at the loss that the
/// request itself shows.
pub(super) fn copies_against_loss(requested: &FragmentSet) -> usize {
    let (mut count, mut last) = (0_u32, requested.base);
    for fragment in requested.iter() {
        (count, last) = (count + 1, fragment);
    }
    let range = last - requested.base + 1;
    let loss = f64::from(count) / f64::from(range);
    let expected_losses = |copies: usize| (0..copies).fold(f64::from(count), |left, _| left * loss);
    (1..MOST_COPIES).find(|copies| expected_losses(*copies) < 0.5).unwrap_or(MOST_COPIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(every: u32, range: u32) -> FragmentSet {
        let mut set = FragmentSet::new(1);
        (1..=range).step_by(every as usize).for_each(|fragment| assert!(set.insert(fragment)));
        set
    }

    #[test]
    fn copies_grow_with_the_loss_that_a_request_shows() {
        let copies = [(100, 256), (10, 256), (3, 256)]
            .map(|(every, range)| copies_against_loss(&request(every, range)));
        assert_eq!(copies, [1, 2, 3]);
    }
}
