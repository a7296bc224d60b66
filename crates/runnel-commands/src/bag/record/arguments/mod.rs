//! Arguments of `runnel bag record`.

mod accepted;
mod compression;
mod limits;
mod notes;
mod output;
mod plan;
mod snapshot;
mod static_topics;
#[cfg(test)]
mod tests;
mod topics;

use std::time::Duration;

use runnel::core::schema::Generation;

pub use accepted::AcceptedArgs;
pub use compression::CompressionArgs;
pub use limits::LimitArgs;
pub use output::{OutputArgs, RecordStorage, custom_data, repeated};
pub use plan::Plan;
pub use snapshot::SnapshotArgs;
pub use topics::{TopicArgs, message_type};

use super::events::LossPeriod;
use super::recorder::Options;
use super::sink::{DiskFull, SinkOptions};
use crate::bag::qos_overrides;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter};

/// Headings of the help.
const TOPICS: &str = "Topics";
const OUTPUT: &str = "Output";
pub const COMPRESSION: &str = "Compression";
const LIMITS: &str = "Limits";
const SNAPSHOTS: &str = "Snapshots";

/// Record messages into a bag (rosbag record, ros2 bag record)
///
/// Topics of ROS 1 and ROS 2 go into one MCAP file, which tools of both read. A killed recording loses at most the last
/// second. Space pauses and goes on; Ctrl-C ends.
#[derive(Debug, Default, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub topics: TopicArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub limits: LimitArgs,

    #[command(flatten)]
    pub snapshot: SnapshotArgs,

    /// Record with the times of /clock
    #[arg(long)]
    pub use_sim_time: bool,

    /// Wait for the space key before recording
    #[arg(long)]
    pub start_paused: bool,

    /// Do not read keys
    #[arg(long)]
    pub disable_keyboard_controls: bool,

    /// Name of the recorder's node, with which the names of its services begin
    #[arg(long, value_name = "NAME")]
    pub node_name: Option<String>,

    /// Publish lost messages on /events/rosbag2_messages_lost at most this many times a second, 0 for never [default: 1]
    #[arg(long, alias = "stats_max_publishing_rate", value_name = "HZ", value_parser = LossPeriod::of_rate)]
    pub stats_max_publishing_rate: Option<LossPeriod>,

    /// Publish the name of each bag that begins on the ROS 1 topic begin_write
    #[arg(long)]
    pub publish: bool,

    /// Show nothing but errors
    #[arg(short, long)]
    pub quiet: bool,

    /// Request datagrams (UDPROS) from ROS 1 publishers: lost messages are not sent again
    #[arg(long)]
    pub udp: bool,

    // Accepted with a note: there is no such buffer.
    #[arg(short = 'b', long, value_name = "MB", hide = true)]
    pub buffsize: Option<u64>,

    #[arg(long, value_name = "KB", hide = true)]
    pub chunksize: Option<u64>,

    #[command(flatten)]
    pub accepted: AcceptedArgs,

    #[command(flatten)]
    pub filter: GraphFilter,

    #[command(flatten)]
    pub discovery: Discovery,
}

impl Args {
    /// What the arguments mean.
    ///
    /// # Errors
    /// When they contradict each other, a name is not valid, or the file of QoS cannot be read.
    pub fn plan(self, cli: &CliContext) -> Result<Plan, CliError> {
        let destination = self.output.destination()?;
        self.check_generation(destination.only())?;
        self.check_sequence()?;
        if !self.quiet {
            self.notes(cli).into_iter().for_each(|note| cli.output.note(note));
        }
        let resolved = |name: &String| cli.resolve(name);
        let static_topics = static_topics::read(self.topics.static_topics_path.as_deref())?;
        let repeated = self.output.repeat_transient_local.iter();
        let repeated = repeated.map(|(topic, depth)| Ok((cli.resolve(topic)?, *depth)));
        Ok(Plan {
            custom_data: self.output.custom_data(),
            output_dir: self.output.output_dir.clone(),
            options: Options {
                topics: self.topics.selection(cli, static_topics.keys())?,
                static_topics,
                depth: self.limits.queue.unwrap_or(1000),
                qos_overrides: qos_overrides::read(self.topics.qos_profile_overrides_path.as_deref())?,
                sink: SinkOptions {
                    limits: self.limits.limits(cli)?,
                    only: destination.only(),
                    memory: self.snapshot.memory()?,
                    disk_full: self.output.disk_full.unwrap_or_default(),
                    min_space: self.output.min_space.filter(|bytes| *bytes > 0),
                    repeated: repeated.collect::<Result<_, CliError>>()?,
                },
                max_loss: self.output.max_loss.unwrap_or(Duration::from_secs(1)),
                sim_time: self.use_sim_time,
                discovery: !self.topics.no_discovery,
                udp: self.udp,
            },
            destination,
            retention: self.limits.retention(),
            snapshot_topic: self.snapshot.snapshot_topic.as_ref().map(resolved).transpose()?,
            node_name: self.node_name,
            loss_period: self.stats_max_publishing_rate.unwrap_or_default(),
            announces_files: self.publish,
            is_quiet: self.quiet,
            is_paused: self.start_paused,
            reads_keys: !self.disable_keyboard_controls,
            filter: self.filter,
            discovery: self.discovery,
        })
    }

    /// Checks that the graph of the format is recorded.
    fn check_generation(&self, only: Option<Generation>) -> Result<(), CliError> {
        let why = match only {
            Some(Generation::Ros1) if self.filter.is_only_ros2() => {
                "rosbag 2.0 holds only ROS 1 messages. Try: --storage mcap, or without --ros2"
            }
            Some(Generation::Ros2) if self.filter.is_only_ros1() => {
                "bags of ros2 bag hold only ROS 2 messages. Try: --storage mcap, or without --ros1"
            }
            _ => return Ok(()),
        };
        Err(CliError::Usage(why.into()))
    }

    /// Checks that options of several bags are given only if there can be several, and that snapshots have no other limits.
    fn check_sequence(&self) -> Result<(), CliError> {
        let LimitArgs { split, size, duration, max_bag_size, max_bag_duration, limit, .. } = &self.limits;
        let splits = *split || max_bag_size.is_some() || max_bag_duration.is_some();
        let is_snapshot = self.snapshot.snapshot_mode;
        if is_snapshot && (splits || size.is_some() || duration.is_some() || limit.is_some()) {
            let why = "--snapshot-mode writes a bag at each request: --split, --size, --duration and --limit have no \
                       meaning. Try: --snapshot-duration or --max-cache-size";
            return Err(CliError::Usage(why.into()));
        }
        let removes = self.limits.retention() != super::output::Retention::default();
        let drops = self.output.disk_full == Some(DiskFull::DropOldest);
        if (removes || drops) && !splits && !is_snapshot {
            let why = "only a recording of several bags can remove the oldest. Try: --split --size MIB";
            return Err(CliError::Usage(why.into()));
        }
        Ok(())
    }
}
