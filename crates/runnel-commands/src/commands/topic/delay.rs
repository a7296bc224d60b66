//! `runnel topic delay`

use super::listen::ListenArgs;
use super::subject;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::measure::delay;
use crate::measure::statistics::WIDEST;

/// Show the age of messages when they arrive, by the stamps in their headers
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic; its messages must begin with a header
    #[arg(add = completion::topics())]
    topic: String,

    /// Average over this many messages
    #[arg(short, long, default_value_t = WIDEST, value_parser = super::window)]
    window: usize,

    #[command(flatten)]
    listen: ListenArgs,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    subject::check(cli, [&args.topic])?;
    let snapshot = args.listen.open_graphs(cli)?;
    let topic = subject::topic(cli, &snapshot, &args.topic)?;
    let of = args.listen.measured(args.window);
    delay::measure(cli, snapshot.context(), topic, of, delay::report)
}
