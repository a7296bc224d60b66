//! `runnel topic hz`

use super::listen::ListenArgs;
use super::subject;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::measure::rate;
use crate::measure::statistics::WIDEST;

/// Show how many messages per second arrive
#[derive(Debug, clap::Args)]
pub struct Args {
    /// One or more topics
    #[arg(required = true, value_name = "TOPIC", add = completion::topics())]
    topics: Vec<String>,

    /// Average over this many messages
    #[arg(short, long, default_value_t = WIDEST, value_parser = super::window)]
    window: usize,

    #[command(flatten)]
    listen: ListenArgs,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    subject::check(cli, &args.topics)?;
    let snapshot = args.listen.open_graphs(cli)?;
    let topics = subject::topics(cli, &snapshot, &args.topics)?;
    let of = args.listen.measured(args.window);
    rate::measure(cli, snapshot.context(), topics, of, rate::report)
}
