//! `runnel interface package`

use runnel::core::schema::Kind;

use super::known::Only;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::output::lines;

/// List the types of a package
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The package
    #[arg(add = completion::packages())]
    package: String,

    #[command(flatten)]
    only: Only,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let types = cli.types()?;
    args.only.check(&types, &args.package)?;
    let names = Kind::ALL.into_iter().flat_map(|kind| args.only.names(&types, kind));
    let names: Vec<String> =
        names.filter(|(name, _)| name.package == args.package).map(|(_, name)| name).collect();
    cli.output.answer(|| lines(&names), || names.iter().map(String::as_str).collect())
}
