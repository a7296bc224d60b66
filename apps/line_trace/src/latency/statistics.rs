//! Summary statistics of a list of latencies.

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// Number of messages.
    pub count: usize,
    /// Arithmetic mean.
    pub average: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// Median.
    pub median: f64,
    /// 99th percentile.
    pub p99: f64,
}

impl Statistics {
    /// The statistics of these latencies, given in nanoseconds; `None` if there are none.
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
    fn statistics_of_1_to_100_are_known() {
        let mixed: Vec<u64> = (0..100).map(|i| (i * 37 % 100 + 1) * 1000).collect();
        let figures = Statistics::of(&mixed).unwrap();
        assert_eq!((figures.count, figures.min, figures.max), (100, 1.0, 100.0));
        assert_eq!((figures.average, figures.median, figures.p99), (50.5, 50.0, 99.0));
        assert!((figures.deviation - (9999.0f64 / 12.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn single_latency_equals_all_statistics() {
        let figures = Statistics::of(&[1500]).unwrap();
        let Statistics { average, min, max, median, p99, .. } = figures;
        assert_eq!([average, min, max, median, p99], [1.5; 5]);
        assert_eq!(figures.deviation, 0.0);
    }

    #[test]
    fn single_outlier_affects_maximum_not_p99() {
        let mut latencies = vec![1000; 99];
        latencies.push(1_000_000);
        let figures = Statistics::of(&latencies).unwrap();
        assert_eq!((figures.p99, figures.max), (1.0, 1000.0));
    }

    #[test]
    fn empty_list_has_no_statistics() {
        assert_eq!(Statistics::of(&[]), None);
    }
}
