//! `runnel topic bw`

use super::listen::ListenArgs;
use super::subject;
use crate::completion;
use crate::error::CliError;
use crate::measure::bandwidth;
use crate::session::Session;

/// Show how many bytes arrive
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic
    #[arg(add = completion::topics())]
    topic: String,

    /// Average over so many messages
    #[arg(short, long, default_value_t = 100, value_parser = super::window)]
    window: usize,

    #[command(flatten)]
    listen: ListenArgs,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    subject::check(session, [&args.topic])?;
    let sight = args.listen.sight(session)?;
    let topic = subject::topic(session, &sight, &args.topic)?;
    let of = args.listen.measured(args.window);
    bandwidth::measure(session, sight.context(), topic, of)
}
