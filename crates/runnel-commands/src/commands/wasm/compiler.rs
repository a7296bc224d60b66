//! `runnel wasm compile`, and modules that are compiled before they run.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use clap::ValueHint;
use runnel_wasm::Program;
use runnel_wasm::program::{ModuleHash, Target, find_wasm_opt};

use super::private_folder::{self, Others};
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

    /// Fail if the node cannot be checkpointed, and say why
    #[arg(long, conflicts_with = "no_checkpoint")]
    checkpoint: bool,

    /// Compile a node that cannot be checkpointed: it is smaller, and its loops run faster
    #[arg(long)]
    no_checkpoint: bool,

    /// Write the module, made ready for checkpoints, and do not compile it: hosts that exchange checkpoints compile the same one
    #[arg(long, requires = "output", conflicts_with_all = ["no_checkpoint", "target", "manifest"])]
    instrument_only: bool,

    /// The program wasm-opt of Binaryen, which makes nodes ready for checkpoints [default: RUNNEL_WASM_OPT, or wasm-opt]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::ExecutablePath)]
    wasm_opt: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<(), CliError> {
    let mut compiler = compiler();
    compiler.arg(&args.module);
    if let Some(target) = &args.target {
        compiler.args(["--target", target]);
    }
    let files = [("--manifest", &args.manifest), ("--output", &args.output), ("--wasm-opt", &args.wasm_opt)];
    for (option, file) in files {
        if let Some(file) = file {
            compiler.arg(option).arg(file);
        }
    }
    let flags = [
        ("--checkpoint", args.checkpoint),
        ("--no-checkpoint", args.no_checkpoint),
        ("--instrument-only", args.instrument_only),
    ];
    compiler.args(flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag));
    finish(&mut compiler)
}

/// How a module is compiled before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Compilation {
    /// For what.
    pub target: Target,
    /// Without checkpoints, even if they are possible.
    pub no_checkpoint: bool,
}

/// Loads a node: a compiled file as it is, a module as what it was compiled to before, or is compiled to now.
///
/// # Errors
/// If it cannot be read, compiled or loaded.
pub fn load(node: &Path, compilation: Compilation) -> Result<Program, CliError> {
    if !is_module(node)? {
        return Program::load(node).map_err(CliError::failed);
    }
    let Some(folder) = cache_folder() else {
        let folder = tempfile::tempdir().map_err(CliError::failed)?;
        return compile(node, compilation, &folder.path().join("node.cwasm"));
    };
    let module = fs::read(node).map_err(|error| named(node, &error))?;
    let compiled = folder.join(format!("{}-{}.cwasm", ModuleHash::of(&module), compilation.name()?));
    // A file of another version of this program does not load.
    match Program::load(&compiled) {
        Ok(program) => Ok(program),
        Err(_) => compile(node, compilation, &compiled),
    }
}

impl Compilation {
    /// What distinguishes the results for a module. A newer `wasm-opt` does not replace them: a node goes on from a checkpoint
    /// only with the module from which it ran.
    fn name(self) -> Result<String, CliError> {
        let checkpoint = match self.no_checkpoint {
            true => "-no-checkpoint",
            false if find_wasm_opt(None).map_err(CliError::failed)?.is_some() => "-checkpoint",
            false => "",
        };
        Ok(format!("{}{checkpoint}", self.target))
    }
}

/// Whether a file is a module that has to be compiled.
///
/// # Errors
/// If it cannot be read.
pub fn is_module(node: &Path) -> Result<bool, CliError> {
    let module = fs::read(node).map_err(|error| named(node, &error))?;
    Ok(module.starts_with(b"\0asm") || node.extension() == Some(OsStr::new("wat")))
}

/// Compiles a module into a file, and loads it.
fn compile(node: &Path, compilation: Compilation, compiled: &Path) -> Result<Program, CliError> {
    let folder = compiled.parent().unwrap_or(Path::new("."));
    // Another process may do the same: the last one wins, with the same content.
    let unfinished = tempfile::Builder::new().suffix(".part").tempfile_in(folder);
    let unfinished = unfinished.map_err(|error| named(folder, &error))?;
    let mut compiler = compiler();
    // What the node may do is read anew at each start.
    let target = compilation.target.name();
    compiler.arg(node).args(["--no-manifest", "--target", target, "--output"]).arg(unfinished.path());
    if compilation.no_checkpoint {
        compiler.arg("--no-checkpoint");
    }
    finish(&mut compiler)?;
    unfinished.persist(compiled).map_err(|error| named(compiled, &error.error))?;
    Program::load(compiled).map_err(CliError::failed)
}

fn named(path: &Path, error: &io::Error) -> CliError {
    CliError::failed(format!("{}: {error}", path.display()))
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
            "{COMPILER} is not installed, and it compiles modules. Try: cargo install --path crates/runnel-wasm/compiler, or a \
             node that is compiled already (.cwasm)"
        ))),
        Err(error) => Err(CliError::failed(format!("{COMPILER}: {error}"))),
    }
}

/// `~/.cache/runnel/wasm`, or where `XDG_CACHE_HOME` says. `None` if there is no such folder that only this user can write:
/// what is in it is run as machine code.
fn cache_folder() -> Option<PathBuf> {
    let given = env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let folder = given.or_else(home)?.join("runnel/wasm");
    private_folder::create(&folder, Others::Read)
}
