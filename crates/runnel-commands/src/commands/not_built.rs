//! Commands whose feature this program was built without: `runnel bench`, `runnel demo`.

use std::ffi::OsString;

use crate::error::CliError;

/// Any arguments, which are ignored.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _ignored: Vec<OsString>,
}

/// Prints how to install a command, which has the name of its feature.
///
/// # Errors
/// Always.
pub fn run(command: &str) -> Result<(), CliError> {
    Err(CliError::failed(format_args!(
        "runnel was installed without '{command}'. Try, in Runnel's source folder: \
         cargo install --path crates/runnel-cli --features {command}"
    )))
}
