//! `runnel topic type`

use serde_json::json;

use crate::completion;
use crate::error::CliError;
use crate::graphs::{Listening, Sight, Which};
use crate::output::{lines, shown};
use crate::session::Session;

/// Print a topic's type
///
/// A type that both generations have is spelt as in ROS 2, which all commands understand. Where publishers and
/// subscribers do not agree, each type is on a line.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic
    #[arg(add = completion::topics())]
    topic: String,

    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    listening: Listening,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let topic = session.resolve(&args.topic)?;
    let topics = Sight::open(session, args.which, &args.listening)?.topics()?;
    let types = topics.0.get(&topic).map(|topic| topic.types()).unwrap_or_default();
    match types.as_slice() {
        [] => {
            Err(CliError::Failed(format!("the type of topic {topic} is not known (see 'runnel topic list')")))
        }
        [only] => session.output.answer(|| shown(only).into_owned(), || json!(only)),
        several => session.output.answer(|| lines(several), || json!(several)),
    }
}
