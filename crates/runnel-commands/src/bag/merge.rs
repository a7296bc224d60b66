//! `runnel bag merge`

use std::path::PathBuf;

use clap::ValueHint;

use super::inputs::{Inputs, Wanted};
use super::new_bag::NewBag;
use super::reading_progress::ReadingProgress;
use super::transfer::{first_output, transfer};
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Write the messages of several bags into one
///
/// They may have different formats. Messages are in the order of their times.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The bags, and the new bag at the end
    #[arg(value_name = "BAG", required = true, num_args = 3.., value_hint = ValueHint::AnyPath)]
    pub bags: Vec<PathBuf>,

    #[command(flatten)]
    pub new: NewBag,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let Some((output, paths)) = args.bags.split_last() else { return Ok(()) };
    let mut inputs = Inputs::open(paths)?;
    let output = args.new.create(output, &inputs)?;
    let mut progress = ReadingProgress::new("merging", cli, false);
    transfer(&mut inputs, &Wanted::default(), vec![output], first_output, &mut progress)?.print(cli)
}
