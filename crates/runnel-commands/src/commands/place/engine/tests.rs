//! Single decisions.

use std::time::{Duration, Instant};

use super::{Engine, Explanation, Move};
use crate::commands::place::condition::Now;
use crate::commands::place::quantity::{Measurements, Quantity, Value};
use crate::commands::place::rules::Rules;
use crate::commands::place::schedule::LocalTime;

const BATTERY: &str = r#"
[[node]]
name = "/tracer"
home = "robot:1"
rest = "60 s"
[[node.rule]]
name = "battery"
to = "station:1"
when = "/battery percentage < 0.3"
until = "/battery percentage > 0.5"
unless = "cpu > 90 %"
for = "10 s"
"#;

/// An engine with its clock, in seconds.
struct Bench {
    engine: Engine,
    begun: Instant,
    measurements: Measurements,
}

impl Bench {
    fn new(rules: &str) -> Self {
        let engine = Engine::new(Rules::parse(rules).unwrap());
        Self { engine, begun: Instant::now(), measurements: Measurements::default() }
    }

    fn now(&self, second: u64) -> Now {
        let local = LocalTime { weekday: 0, minute: (second / 60 % 1440) as u16 };
        Now { steady: self.begun + Duration::from_secs(second), local }
    }

    fn cpu(&mut self, second: u64, share: f64) {
        self.measurements.set(Quantity::Cpu, Value::Number(share), self.now(second).steady);
    }

    fn battery(&mut self, second: u64, percentage: f64) {
        let quantity = Quantity::Field { topic: "/battery".into(), path: "percentage".into() };
        self.measurements.set(quantity, Value::Number(percentage), self.now(second).steady);
    }

    /// The moves of one second, which fail.
    fn decide(&mut self, second: u64) -> Vec<Move> {
        self.engine.update(self.now(second), &self.measurements)
    }

    /// The moves with their seconds, where the battery has one value. All succeed.
    fn run(&mut self, seconds: std::ops::Range<u64>, percentage: f64) -> Vec<(u64, String)> {
        let mut moves = Vec::new();
        for second in seconds {
            self.battery(second, percentage);
            for moved in self.decide(second) {
                self.engine.handle_moved(&moved);
                moves.push((second, moved.to));
            }
        }
        moves
    }
}

fn to(second: u64, host: &str) -> Vec<(u64, String)> {
    vec![(second, host.to_owned())]
}

#[test]
fn node_goes_home_at_first_and_moves_when_a_condition_has_held() {
    let mut bench = Bench::new(BATTERY);
    assert_eq!(bench.decide(0), [], "nothing is measured");
    assert_eq!(bench.run(1..100, 0.8), to(1, "robot:1"));
    assert_eq!(bench.run(100..109, 0.2), []);
    assert_eq!(bench.run(109..110, 0.35), [], "it has not held for long enough");
    assert_eq!(bench.run(110..200, 0.2), to(120, "station:1"));
    assert_eq!(bench.run(200..300, 0.4), [], "between both conditions");
    assert_eq!(bench.run(300..400, 0.6), to(310, "robot:1"));
}

#[test]
fn node_is_moved_at_the_start_to_where_a_rule_says() {
    let mut bench = Bench::new(BATTERY);
    assert_eq!(bench.run(0..100, 0.2), to(10, "station:1"), "and not home before");
}

#[test]
fn reason_has_the_measured_values() {
    let mut bench = Bench::new(BATTERY);
    bench.run(0..50, 0.8);
    bench.battery(100, 0.25);
    bench.decide(100);
    bench.battery(110, 0.24);
    let moves = bench.decide(110);
    assert_eq!(moves[0].why, "battery: /battery percentage < 0.3 (0.24) for 10 s");
    bench.engine.handle_moved(&moves[0]);
    bench.battery(200, 0.52);
    bench.decide(200);
    let why = &bench.decide(210)[0].why;
    assert_eq!(why, "battery ended: /battery percentage > 0.5 (0.52) for 10 s");
}

#[test]
fn node_rests_after_a_move() {
    let mut bench = Bench::new(BATTERY);
    bench.run(0..100, 0.8);
    assert_eq!(bench.run(100..150, 0.2), to(110, "station:1"));
    assert_eq!(bench.run(150..300, 0.6), to(170, "robot:1"), "60 s after the last move");
}

#[test]
fn move_that_failed_is_tried_again_after_the_rest() {
    let mut bench = Bench::new(BATTERY);
    bench.run(0..100, 0.8);
    let mut tries = Vec::new();
    for second in 100..260 {
        bench.battery(second, 0.2);
        tries.extend(bench.decide(second).into_iter().map(|_| second));
    }
    assert_eq!(tries, [110, 170, 230]);
}

#[test]
fn missing_measurement_changes_nothing() {
    let mut bench = Bench::new(BATTERY);
    assert_eq!(bench.run(0..200, 0.2), to(10, "station:1"));
    assert!((200..1000).all(|second| bench.decide(second).is_empty()), "the last value is too old");
    assert_eq!(bench.run(1000..1100, f64::NAN), []);
    assert_eq!(bench.run(1100..1200, 0.6), to(1110, "robot:1"));
}

#[test]
fn rule_does_not_begin_while_its_exception_holds() {
    let mut bench = Bench::new(BATTERY);
    bench.run(0..100, 0.8);
    for second in 100..200 {
        bench.cpu(second, 0.95);
        assert_eq!(bench.run(second..second + 1, 0.2), []);
    }
    bench.cpu(200, 0.5);
    assert_eq!(bench.run(200..240, 0.2), to(210, "station:1"));
    bench.cpu(240, 0.95);
    assert_eq!(bench.run(240..400, 0.2), [], "it does not end by it");
}

#[test]
fn first_rule_that_applies_decides() {
    let rules = r#"
[[node]]
name = "/tracer"
home = "robot:1"
rest = "0 s"
[[node.rule]]
name = "night"
to = "cloud:1"
when = "time 00:10-00:20"
for = "0 s"
[[node.rule]]
name = "battery"
to = "station:1"
when = "/battery percentage < 0.3"
for = "0 s"
"#;
    let mut bench = Bench::new(rules);
    assert_eq!(bench.run(0..600, 0.2), to(0, "station:1"));
    assert_eq!(bench.run(600..1200, 0.2), to(600, "cloud:1"));
    assert_eq!(bench.run(1200..1300, 0.2), to(1200, "station:1"));
    assert_eq!(bench.run(1300..1400, 0.4), to(1300, "robot:1"));
}

#[test]
fn explanation_has_every_rule_with_its_values() {
    let mut bench = Bench::new(BATTERY);
    let explain = |bench: &Bench| {
        let [Explanation { to, rules, .. }] = &bench.engine.explain(bench.now(0), &bench.measurements)[..]
        else {
            panic!("one node")
        };
        (to.clone(), rules[0].applies, rules[0].why.clone())
    };
    let unmeasured = "/battery percentage < 0.3 (not measured yet), unless cpu > 90 % (not measured yet)";
    assert_eq!(explain(&bench), (None, None, unmeasured.into()));
    bench.battery(0, 0.2);
    bench.cpu(0, 0.5);
    let measured = "/battery percentage < 0.3 (0.2), unless cpu > 90 % (50 %)";
    assert_eq!(explain(&bench), (Some("station:1".into()), Some(true), measured.into()));
    bench.cpu(0, 0.95);
    let (to, applies, _) = explain(&bench);
    assert_eq!((to.as_deref(), applies), (Some("robot:1"), Some(false)));
}
