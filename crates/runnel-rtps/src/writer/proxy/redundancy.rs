//! Redundant repairs for readers that repeat requests only after a long delay.
//!
//! Cyclone DDS names at most 256 fragments in one NACK_FRAG. It requests the next range immediately when the complete range
//! has arrived, but repeats a request for the same fragment only after its `NackDelay` (100 ms). A single lost repair
//! therefore costs 100 ms, and a copy of it some microseconds.

/// Maximum number of copies of a repair.
const MAX_COPIES: usize = 3;

/// Maximum number of fragments in one request.
const RANGE: u32 = 256;

/// Loss above which fragments were not lost one by one: a whole run overflowed a socket buffer, and so would copies.
const RUN: f64 = 0.75;

/// Returns the number of copies of each requested fragment with which the whole request probably arrives, at the loss
/// that it shows among the fragments sent since the last request.
pub(super) fn copies_against_loss(requested: u32, sent: u32) -> usize {
    let loss = f64::from(requested) / f64::from(sent.min(RANGE).max(requested).max(1));
    if loss > RUN {
        return 1;
    }
    let expected_losses = |copies: usize| (0..copies).fold(f64::from(requested), |left, _| left * loss);
    (1..MAX_COPIES).find(|copies| expected_losses(*copies) < 0.5).unwrap_or(MAX_COPIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_grow_with_shown_loss() {
        let copies = [(3, 256), (26, 256), (86, 256), (128, 256)]
            .map(|(requested, sent)| copies_against_loss(requested, sent));
        assert_eq!(copies, [1, 2, 3, 3]);
    }

    #[test]
    fn run_of_lost_fragments_and_a_single_one_are_repaired_once() {
        let copies = [(256, 256), (256, 1500), (200, 256), (1, 1500), (1, 1), (0, 0)]
            .map(|(requested, sent)| copies_against_loss(requested, sent));
        assert_eq!(copies, [1; 6]);
    }
}
