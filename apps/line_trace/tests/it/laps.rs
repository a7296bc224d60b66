//! Laps in a closed loop of robot, operator and tracer, without messaging.

use line_trace::operator::Beginning;
use line_trace::sim::Simulation;
use line_trace::tracer::Stage;
use line_trace::track::{TRACKS, Track};

const SEEDS: std::ops::Range<u64> = 0..20;

fn track() -> Track {
    Track::demonstration().expect("the demonstration's corners make a course")
}

/// A simulation that has completed `laps`, or has reached its time limit.
fn driven(track: &Track, seed: u64, delay: f64, laps: usize) -> Simulation<'_> {
    let mut simulation = Simulation::new(track, Beginning::seed(seed), delay).unwrap();
    let done = simulation.run_until(5.0 + 25.0 * laps as f64, |so_far| so_far.laps().len() == laps);
    assert!(done, "seed {seed}: {:?} after {} laps", simulation.tracer().stage(), simulation.laps().len());
    simulation
}

#[test]
fn every_seed_completes_two_accurate_laps() {
    let track = track();
    for seed in SEEDS {
        for lap in driven(&track, seed, 0.0, 2).laps() {
            let (mean, max) = (lap.deviation.mean(), lap.deviation.max());
            assert!(mean < 0.003 && max < 0.010, "seed {seed}: {mean} m, {max} m");
            assert!((0.2..=0.3).contains(&lap.speed), "seed {seed}: {} m/s", lap.speed);
        }
    }
}

#[test]
fn every_track_is_completed_with_every_seed() {
    for (name, text) in TRACKS {
        let track = Track::parse(text).unwrap();
        for seed in SEEDS {
            let at = track.course().length() * seed as f64 / SEEDS.end as f64;
            let mut simulation = Simulation::new(&track, Beginning { seed, at }, 0.0).unwrap();
            let done = simulation.run_until(60.0, |so_far| so_far.laps().len() == 2);
            let (stage, row) = (simulation.tracer().stage(), simulation.robot().row_centre());
            assert!(
                done,
                "{name}, seed {seed}, from {at:.2} m: {stage:?} at {row:?}, {:?}",
                simulation.laps()
            );
            for lap in simulation.laps() {
                assert!(
                    lap.deviation.mean() < 0.008 && lap.deviation.max() < 0.05,
                    "{name}, seed {seed}: {lap}"
                );
            }
        }
    }
}

#[test]
fn robot_tolerates_30_ms_command_delay() {
    let track = track();
    for seed in SEEDS {
        let lap = driven(&track, seed, 0.03, 1).laps()[0];
        assert!(lap.deviation.max() < 0.02, "seed {seed}: {} m", lap.deviation.max());
    }
}

#[test]
fn seed_determines_the_path() {
    let track = track();
    let path = |seed| driven(&track, seed, 0.0, 1).path().to_vec();
    assert_eq!(path(3), path(3));
    assert_ne!(path(3), path(4));
}

#[test]
fn three_presses_pass_every_stage_in_order() {
    let track = track();
    let mut simulation = Simulation::new(&track, Beginning::seed(1), 0.0).unwrap();
    let mut stages = vec![simulation.tracer().stage()];
    while simulation.now() < 5.0 {
        simulation.step();
        if stages.last() != Some(&simulation.tracer().stage()) {
            stages.push(simulation.tracer().stage());
        }
    }
    let expected = [
        Stage::AwaitFloor,
        Stage::SampleFloor,
        Stage::AwaitLine,
        Stage::SampleLine,
        Stage::AwaitStart,
        Stage::Follow,
    ];
    assert_eq!(stages, expected);
}

#[test]
fn thresholds_separate_line_and_floor() {
    let track = track();
    for seed in SEEDS {
        let mut simulation = Simulation::new(&track, Beginning::seed(seed), 0.0).unwrap();
        assert!(simulation.run_until(5.0, |so_far| so_far.tracer().calibration().is_some()));
        let thresholds = simulation.tracer().calibration().map(|found| found.thresholds());
        let middle = thresholds.is_some_and(|row| row.iter().all(|value| (250.0..350.0).contains(value)));
        assert!(middle, "seed {seed}: {thresholds:?}");
    }
}

#[test]
fn robot_stands_until_third_press() {
    let track = track();
    let mut simulation = Simulation::new(&track, Beginning::seed(1), 0.0).unwrap();
    while simulation.tracer().stage() != Stage::Follow {
        assert_eq!(simulation.robot().velocity().linear, 0.0);
        assert!(simulation.now() < 5.0);
        simulation.step();
    }
    simulation.run_until(simulation.now() + 0.2, |_| false);
    assert!(simulation.robot().velocity().linear > 0.1);
}

#[test]
fn lifted_robot_is_stopped() {
    let track = track();
    let mut simulation = Simulation::new(&track, Beginning::seed(1), 0.0).unwrap();
    assert!(simulation.run_until(8.0, |so_far| so_far.path().len() > 200));
    let aside = track.course().pose_at(0.0);
    let beyond = line_trace::geometry::Pose { position: aside.offset(0.0, -5.0), ..aside };
    simulation.robot_mut().place(beyond);
    assert!(simulation.run_until(12.0, |so_far| so_far.tracer().stage() == Stage::AwaitStart));
    simulation.step();
    assert!(!simulation.robot().motor_power());
    assert_eq!(simulation.laps().len(), 0);
}

#[test]
fn pushed_robot_finds_the_line_again() {
    let track = track();
    for aside in [-0.025, 0.025] {
        let mut simulation = Simulation::new(&track, Beginning::seed(2), 0.0).unwrap();
        assert!(simulation.run_until(8.0, |so_far| so_far.path().len() > 100));
        let pose = simulation.robot().pose();
        let pushed = line_trace::geometry::Pose { position: pose.offset(0.0, aside), ..pose };
        simulation.robot_mut().place(pushed);
        assert!(simulation.run_until(40.0, |so_far| so_far.laps().len() == 1), "pushed by {aside} m");
    }
}
