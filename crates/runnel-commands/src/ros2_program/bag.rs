//! `ros2 bag`

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use runnel::core::schema::TypeName;

use super::Failure;
use crate::bag::time_range::PlayedRange;
use crate::bag::{burst, info, play, quantity, record, reindex};
use crate::cli_context::CliContext;
use crate::completion;
use crate::value_parsers;

/// Record, play and inspect bags
#[derive(Debug, Subcommand)]
pub enum Command {
    Record(Box<RecordArgs>),
    Play(Box<PlayArgs>),
    /// Publish the first messages of a bag at once, then wait paused
    Burst(BurstArgs),
    Info(InfoArgs),
    Reindex(InfoArgs),
    /// List the formats that are written
    List,
}

/// Record topics into a bag
#[derive(Debug, clap::Args)]
pub struct RecordArgs {
    /// Topics to record
    #[arg(add = completion::topics())]
    topics: Vec<String>,

    /// Topics to record
    #[arg(long = "topics", value_name = "TOPIC", num_args = 1..)]
    more_topics: Vec<String>,

    /// Record the calls of these services, whose servers or clients must have introspection enabled
    #[arg(long, value_name = "SERVICE", num_args = 1..)]
    services: Vec<String>,

    /// Record topics of these types
    #[arg(long, value_name = "TYPE", num_args = 1.., value_parser = record::message_type)]
    topic_types: Vec<TypeName>,

    /// Record all topics, and the calls of all services
    #[arg(short, long)]
    all: bool,

    /// Record all topics
    #[arg(long)]
    all_topics: bool,

    /// Record the calls of all services that have introspection enabled
    #[arg(long)]
    all_services: bool,

    /// Record topics and services that match this regular expression
    #[arg(short = 'e', long, value_name = "REGEX", value_parser = quantity::regex)]
    regex: Vec<regex_lite::Regex>,

    /// Leave out topics and services that match this regular expression
    #[arg(short = 'x', long, alias = "exclude", value_name = "REGEX", value_parser = quantity::regex)]
    exclude_regex: Vec<regex_lite::Regex>,

    /// Leave out these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    exclude_topics: Vec<String>,

    /// Leave out topics of these types
    #[arg(long, value_name = "TYPE", num_args = 1.., value_parser = record::message_type)]
    exclude_topic_types: Vec<TypeName>,

    /// Leave out the calls of these services
    #[arg(long, value_name = "SERVICE", num_args = 1..)]
    exclude_services: Vec<String>,

    /// Also record hidden topics
    #[arg(long)]
    include_hidden_topics: bool,

    /// Do not record topics that appear later
    #[arg(long)]
    no_discovery: bool,

    /// Subscribe to topics with the QoS in this YAML file
    #[arg(long, value_name = "FILE")]
    qos_profile_overrides_path: Option<PathBuf>,

    /// Folder of the bag [default: rosbag2_ and the date]
    #[arg(short, long, value_name = "NAME")]
    output: Option<PathBuf>,

    /// Format of the bag; only mcap is written
    #[arg(short, long, value_name = "FORMAT")]
    storage: Option<String>,

    /// Begin another file at this many bytes
    #[arg(short = 'b', long, value_name = "BYTES")]
    max_bag_size: Option<u64>,

    /// Begin another file after this time
    #[arg(short = 'd', long, value_name = "SECONDS", value_parser = quantity::duration)]
    max_bag_duration: Option<Duration>,

    /// Keep at most this many complete files
    #[arg(long, value_name = "N", value_parser = value_parsers::count)]
    max_bag_files: Option<usize>,

    #[command(flatten)]
    snapshot: record::SnapshotArgs,

    /// Wait for the space key, or the service ~/resume, before recording
    #[arg(long)]
    start_paused: bool,

    /// Record with the times of /clock
    #[arg(long)]
    use_sim_time: bool,

    /// Name of the recorder's node [default: rosbag2_recorder]
    #[arg(long, value_name = "NAME")]
    node_name: Option<String>,

    #[command(flatten)]
    unsupported: record::Unsupported,
}

/// Play bags
#[derive(Debug, clap::Args)]
pub struct PlayArgs {
    /// The bag
    bag: PathBuf,

    /// More bags, played together
    #[arg(short, long, value_name = "BAG", num_args = 1..)]
    input: Vec<PathBuf>,

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
}

/// Publish the first messages of a bag at once, then wait paused
#[derive(Debug, clap::Args)]
pub struct BurstArgs {
    #[command(flatten)]
    burst: burst::BurstOptions,

    /// Accepted; the format is recognized
    #[arg(short, long, value_name = "FORMAT")]
    storage: Option<String>,

    // Accepted: the player reads ahead by itself.
    #[arg(long, value_name = "N", hide = true)]
    read_ahead_queue_size: Option<u64>,
}

/// Show or repair a bag
#[derive(Debug, clap::Args)]
pub struct InfoArgs {
    /// The bag
    bag: PathBuf,

    /// Accepted; the format is recognized
    #[arg(short, long, value_name = "FORMAT")]
    storage: Option<String>,
}

pub fn run(command: Command, cli: &CliContext) -> Result<(), Failure> {
    match command {
        Command::Record(args) => Ok(record::run(args.of_runnel()?, cli)?),
        Command::Play(args) => Ok(play::run(args.of_runnel(), cli)?),
        Command::Burst(args) => {
            let (args, burst) = args.burst.of_play();
            Ok(play::burst(args, burst, cli)?)
        }
        Command::Info(args) => Ok(info::run(&info::Args { bags: vec![args.bag], yaml: false }, cli)?),
        Command::Reindex(args) => {
            let args = reindex::Args { bags: vec![args.bag], output_name: None, force: false };
            Ok(reindex::run(&args, cli)?)
        }
        Command::List => Ok(cli.output.line("mcap")?),
    }
}

impl RecordArgs {
    fn of_runnel(self) -> Result<record::Args, Failure> {
        if let Some(other) = self.storage.as_deref().filter(|storage| *storage != "mcap") {
            return Err(Failure::usage(format!("format {other} is not written. Try: --storage mcap")));
        }
        Ok(record::Args {
            topics: record::TopicArgs {
                topics: [self.topics, self.more_topics].concat(),
                all: self.all || self.all_topics,
                regex: self.regex,
                topic_types: self.topic_types,
                services: self.services,
                // As in the original, all are topics and services.
                all_services: self.all || self.all_services,
                exclude: self.exclude_regex,
                exclude_topics: self.exclude_topics,
                exclude_topic_types: self.exclude_topic_types,
                exclude_services: self.exclude_services,
                include_hidden_topics: self.include_hidden_topics,
                no_discovery: self.no_discovery,
                qos_profile_overrides_path: self.qos_profile_overrides_path,
                ..record::TopicArgs::default()
            },
            output: record::OutputArgs {
                output_name: self.output,
                storage: Some(record::RecordStorage::Rosbag2),
                ..record::OutputArgs::default()
            },
            limits: record::LimitArgs {
                max_splits: self.max_bag_files,
                max_bag_size: self.max_bag_size,
                // As in the original, 0 is no limit.
                max_bag_duration: self.max_bag_duration.filter(|time| !time.is_zero()),
                ..record::LimitArgs::default()
            },
            snapshot: self.snapshot,
            start_paused: self.start_paused,
            use_sim_time: self.use_sim_time,
            node_name: self.node_name,
            unsupported: self.unsupported,
            ..record::Args::default()
        })
    }
}

impl PlayArgs {
    fn of_runnel(self) -> play::Args {
        play::Args {
            bags: [vec![self.bag], self.input].concat(),
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
        }
    }
}
