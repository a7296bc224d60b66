//! `runnel interface packages`

use super::known::{Kinds, Only};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output::lines;

/// List the packages that have types
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    kinds: Kinds,

    #[command(flatten)]
    only: Only,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let packages = args.only.packages(&cli.types()?, &args.kinds.wanted());
    cli.output.answer(|| lines(&packages), || packages.iter().map(String::as_str).collect())
}
