//! `runnel topic find`

use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::lines;
use crate::session::Session;
use crate::types::type_name;

/// List the topics of a type
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The message type, such as std_msgs/String or std_msgs/msg/String
    #[arg(value_name = "TYPE", add = completion::message_types())]
    type_name: String,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let wanted = type_name(&args.type_name)?.to_string();
    let context = session.asking()?;
    let types = Graph::new(&context).topic_types()?;
    let found: Vec<String> =
        types.into_iter().filter(|(_, name)| *name == wanted).map(|(topic, _)| topic).collect();
    session.output.answer(|| lines(&found), || found.iter().map(String::as_str).collect())
}
