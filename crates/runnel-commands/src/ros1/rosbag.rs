//! `rosbag`

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

use super::Failure;
use crate::bag::inputs::Inputs;
use crate::bag::new_bag::NewBag;
use crate::bag::storage::ChunkCompression;
use crate::bag::time_range::PlayedRange;
use crate::bag::{check, info, play, quantity, record, reindex};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graphs::GraphFilter;
use crate::value_parsers;

/// Record, play and inspect bags, like rosbag of ROS 1
#[derive(Debug, Parser)]
#[command(name = "rosbag")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Record(Box<RecordArgs>),
    Play(Box<PlayArgs>),
    Info(info::Args),
    Check(check::Args),
    /// Repair bags: write what can be read, with an index
    ///
    /// FILE.bag is kept as FILE.orig.bag.
    Reindex(RewriteArgs),
    Compress(CompressArgs),
    /// Write bags anew without compression
    ///
    /// FILE.bag is kept as FILE.orig.bag.
    Decompress(RewriteArgs),
    Filter(FilterArgs),
}

/// Record topics into a bag
#[derive(Debug, clap::Args)]
struct RecordArgs {
    /// Topics to record
    topics: Vec<String>,

    /// Record all topics
    #[arg(short, long)]
    all: bool,

    /// TOPICS are regular expressions
    #[arg(short = 'e', long)]
    regex: bool,

    /// Leave out topics that match this regular expression
    #[arg(short = 'x', long, value_name = "REGEX", value_parser = quantity::regex)]
    exclude: Vec<regex_lite::Regex>,

    /// Show nothing but errors
    #[arg(short, long)]
    quiet: bool,

    /// Record to this name with the date behind it
    #[arg(short, long, value_name = "PREFIX")]
    output_prefix: Option<String>,

    /// Record to this file
    #[arg(short = 'O', long, value_name = "NAME")]
    output_name: Option<PathBuf>,

    /// Publish the name of each bag that begins on begin_write
    #[arg(short, long)]
    publish: bool,

    /// End when less than this is free on the disk, such as 1G
    #[arg(short = 'L', long, value_name = "SIZE", value_parser = quantity::space)]
    min_space: Option<u64>,

    /// Begin another bag at --size or --duration; an old form gives the size in MB
    #[arg(long, value_name = "MB", num_args = 0..=1, require_equals = true, default_missing_value = "0", value_parser = quantity::mebibytes)]
    split: Option<u64>,

    /// Keep at most this many bags
    #[arg(long, value_name = "N", value_parser = value_parsers::count)]
    max_splits: Option<usize>,

    /// Accepted; messages are not buffered
    #[arg(short, long, value_name = "MB")]
    buffsize: Option<u64>,

    /// Accepted; chunks have a fixed size
    #[arg(long, value_name = "KB")]
    chunksize: Option<u64>,

    /// Record this many messages of each topic
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,

    /// Largest size of a bag in MB
    #[arg(long, value_name = "MB", value_parser = quantity::mebibytes)]
    size: Option<u64>,

    /// Longest time of a bag, such as 30, 5m or 2h
    #[arg(long, value_name = "TIME", value_parser = quantity::positive_duration)]
    duration: Option<Duration>,

    /// Record the topics to which this node subscribes
    #[arg(long)]
    node: Option<String>,

    /// Compress with bzip2
    #[arg(short = 'j', long)]
    bz2: bool,

    /// Compress with LZ4
    #[arg(long, conflicts_with = "bz2")]
    lz4: bool,

    /// Accepted; each bag begins with the last latched messages
    #[arg(long)]
    repeat_latched: bool,

    /// Request datagrams
    #[arg(long)]
    udp: bool,

    /// Accepted; it is always set
    #[arg(long)]
    tcpnodelay: bool,
}

/// Play bags
#[derive(Debug, clap::Args)]
struct PlayArgs {
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

/// Bags that are written anew
#[derive(Debug, clap::Args)]
struct RewriteArgs {
    /// The bags
    #[arg(required = true)]
    bags: Vec<PathBuf>,

    /// Accepted; the old file is never replaced
    #[arg(short, long)]
    force: bool,

    /// Show nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// Write bags anew with compression
///
/// FILE.bag is kept as FILE.orig.bag.
#[derive(Debug, clap::Args)]
struct CompressArgs {
    #[command(flatten)]
    rewrite: RewriteArgs,

    /// With bzip2, the default
    #[arg(short = 'j', long)]
    bz2: bool,

    /// With LZ4
    #[arg(long, conflicts_with = "bz2")]
    lz4: bool,
}

/// Not supported: messages are selected by topic and time instead, see runnel bag filter
#[derive(Debug, clap::Args)]
struct FilterArgs {
    /// The bag
    input: PathBuf,

    /// The new bag
    output: PathBuf,

    /// The Python expression
    expression: String,
}

pub fn run(parsed: Cli, cli: &CliContext) -> Result<(), Failure> {
    match parsed.command {
        Command::Record(args) => Ok(record::run(args.of_runnel()?, cli)?),
        Command::Play(args) => Ok(play::run(args.of_runnel()?, cli)?),
        Command::Info(args) => Ok(info::run(&args, cli)?),
        Command::Check(args) => Ok(check::run(&args, cli)?),
        Command::Reindex(args) => {
            let RewriteArgs { bags, .. } = args;
            Ok(reindex::run(&reindex::Args { bags, output_name: None, force: false }, cli)?)
        }
        Command::Compress(args) => {
            let compression = if args.lz4 { ChunkCompression::Lz4 } else { ChunkCompression::Bz2 };
            rewrite(&args.rewrite, compression, cli)
        }
        Command::Decompress(args) => rewrite(&args, ChunkCompression::None, cli),
        Command::Filter(args) => Err(args.refused()),
    }
}

fn rewrite(args: &RewriteArgs, compression: ChunkCompression, cli: &CliContext) -> Result<(), Failure> {
    for path in &args.bags {
        let mut inputs = Inputs::open(std::slice::from_ref(path))?;
        let new = NewBag { compression: Some(compression), ..NewBag::like(&inputs.bags()[0])? };
        let done = reindex::rewrite(path, &mut inputs, new)?;
        if !args.quiet {
            done.print(cli)?;
        }
    }
    Ok(())
}

impl RecordArgs {
    fn of_runnel(self) -> Result<record::Args, CliError> {
        let expressions = if self.regex { self.topics.as_slice() } else { &[] };
        let regex = expressions.iter().map(|text| quantity::regex(text).map_err(CliError::Usage));
        let regex = regex.collect::<Result<_, _>>()?;
        Ok(record::Args {
            topics: record::TopicArgs {
                topics: if self.regex { Vec::new() } else { self.topics },
                all: self.all,
                regex,
                exclude: self.exclude,
                node: self.node,
                ..record::TopicArgs::default()
            },
            output: record::OutputArgs {
                min_space: self.min_space,
                output_name: self.output_name,
                output_prefix: self.output_prefix,
                storage: Some(record::RecordStorage::Rosbag),
                lz4: self.lz4,
                bz2: self.bz2,
                ..record::OutputArgs::default()
            },
            limits: record::LimitArgs {
                split: self.split.is_some(),
                size: self.size.or(self.split.filter(|size| *size > 0)),
                duration: self.duration,
                max_splits: self.max_splits,
                limit: self.limit,
                ..record::LimitArgs::default()
            },
            quiet: self.quiet,
            publish: self.publish,
            udp: self.udp,
            buffsize: self.buffsize,
            chunksize: self.chunksize,
            filter: GraphFilter::only_ros1(),
            ..record::Args::default()
        })
    }
}

impl PlayArgs {
    fn of_runnel(self) -> Result<play::Args, Failure> {
        Ok(play::Args {
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
        })
    }
}

impl FilterArgs {
    fn refused(&self) -> Failure {
        let Self { input, output, expression } = self;
        let (input, output) = (input.display(), output.display());
        Failure::usage(format!(
            "the expression {expression:?} is Python, which is not evaluated here. Try: runnel bag filter {input} \
             {output} --topics TOPIC, or --start SECONDS --end SECONDS"
        ))
    }
}
