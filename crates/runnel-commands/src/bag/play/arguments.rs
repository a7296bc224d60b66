//! Arguments of `runnel bag play`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;
use regex_lite::Regex;
use runnel::core::schema::Generation;

use super::progress::ProgressPeriod;
use super::requests::RequestSource;
use super::sent_order::MessageOrder;
use crate::bag::quantity;
use crate::bag::time_range::PlayedRange;
use crate::graphs::{Discovery, GraphFilter};
use crate::value_parsers;

/// Play bags to the graphs they were recorded from (rosbag play, ros2 bag play)
///
/// Messages of ROS 1 go to ROS 1, those of ROS 2 to ROS 2, with the QoS that was recorded. Latched and transient local
/// messages from before --start come first. Space pauses and goes on; s and cursor right play one message while paused;
/// cursor up and down change the rate.
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

    #[command(flatten)]
    pub range: PlayedRange,

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
    // The names of this command line are split off before and apply to the player's node.
    #[arg(short = 'm', long = "remap", value_name = "FROM:=TO", num_args = 0..)]
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

    /// Wait while the bag is ahead of the headers on this topic, which nodes publish as they process the messages
    #[arg(long, value_name = "TOPIC")]
    pub rate_control_topic: Option<String>,

    /// How far the bag may be ahead, with --rate-control-topic [default: 1]
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds, requires = "rate_control_topic")]
    pub rate_control_max_delay: Option<Duration>,

    /// Stay after the last message, for late subscribers of latched topics
    #[arg(short, long)]
    pub keep_alive: bool,

    /// Wait until each topic has a subscriber
    #[arg(long)]
    pub wait_for_subscribers: bool,

    /// Show nothing but errors
    #[arg(short, long)]
    pub quiet: bool,

    /// Put this before the names of all topics
    #[arg(long, value_name = "PREFIX", help_heading = TOPICS)]
    pub prefix: Option<String>,

    /// Pause before each message of these topics
    #[arg(long, value_name = "TOPIC", num_args = 1.., help_heading = TOPICS)]
    pub pause_topics: Vec<String>,

    /// Play all messages into this graph: those of the other one are converted as the bridge does
    #[arg(long, value_name = "GRAPH", conflicts_with_all = ["ros1", "ros2"], help_heading = TOPICS)]
    pub graph: Option<TargetGraph>,

    /// With --graph: rules for types with other names in the other graph, as runnel bridge reads them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "graph", help_heading = TOPICS)]
    pub rules: Vec<PathBuf>,

    #[command(flatten)]
    pub shared: Shared,

    #[command(flatten)]
    pub filter: GraphFilter,

    #[command(flatten)]
    pub discovery: Discovery,
}

/// A graph in which messages are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TargetGraph {
    Ros1,
    Ros2,
}

/// Options that `ros2 bag play` has as well.
#[derive(Debug, Default, clap::Args)]
pub struct Shared {
    /// Publish topics with the QoS of this YAML file, as ros2 bag reads it, instead of the recorded one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub qos_profile_overrides_path: Option<PathBuf>,

    /// Of services, play only the calls of these
    #[arg(long, value_name = "SERVICE", num_args = 1.., help_heading = TOPICS)]
    pub services: Vec<String>,

    /// Of actions, play only these
    #[arg(long, value_name = "ACTION", num_args = 1.., help_heading = TOPICS)]
    pub actions: Vec<String>,

    /// Leave out these topics
    #[arg(long, value_name = "TOPIC", num_args = 1.., help_heading = TOPICS)]
    pub exclude_topics: Vec<String>,

    /// Leave out the calls of these services
    #[arg(long, value_name = "SERVICE", num_args = 1.., help_heading = TOPICS)]
    pub exclude_services: Vec<String>,

    /// Leave out these actions
    #[arg(long, value_name = "ACTION", num_args = 1.., help_heading = TOPICS)]
    pub exclude_actions: Vec<String>,

    /// Send the recorded requests to their services, instead of publishing the recorded events
    #[arg(long)]
    pub publish_service_requests: bool,

    /// Send the recorded goals to their action servers, and cancel them as recorded, instead of publishing the topics of
    /// the actions
    #[arg(long)]
    pub send_actions_as_client: bool,

    /// With --publish-service-requests or --send-actions-as-client: the events with the requests
    #[arg(long, value_name = "SOURCE")]
    pub service_requests_source: Option<RequestSource>,

    /// Publish /clock before each message of these topics
    #[arg(long, value_name = "TOPIC", num_args = 1.., conflicts_with = "clock")]
    pub clock_topics: Vec<String>,

    /// Publish /clock before each message
    #[arg(long, conflicts_with_all = ["clock", "clock_topics"])]
    pub clock_topics_all: bool,

    /// At the end, wait until reliable subscribers have all messages: at most this many milliseconds, 0 for ever
    /// [default: 1000, or RUNNEL_LINGER]
    #[arg(long, value_name = "MILLISECONDS")]
    pub wait_for_all_acked: Option<u64>,

    /// Do not read keys
    #[arg(long)]
    pub disable_keyboard_controls: bool,

    /// Show the progress this many times a second, 0 for never, less than 0 at each message [default: 2]
    #[arg(long, value_name = "HZ", value_parser = ProgressPeriod::of_rate, allow_negative_numbers = true)]
    pub progress_bar_update_rate: Option<ProgressPeriod>,

    /// Order and times of the messages: as they were received [default], or as they were sent
    #[arg(long, value_name = "ORDER")]
    pub message_order: Option<MessageOrder>,

    /// How many messages --message-order sent puts in order [default: 1000]
    #[arg(long, value_name = "N", value_parser = window)]
    pub read_ahead_queue_size: Option<usize>,

    // Accepted: no messages are lent, and the progress is a single line.
    #[arg(long, hide = true)]
    pub disable_loan_message: bool,

    #[arg(long, value_name = "N", hide = true)]
    pub progress_bar_separation_lines: Option<u64>,

    #[arg(long, value_name = "FILE", hide = true)]
    pub storage_config_file: Option<PathBuf>,
}

const TOPICS: &str = "Topics";

/// Most messages that are put in order, however many are requested.
const MOST_WINDOW: usize = 100_000;

fn window(text: &str) -> Result<usize, String> {
    let window = text.parse().ok().filter(|window| *window > 0);
    window.map(|window: usize| window.min(MOST_WINDOW)).ok_or_else(|| "expected a number from 1".to_owned())
}

impl TargetGraph {
    /// The generation of its messages.
    pub fn generation(self) -> Generation {
        match self {
            Self::Ros1 => Generation::Ros1,
            Self::Ros2 => Generation::Ros2,
        }
    }
}
