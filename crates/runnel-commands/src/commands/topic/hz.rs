//! `runnel topic hz`

use super::listen::ListenArgs;
use super::subject;
use crate::completion;
use crate::error::CliError;
use crate::measure::rate;
use crate::measure::statistics::WIDEST;
use crate::session::Session;

/// Show how often messages arrive
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic, or several
    #[arg(required = true, value_name = "TOPIC", add = completion::topics())]
    topics: Vec<String>,

    /// Average over so many messages
    #[arg(short, long, default_value_t = WIDEST, value_parser = super::window)]
    window: usize,

    #[command(flatten)]
    listen: ListenArgs,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    subject::check(session, &args.topics)?;
    let sight = args.listen.sight(session)?;
    let topics = subject::topics(session, &sight, &args.topics)?;
    let of = args.listen.measured(args.window);
    rate::measure(session, sight.context(), topics, of, rate::report)
}
