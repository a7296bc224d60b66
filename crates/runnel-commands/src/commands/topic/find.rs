//! `runnel topic find`

use crate::completion;
use crate::error::CliError;
use crate::graphs::Asking;
use crate::output::lines;
use crate::session::Session;
use crate::types::type_name;
use runnel::core::schema::TypeName;

/// List the topics of a type
///
/// Exit code: 1 if neither a master nor a participant of ROS 2 is found.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The message type, such as std_msgs/String or std_msgs/msg/String
    #[arg(value_name = "TYPE", add = completion::message_types())]
    type_name: String,

    /// Only say how many there are
    #[arg(short, long)]
    count_topics: bool,

    #[command(flatten)]
    asking: Asking,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let wanted = type_name(&args.type_name)?;
    let (mut topics, presence) = args.asking.topics(session)?;
    topics
        .0
        .retain(|_, topic| topic.types().iter().any(|name| TypeName::parse(name).as_ref() == Some(&wanted)));
    if args.count_topics {
        session.output.answer(|| topics.0.len().to_string(), || topics.0.len().into())?;
    } else {
        session.output.answer(|| lines(topics.0.keys()), || topics.0.keys().map(String::as_str).collect())?;
    }
    presence.check()
}
