//! `runnel topic type`

use serde_json::json;

use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::session::Session;

/// Print a topic's type
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic
    #[arg(add = completion::topics())]
    topic: String,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let topic = session.resolve(&args.topic)?;
    let context = session.asking()?;
    let found = Graph::new(&context).topic_types()?.remove(&topic).filter(|name| name != "*");
    let unknown =
        || CliError::Failed(format!("the type of topic {topic} is not known (see 'runnel topic list')"));
    let type_name = found.ok_or_else(unknown)?;
    session.output.answer(|| type_name.clone(), || json!(type_name))
}
