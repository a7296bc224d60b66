//! Arguments that limit a recording, its bags and its topics.

use std::time::Duration;

use super::LIMITS;
use crate::bag::quantity;
use crate::bag::record::output::Retention;
use crate::bag::record::sink::{Limits, TopicLimit};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::value_parsers;

/// Largest queue that can be requested.
const MOST_DEPTH: usize = 1_000_000;

/// Limits of a recording.
#[derive(Debug, Default, clap::Args)]
pub struct LimitArgs {
    /// Begin another bag at --size or --duration, instead of ending
    #[arg(long, help_heading = LIMITS)]
    pub split: bool,

    /// Largest size of a bag in MiB
    #[arg(long, value_name = "MIB", value_parser = quantity::mebibytes, help_heading = LIMITS)]
    pub size: Option<u64>,

    /// Longest time of a bag, such as 30, 5m or 2h
    #[arg(long, value_name = "TIME", value_parser = quantity::positive_duration, help_heading = LIMITS)]
    pub duration: Option<Duration>,

    /// Keep at most this many complete bags: the oldest are removed
    #[arg(long, alias = "max-bag-files", value_name = "N", value_parser = value_parsers::count, help_heading = LIMITS)]
    pub max_splits: Option<usize>,

    /// Keep at most this many MiB of complete bags
    #[arg(long, value_name = "MIB", value_parser = quantity::mebibytes, help_heading = LIMITS)]
    pub keep_size: Option<u64>,

    /// Keep only complete bags that end within this time before the newest, such as 30, 5m or 2h
    #[arg(long, value_name = "TIME", value_parser = quantity::positive_duration, help_heading = LIMITS)]
    pub keep_duration: Option<Duration>,

    /// Begin another bag at this many bytes, as in ros2
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["size", "duration"], help_heading = LIMITS)]
    pub max_bag_size: Option<u64>,

    /// Begin another bag after this time, as in ros2
    #[arg(short = 'd', long, value_name = "SECONDS", value_parser = quantity::positive_duration, conflicts_with_all = ["size", "duration"], help_heading = LIMITS)]
    pub max_bag_duration: Option<Duration>,

    /// Record this many messages of each topic
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = LIMITS)]
    pub limit: Option<u64>,

    /// Limit one topic: to a rate (/image=10hz), to bytes (/image=100MB) or to messages (/image=500) (may be repeated)
    #[arg(long, value_name = "TOPIC=LIMIT", value_parser = topic_limit, help_heading = LIMITS)]
    pub topic_limit: Vec<(String, TopicLimit)>,

    /// Messages of a topic that may wait for the disk [default: 1000]
    #[arg(long, value_name = "N", value_parser = depth, help_heading = LIMITS)]
    pub queue: Option<usize>,
}

fn depth(text: &str) -> Result<usize, String> {
    let depth = text.parse().ok().filter(|depth| (1..=MOST_DEPTH).contains(depth));
    depth.ok_or_else(|| format!("expected a number from 1 to {MOST_DEPTH}"))
}

/// A topic and its limit: `/image=10hz`, `/image=100MB` or `/image=500`.
fn topic_limit(text: &str) -> Result<(String, TopicLimit), String> {
    let expected = || "expected TOPIC=LIMIT with a limit such as 10hz, 100MB or 500".to_owned();
    let (topic, limit) = text.split_once('=').filter(|(topic, _)| !topic.is_empty()).ok_or_else(expected)?;
    let none = TopicLimit::default();
    let lower = limit.to_ascii_lowercase();
    let limit = if let Some(rate) = lower.strip_suffix("hz") {
        let interval = Duration::try_from_secs_f64(1.0 / value_parsers::rate(rate)?);
        TopicLimit { interval: interval.ok(), ..none }
    } else if lower.ends_with('b') {
        TopicLimit { bytes: Some(quantity::bytes(limit)?).filter(|bytes| *bytes > 0), ..none }
    } else {
        TopicLimit { messages: lower.parse().ok(), ..none }
    };
    if limit == none { Err(expected()) } else { Ok((topic.to_owned(), limit)) }
}

impl LimitArgs {
    /// When bags are full, and what is recorded of each topic.
    ///
    /// # Errors
    /// When the arguments contradict each other, or a name is not valid.
    pub fn limits(&self, cli: &CliContext) -> Result<Limits, CliError> {
        let is_ros2 = self.max_bag_size.is_some() || self.max_bag_duration.is_some();
        let mut limits = Limits {
            size: self.size.or(self.max_bag_size).filter(|size| *size > 0),
            duration: self.duration.or(self.max_bag_duration),
            split: self.split || is_ros2,
            messages: self.limit,
            ..Limits::default()
        };
        for (topic, limit) in &self.topic_limit {
            let all = limits.topics.entry(cli.resolve(topic)?).or_default();
            *all = all.and(*limit);
        }
        limits.split &= limits.size.is_some() || limits.duration.is_some();
        if self.split && !limits.split {
            return Err(CliError::Usage("--split needs --size or --duration".into()));
        }
        Ok(limits)
    }

    /// Which bags are kept.
    pub fn retention(&self) -> Retention {
        Retention { count: self.max_splits, size: self.keep_size, duration: self.keep_duration }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_limits_have_units() {
        let limit = |text| topic_limit(text).ok().map(|(_, limit)| limit);
        let none = TopicLimit::default();
        let interval = Some(Duration::from_millis(100));
        assert_eq!(limit("/a=10hz"), Some(TopicLimit { interval, ..none }));
        assert_eq!(limit("/a=10Hz"), Some(TopicLimit { interval, ..none }));
        assert_eq!(limit("/a=2MB"), Some(TopicLimit { bytes: Some(2_000_000), ..none }));
        assert_eq!(limit("/a=500"), Some(TopicLimit { messages: Some(500), ..none }));
        for text in
            ["/a", "=5", "/a=", "/a=x", "/a=0hz", "/a=-1hz", "/a=0B", "/a=1.5", "/a=nanhz", "/a=1e-300hz"]
        {
            assert_eq!(limit(text), None, "{text}");
        }
    }
}
