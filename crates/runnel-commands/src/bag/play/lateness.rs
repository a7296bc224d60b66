//! How late messages were published.

use std::time::Duration;

/// Steps of each power of two: times are known to a sixteenth.
const STEPS: usize = 16;

/// A histogram of times, whose size does not depend on their number.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    count: u64,
    max: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: vec![0; STEPS * 64], count: 0, max: Duration::ZERO }
    }
}

impl Lateness {
    /// Adds a time.
    pub fn add(&mut self, late: Duration) {
        self.counts[bucket(late)] += 1;
        self.count += 1;
        self.max = self.max.max(late);
    }

    /// The number of times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest time.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The time that this part of all times does not exceed, to a sixteenth.
    pub fn quantile(&self, part: f64) -> Duration {
        let wanted = (self.count as f64 * part).ceil() as u64;
        let mut sum = 0;
        let found = self.counts.iter().position(|count| {
            sum += count;
            sum >= wanted.max(1)
        });
        found.map_or(self.max, |bucket| upper_bound(bucket).min(self.max))
    }
}

fn bucket(time: Duration) -> usize {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    if nanos < STEPS as u64 {
        return nanos as usize;
    }
    let power = nanos.ilog2() as usize;
    let step = (nanos >> (power - 4)) as usize - STEPS;
    (power - 3) * STEPS + step
}

/// The longest time of a bucket.
fn upper_bound(bucket: usize) -> Duration {
    if bucket < STEPS {
        return Duration::from_nanos(bucket as u64);
    }
    let (shift, step) = (bucket / STEPS - 1, bucket % STEPS);
    Duration::from_nanos((((STEPS + step + 1) as u64) << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_to_a_sixteenth() {
        let mut lateness = Lateness::default();
        (1..=1000).for_each(|micros| lateness.add(Duration::from_micros(micros)));
        for (part, exact) in [(0.5, 500), (0.99, 990), (1.0, 1000)] {
            let [found, exact] = [lateness.quantile(part), Duration::from_micros(exact)];
            assert!(found >= exact && found <= exact.mul_f64(17.0 / 16.0), "{part}: {found:?}");
        }
        assert_eq!((lateness.count(), lateness.max()), (1000, Duration::from_millis(1)));
        assert_eq!(Lateness::default().quantile(0.5), Duration::ZERO);
    }

    #[test]
    fn each_time_is_within_its_bucket() {
        for nanos in (0..2000).chain([1 << 20, (1 << 20) + 1, u64::MAX / 2]) {
            let time = Duration::from_nanos(nanos);
            let found = bucket(time);
            assert!(upper_bound(found) >= time, "{nanos}");
            assert!(found == 0 || upper_bound(found - 1) < time, "{nanos}");
        }
        assert!(bucket(Duration::MAX) < STEPS * 64);
    }
}
