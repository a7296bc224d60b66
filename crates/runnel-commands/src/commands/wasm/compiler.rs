//! `runnel wasm compile`, and modules that are compiled before they run.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use clap::ValueHint;
use runnel_wasm::program::{ModuleHash, Target};

use crate::error::CliError;

/// The compiler: a program of its own, since it is larger than all of this one.
const COMPILER: &str = "runnel-wasm-compile";

/// Compile a module ahead of time, for this or another processor
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The module: in binary form (.wasm) or as text (.wat)
    #[arg(value_hint = ValueHint::FilePath)]
    module: PathBuf,

    /// The processor, or the interpreter of every processor: x86_64, aarch64, pulley64, pulley32 [default: this host]
    #[arg(long)]
    target: Option<String>,

    /// What the node may do, in TOML [default: MODULE.toml, if there is one]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    manifest: Option<PathBuf>,

    /// The compiled node [default: MODULE.cwasm]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<(), CliError> {
    let mut compiler = compiler();
    compiler.arg(&args.module);
    if let Some(target) = &args.target {
        compiler.args(["--target", target]);
    }
    for (option, file) in [("--manifest", &args.manifest), ("--output", &args.output)] {
        if let Some(file) = file {
            compiler.arg(option).arg(file);
        }
    }
    finish(&mut compiler)
}

/// The compiled form of a node's file: itself, or what it was compiled to before, or now.
///
/// # Errors
/// If it cannot be read or compiled.
pub fn compiled(node: &Path, target: Target) -> Result<PathBuf, CliError> {
    let failed = |error: io::Error| CliError::failed(format!("{}: {error}", node.display()));
    let module = fs::read(node).map_err(failed)?;
    let is_module = module.starts_with(b"\0asm") || node.extension() == Some(OsStr::new("wat"));
    if !is_module {
        return Ok(node.to_owned());
    }
    let folder = cache_folder();
    let version = env!("CARGO_PKG_VERSION");
    let compiled = folder.join(format!("{}-{target}-{version}.cwasm", ModuleHash::of(&module)));
    if compiled.exists() {
        return Ok(compiled);
    }
    let create = |error: io::Error| CliError::failed(format!("{}: {error}", folder.display()));
    fs::create_dir_all(&folder).map_err(create)?;
    // Another process may do the same: the last one wins, with the same content.
    let unfinished = tempfile::Builder::new().suffix(".part").tempfile_in(&folder).map_err(create)?;
    let mut compiler = compiler();
    compiler.arg(node).args(["--target", target.name(), "--output"]).arg(unfinished.path());
    // What the node may do is read anew at each start.
    compiler.args(["--manifest", "/dev/null"]);
    finish(&mut compiler)?;
    unfinished.persist(&compiled).map_err(|error| create(error.error))?;
    Ok(compiled)
}

/// The compiler next to this program, or that of the search path.
fn compiler() -> Command {
    let own = env::current_exe().ok().map(|program| program.with_file_name(COMPILER));
    Command::new(own.filter(|program| program.exists()).unwrap_or_else(|| COMPILER.into()))
}

fn finish(compiler: &mut Command) -> Result<(), CliError> {
    match compiler.status() {
        Ok(status) if status.success() => Ok(()),
        // It has said why.
        Ok(_) => Err(CliError::failed("the module was not compiled")),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(CliError::failed(format!(
            "{COMPILER} is not installed, and it compiles modules. Try: cargo install runnel-wasm-compiler, or a node that is \
             compiled already (.cwasm)"
        ))),
        Err(error) => Err(CliError::failed(format!("{COMPILER}: {error}"))),
    }
}

/// `~/.cache/runnel/wasm`, or where `XDG_CACHE_HOME` says.
fn cache_folder() -> PathBuf {
    let given = env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    given.or_else(home).unwrap_or_else(env::temp_dir).join("runnel/wasm")
}
