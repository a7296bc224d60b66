//! `runnel topic bw`

use super::listen::ListenArgs;
use super::subject;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::measure::bandwidth;

/// Show how many bytes per second arrive
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic
    #[arg(add = completion::topics())]
    topic: String,

    /// Average over this many messages
    #[arg(short, long, default_value_t = 100, value_parser = super::window)]
    window: usize,

    #[command(flatten)]
    listen: ListenArgs,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    subject::check(cli, [&args.topic])?;
    let snapshot = args.listen.open_graphs(cli)?;
    let topic = subject::topic(cli, &snapshot, &args.topic)?;
    let of = args.listen.measured(args.window);
    bandwidth::measure(cli, snapshot.context(), topic, of, bandwidth::report)
}
