//! Lap timer: progress around the track and distance from the line.

use crate::course::{Course, Nearest};
use crate::geometry::Point;
use std::fmt;

/// Largest step along the line between two updates that counts as driving: metres, plus metres per second of the
/// interval, more than the wheels can drive. A larger step means that the robot was carried, and a new lap begins.
const LARGEST_STEP: f64 = 0.05;
const FASTEST: f64 = 0.75;

/// A completed lap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lap {
    /// 1 for the first.
    pub number: u32,
    /// How long it took, seconds.
    pub seconds: f64,
    /// Mean speed along the line, metres per second.
    pub speed: f64,
    /// Distance of the robot from the line.
    pub deviation: Deviation,
}

impl fmt::Display for Lap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, seconds, speed, deviation } = self;
        let (mean, max) = (deviation.mean() * 1e3, deviation.max() * 1e3);
        write!(f, "lap {number}: {seconds:.2} s, {speed:.3} m/s, ")?;
        write!(f, "off the line {mean:.1} mm (mean), {max:.1} mm (max)")
    }
}

/// Statistics of the distance from the centre of the line, without sign.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    sum: f64,
    count: u32,
    max: f64,
}

impl Deviation {
    /// The mean distance in metres, 0 without samples.
    pub fn mean(&self) -> f64 {
        self.sum / f64::from(self.count.max(1))
    }

    /// The largest distance in metres.
    pub fn max(&self) -> f64 {
        self.max
    }

    fn add(&mut self, deviation: f64) {
        self.sum += deviation.abs();
        self.count += 1;
        self.max = self.max.max(deviation.abs());
    }
}

/// Counts laps from the robot's positions along the line.
#[derive(Clone, Debug)]
pub struct LapMeter {
    length: f64,
    /// Time and progress of the last update.
    last: Option<(f64, f64)>,
    began: f64,
    /// Metres driven along the line in this lap; driving backwards subtracts.
    driven: f64,
    deviation: Deviation,
    laps: u32,
}

impl LapMeter {
    /// A meter for a line of `length` metres. The first lap begins at the position of the first update.
    pub fn new(length: f64) -> Self {
        Self { length, last: None, began: 0.0, driven: 0.0, deviation: Deviation::default(), laps: 0 }
    }

    /// Adds the robot's position at `now`, in seconds, and returns the lap that this completes. A new lap begins
    /// after a step that the robot cannot have driven.
    pub fn update(&mut self, now: f64, place: Nearest) -> Option<Lap> {
        let last = self.last.replace((now, place.progress));
        let step = last.map(|(before, progress)| (before, self.shortest(place.progress - progress)));
        let drove = |(before, step): &(f64, f64)| step.abs() <= LARGEST_STEP.max(FASTEST * (now - before));
        let Some((before, step)) = step.filter(drove) else {
            (self.began, self.driven, self.deviation) = (now, 0.0, Deviation::default());
            self.deviation.add(place.deviation);
            return None;
        };
        self.deviation.add(place.deviation);
        self.driven += step;
        (self.driven >= self.length).then(|| self.finish(before, now, step))
    }

    /// The position along `course` of a robot at `point`, near its last one.
    pub fn place(&self, course: &Course, point: Point) -> Nearest {
        match self.last {
            Some((_, progress)) => course.nearest_to(point, progress),
            None => course.nearest(point),
        }
    }

    /// Metres driven along the line in the current lap.
    pub fn driven(&self) -> f64 {
        self.driven
    }

    /// Ends the lap at the time, interpolated between two updates, at which the robot passed the lap's start.
    fn finish(&mut self, before: f64, now: f64, step: f64) -> Lap {
        self.driven -= self.length;
        self.laps += 1;
        let ended = now - (now - before) * self.driven / step;
        let seconds = ended - self.began;
        self.began = ended;
        let deviation = std::mem::take(&mut self.deviation);
        Lap { number: self.laps, seconds, speed: self.length / seconds, deviation }
    }

    /// The signed difference in progress, the short way around.
    fn shortest(&self, difference: f64) -> f64 {
        let half = self.length / 2.0;
        (difference + half).rem_euclid(self.length) - half
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drives from `from` to `to` in steps of 10 mm, one every 0.1 s.
    fn drive(meter: &mut LapMeter, from: u32, to: u32, deviation: f64) -> Vec<Lap> {
        drive_at(meter, f64::from(from) * 0.1, from, to, deviation)
    }

    /// The same from `begin` seconds on.
    fn drive_at(meter: &mut LapMeter, begin: f64, from: u32, to: u32, deviation: f64) -> Vec<Lap> {
        let place = |step: u32| Nearest { deviation, progress: (f64::from(step) * 0.01) % 1.0 };
        (from..=to)
            .filter_map(|step| meter.update(begin + f64::from(step - from) * 0.1, place(step)))
            .collect()
    }

    #[test]
    fn lap_is_complete_at_its_start() {
        let mut meter = LapMeter::new(1.0);
        assert_eq!(drive(&mut meter, 30, 129, 0.0), []);
        let laps = drive(&mut meter, 130, 131, 0.0);
        assert_eq!(laps.len(), 1);
        assert!((laps[0].seconds - 10.0).abs() < 0.02 && (laps[0].speed - 0.1).abs() < 0.001, "{laps:?}");
    }

    #[test]
    fn lap_end_is_interpolated_between_updates() {
        let mut meter = LapMeter::new(0.99);
        let laps: Vec<Lap> = (0..30)
            .filter_map(|step| {
                let progress = (f64::from(step) * 0.04) % 0.99;
                meter.update(f64::from(step), Nearest { deviation: 0.0, progress })
            })
            .collect();
        assert!((laps[0].seconds - 24.75).abs() < 1e-6, "{laps:?}");
    }

    #[test]
    fn laps_are_timed_in_sequence() {
        let mut meter = LapMeter::new(1.0);
        let laps = drive(&mut meter, 0, 305, 0.0);
        assert_eq!(laps.iter().map(|lap| lap.number).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(laps.iter().all(|lap| (lap.seconds - 10.0).abs() < 0.02), "{laps:?}");
    }

    #[test]
    fn deviation_covers_both_sides_of_one_lap() {
        let mut meter = LapMeter::new(1.0);
        drive(&mut meter, 0, 49, 0.002);
        let first = drive(&mut meter, 50, 101, -0.004)[0].deviation;
        assert!((first.mean() - 0.003).abs() < 0.0001 && first.max() == 0.004, "{first:?}");
        let second = drive(&mut meter, 102, 201, 0.001)[0].deviation;
        assert!((second.mean() - 0.001).abs() < 0.0001, "{second:?}");
    }

    #[test]
    fn crossing_the_start_twice_is_not_a_lap() {
        let mut meter = LapMeter::new(1.0);
        for turn in 0..300 {
            let progress = [0.98, 0.99, 0.0, 0.01, 0.0, 0.99][turn % 6];
            assert_eq!(meter.update(turn as f64, Nearest { deviation: 0.0, progress }), None);
        }
    }

    #[test]
    fn lap_is_printed_in_one_line() {
        let deviation = Deviation { sum: 0.006, count: 4, max: 0.0042 };
        let lap = Lap { number: 2, seconds: 12.345, speed: 0.25, deviation };
        let expected = "lap 2: 12.35 s, 0.250 m/s, off the line 1.5 mm (mean), 4.2 mm (max)";
        assert_eq!(lap.to_string(), expected);
    }

    #[test]
    fn lap_continues_after_missing_updates() {
        let mut meter = LapMeter::new(1.0);
        drive(&mut meter, 0, 20, 0.0);
        drive(&mut meter, 60, 99, 0.0);
        assert_eq!(drive(&mut meter, 100, 101, 0.0).len(), 1);
    }

    #[test]
    fn carried_robot_begins_a_new_lap() {
        let mut meter = LapMeter::new(1.0);
        drive(&mut meter, 0, 20, 0.009);
        assert_eq!(drive_at(&mut meter, 2.1, 60, 101, 0.002), []);
        assert!((meter.driven() - 0.41).abs() < 1e-6, "{}", meter.driven());
        let lap = drive_at(&mut meter, 6.3, 102, 161, 0.002)[0];
        assert!((lap.seconds - 10.0).abs() < 0.02 && lap.deviation.max() == 0.002, "{lap:?}");
    }
}
