//! `ros2 bag record`

use std::path::PathBuf;
use std::time::Duration;

use runnel::core::schema::TypeName;

use super::log_level::LogLevelArgs;
use crate::bag::{quantity, record};
use crate::completion;
use crate::ros2_program::Failure;

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

    /// Record the topics in this YAML file, with the types in it
    #[arg(long, value_name = "FILE")]
    static_topics_path: Option<PathBuf>,

    /// Record these actions: feedback, status, and the calls of their services if introspection is enabled
    #[arg(long, value_name = "ACTION", num_args = 1..)]
    actions: Vec<String>,

    /// Record topics of these types
    #[arg(long, value_name = "TYPE", num_args = 1.., value_parser = record::message_type)]
    topic_types: Vec<TypeName>,

    /// Record all topics and actions, and the calls of all services
    #[arg(short, long)]
    all: bool,

    /// Record all topics
    #[arg(long)]
    all_topics: bool,

    /// Record the calls of all services that have introspection enabled
    #[arg(long)]
    all_services: bool,

    /// Record all actions
    #[arg(long)]
    all_actions: bool,

    /// Record topics, services and actions that match this regular expression
    #[arg(short = 'e', long, value_name = "REGEX", value_parser = quantity::regex)]
    regex: Vec<regex_lite::Regex>,

    /// Leave out topics, services and actions that match this regular expression
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

    /// Leave out these actions
    #[arg(long, value_name = "ACTION", num_args = 1..)]
    exclude_actions: Vec<String>,

    /// Also record hidden topics
    #[arg(long)]
    include_hidden_topics: bool,

    /// Also record topics that have no publisher yet
    #[arg(long)]
    include_unpublished_topics: bool,

    /// Do not record topics without a subscriber
    #[arg(long)]
    ignore_leaf_topics: bool,

    /// Do not record topics that appear later
    #[arg(long)]
    no_discovery: bool,

    /// Accepted; topics are looked for every 100 ms
    #[arg(short, long, value_name = "MILLISECONDS")]
    polling_interval: Option<u64>,

    /// Subscribe to topics with the QoS in this YAML file
    #[arg(long, value_name = "FILE")]
    qos_profile_overrides_path: Option<PathBuf>,

    /// Folder of the bag [default: rosbag2_ and the date]
    #[arg(short, long, value_name = "NAME")]
    output: Option<PathBuf>,

    /// Format of the bag; only mcap is written
    #[arg(short, long, value_name = "FORMAT")]
    storage: Option<String>,

    /// Serialization format of the messages; only cdr is written
    #[arg(short = 'f', long, value_name = "FORMAT")]
    serialization_format: Option<String>,

    /// Begin another file at this many bytes
    #[arg(short = 'b', long, value_name = "BYTES")]
    max_bag_size: Option<u64>,

    /// Begin another file after this time
    #[arg(short = 'd', long, value_name = "SECONDS", value_parser = quantity::duration)]
    max_bag_duration: Option<Duration>,

    /// Keep at most this many complete files, 0 for all
    #[arg(long, value_name = "N")]
    max_bag_files: Option<usize>,

    #[command(flatten)]
    snapshot: record::SnapshotArgs,

    /// Wait for the space key, or the service ~/resume, before recording
    #[arg(long)]
    start_paused: bool,

    /// Do not read keys
    #[arg(long)]
    disable_keyboard_controls: bool,

    /// Record with the times of /clock
    #[arg(long)]
    use_sim_time: bool,

    /// Name of the recorder's node [default: rosbag2_recorder]
    #[arg(long, value_name = "NAME")]
    node_name: Option<String>,

    /// Store these texts in the metadata
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., value_parser = record::custom_data)]
    custom_data: Vec<(String, String)>,

    /// How many of the last messages of each transient local publisher of a topic later files begin with, if not 1
    #[arg(long, value_name = "TOPIC[=DEPTH]", num_args = 1.., value_parser = record::repeated)]
    repeat_transient_local: Vec<(String, usize)>,

    /// Accepted; later files begin with the last messages of all of them
    #[arg(long)]
    repeat_all_transient_local: bool,

    /// Publish lost messages on /events/rosbag2_messages_lost at most this many times a second, 0 for never [default: 1]
    #[arg(long = "stats_max_publishing_rate", alias = "stats-max-publishing-rate", value_name = "HZ", value_parser = record::LossPeriod::of_rate)]
    stats_max_publishing_rate: Option<record::LossPeriod>,

    // Refused: no format has settings.
    #[arg(long, value_name = "FILE", hide = true)]
    storage_config_file: Option<PathBuf>,

    #[command(flatten)]
    compression: record::CompressionArgs,

    /// Accepted; at most two chunks for each thread are in memory
    #[arg(long, value_name = "N", help_heading = record::COMPRESSION)]
    compression_queue_size: Option<u64>,

    /// Accepted; threads have the priority of the program
    #[arg(long, value_name = "PRIORITY", allow_negative_numbers = true, help_heading = record::COMPRESSION)]
    compression_threads_priority: Option<i32>,

    #[command(flatten)]
    pub log: LogLevelArgs,
}

impl RecordArgs {
    /// The same as arguments of `runnel bag record`.
    ///
    /// # Errors
    /// When a format is not written.
    pub fn of_runnel(self) -> Result<record::Args, Failure> {
        if let Some(other) = self.storage.as_deref().filter(|storage| *storage != "mcap") {
            return Err(Failure::usage(format!("format {other} is not written. Try: --storage mcap")));
        }
        if let Some(other) = self.serialization_format.as_deref().filter(|format| *format != "cdr") {
            let why = format!(
                "--serialization-format {other}: messages are recorded in cdr, as they arrive. Try: cdr"
            );
            return Err(Failure::usage(why));
        }
        if self.storage_config_file.is_some() {
            let why = "--storage-config-file is not supported: the files have no such settings. Try: --compression-mode, \
                       --storage-preset-profile";
            return Err(Failure::usage(why.to_owned()));
        }
        Ok(record::Args {
            topics: record::TopicArgs {
                topics: [self.topics, self.more_topics].concat(),
                all: self.all || self.all_topics,
                regex: self.regex,
                topic_types: self.topic_types,
                services: self.services,
                actions: self.actions,
                // As in the original, all are topics, services and actions.
                all_services: self.all || self.all_services,
                all_actions: self.all || self.all_actions,
                exclude: self.exclude_regex,
                exclude_topics: self.exclude_topics,
                exclude_topic_types: self.exclude_topic_types,
                exclude_services: self.exclude_services,
                exclude_actions: self.exclude_actions,
                include_hidden_topics: self.include_hidden_topics,
                include_unpublished_topics: self.include_unpublished_topics,
                ignore_leaf_topics: self.ignore_leaf_topics,
                static_topics_path: self.static_topics_path,
                no_discovery: self.no_discovery,
                qos_profile_overrides_path: self.qos_profile_overrides_path,
                ..record::TopicArgs::default()
            },
            output: record::OutputArgs {
                output_name: self.output,
                storage: Some(record::RecordStorage::Rosbag2),
                shared_compression: self.compression,
                custom_data: self.custom_data,
                repeat_transient_local: self.repeat_transient_local,
                ..record::OutputArgs::default()
            },
            limits: record::LimitArgs {
                max_splits: self.max_bag_files.filter(|count| *count > 0),
                max_bag_size: self.max_bag_size,
                // As in the original, 0 is no limit.
                max_bag_duration: self.max_bag_duration.filter(|time| !time.is_zero()),
                ..record::LimitArgs::default()
            },
            snapshot: self.snapshot,
            start_paused: self.start_paused,
            disable_keyboard_controls: self.disable_keyboard_controls,
            use_sim_time: self.use_sim_time,
            node_name: self.node_name,
            accepted: record::AcceptedArgs {
                polling_interval: self.polling_interval,
                compression_queue_size: self.compression_queue_size,
                compression_threads_priority: self.compression_threads_priority,
            },
            stats_max_publishing_rate: self.stats_max_publishing_rate,
            ..record::Args::default()
        })
    }
}
