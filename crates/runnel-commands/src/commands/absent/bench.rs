//! `runnel bench` in a program that is built without the feature `bench`.

use std::ffi::OsString;

use crate::error::CliError;
use crate::session::Session;

/// Measure latency, rate and footprint, beside the floor and roscpp (not in this program)
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _ignored: Vec<OsString>,
}

/// Names the line that installs the command.
///
/// # Errors
/// Always.
pub fn run(_args: &Args, _session: &Session) -> Result<(), CliError> {
    Err(CliError::failed(
        "this runnel is installed without `bench`; to install it, in the folder of Runnel's source: \
         cargo install --path crates/runnel-cli --features bench",
    ))
}
