//! `runnel interface packages`

use super::known::{Kinds, Only};
use crate::error::CliError;
use crate::output::lines;
use crate::session::Session;

/// List the packages that have types
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    kinds: Kinds,

    #[command(flatten)]
    only: Only,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let packages = args.only.packages(&session.types()?, &args.kinds.wanted());
    session.output.answer(|| lines(&packages), || packages.iter().map(String::as_str).collect())
}
