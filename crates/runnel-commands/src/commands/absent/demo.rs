//! `runnel demo` in a program that is built without the feature `demo`.

use std::ffi::OsString;

use crate::error::CliError;
use crate::session::Session;

/// Watch a simulated line-tracing robot drive a lap (not in this program)
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
        "this runnel is installed without `demo`; to install it, in the folder of Runnel's source: \
         cargo install --path crates/runnel-cli --features demo",
    ))
}
