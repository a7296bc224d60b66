//! Arguments of `runnel bag record`.

use std::path::PathBuf;
use std::time::Duration;

use regex_lite::Regex;
use runnel_io::clock;

use super::limits::Limits;
use super::output_files::BaseName;
use super::plan::Plan;
use super::recorder::Options;
use super::topic_selection::TopicSelection;
use super::unsupported::Unsupported;
use crate::bag::quantity;
use crate::bag::storage::{ChunkCompression, Storage};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter};
use crate::value_parsers;

/// Largest queue that can be requested.
const MOST_DEPTH: usize = 1_000_000;

/// Record messages into a bag (rosbag record, ros2 bag record)
///
/// Topics of ROS 1 and ROS 2 go into one MCAP file, which tools of both read. A killed recording loses at most the last
/// second. Space pauses and goes on; Ctrl-C ends.
#[derive(Debug, Default, clap::Args)]
pub struct Args {
    /// Topics to record
    #[arg(value_name = "TOPIC", add = completion::topics())]
    pub topics: Vec<String>,

    /// Record all topics
    #[arg(short, long)]
    pub all: bool,

    /// Record topics that match this regular expression (may be repeated)
    #[arg(short = 'e', long, value_name = "REGEX", value_parser = quantity::regex)]
    pub regex: Vec<Regex>,

    /// Leave out topics that match this regular expression (may be repeated)
    #[arg(short = 'x', long, alias = "exclude-regex", value_name = "REGEX", value_parser = quantity::regex)]
    pub exclude: Vec<Regex>,

    /// Record the topics to which this node subscribes
    #[arg(long, value_name = "NODE", add = completion::nodes())]
    pub node: Option<String>,

    /// With --all or --regex: also ROS 2 topics with a name part that begins with an underscore
    #[arg(long)]
    pub include_hidden_topics: bool,

    /// Do not record topics that appear later
    #[arg(long)]
    pub no_discovery: bool,

    /// Write to this file [default: the date]
    #[arg(short = 'O', long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = OUTPUT)]
    pub output_name: Option<PathBuf>,

    /// Write to this name with the date behind it
    #[arg(short = 'o', long, value_name = "PREFIX", conflicts_with = "output_name", help_heading = OUTPUT)]
    pub output_prefix: Option<String>,

    /// Format of the bag [default: that of the name, or mcap]
    #[arg(short, long, value_name = "FORMAT", help_heading = OUTPUT)]
    pub storage: Option<Storage>,

    /// Compress
    #[arg(long, value_name = "NAME", help_heading = OUTPUT)]
    pub compression: Option<ChunkCompression>,

    /// Compress with LZ4: fast
    #[arg(long, conflicts_with_all = ["compression", "zstd", "bz2"], help_heading = OUTPUT)]
    pub lz4: bool,

    /// Compress with Zstandard: smaller
    #[arg(long, conflicts_with_all = ["compression", "bz2"], help_heading = OUTPUT)]
    pub zstd: bool,

    /// Compress with bzip2: small and slow, in rosbag 2.0
    #[arg(short = 'j', long, conflicts_with = "compression", help_heading = OUTPUT)]
    pub bz2: bool,

    /// How much may be lost if the recorder or its computer fails, in seconds [default: 1]
    #[arg(long, value_name = "SECONDS", value_parser = quantity::positive_duration, help_heading = OUTPUT)]
    pub max_loss: Option<Duration>,

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
    #[arg(long, value_name = "N", value_parser = value_parsers::count, requires = "split", help_heading = LIMITS)]
    pub max_splits: Option<usize>,

    /// Begin another bag at this many bytes, as in ros2
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["size", "duration"], help_heading = LIMITS)]
    pub max_bag_size: Option<u64>,

    /// Begin another bag after this time, as in ros2
    #[arg(short = 'd', long, value_name = "SECONDS", value_parser = quantity::positive_duration, conflicts_with_all = ["size", "duration"], help_heading = LIMITS)]
    pub max_bag_duration: Option<Duration>,

    /// Record this many messages of each topic
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = LIMITS)]
    pub limit: Option<u64>,

    /// Messages of a topic that may wait for the disk [default: 1000]
    #[arg(long, value_name = "N", value_parser = depth, help_heading = LIMITS)]
    pub queue: Option<usize>,

    /// Record with the times of /clock
    #[arg(long)]
    pub use_sim_time: bool,

    /// Wait for the space key before recording
    #[arg(long)]
    pub start_paused: bool,

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
    pub unsupported: Unsupported,

    #[command(flatten)]
    pub filter: GraphFilter,

    #[command(flatten)]
    pub discovery: Discovery,
}

const OUTPUT: &str = "Output";
const LIMITS: &str = "Limits";

fn depth(text: &str) -> Result<usize, String> {
    let depth = text.parse().ok().filter(|depth| (1..=MOST_DEPTH).contains(depth));
    depth.ok_or_else(|| format!("expected a number from 1 to {MOST_DEPTH}"))
}

impl Args {
    /// What the arguments mean.
    ///
    /// # Errors
    /// When they contradict each other, or a name is not valid.
    pub fn plan(self, cli: &CliContext) -> Result<Plan, CliError> {
        self.unsupported.check()?;
        let has_buffer = self.buffsize.or(self.chunksize).or(self.unsupported.max_cache_size).is_some();
        if has_buffer {
            cli.output.note("messages go to the disk without a cache; --queue limits how many may wait");
        }
        let topics = self.topic_selection(cli)?;
        let (base, storage) = self.output()?;
        let compression = storage.compression(self.chunk_compression())?;
        if storage == Storage::Rosbag && self.filter.is_only_ros2() {
            let why = "rosbag 2.0 holds only ROS 1 messages. Try: --storage mcap, or without --ros2";
            return Err(CliError::Usage(why.into()));
        }
        let limits = self.limits()?;
        Ok(Plan {
            options: Options {
                topics,
                depth: self.queue.unwrap_or(1000),
                limits,
                max_loss: self.max_loss.unwrap_or(Duration::from_secs(1)),
                takes_ros2: storage != Storage::Rosbag,
                sim_time: self.use_sim_time,
                discovery: !self.no_discovery,
                udp: self.udp,
            },
            base,
            format: (storage, compression),
            max_splits: self.max_splits,
            is_quiet: self.quiet,
            is_paused: self.start_paused,
            filter: self.filter,
            discovery: self.discovery,
        })
    }

    fn topic_selection(&self, cli: &CliContext) -> Result<TopicSelection, CliError> {
        let names = self.topics.iter().map(|topic| cli.resolve(topic)).collect::<Result<_, _>>()?;
        let selection = TopicSelection {
            names,
            all: self.all,
            regexes: self.regex.clone(),
            node: self.node.as_ref().map(|node| cli.resolve(node)).transpose()?,
            excluded: self.exclude.clone(),
            hidden: self.include_hidden_topics,
        };
        if selection.names.is_empty() && !selection.discovers() {
            return Err(CliError::Usage("nothing to record. Try: topics, --all, --regex or --node".into()));
        }
        if let Some(excluded) = selection.names.iter().find(|name| selection.excludes(name)) {
            return Err(CliError::Usage(format!("topic {excluded} is named, and excluded by --exclude")));
        }
        Ok(selection)
    }

    fn output(&self) -> Result<(PathBuf, Storage), CliError> {
        let base = match (&self.output_name, &self.output_prefix) {
            (Some(name), _) => BaseName::Exact(name.clone()),
            (None, prefix) => BaseName::Date(prefix.clone().unwrap_or_default()),
        };
        let path = base.at(clock::realtime());
        let storage = Storage::for_file(self.storage, &path)?;
        let has_extension = Storage::of(&path).is_some();
        Ok((if has_extension { path.with_extension("") } else { path }, storage))
    }

    fn chunk_compression(&self) -> ChunkCompression {
        match self {
            Self { lz4: true, .. } => ChunkCompression::Lz4,
            Self { zstd: true, .. } => ChunkCompression::Zstd,
            Self { bz2: true, .. } => ChunkCompression::Bz2,
            _ => self.compression.unwrap_or(ChunkCompression::None),
        }
    }

    fn limits(&self) -> Result<Limits, CliError> {
        let is_ros2 = self.max_bag_size.is_some() || self.max_bag_duration.is_some();
        let limits = Limits {
            size: self.size.or(self.max_bag_size).filter(|size| *size > 0),
            duration: self.duration.or(self.max_bag_duration),
            split: self.split || is_ros2,
            messages: self.limit,
        };
        if limits.split && limits.size.is_none() && limits.duration.is_none() {
            return Err(CliError::Usage("--split needs --size or --duration".into()));
        }
        Ok(limits)
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches};
    use runnel_bag::Compression;

    use super::*;
    use crate::arguments::Arguments;

    fn plan(line: &str) -> Result<Plan, String> {
        let command = Args::augment_args(clap::Command::new("record"));
        let matches = command.try_get_matches_from(format!("record {line}").split_whitespace());
        let args = Args::from_arg_matches(&matches.map_err(|error| error.to_string())?).expect("parsed");
        let arguments = Arguments::split(vec!["runnel".into()]).expect("a good line");
        let cli = CliContext::new(arguments, true, Vec::new()).expect("sound");
        args.plan(&cli).map_err(|error| error.to_string())
    }

    fn refused(line: &str) -> String {
        plan(line).err().unwrap_or_else(|| panic!("{line} is accepted"))
    }

    #[test]
    fn topics_are_required_and_resolved() {
        let topics = |line: &str| plan(line).expect("sound").options.topics;
        assert_eq!(topics("a /b").names.into_iter().collect::<Vec<_>>(), ["/a", "/b"]);
        assert!(topics("-a").all && topics("-e x -e y").regexes.len() == 2);
        assert!(refused("").contains("nothing to record"));
        assert!(refused("/scan -x sc").contains("excluded"));
        assert!(refused("-e (").contains("regex"), "{}", refused("-e ("));
    }

    #[test]
    fn output_is_named_by_the_user_or_the_date() {
        let of = |line: &str| plan(line).map(|plan| (plan.base.display().to_string(), plan.format));
        assert_eq!(of("-a -O x.bag"), Ok(("x".into(), (Storage::Rosbag, Compression::None))));
        assert_eq!(of("-a -O x --zstd"), Ok(("x".into(), (Storage::Mcap, Compression::Zstd))));
        assert_eq!(of("-a -O x.y -s rosbag -j"), Ok(("x.y".into(), (Storage::Rosbag, Compression::Bz2))));
        assert!(of("-a -o day").expect("sound").0.starts_with("day_2"));
        assert!(refused("-a -O x.bag -s mcap").contains("--storage"));
        assert!(refused("-a -O x.bag --zstd").contains("--lz4"));
        assert!(refused("-a -O x.bag --ros2").contains("--storage mcap"));
    }

    #[test]
    fn limits_of_both_originals_are_read() {
        let limits = |line: &str| plan(line).expect("sound").options.limits;
        let rosbag = limits("-a --split --size 2 --duration 5m -l 3");
        assert_eq!((rosbag.size, rosbag.split, rosbag.messages), (Some(2 << 20), true, Some(3)));
        assert_eq!(rosbag.duration, Some(Duration::from_secs(300)));
        let ros2 = limits("-a --max-bag-size 100 -d 7");
        assert_eq!((ros2.size, ros2.duration, ros2.split), (Some(100), Some(Duration::from_secs(7)), true));
        assert!(!limits("-a --duration 1").split);
        assert!(refused("-a --split").contains("--size"));
    }

    #[test]
    fn missing_options_are_refused_with_advice() {
        for line in
            ["--snapshot-mode", "--compression-mode file", "--qos-profile-overrides-path x", "--services /s"]
        {
            let why = refused(&format!("-a {line}"));
            assert!(why.contains("is not supported: ") && why.contains("Try: "), "{why}");
        }
        assert!(plan("-a -b 512").is_ok());
    }
}
