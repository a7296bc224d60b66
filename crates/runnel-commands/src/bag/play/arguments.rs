//! Arguments of `runnel bag play`, and what they mean.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;
use regex_lite::Regex;
use runnel::core::names::{RemapRule, Remapping};
use runnel_bag::Channel;

use super::player::Pace;
use crate::bag::inputs::Inputs;
use crate::bag::quantity::{self, nanoseconds};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter};
use crate::value_parsers;

/// Play bags to the graphs they were recorded from (rosbag play, ros2 bag play)
///
/// Messages of ROS 1 go to ROS 1, those of ROS 2 to ROS 2, with the QoS that was recorded. Latched and transient local
/// messages from before --start come first. Space pauses and goes on, s plays one message while paused.
#[derive(Debug, Default, clap::Args)]
pub struct Args {
    /// Files, or folders of ros2 bag; several are played together
    #[arg(required = true, value_name = "BAG", value_hint = ValueHint::AnyPath)]
    pub bags: Vec<PathBuf>,

    /// Play this many times as fast
    #[arg(short, long, value_name = "FACTOR", value_parser = value_parsers::rate)]
    pub rate: Option<f64>,

    /// Play again and again
    #[arg(short, long = "loop")]
    pub loops: bool,

    /// Begin this many seconds after the start of the bag
    #[arg(short, long, alias = "start-offset", value_name = "SECONDS", value_parser = nanoseconds)]
    pub start: Option<u64>,

    /// Play this many seconds of the bag
    #[arg(short = 'u', long, alias = "playback-duration", value_name = "SECONDS", value_parser = nanoseconds)]
    pub duration: Option<u64>,

    /// Play only these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    pub topics: Vec<String>,

    /// Play only topics that match this regular expression (may be repeated)
    #[arg(short = 'e', long, value_name = "REGEX", value_parser = quantity::regex)]
    pub regex: Vec<Regex>,

    /// Leave out topics that match this regular expression (may be repeated)
    #[arg(short = 'x', long, alias = "exclude-regex", value_name = "REGEX", value_parser = quantity::regex)]
    pub exclude: Vec<Regex>,

    /// Rename topics
    #[arg(short = 'm', long, alias = "remap", value_name = "FROM:=TO", num_args = 1..)]
    pub remappings: Vec<String>,

    /// Publish /clock with the times of the bag, 100 times a second or at this rate
    #[arg(long, value_name = "HZ", num_args = 0..=1, require_equals = true, default_missing_value = "100", value_parser = value_parsers::rate)]
    pub clock: Option<f64>,

    /// Rate of /clock with --clock
    #[arg(long, value_name = "HZ", requires = "clock", value_parser = value_parsers::rate)]
    pub hz: Option<f64>,

    /// Begin paused
    #[arg(short, long, alias = "start-paused")]
    pub pause: bool,

    /// Wait this long before the first message [default: 0.2]
    #[arg(short, long, value_name = "SECONDS", value_parser = value_parsers::seconds)]
    pub delay: Option<Duration>,

    /// Do not wait until messages are due
    #[arg(short, long)]
    pub immediate: bool,

    /// Leave out times without messages that are longer than this
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds)]
    pub skip_empty: Option<Duration>,

    /// Stay after the last message, for late subscribers of latched topics
    #[arg(short, long)]
    pub keep_alive: bool,

    /// Wait until each topic has a subscriber
    #[arg(long)]
    pub wait_for_subscribers: bool,

    /// Show nothing but errors
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub unsupported: Unsupported,

    #[command(flatten)]
    pub filter: GraphFilter,

    #[command(flatten)]
    pub discovery: Discovery,
}

/// Options of the originals that this player does not have.
#[derive(Debug, Default, clap::Args)]
pub struct Unsupported {
    #[arg(long, value_name = "FILE", hide = true)]
    pub qos_profile_overrides_path: Option<PathBuf>,

    #[arg(long, hide = true)]
    pub publish_service_requests: bool,

    #[arg(long, value_name = "TOPIC", num_args = 1.., hide = true)]
    pub clock_topics: Vec<String>,
}

/// What the arguments mean.
#[derive(Debug)]
pub struct Plan {
    pub bags: Vec<PathBuf>,
    pub pace: Pace,
    pub loops: bool,
    pub delay: Duration,
    pub keeps_alive: bool,
    pub waits_for_subscribers: bool,
    pub is_quiet: bool,
    pub filter: GraphFilter,
    pub discovery: Discovery,
    start: u64,
    duration: Option<u64>,
    topics: Vec<String>,
    regexes: Vec<Regex>,
    excluded: Vec<Regex>,
    remapping: Remapping,
    /// Names of all topics that are in arguments of ROS, by those in the bag.
    resolve: Remapping,
}

impl Args {
    /// What the arguments mean.
    ///
    /// # Errors
    /// When a name is not valid, or an option is given that does not exist here.
    pub fn plan(self, cli: &CliContext) -> Result<Plan, CliError> {
        self.unsupported.check()?;
        let rules = self.remappings.iter().map(|text| rule(text)).collect::<Result<Vec<_>, _>>()?;
        Ok(Plan {
            pace: Pace {
                rate: self.rate.unwrap_or(1.0),
                is_immediate: self.immediate,
                skip_empty: self.skip_empty,
                clock: self.clock.map(|rate| self.hz.unwrap_or(rate)),
                is_paused: self.pause,
            },
            remapping: Remapping::new(&rules, "/", "play")?,
            resolve: cli.remapping().clone(),
            bags: self.bags,
            loops: self.loops,
            delay: self.delay.unwrap_or(Duration::from_millis(200)),
            keeps_alive: self.keep_alive,
            waits_for_subscribers: self.wait_for_subscribers,
            is_quiet: self.quiet,
            filter: self.filter,
            discovery: self.discovery,
            start: self.start.unwrap_or_default(),
            duration: self.duration,
            topics: self.topics,
            regexes: self.regex,
            excluded: self.exclude,
        })
    }
}

impl Unsupported {
    fn check(&self) -> Result<(), CliError> {
        let refused =
            |option: &str, why: &str| Err(CliError::Usage(format!("{option} is not supported: {why}")));
        if self.qos_profile_overrides_path.is_some() {
            return refused(
                "--qos-profile-overrides-path",
                "topics are published with the QoS of the bag. Try: without it",
            );
        }
        if self.publish_service_requests {
            return refused(
                "--publish-service-requests",
                "events of services are published as messages. Try: without it",
            );
        }
        if !self.clock_topics.is_empty() {
            return refused("--clock-topics", "the clock follows the time. Try: --clock");
        }
        Ok(())
    }
}

impl Plan {
    /// The range of log times to play.
    ///
    /// # Errors
    /// When the bags have no message in it.
    pub fn range(&self, inputs: &Inputs) -> Result<(u64, u64), CliError> {
        let Some((first, last)) = inputs.times() else {
            return Err(CliError::Failed("the bag has no messages".into()));
        };
        let start = first.saturating_add(self.start);
        let end = self.duration.map_or(last, |duration| start.saturating_add(duration).min(last));
        if start > last {
            let seconds = (last - first) as f64 / 1e9;
            return Err(CliError::Failed(format!(
                "--start is behind the end of the bag, which has {seconds:.1} s"
            )));
        }
        Ok((start, end))
    }

    /// The topic on which a channel is played; `None` if it is not selected.
    pub fn topic(&self, channel: &Channel) -> Option<String> {
        let name = &channel.topic;
        let is_any = |regexes: &[Regex]| regexes.iter().any(|regex| regex.is_match(name));
        let is_named = |topic: &String| topic == name || name.strip_prefix('/') == Some(topic.as_str());
        let selects_all = self.topics.is_empty() && self.regexes.is_empty();
        let is_selected = selects_all || self.topics.iter().any(is_named) || is_any(&self.regexes);
        // The recorded clock would contradict that of the player.
        let is_own_clock = self.pace.clock.is_some() && name == "/clock";
        if !is_selected || is_any(&self.excluded) || is_own_clock {
            return None;
        }
        Some(self.resolve.remap(self.remapping.remap(name)).to_owned())
    }
}

fn rule(text: &str) -> Result<RemapRule, CliError> {
    let (from, to) = text
        .split_once(":=")
        .ok_or_else(|| CliError::Usage(format!("{text} is no remapping, such as /scan:=/old_scan")))?;
    Ok(RemapRule { node: None, from: from.to_owned(), to: to.to_owned() })
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches};

    use super::*;
    use crate::arguments::Arguments;

    fn plan(line: &str) -> Result<Plan, String> {
        let command = Args::augment_args(clap::Command::new("play"));
        let matches = command.try_get_matches_from(format!("play x.bag {line}").split_whitespace());
        let args = Args::from_arg_matches(&matches.map_err(|error| error.to_string())?).expect("parsed");
        let typed = ["runnel", "/odom:=/typed"].map(str::to_owned);
        let arguments = Arguments::split(typed.into()).expect("a good line");
        let cli = CliContext::new(arguments, true, Vec::new()).expect("sound");
        args.plan(&cli).map_err(|error| error.to_string())
    }

    fn topic(line: &str, name: &str) -> Option<String> {
        plan(line).expect("sound").topic(&Channel { topic: name.to_owned(), ..Channel::default() })
    }

    #[test]
    fn topics_are_selected_and_renamed() {
        assert_eq!(topic("", "/scan").as_deref(), Some("/scan"));
        assert_eq!(topic("-m scan:=/b /c:=d", "/scan").as_deref(), Some("/b"));
        assert_eq!(topic("-m scan:=/b /c:=d", "/c").as_deref(), Some("/d"));
        assert_eq!(topic("", "/odom").as_deref(), Some("/typed"), "arguments of ROS count too");
        assert_eq!(topic("--topics scan /odom", "/scan").as_deref(), Some("/scan"));
        assert_eq!(topic("--topics /odom", "/scan"), None);
        assert_eq!(topic("-x sc", "/scan"), None);
        assert_eq!((topic("", "/clock").is_some(), topic("--clock", "/clock")), (true, None));
        assert!(plan("-m a").is_err());
    }

    #[test]
    fn rate_of_the_clock_follows_either_option() {
        let clock = |line: &str| plan(line).expect("sound").pace.clock;
        assert_eq!((clock(""), clock("--clock"), clock("--clock=7")), (None, Some(100.0), Some(7.0)));
        assert_eq!(clock("--clock --hz 50"), Some(50.0));
        assert!(plan("--hz 50").is_err() && plan("-r 0").is_err() && plan("-s -1").is_err());
    }
}
