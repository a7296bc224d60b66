//! Sensor calibration over floor and line.

/// Readings averaged for one sample.
const READINGS: u32 = 20;
/// Smallest usable difference between floor and line.
const MIN_CONTRAST: f64 = 50.0;

/// The sum of the readings in a sample that is being taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sampling {
    sums: [i64; 4],
    count: u32,
}

impl Sampling {
    pub(super) fn with(mut self, row: [i16; 4]) -> Self {
        self.count += 1;
        for (sum, value) in self.sums.iter_mut().zip(row) {
            *sum += i64::from(value);
        }
        self
    }

    /// The mean of each sensor, once the sample is complete.
    pub(super) fn mean(&self) -> Option<[f64; 4]> {
        (self.count >= READINGS).then(|| self.sums.map(|sum| sum as f64 / f64::from(self.count)))
    }
}

/// Floor and line values of the four sensors, from left to right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    floor: [f64; 4],
    line: [f64; 4],
}

impl Calibration {
    /// `None` if the line is not clearly darker than the floor for every sensor.
    pub fn new(floor: [f64; 4], line: [f64; 4]) -> Option<Self> {
        let clear = floor.iter().zip(line).all(|(floor, line)| floor - line >= MIN_CONTRAST);
        clear.then_some(Self { floor, line })
    }

    /// The values below which a sensor sees the line: halfway between its line and floor values.
    pub fn thresholds(&self) -> [f64; 4] {
        std::array::from_fn(|i| self.line[i] + (self.floor[i] - self.line[i]) / 2.0)
    }

    /// Which sensors see the line.
    pub fn sees_line(&self, row: [i16; 4]) -> [bool; 4] {
        let thresholds = self.thresholds();
        std::array::from_fn(|i| f64::from(row[i]) < thresholds[i])
    }

    /// The share of line in what each sensor sees, 0.0 to 1.0.
    pub fn darkness(&self, row: [i16; 4]) -> [f64; 4] {
        std::array::from_fn(|i| {
            ((self.floor[i] - f64::from(row[i])) / (self.floor[i] - self.line[i])).clamp(0.0, 1.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_is_the_mean_of_readings() {
        let mut sampling = Sampling::default();
        for reading in 0..READINGS as i16 {
            assert_eq!(sampling.mean(), None);
            sampling = sampling.with([reading, 10, 0, i16::MAX]);
        }
        let mean = f64::from(READINGS - 1) / 2.0;
        assert_eq!(sampling.mean(), Some([mean, 10.0, 0.0, f64::from(i16::MAX)]));
    }

    #[test]
    fn threshold_is_halfway_between_line_and_floor() {
        let calibration = Calibration::new([500.0, 600.0, 400.0, 500.0], [100.0; 4]).unwrap();
        assert_eq!(calibration.thresholds(), [300.0, 350.0, 250.0, 300.0]);
        assert_eq!(calibration.sees_line([299, 351, 249, 300]), [true, false, true, false]);
    }

    #[test]
    fn darkness_is_clamped_to_floor_and_line() {
        let calibration = Calibration::new([500.0; 4], [100.0; 4]).unwrap();
        assert_eq!(calibration.darkness([600, 500, 200, -5]), [0.0, 0.0, 0.75, 1.0]);
    }

    #[test]
    fn similar_or_swapped_samples_do_not_calibrate() {
        assert_eq!(Calibration::new([500.0; 4], [500.0, 100.0, 100.0, 100.0]), None);
        assert_eq!(Calibration::new([100.0; 4], [500.0; 4]), None);
        assert_eq!(Calibration::new([f64::NAN; 4], [100.0; 4]), None);
    }
}
