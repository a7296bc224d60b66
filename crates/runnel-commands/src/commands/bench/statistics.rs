//! Statistics of samples.

use serde::Serialize;

/// Statistics of samples, in their unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The smallest.
    pub min: u64,
    /// The median: half of the samples are at most this.
    pub p50: u64,
    /// 99 of 100 samples are at most this.
    pub p99: u64,
    /// The largest.
    pub max: u64,
    /// The average.
    pub mean: f64,
}

impl Summary {
    /// Of at least one sample, in any order.
    pub fn of(mut samples: Vec<u64>) -> Option<Self> {
        samples.sort_unstable();
        let (min, max) = (*samples.first()?, *samples.last()?);
        let sum: f64 = samples.iter().map(|sample| *sample as f64).sum();
        let mean = sum / samples.len() as f64;
        Some(Self { min, p50: percentile(&samples, 50)?, p99: percentile(&samples, 99)?, max, mean })
    }
}

/// The smallest of the sorted samples that is not exceeded by `percent` of a hundred.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The median of figures of several rounds; for an even number the mean of the two in the middle.
pub fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_unstable_by(f64::total_cmp);
    let upper = figures.len() / 2;
    let lower = figures.len().checked_sub(1)? / 2;
    Some(f64::midpoint(*figures.get(lower)?, *figures.get(upper)?))
}

/// The spread of figures of several rounds: from least to greatest, in percent of their median.
pub fn spread(figures: &[f64]) -> Option<f64> {
    let least = figures.iter().copied().min_by(f64::total_cmp)?;
    let greatest = figures.iter().copied().max_by(f64::total_cmp)?;
    let median = median(figures.to_vec()).filter(|median| *median > 0.0)?;
    Some((greatest - least) / median * 100.0)
}

/// The mean difference between consecutive samples.
pub fn jitter(samples: &[u64]) -> Option<f64> {
    let differences = samples.windows(2).filter_map(|pair| Some(pair.first()?.abs_diff(*pair.get(1)?)));
    let sum: f64 = differences.map(|difference| difference as f64).sum();
    let count = samples.len().checked_sub(1).filter(|count| *count > 0)?;
    Some(sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_is_independent_of_sample_order() {
        let mut samples: Vec<u64> = (1..=200).collect();
        samples.reverse();
        let summary = Summary::of(samples).unwrap();
        assert_eq!(summary, Summary { min: 1, p50: 100, p99: 198, max: 200, mean: 100.5 });
    }

    #[test]
    fn one_sample_is_all_of_its_percentiles() {
        let summary = Summary::of(vec![7]).unwrap();
        assert_eq!(summary, Summary { min: 7, p50: 7, p99: 7, max: 7, mean: 7.0 });
    }

    #[test]
    fn no_samples_give_no_figures() {
        assert_eq!(Summary::of(Vec::new()), None);
        assert_eq!(median(Vec::new()), None);
        assert_eq!(spread(&[]), None);
        assert_eq!(jitter(&[3]), None);
    }

    #[test]
    fn percentile_is_a_measured_sample() {
        assert_eq!(percentile(&[1, 2, 3], 50), Some(2));
        assert_eq!(percentile(&[1, 2, 3, 4], 50), Some(2));
        assert_eq!(percentile(&[1, 2, 3, 4], 99), Some(4));
    }

    #[test]
    fn median_of_rounds_lies_in_the_middle() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn spread_is_a_share_of_the_median() {
        assert_eq!(spread(&[9.0, 10.0, 11.0]), Some(20.0));
        assert_eq!(spread(&[5.0]), Some(0.0));
        assert_eq!(spread(&[0.0, 0.0]), None, "no share of a zero median");
    }

    #[test]
    fn jitter_is_the_mean_step_between_neighbours() {
        assert_eq!(jitter(&[10, 12, 9, 9]), Some(5.0 / 3.0));
    }
}
