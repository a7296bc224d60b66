//! `ros2 bag info`

mod contents;
mod description;
mod layout;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{ValueEnum, ValueHint};

use self::description::Description;
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Show topics, types and times of a bag
#[derive(Debug, clap::Args)]
pub struct InfoArgs {
    /// The bag
    #[arg(value_hint = ValueHint::AnyPath)]
    bag: PathBuf,

    /// Accepted; the format is recognized
    #[arg(short, long, value_name = "FORMAT")]
    storage: Option<String>,

    /// Print only the names of topics
    #[arg(short = 't', long)]
    topic_name: bool,

    /// Also print the size of each topic, and how many requests and responses services have: reads the whole bag
    #[arg(short, long)]
    verbose: bool,

    /// Order of topics, services and actions
    #[arg(long, value_name = "ORDER", default_value = "name", ignore_case = true)]
    sort: SortOrder,
}

/// What topics, services and actions are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SortOrder {
    Name,
    Type,
    Count,
}

pub fn run(args: &InfoArgs, cli: &CliContext) -> Result<(), CliError> {
    let mut bag = Description::of(&args.bag, args.verbose)?;
    bag.sort(args.sort);
    if args.topic_name && !args.verbose {
        return bag.topics.iter().try_for_each(|topic| cli.output.line(&topic.name));
    }
    if args.topic_name {
        cli.output.note("-t has no meaning with -v");
    }
    cli.output.unended(&bag.text())
}
