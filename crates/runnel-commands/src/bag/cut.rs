//! `runnel bag cut`

use std::path::PathBuf;

use clap::ValueHint;

use super::inputs::Inputs;
use super::new_bag::NewBag;
use super::reading_progress::ReadingProgress;
use super::time_range::TimeRange;
use super::transfer::{first_output, transfer};
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Write the messages of a time range into a new bag
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("range").args(["start", "end"]).required(true).multiple(true)))]
pub struct Args {
    /// The bag
    #[arg(value_name = "BAG", value_hint = ValueHint::AnyPath)]
    pub input: PathBuf,

    /// The new bag
    #[arg(value_name = "NEW", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,

    #[command(flatten)]
    pub range: TimeRange,

    #[command(flatten)]
    pub new: NewBag,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let mut inputs = Inputs::open(std::slice::from_ref(&args.input))?;
    let wanted = args.range.of(&inputs, None);
    let output = args.new.create(&args.output, &inputs)?;
    let mut progress = ReadingProgress::new("cutting", cli, false);
    transfer(&mut inputs, &wanted, vec![output], first_output, &mut progress)?.print(cli)
}
