//! `runnel topic find`

use crate::completion;
use crate::error::CliError;
use crate::graphs::{Listening, Sight, Which, is_hidden};
use crate::output::lines;
use crate::session::Session;
use crate::types::type_name;
use runnel::core::schema::TypeName;

/// List the topics of a type
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The message type, such as std_msgs/String or std_msgs/msg/String
    #[arg(value_name = "TYPE", add = completion::message_types())]
    type_name: String,

    /// Only say how many there are
    #[arg(short, long)]
    count_topics: bool,

    /// Also ROS 2 topics with a part that begins with an underscore
    #[arg(long, alias = "include-hidden")]
    include_hidden_topics: bool,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    listening: Listening,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let wanted = type_name(&args.type_name)?;
    let mut topics = Sight::open(session, args.which, &args.listening)?.topics()?;
    topics.0.retain(|name, topic| {
        let shown = args.include_hidden_topics || topic.ros1.is_some() || !is_hidden(name);
        shown && topic.types().iter().any(|name| TypeName::parse(name).as_ref() == Some(&wanted))
    });
    if args.count_topics {
        return session.output.answer(|| topics.0.len().to_string(), || topics.0.len().into());
    }
    session.output.answer(|| lines(topics.0.keys()), || topics.0.keys().map(String::as_str).collect())
}
