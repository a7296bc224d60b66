//! Random sequences of forged datagrams between live participants: see `attack`.
//!
//! `ATTACK_SEEDS=1000` sets the number of inputs, `ATTACK_FIRST=102` begins with that one, and `ATTACK_INPUT=00ab..` plays
//! this one. `ATTACK_KINDS=Gap,Heartbeat` allows only these attacks, and `ATTACK_KINDS=all` every attack.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::attack::{Attack, MAX_STEPS, STEP_LEN, SURVIVED, play, steps};

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn number(name: &str, default: u64) -> u64 {
    variable(name).map_or(default, |text| text.parse().expect("a number"))
}

fn is_allowed(attack: Attack) -> bool {
    let name = format!("{attack:?}");
    match variable("ATTACK_KINDS") {
        Some(kinds) => kinds.split(',').any(|kind| kind == name || kind == "all"),
        None => SURVIVED.contains(&attack),
    }
}

/// Returns the input of a seed.
fn input(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    let count = usize::from(byte()) % MAX_STEPS;
    (0..1 + count * STEP_LEN).map(|_| byte()).collect()
}

/// Returns the failure of an input, if any.
fn failure(input: &[u8]) -> Option<String> {
    let played = catch_unwind(AssertUnwindSafe(|| play(input, is_allowed)));
    played.unwrap_or_else(|_| Err("a panic".into())).err()
}

fn check(input: &[u8]) {
    let Some(_) = failure(input) else { return };
    let shortest = shrunk(input, |input| failure(input).is_some());
    let hex: String = shortest.iter().map(|byte| format!("{byte:02x}")).collect();
    let steps: Vec<String> = steps(&shortest[1..]).iter().map(|step| format!("  {step}\n")).collect();
    panic!("{}\nATTACK_INPUT={hex}\n{}", failure(&shortest).unwrap(), steps.concat());
}

/// Shortens a failing input: omits steps while it fails.
fn shrunk(input: &[u8], fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut shortest = input.to_vec();
    shortest.truncate(1 + MAX_STEPS * STEP_LEN);
    let mut run = (shortest.len() - 1) / STEP_LEN;
    while run > 0 {
        let mut at = 1;
        while at < shortest.len() {
            let mut shorter = shortest.clone();
            shorter.drain(at..(at + run * STEP_LEN).min(shortest.len()));
            if fails(&shorter) {
                shortest = shorter;
            } else {
                at += run * STEP_LEN;
            }
        }
        run /= 2;
    }
    shortest
}

/// Plays the input of the environment, or its number of seeds, or `count`.
fn play_seeds(count: u64) {
    if let Some(hex) = variable("ATTACK_INPUT") {
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits");
        return check(&(0..hex.len()).step_by(2).map(byte).collect::<Vec<u8>>());
    }
    let first = number("ATTACK_FIRST", 1);
    for seed in first..first + number("ATTACK_SEEDS", count) {
        println!("seed {seed}");
        check(&input(seed));
    }
}

#[test]
fn live_links_deliver_soon_after_any_attack() {
    play_seeds(200);
}

#[test]
#[ignore = "in ./test --full"]
fn live_links_deliver_soon_after_many_attacks() {
    play_seeds(10_000);
}

#[test]
fn links_deliver_on_bad_network_without_attacker() {
    let first = number("ATTACK_FIRST", 1);
    for seed in first..first + number("ATTACK_SEEDS", 10) {
        assert_eq!(play(&input(seed), |_| false), Ok(()), "seed {seed}");
    }
}
