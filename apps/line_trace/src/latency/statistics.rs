//! The usual figures of a list of latencies.

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// How many messages.
    pub count: usize,
    /// Arithmetic mean.
    pub average: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Standard deviation of the messages about their average.
    pub deviation: f64,
    /// Half of the messages took no longer.
    pub median: f64,
    /// 99 of 100 messages took no longer.
    pub p99: f64,
}

impl Statistics {
    /// The figures of these latencies, given in nanoseconds; `None` if there are none.
    pub fn of(latencies_ns: &[u64]) -> Option<Self> {
        let mut sorted: Vec<f64> = latencies_ns.iter().map(|ns| *ns as f64 / 1000.0).collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let count = sorted.len() as f64;
        let average = sorted.iter().sum::<f64>() / count;
        let variance = sorted.iter().map(|latency| (latency - average).powi(2)).sum::<f64>() / count;
        Some(Self {
            count: sorted.len(),
            average,
            min,
            max,
            deviation: variance.sqrt(),
            median: at_rank(&sorted, 0.5),
            p99: at_rank(&sorted, 0.99),
        })
    }
}

/// The smallest of the sorted values that at least this share of them does not exceed (nearest rank).
pub(crate) fn at_rank(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_one_to_a_hundred_are_known() {
        let mixed: Vec<u64> = (0..100).map(|i| (i * 37 % 100 + 1) * 1000).collect();
        let figures = Statistics::of(&mixed).unwrap();
        assert_eq!((figures.count, figures.min, figures.max), (100, 1.0, 100.0));
        assert_eq!((figures.average, figures.median, figures.p99), (50.5, 50.0, 99.0));
        assert!((figures.deviation - (9999.0f64 / 12.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn one_latency_is_all_of_its_figures() {
        let figures = Statistics::of(&[1500]).unwrap();
        let Statistics { average, min, max, median, p99, .. } = figures;
        assert_eq!([average, min, max, median, p99], [1.5; 5]);
        assert_eq!(figures.deviation, 0.0);
    }

    #[test]
    fn one_outlier_among_a_hundred_is_in_the_maximum_and_not_in_p99() {
        let mut latencies = vec![1000; 99];
        latencies.push(1_000_000);
        let figures = Statistics::of(&latencies).unwrap();
        assert_eq!((figures.p99, figures.max), (1.0, 1000.0));
    }

    #[test]
    fn no_latencies_have_no_figures() {
        assert_eq!(Statistics::of(&[]), None);
    }
}
