//! How often messages of a topic arrive, as `rosbag info --freq` counts it.

use std::collections::BTreeMap;
use std::path::Path;

use runnel_bag::{BagReader, Selection};

use super::times::in_seconds;
use crate::bag::damage_log::DamageLog;

/// The median frequency of each topic with two messages or more at different times, in Hz. Parts of the bag that cannot be
/// read are logged and left out.
pub(super) fn medians(path: &Path, reader: &mut dyn BagReader) -> BTreeMap<String, f64> {
    let topics: Vec<String> = reader.channels().iter().map(|channel| channel.topic.clone()).collect();
    let (mut times, mut damage) = (BTreeMap::<&str, Vec<f64>>::new(), DamageLog::default());
    for read in reader.messages(&Selection::default()) {
        match read {
            Ok(message) => {
                let topic = topics[message.channel.index()].as_str();
                times.entry(topic).or_default().push(in_seconds(message.log_time));
            }
            Err(error) => damage.add(path, &error),
        }
    }
    let frequency = |(topic, times): (&str, Vec<f64>)| Some((topic.to_owned(), median_frequency(&times)?));
    times.into_iter().filter_map(frequency).collect()
}

fn median_frequency(times: &[f64]) -> Option<f64> {
    let mut periods: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    periods.sort_by(f64::total_cmp);
    let upper = periods.get(periods.len() / 2)?;
    let median = match periods.len() % 2 {
        0 => f64::midpoint(periods[periods.len() / 2 - 1], *upper),
        _ => *upper,
    };
    (median > 0.0).then(|| 1.0 / median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequency_is_that_of_the_median_period() {
        assert_eq!(median_frequency(&[0.0, 0.5, 1.0, 9.0]), Some(2.0));
        assert_eq!(median_frequency(&[0.0, 0.25, 1.0]), Some(2.0), "between both");
        assert_eq!(median_frequency(&[1.0, 1.0, 1.0]), None);
        assert_eq!((median_frequency(&[1.0]), median_frequency(&[])), (None, None));
    }
}
