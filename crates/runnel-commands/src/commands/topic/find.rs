//! `runnel topic find`

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::TopicQuery;
use crate::output::lines;
use crate::types::type_name;
use runnel::core::schema::TypeName;

/// List the topics of a type
///
/// Exit code: 1 if neither a master nor a ROS 2 participant is found.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The message type, such as std_msgs/String or std_msgs/msg/String
    #[arg(value_name = "TYPE", add = completion::message_types())]
    type_name: String,

    /// Only print how many there are
    #[arg(short, long)]
    count_topics: bool,

    #[command(flatten)]
    query: TopicQuery,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let wanted = type_name(&args.type_name)?;
    let (mut topics, presence) = args.query.topics(cli)?;
    topics
        .0
        .retain(|_, topic| topic.types().iter().any(|name| TypeName::parse(name).as_ref() == Some(&wanted)));
    if args.count_topics {
        cli.output.answer(|| topics.0.len().to_string(), || topics.0.len().into())?;
    } else {
        cli.output.answer(|| lines(topics.0.keys()), || topics.0.keys().map(String::as_str).collect())?;
    }
    presence.check()
}
