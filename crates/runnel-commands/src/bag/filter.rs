//! `runnel bag filter`

use std::path::PathBuf;

use clap::ValueHint;
use regex_lite::Regex;
use runnel_bag::Channel;

use super::inputs::Inputs;
use super::new_bag::NewBag;
use super::quantity::regex;
use super::reading_progress::ReadingProgress;
use super::time_range::TimeRange;
use super::transfer::{first_output, transfer};
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Write a bag with some of the messages
///
/// Messages are selected by topic and time. Python expressions, as rosbag filter evaluates them, are not supported.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The bag
    #[arg(value_name = "BAG", value_hint = ValueHint::AnyPath)]
    pub input: PathBuf,

    /// The new bag
    #[arg(value_name = "NEW", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,

    #[command(flatten)]
    pub topics: TopicFilter,

    #[command(flatten)]
    pub range: TimeRange,

    #[command(flatten)]
    pub new: NewBag,
}

/// A selection of topics in bags.
#[derive(Debug, Default, clap::Args)]
pub struct TopicFilter {
    /// Only these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    pub topics: Vec<String>,

    /// Only topics that match this regular expression (may be repeated)
    #[arg(short = 'e', long, value_name = "REGEX", value_parser = regex)]
    pub regex: Vec<Regex>,

    /// Leave out topics that match this regular expression (may be repeated)
    #[arg(short = 'x', long, alias = "exclude-regex", value_name = "REGEX", value_parser = regex)]
    pub exclude: Vec<Regex>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let mut inputs = Inputs::open(std::slice::from_ref(&args.input))?;
    let wanted = args.range.of(&inputs, Some(args.topics.select(&inputs)?));
    let output = args.new.create(&args.output, &inputs)?;
    let mut progress = ReadingProgress::new("filtering", cli, false);
    transfer(&mut inputs, &wanted, vec![output], first_output, &mut progress)?.print(cli)
}

impl TopicFilter {
    /// Positions of the selected channels.
    ///
    /// # Errors
    /// When a named topic is not in the bags.
    pub fn select(&self, inputs: &Inputs) -> Result<Vec<usize>, CliError> {
        let has = |topic: &&String| inputs.channels().iter().any(|channel| is_named(channel, topic));
        if let Some(missing) = self.topics.iter().find(|topic| !has(topic)) {
            return Err(CliError::Failed(format!(
                "topic {missing} is not in the bag. Try: runnel bag info {}",
                inputs.bags().first().map_or_else(String::new, |bag| bag.path.display().to_string())
            )));
        }
        let channels = inputs.channels().iter().enumerate();
        Ok(channels.filter(|(_, channel)| self.selects(channel)).map(|(position, _)| position).collect())
    }

    fn selects(&self, channel: &Channel) -> bool {
        let is_any = |regexes: &[Regex]| regexes.iter().any(|regex| regex.is_match(&channel.topic));
        let is_named = self.topics.iter().any(|topic| is_named(channel, topic));
        let selects_all = self.topics.is_empty() && self.regex.is_empty();
        (selects_all || is_named || is_any(&self.regex)) && !is_any(&self.exclude)
    }
}

/// Whether a channel has the topic of this name, whose leading slash may be left out.
fn is_named(channel: &Channel, topic: &str) -> bool {
    channel.topic == topic || channel.topic.strip_prefix('/') == Some(topic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_selected_by_name_and_expression() {
        let regexes = |text: &str| vec![Regex::new(text).expect("a regular expression")];
        let selected = |filter: &TopicFilter| {
            let channel =
                |topic: &&str| filter.selects(&Channel { topic: (*topic).to_owned(), ..Channel::default() });
            let topics: Vec<_> = ["/scan", "/odom", "/robot/scan"].into_iter().filter(channel).collect();
            topics.join(" ")
        };
        assert_eq!(selected(&TopicFilter::default()), "/scan /odom /robot/scan");
        let filter =
            TopicFilter { topics: vec!["odom".into()], regex: regexes("^/robot"), ..TopicFilter::default() };
        assert_eq!(selected(&filter), "/odom /robot/scan");
        assert_eq!(selected(&TopicFilter { exclude: regexes("scan"), ..TopicFilter::default() }), "/odom");
    }
}
