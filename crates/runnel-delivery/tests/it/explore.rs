//! Explicit-state exploration: every interleaving within small bounds, of the real sender and receiver.
//!
//! Order, justified loss and bounds are checked at each step. Then progress: while a path lives or can still come up,
//! every state can reach the end.
//!
//! `RUNNEL_DELIVERY_STATES=full` explores the large configurations completely (use `--release`; about 1 GB); a number
//! sets the maximum number of states of each.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};

use crate::moves::Move;
use crate::world::{Config, World};

/// Result of an exploration.
pub struct Outcome {
    pub states: usize,
    pub is_complete: bool,
    /// The violation, and the moves that lead to it.
    pub fault: Option<(String, Vec<Move>)>,
}

/// Hash of 128 bits that identifies a state.
fn hash(world: &World) -> u128 {
    let half = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        world.hash(&mut hasher);
        hasher.finish()
    };
    u128::from(half(1)) << 64 | u128::from(half(2))
}

struct Explorer {
    index: HashMap<u128, u32>,
    /// For each state, its predecessor and the move between them.
    found: Vec<(u32, Move)>,
    edges: Vec<(u32, u32)>,
    done: Vec<bool>,
    alive: Vec<bool>,
}

impl Explorer {
    fn trace(&self, mut at: u32) -> Vec<Move> {
        let mut moves = Vec::new();
        while at != 0 {
            let (from, step) = self.found[at as usize];
            moves.push(step);
            at = from;
        }
        moves.reverse();
        moves
    }

    /// Returns a state from which the end is unreachable although a path lives.
    fn stuck(&mut self) -> Option<u32> {
        let mut good = self.done.clone();
        self.edges.sort_unstable();
        let mut work: Vec<u32> = (0..good.len() as u32).filter(|id| good[*id as usize]).collect();
        while let Some(id) = work.pop() {
            let first = self.edges.partition_point(|(to, _)| *to < id);
            for (_, from) in self.edges[first..].iter().take_while(|(to, _)| *to == id) {
                if !good[*from as usize] {
                    good[*from as usize] = true;
                    work.push(*from);
                }
            }
        }
        (0..good.len()).find(|id| !good[*id] && self.alive[*id]).map(|id| id as u32)
    }
}

pub fn explore(config: &Config, max_states: usize) -> Outcome {
    let start = World::new(config);
    let mut explorer = Explorer {
        index: HashMap::from([(hash(&start), 0)]),
        found: vec![(0, Move::Publish)],
        edges: Vec::new(),
        done: Vec::new(),
        alive: Vec::new(),
    };
    let mut open = VecDeque::from([start]);
    let mut at = 0;
    while let Some(world) = open.pop_front() {
        let states = explorer.found.len();
        if states > max_states {
            return Outcome { states, is_complete: false, fault: None };
        }
        explorer.done.push(world.is_done(config));
        explorer.alive.push(world.is_alive());
        for step in world.moves(config) {
            let mut next = world.clone();
            if let Err(fault) = next.apply(config, step) {
                let mut moves = explorer.trace(at);
                moves.push(step);
                return Outcome { states, is_complete: false, fault: Some((fault.0, moves)) };
            }
            let new = explorer.found.len() as u32;
            let id = *explorer.index.entry(hash(&next)).or_insert(new);
            if id == new {
                explorer.found.push((at, step));
                open.push_back(next);
            }
            explorer.edges.push((id, at));
        }
        at += 1;
    }
    let states = explorer.found.len();
    let stuck = explorer.stuck().map(|id| ("progress: the end cannot be reached".into(), explorer.trace(id)));
    Outcome { states, is_complete: true, fault: stuck }
}

/// Maximum number of moves that a failed test shows, the last ones.
const MAX_LINES: usize = 60;

/// Replays moves; returns a line for each, for the message of a failed test.
pub fn describe(config: &Config, moves: &[Move]) -> String {
    let mut world = World::new(config);
    let mut text = String::new();
    let skipped = moves.len().saturating_sub(MAX_LINES);
    for (index, step) in moves.iter().enumerate() {
        let result = world.apply(config, *step);
        if index < skipped {
            continue;
        }
        text += &format!("  {step:?}: {:?} next {}", world.sender.state(), world.receiver.next());
        text += &format!(" {}\n", result.err().map_or(String::new(), |fault| fault.0));
    }
    text + &format!("{world:#?}\n")
}
