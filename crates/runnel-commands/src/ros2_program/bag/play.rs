//! `ros2 bag play`

use std::path::PathBuf;
use std::time::Duration;

use super::input_bags::InputBags;
use super::log_level::LogLevelArgs;
use crate::bag::time_range::PlayedRange;
use crate::bag::{play, quantity};
use crate::ros2_program::Failure;
use crate::value_parsers;

/// Play bags
#[derive(Debug, clap::Args)]
pub struct PlayArgs {
    /// The bag
    #[arg(required_unless_present = "input")]
    bag: Option<PathBuf>,

    #[command(flatten)]
    input: InputBags,

    /// Play this many times as fast
    #[arg(short, long, value_name = "FACTOR", value_parser = value_parsers::rate)]
    rate: Option<f64>,

    /// Play only these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    topics: Vec<String>,

    /// Play only topics that match this regular expression
    #[arg(short = 'e', long, value_name = "REGEX", value_parser = quantity::regex)]
    regex: Vec<regex_lite::Regex>,

    /// Leave out topics that match this regular expression
    #[arg(short = 'x', long, alias = "exclude", value_name = "REGEX", value_parser = quantity::regex)]
    exclude_regex: Vec<regex_lite::Regex>,

    /// Play again and again
    #[arg(short, long = "loop")]
    loops: bool,

    /// Rename topics
    #[arg(short = 'm', long, value_name = "FROM:=TO", num_args = 1..)]
    remap: Vec<String>,

    /// Publish /clock at this rate
    #[arg(long, value_name = "HZ", num_args = 0..=1, default_missing_value = "40", value_parser = value_parsers::rate)]
    clock: Option<f64>,

    /// Wait this long before playing
    #[arg(short, long, value_name = "SECONDS", value_parser = value_parsers::seconds)]
    delay: Option<Duration>,

    /// Play this many seconds of the bag
    #[arg(long, value_name = "SECONDS", value_parser = quantity::nanoseconds)]
    playback_duration: Option<u64>,

    /// End at this time since 1970
    #[arg(long, value_name = "SECONDS", value_parser = quantity::nanoseconds)]
    playback_until_sec: Option<u64>,

    /// End at this time since 1970
    #[arg(long, value_name = "NANOSECONDS", conflicts_with = "playback_until_sec")]
    playback_until_nsec: Option<u64>,

    /// Begin this many seconds after the start of the bag
    #[arg(long, value_name = "SECONDS", value_parser = quantity::nanoseconds)]
    start_offset: Option<u64>,

    /// Begin paused
    #[arg(short = 'p', long)]
    start_paused: bool,

    #[command(flatten)]
    shared: play::Shared,

    /// Accepted; the format is recognized
    #[arg(short, long, value_name = "FORMAT")]
    storage: Option<String>,

    #[command(flatten)]
    pub log: LogLevelArgs,
}

impl PlayArgs {
    /// The same as arguments of `runnel bag play`.
    ///
    /// # Errors
    /// When `-i` has a second value that is no format.
    pub fn of_runnel(self) -> Result<play::Args, Failure> {
        Ok(play::Args {
            bags: self.bag.into_iter().chain(self.input.paths()?).collect(),
            rate: self.rate,
            loops: self.loops,
            range: PlayedRange {
                start: self.start_offset,
                duration: self.playback_duration,
                until: self.playback_until_sec,
                until_nsec: self.playback_until_nsec,
            },
            topics: self.topics,
            regex: self.regex,
            exclude: self.exclude_regex,
            remappings: self.remap,
            clock: self.clock,
            pause: self.start_paused,
            delay: self.delay,
            shared: self.shared,
            ..play::Args::default()
        })
    }
}
