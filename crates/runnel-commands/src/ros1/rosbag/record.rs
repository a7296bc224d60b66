//! `rosbag record`

use std::path::PathBuf;
use std::time::Duration;

use crate::bag::{quantity, record};
use crate::error::CliError;
use crate::graphs::GraphFilter;
use crate::value_parsers;

/// Record topics into a bag
#[derive(Debug, clap::Args)]
pub struct RecordArgs {
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

impl RecordArgs {
    /// The same as arguments of `runnel bag record`.
    ///
    /// # Errors
    /// When a topic is no regular expression.
    pub fn of_runnel(self) -> Result<record::Args, CliError> {
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

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches};

    use super::*;

    fn args(line: &str) -> record::Args {
        let command = RecordArgs::augment_args(clap::Command::new("record"));
        let matches = command.try_get_matches_from(format!("record {line}").split_whitespace());
        let args = RecordArgs::from_arg_matches(&matches.expect("sound")).expect("parsed");
        args.of_runnel().expect("regular expressions")
    }

    #[test]
    fn recorder_has_the_options_of_the_original() {
        let split = |line: &str| {
            let limits = args(line).limits;
            (limits.split, limits.size)
        };
        assert_eq!(split("-a"), (false, None));
        assert_eq!(split("--split /a"), (true, None), "a topic is no size");
        assert_eq!(split("--split=5 /a"), (true, Some(5 << 20)), "the old form");
        assert_eq!(split("--split --size 7"), (true, Some(7 << 20)));
        let all = args("-p -L 2G -a --repeat-latched --tcpnodelay --udp");
        assert!(all.publish && all.udp);
        assert_eq!(all.output.min_space, Some(2 << 30));
        let expressions = args("-e scan /tf");
        assert_eq!((expressions.topics.regex.len(), expressions.topics.topics.len()), (2, 0));
    }
}
