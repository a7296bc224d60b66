//! `rosbag play`

use std::path::PathBuf;
use std::time::Duration;

use crate::bag::time_range::PlayedRange;
use crate::bag::{play, quantity};
use crate::graphs::GraphFilter;
use crate::value_parsers;

/// Play bags
#[derive(Debug, clap::Args)]
pub struct PlayArgs {
    /// The bags
    #[arg(required_unless_present = "bags")]
    bagfiles: Vec<PathBuf>,

    /// The bags, for use behind --topics
    #[arg(long, value_name = "BAG", num_args = 1..)]
    bags: Vec<PathBuf>,

    /// Show nothing but errors
    #[arg(short, long)]
    quiet: bool,

    /// Do not wait until messages are due
    #[arg(short, long)]
    immediate: bool,

    /// Begin paused
    #[arg(long)]
    pause: bool,

    /// Accepted; queues have a fixed size
    #[arg(long, value_name = "SIZE")]
    queue: Option<u64>,

    /// Publish the time of the bag on /clock
    #[arg(long)]
    clock: bool,

    /// Messages on /clock in a second
    #[arg(long, value_name = "HZ", default_value = "100", value_parser = value_parsers::rate)]
    hz: f64,

    /// Wait this long after publishers are created
    #[arg(short, long, value_name = "SECONDS", value_parser = value_parsers::seconds)]
    delay: Option<Duration>,

    /// Play this many times as fast
    #[arg(short, long, value_name = "FACTOR", value_parser = value_parsers::rate)]
    rate: Option<f64>,

    /// Begin this many seconds after the start of the bag
    #[arg(short, long, value_name = "SECONDS", value_parser = quantity::nanoseconds)]
    start: Option<u64>,

    /// Play this many seconds of the bag
    #[arg(short = 'u', long, value_name = "SECONDS", value_parser = quantity::nanoseconds)]
    duration: Option<u64>,

    /// Leave out times without messages that are longer than this
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds)]
    skip_empty: Option<Duration>,

    /// Play again and again
    #[arg(short, long = "loop")]
    loops: bool,

    /// Stay after the last message
    #[arg(short, long)]
    keep_alive: bool,

    /// Accepted; definitions are read from the bag
    #[arg(long)]
    try_future_version: bool,

    /// Play only these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    topics: Vec<String>,

    /// Pause before each message of these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    pause_topics: Vec<String>,

    /// Put this before the names of all topics
    #[arg(short, long, value_name = "PREFIX")]
    prefix: Option<String>,

    /// Wait until each topic has a subscriber
    #[arg(long)]
    wait_for_subscribers: bool,

    /// Wait while the bag is ahead of the headers on this topic
    #[arg(long, value_name = "TOPIC")]
    rate_control_topic: Option<String>,

    /// How far the bag may be ahead [default: 1]
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds)]
    rate_control_max_delay: Option<Duration>,
}

impl PlayArgs {
    /// The same as arguments of `runnel bag play`.
    pub fn of_runnel(self) -> play::Args {
        play::Args {
            bags: [self.bagfiles, self.bags].concat(),
            rate: self.rate,
            loops: self.loops,
            range: PlayedRange { start: self.start, duration: self.duration, ..PlayedRange::default() },
            topics: self.topics,
            pause_topics: self.pause_topics,
            prefix: self.prefix,
            clock: self.clock.then_some(self.hz),
            pause: self.pause,
            delay: self.delay,
            immediate: self.immediate,
            skip_empty: self.skip_empty,
            rate_control_topic: self.rate_control_topic,
            rate_control_max_delay: self.rate_control_max_delay,
            keep_alive: self.keep_alive,
            wait_for_subscribers: self.wait_for_subscribers,
            quiet: self.quiet,
            filter: GraphFilter::only_ros1(),
            ..play::Args::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches};

    use super::*;

    fn args(line: &str) -> Result<play::Args, clap::Error> {
        let command = PlayArgs::augment_args(clap::Command::new("play"));
        let matches = command.try_get_matches_from(format!("play x.bag {line}").split_whitespace())?;
        Ok(PlayArgs::from_arg_matches(&matches)?.of_runnel())
    }

    #[test]
    fn player_waits_for_the_topic_of_the_original() {
        let args_of = |line: &str| args(line).expect("sound");
        let controlled = args_of("--rate-control-topic /done --rate-control-max-delay 0.5");
        assert_eq!(controlled.rate_control_topic.as_deref(), Some("/done"));
        assert_eq!(controlled.rate_control_max_delay, Some(Duration::from_millis(500)));
        assert_eq!(args_of("--clock --hz 50").clock, Some(50.0));
        assert!(args("--rate-control-topic").is_err());
    }
}
