//! Random runs: every ordered pair of path kinds, with loss, death of either, a second change during the first, and
//! each queue policy.
//!
//! `RUNNEL_DELIVERY_SEEDS=500` runs that many seeds of each (use `--release`).

use std::ops::Range;

use runnel_delivery::{Credit, QueuePolicy};

use crate::explore::describe;
use crate::moves::Move;
use crate::oracle::Fault;
use crate::random::Random;
use crate::world::{Config, Kind, World};

const KINDS: [Kind; 8] =
    [Kind::Mem, Kind::Tcp, Kind::Rtps, Kind::Best, Kind::Relay, Kind::Local, Kind::Plain, Kind::Udp];

pub const MESSAGES: u64 = 60;

/// Maximum number of steps of a run; most take some hundred.
pub const MAX_STEPS: usize = 60_000;

pub fn seeds() -> u64 {
    std::env::var("RUNNEL_DELIVERY_SEEDS").map_or(3, |seeds| seeds.parse().unwrap())
}

fn config(first: Kind, second: Kind, policy: QueuePolicy, random: &mut Random) -> Config {
    let dies = random.below(4);
    let kinds = [(first, true, dies & 1 == 1), (second, true, dies & 2 == 2), (Kind::Tcp, false, false)];
    let mut config = Config::new(&kinds, MESSAGES, 1 + random.below(12) as u8, random.below(3) as u8);
    config.policy = policy;
    config.loses_statements = random.one_in(2);
    config.capacity = 1 + random.below(8) as usize;
    config.credit = Credit { messages: 1 + random.below(12) as u32, bytes: usize::MAX };
    if random.one_in(2) {
        config.max_bytes = 12 + random.below(40) as usize;
        config.credit.bytes = 10 + random.below(40) as usize;
    }
    config
}

/// Chooses a move, with a low probability for rare ones: no loss or death after all messages have been published for
/// some time.
fn choose(moves: &[Move], is_calm: bool, random: &mut Random) -> Option<Move> {
    let is_wanted = |step: &Move, random: &mut Random| match step {
        Move::Break(_) => !is_calm && random.one_in(60),
        Move::LoseSample(..) | Move::LoseFirst(_) | Move::LoseBegin(_) | Move::ReachedIsLost => {
            !is_calm && random.one_in(3)
        }
        Move::Switch(_) => random.one_in(20),
        Move::Publish => random.one_in(2),
        Move::Resend(..) => is_calm || random.one_in(3),
        _ => true,
    };
    for _ in 0..200 {
        let step = moves[random.below(moves.len() as u64) as usize];
        if is_wanted(&step, random) {
            return Some(step);
        }
    }
    None
}

/// Takes random steps until the end, or up to a number of steps.
pub fn take_steps(
    world: &mut World,
    config: &Config,
    random: &mut Random,
    range: Range<usize>,
    taken: &mut Vec<Move>,
) -> Result<(), Fault> {
    for steps in range {
        let moves = world.moves(config);
        if world.is_done(config) || moves.is_empty() {
            break;
        }
        let is_calm = steps > MAX_STEPS / 10;
        let Some(step) = choose(&moves, is_calm, random) else { continue };
        taken.push(step);
        world.apply(config, step)?;
    }
    Ok(())
}

pub fn check_end(world: &World, config: &Config) -> Result<(), Fault> {
    if world.is_done(config) { Ok(()) } else { Err(Fault("progress: not at the end".into())) }
}

fn run(config: &Config, random: &mut Random) -> Result<(), (Fault, Vec<Move>)> {
    let mut world = World::new(config);
    let mut taken = Vec::new();
    let result = take_steps(&mut world, config, random, 0..MAX_STEPS, &mut taken);
    result.and_then(|()| check_end(&world, config)).map_err(|fault| (fault, taken))
}

fn all_pairs(policy: QueuePolicy) {
    for seed in 0..seeds() {
        for first in KINDS {
            for second in KINDS.into_iter().filter(|second| first.is_numbered() || second.is_numbered()) {
                let mut random = Random::new(seed << 16 | (first as u64) << 8 | second as u64);
                let config = config(first, second, policy, &mut random);
                if let Err((Fault(why), moves)) = run(&config, &mut random) {
                    let trace = describe(&config, &moves);
                    panic!("seed {seed}: {why}\n{config:?}\n{trace}");
                }
            }
        }
    }
}

#[test]
fn keep_all_over_all_pairs() {
    all_pairs(QueuePolicy::KeepAll { limit: 5 });
}

#[test]
fn keep_last_over_all_pairs() {
    all_pairs(QueuePolicy::KeepLast { depth: 3 });
}

#[test]
fn best_effort_over_all_pairs() {
    all_pairs(QueuePolicy::BestEffort { depth: 2 });
}
