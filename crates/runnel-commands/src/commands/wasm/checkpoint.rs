//! `runnel wasm checkpoint`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueHint;
use serde_json::json;

use super::control;
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Write all that a running node is to a file, from which it can go on
///
/// The node goes on, unless --stop is given. It runs on this host, started by this user.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node, such as /tracer
    node: String,

    /// The file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,

    /// End the node with it
    #[arg(long)]
    stop: bool,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let node = cli.resolve(&args.node)?;
    let named = |error: &std::io::Error| CliError::failed(format!("{}: {error}", args.output.display()));
    let folder = args.output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let write = |content: &[u8]| {
        let folder = folder.unwrap_or(Path::new("."));
        let mut file =
            tempfile::Builder::new().prefix(".runnel-").tempfile_in(folder).map_err(|error| named(&error))?;
        file.write_all(content).and_then(|()| file.as_file().sync_all()).map_err(|error| named(&error))?;
        file.persist(&args.output).map_err(|error| named(&error.error))?;
        Ok(content.len())
    };
    let bytes = control::find(&node)?.checkpoint(args.stop, write)?;
    let path = args.output.display().to_string();
    cli.output.answer(
        || format!("{node}: {bytes} bytes in {path}"),
        || json!({ "node": node, "file": path, "bytes": bytes }),
    )
}
