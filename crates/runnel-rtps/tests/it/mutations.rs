//! Links survive thousands of mutated datagrams.
//!
//! `MUTATED=600000` sets their number, [`ROUND`] for each seed, and `MUTATED_FIRST=102` begins with that seed.

use crate::attack::play_mutations;

/// Datagrams that the links of one seed receive.
const ROUND: usize = 4000;

/// Plays as many seeds as the environment states, or `count`.
fn play_seeds(count: usize) {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().expect(name));
    let (count, first) = (number("MUTATED", count * ROUND), number("MUTATED_FIRST", 0));
    let failed: Vec<String> = (first..first + count.div_ceil(ROUND))
        .filter_map(|seed| Some(format!("seed {seed}: {}", play_mutations(seed as u64, ROUND).err()?)))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn links_deliver_soon_after_thousands_of_mutated_datagrams() {
    play_seeds(10);
}

#[test]
#[ignore = "in ./test --full"]
fn links_deliver_soon_after_millions_of_mutated_datagrams() {
    play_seeds(500);
}

#[track_caller]
fn check(seed: u64) {
    if let Err(why) = play_mutations(seed, ROUND) {
        panic!("{why}");
    }
}

/// A HEARTBEAT with a lower last number makes the reader drop held samples.
#[test]
fn reader_requests_dropped_samples_again() {
    check(154);
}

/// A refused sample has taken the number of an announcement.
#[test]
fn refused_announcement_hides_no_endpoint() {
    check(18);
}

/// An announcement of a nonexistent reader has taken the number of a true one.
#[test]
fn forged_endpoint_replaces_no_true_one() {
    check(339);
}

/// The slowest kind of link to heal.
#[test]
fn best_effort_link_heals_within_an_announcement() {
    check(211);
}
