//! `runnel wasm certificate`.

use runnel_io::host;
use runnel_wasm::migration::link::{Identity, default_folder};
use serde_json::json;

use crate::cli_context::CliContext;
use crate::error::CliError;

/// Print the certificate by which other hosts recognize this one
///
/// It is created at the first use, for this user, in ~/.config/runnel/migration.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(cli: &CliContext) -> Result<(), CliError> {
    let folder = default_folder().map_err(CliError::failed)?;
    let fingerprint = Identity::load_or_create(&folder).map_err(CliError::failed)?.fingerprint().to_string();
    let command = format!("runnel wasm trust {fingerprint} --name {}", host::name());
    cli.output.answer(
        || format!("{fingerprint}\nOn a host that is to trust this one: {command}"),
        || json!({ "fingerprint": fingerprint, "folder": folder.display().to_string(), "command": command }),
    )
}
