//! Random trees against the oracle, and laws that hold for all transforms. `SOAK_SEEDS=1000` tests that many seeds.

use core::time::Duration;
use std::env;

use runnel_msgs::geometry_msgs::msg::TransformStamped;
use runnel_testkit::net::Rng;
use runnel_tf::{Available, BufferCore, Quaternion, Transform, TransformError, Vector3};

use crate::messages::{at, stamped};
use crate::oracle::{Failure, Matrix, Oracle, matrix_of};

/// Times of transforms and look-ups, in milliseconds.
const TIMES: usize = 40;

fn seeds() -> impl Iterator<Item = u64> {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("SOAK_FIRST").unwrap_or(0);
    first..first + number("SOAK_SEEDS").unwrap_or(60)
}

/// A number from -1 to 1.
fn number(rng: &mut Rng) -> f64 {
    (rng.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn transform(rng: &mut Rng) -> Transform {
    let mut vector = || Vector3::new(number(rng), number(rng), number(rng));
    let (translation, axis) = (vector() * 10.0, vector());
    Transform::new(translation, Quaternion::from_axis_angle(axis, number(rng) * 3.0))
}

/// Times at which a frame has a transform: several, so that look-ups lie before, between and after.
fn times(rng: &mut Rng) -> Vec<i64> {
    let mut times: Vec<i64> = (0..1 + rng.below(8)).map(|_| 1 + rng.below(TIMES) as i64).collect();
    times.sort_unstable();
    times.dedup();
    times
}

/// A forest in which each frame's parent has a lower number, in random order. Some frames change their parent.
fn forest(rng: &mut Rng) -> Vec<TransformStamped> {
    let frames = 2 + rng.below(14);
    let mut messages = Vec::new();
    for child in 1..frames {
        if rng.percent(10) {
            continue;
        }
        let changes = rng.percent(20);
        let mut parent = rng.below(child);
        for time in times(rng) {
            messages.push(stamped(&parent.to_string(), &child.to_string(), time, transform(rng)));
            parent = if changes { rng.below(child) } else { parent };
        }
    }
    for end in (1..messages.len()).rev() {
        messages.swap(end, rng.below(end + 1));
    }
    messages
}

fn is_close(one: &Matrix, other: &Matrix) -> bool {
    one.iter().flatten().zip(other.iter().flatten()).all(|(one, other)| (one - other).abs() < 1e-6)
}

fn failure(error: &TransformError) -> Failure {
    match error {
        TransformError::Lookup { .. } => Failure::Unknown,
        TransformError::Connectivity { .. } => Failure::Unconnected,
        TransformError::Extrapolation { .. } => Failure::Extrapolation,
        other => panic!("{other}"),
    }
}

#[test]
fn random_trees_agree_with_the_oracle() {
    let mut found = 0;
    for seed in seeds() {
        let mut rng = Rng::new(seed);
        let (mut buffer, mut oracle) = (BufferCore::default(), Oracle::default());
        for message in forest(&mut rng) {
            buffer.set_transform(&message, "", false).expect("a sound transform");
            oracle.add(&message);
        }
        for _ in 0..200 {
            let [target, source] = [(); 2].map(|()| rng.below(16).to_string());
            let time = at(1 + rng.below(TIMES) as i64);
            let expected = oracle.look_up(&target, &source, time);
            let answer = buffer.lookup_transform(&target, &source, time);
            found += usize::from(answer.is_ok());
            let is_same = match (&answer, &expected) {
                (Ok(message), Ok(matrix)) => is_close(&matrix_of(message), matrix),
                (Err(error), Err(expected)) => failure(error) == *expected,
                _ => false,
            };
            assert!(is_same, "seed {seed}: {target} {source} {time}: {answer:?}, expected {expected:?}");
        }
    }
    assert!(found > 0, "no look-up had an answer");
}

#[test]
fn look_ups_compose_and_invert() {
    for seed in seeds() {
        let mut rng = Rng::new(seed);
        let mut buffer = BufferCore::default();
        for child in 1..12_usize {
            let parent = rng.below(child).to_string();
            for time in [1, 20, 40] {
                let message = stamped(&parent, &child.to_string(), time, transform(&mut rng));
                buffer.set_transform(&message, "", false).expect("a sound transform");
            }
        }
        let time = at(1 + rng.below(40) as i64);
        let mut name = || rng.below(12).to_string();
        let [a, b, c] = [name(), name(), name()];
        let of = |target: &str, source: &str| {
            let found = buffer.lookup_transform(target, source, time).expect("a transform");
            Transform::from(found.transform)
        };
        let is_same = |one: Transform, other: Transform| {
            (one.translation - other.translation).norm() < 1e-9
                && one.rotation.angle_to(other.rotation) < 1e-7
        };
        assert!(is_same(of(&a, &b) * of(&b, &c), of(&a, &c)), "seed {seed}");
        assert!(is_same(of(&a, &b).inverse(), of(&b, &a)), "seed {seed}");
        assert!(is_same(of(&a, &b) * of(&b, &a), Transform::IDENTITY), "seed {seed}");
        let full = buffer.lookup_transform_full((&a, time), (&c, time), &b).expect("a transform");
        assert!(is_same(full.transform.into(), of(&a, &c)), "seed {seed}");
    }
}

#[test]
fn interpolation_stays_between_its_neighbours() {
    for seed in seeds() {
        let mut rng = Rng::new(seed);
        let mut buffer = BufferCore::default();
        let ends = [transform(&mut rng), transform(&mut rng)];
        for (time, transform) in [1, 1001].into_iter().zip(ends) {
            buffer.set_transform(&stamped("map", "base", time, transform), "", false).expect("sound");
        }
        let [from, to] = ends;
        let angle = from.rotation.angle_to(to.rotation);
        let distance = (to.translation - from.translation).norm();
        for time in [1, 2, 250, 501, 1000, 1001] {
            let found = buffer.lookup_transform("map", "base", at(time)).expect("a transform");
            let found = Transform::from(found.transform);
            let ratio = (time - 1) as f64 / 1000.0;
            assert!((from.rotation.angle_to(found.rotation) - angle * ratio).abs() < 1e-6, "seed {seed}");
            assert!(
                (found.rotation.angle_to(to.rotation) - angle * (1.0 - ratio)).abs() < 1e-6,
                "seed {seed}"
            );
            assert!(((found.translation - from.translation).norm() - distance * ratio).abs() < 1e-9);
        }
    }
}

/// Any transforms in any order, with loops, changes of parents and old times: no panic, no endless look-up.
#[test]
fn any_input_gets_an_answer() {
    for seed in seeds() {
        let mut rng = Rng::new(seed);
        let mut buffer = BufferCore::new(Duration::from_millis(20));
        for _ in 0..300 {
            let mut name = || rng.below(8).to_string();
            let (parent, child) = (name(), name());
            let message = stamped(&parent, &child, rng.below(100) as i64, transform(&mut rng));
            let _ = buffer.set_transform(&message, "", rng.percent(10));
            let mut name = || rng.below(9).to_string();
            let (target, source) = (name(), name());
            let time = at(rng.below(100) as i64);
            if let Err(TransformError::Extrapolation { requested, available, .. }) =
                buffer.lookup_transform(&target, &source, time)
            {
                let is_outside = match available {
                    Available::Only(known) => known != requested,
                    Available::Until(known) => known < requested,
                    Available::Since(known) => known > requested,
                };
                assert!(is_outside, "seed {seed}");
            }
            if rng.percent(1) {
                buffer.clear();
            }
            let stored: usize = buffer.frames().iter().map(|frame| frame.transforms).sum();
            assert_eq!(stored, buffer.transform_count(), "seed {seed}");
        }
    }
}
