//! `runnel topic delay`

use super::listen::ListenArgs;
use super::subject;
use crate::completion;
use crate::error::CliError;
use crate::measure::delay;
use crate::measure::statistics::WIDEST;
use crate::session::Session;

/// Show how old messages are when they arrive, by the stamps in their headers
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic, whose messages must begin with a header
    #[arg(add = completion::topics())]
    topic: String,

    /// Average over so many messages
    #[arg(short, long, default_value_t = WIDEST, value_parser = super::window)]
    window: usize,

    #[command(flatten)]
    listen: ListenArgs,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    subject::check(session, [&args.topic])?;
    let sight = args.listen.sight(session)?;
    let topic = subject::topic(session, &sight, &args.topic)?;
    let of = args.listen.measured(args.window);
    delay::measure(session, sight.context(), topic, of, delay::report)
}
