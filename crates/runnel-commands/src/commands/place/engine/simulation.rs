//! A week of a robot's battery and radio, simulated.

use std::f64::consts::TAU;
use std::time::{Duration, Instant};

use super::Engine;
use crate::commands::place::condition::Now;
use crate::commands::place::quantity::{Measurements, Quantity, Value};
use crate::commands::place::rules::Rules;
use crate::commands::place::schedule::LocalTime;

const WEEK: u64 = 7 * 24 * 3600;
const HOUR: f64 = 3600.0;

/// Seconds between two measurements.
const STEP: u64 = 2;

const REST: Duration = Duration::from_secs(60);

/// Rules with hysteresis: a gap, a time for which conditions hold, and a rest.
const STEADY: &str = r#"
[[node]]
name = "/planner"
home = "robot:1"
[[node.rule]]
name = "battery"
to = "station:1"
when = "/battery percentage < 0.3"
until = "/battery percentage > 0.5"
[[node]]
name = "/tracer"
home = "station:1"
[[node.rule]]
name = "radio"
to = "robot:1"
when = "round_trip station:1 > 50 ms"
until = "round_trip station:1 < 20 ms"
"#;

/// The same without any.
const NERVOUS: &str = r#"
[[node]]
name = "/planner"
home = "robot:1"
rest = "0 s"
[[node.rule]]
name = "battery"
to = "station:1"
when = "/battery percentage < 0.3"
for = "0 s"
[[node]]
name = "/tracer"
home = "station:1"
rest = "0 s"
[[node.rule]]
name = "radio"
to = "robot:1"
when = "round_trip station:1 > 50 ms"
for = "0 s"
"#;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ bits >> 31) as f64 / u64::MAX as f64
    }

    /// Normally distributed, with the mean 0 and the deviation 1 (the sum of twelve uniform numbers).
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// A battery that lasts six to ten hours and is then charged in two.
struct Battery {
    charge: f64,
    charges: bool,
    hours: f64,
    /// How often charging has begun or ended.
    changes: usize,
}

impl Battery {
    fn new() -> Self {
        Self { charge: 0.9, charges: false, hours: 8.0, changes: 0 }
    }

    /// What the robot measures: motors draw the voltage down, and the sensor is noisy.
    fn measure(&mut self, random: &mut Random) -> f64 {
        let share = STEP as f64 / HOUR;
        self.charge += if self.charges { share / 2.0 } else { -share / self.hours };
        if self.charges && self.charge > 0.95 || !self.charges && self.charge < 0.1 {
            self.charges = !self.charges;
            self.hours = 6.0 + 4.0 * random.uniform();
            self.changes += 1;
        }
        let load = if random.uniform() < 0.2 { 0.04 } else { 0.0 };
        (self.charge - load + 0.02 * random.normal()).clamp(0.0, 1.0)
    }
}

/// Where the robot is: near the station, far away, or at the edge of its radio, where the signal is around the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Near,
    Edge,
    Far,
}

/// A radio whose round-trip time follows the place of the robot, with fading and noise.
struct Radio {
    place: Place,
    left: f64,
    typical: f64,
    seconds: f64,
    changes: usize,
}

impl Radio {
    fn new() -> Self {
        Self { place: Place::Near, left: HOUR, typical: 0.008, seconds: 0.0, changes: 0 }
    }

    fn measure(&mut self, random: &mut Random) -> f64 {
        let step = STEP as f64;
        (self.left, self.seconds) = (self.left - step, self.seconds + step);
        if self.left < 0.0 {
            self.place = match (self.place, random.uniform() < 0.5) {
                (Place::Near | Place::Far, _) => Place::Edge,
                (Place::Edge, true) => Place::Near,
                (Place::Edge, false) => Place::Far,
            };
            self.left = HOUR * (0.3 + 1.5 * random.uniform());
            self.changes += 1;
        }
        let target: f64 = match self.place {
            Place::Near => 0.008,
            Place::Edge => 0.05,
            Place::Far => 0.15,
        };
        // The robot drives for some minutes, and a signal that is reflected fades within tens of seconds.
        self.typical += (target - self.typical) * step / 120.0;
        let fading = 0.25 * (self.seconds * TAU / 47.0).sin() * (self.seconds * TAU / 1300.0).sin();
        let spike = if random.uniform() < 0.02 { 3.0 } else { 1.0 };
        self.typical * (fading + 0.3 * random.normal()).exp() * spike
    }
}

/// What a week gives.
struct Week {
    /// The moves of the planner, which follows the battery, and of the tracer, which follows the radio.
    moves: [Vec<Instant>; 2],
    /// How often the battery and the place have really changed.
    changes: [usize; 2],
}

fn simulate(rules: &str, seed: u64) -> Week {
    let mut random = Random(seed);
    let (mut battery, mut radio) = (Battery::new(), Radio::new());
    let mut engine = Engine::new(Rules::parse(rules).unwrap());
    let mut measurements = Measurements::default();
    let percentage = Quantity::Field { topic: "/battery".into(), path: "percentage".into() };
    let (begun, mut moves) = (Instant::now(), [Vec::new(), Vec::new()]);
    for second in (0..WEEK).step_by(STEP as usize) {
        let steady = begun + Duration::from_secs(second);
        measurements.set(percentage.clone(), Value::Number(battery.measure(&mut random)), steady);
        let round_trip = Value::Number(radio.measure(&mut random));
        measurements.set(Quantity::RoundTrip("station:1".into()), round_trip, steady);
        let local = LocalTime { weekday: 0, minute: 0 };
        for moved in engine.update(Now { steady, local }, &measurements) {
            engine.handle_moved(&moved);
            moves[usize::from(moved.node == "/tracer")].push(steady);
        }
    }
    Week { moves, changes: [battery.changes, radio.changes] }
}

#[test]
fn nodes_move_when_something_has_changed_and_do_not_oscillate() {
    for seed in 1..=3 {
        let week = simulate(STEADY, seed);
        let [battery, radio] = week.changes;
        let [planner, tracer] = [0, 1].map(|node| week.moves[node].len());
        // Home at the start, then away once while the battery discharges, and back once while it is charged.
        assert!(planner.abs_diff(battery + 1) <= 1, "seed {seed}: {planner} moves, {battery} changes");
        // A stay at the edge may move the node, but not to and fro.
        assert!((radio / 4..=radio + 1).contains(&tracer), "seed {seed}: {tracer} moves, {radio} changes");
        for moves in &week.moves {
            let least = moves.windows(2).map(|pair| pair[1] - pair[0]).min();
            assert!(least >= Some(REST), "seed {seed}: two moves within {least:?}");
        }
    }
}

#[test]
fn nodes_oscillate_without_hysteresis() {
    for seed in 1..=3 {
        let week = simulate(NERVOUS, seed);
        for (moves, changes) in week.moves.iter().zip(week.changes) {
            let count = moves.len();
            assert!(count > 20 * changes, "seed {seed}: {count} moves, {changes} changes");
            assert!(moves.windows(2).any(|pair| pair[1] - pair[0] < REST), "seed {seed}");
        }
    }
}
