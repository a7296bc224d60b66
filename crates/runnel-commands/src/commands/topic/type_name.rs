//! `runnel topic type`

use serde_json::json;

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot};
use crate::originals::command_line::TOPIC_LIST;
use crate::output::{lines, shown};
use crate::similar::meant_or_listed;

/// Print a topic's type
///
/// Types of both generations are spelt as in ROS 2; all commands accept both spellings. If publishers and subscribers
/// disagree, each type is on a line.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic
    #[arg(add = completion::topics())]
    topic: String,

    #[command(flatten)]
    filter: GraphFilter,

    #[command(flatten)]
    discovery: Discovery,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let topic = cli.resolve(&args.topic)?;
    let topics = GraphSnapshot::open(cli, args.filter, &args.discovery)?.topics()?;
    let types = topics.0.get(&topic).map(|topic| topic.types()).unwrap_or_default();
    match types.as_slice() {
        [] => {
            let hint = meant_or_listed(&topic, topics.names(), TOPIC_LIST);
            Err(CliError::Failed(format!("the type of topic {topic} is not known{hint}")))
        }
        [only] => cli.output.answer(|| shown(only).into_owned(), || json!(only)),
        several => cli.output.answer(|| lines(several), || json!(several)),
    }
}
