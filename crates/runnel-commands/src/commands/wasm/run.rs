//! `runnel wasm run`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueHint;
use runnel::{Context, ContextOptions};
use runnel_wasm::program::Target;
use runnel_wasm::{Guest, GuestOptions, Manifest, Program};

use super::{compiler, jit};
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Run a node until it ends or Ctrl-C
///
/// ROS arguments apply to the node: NAME:=OTHER, __ns:=/robot, --ros-args -p rate:=10.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node: a module (.wasm, .wat), which is compiled first, or a compiled one (.cwasm)
    #[arg(value_hint = ValueHint::FilePath)]
    node: PathBuf,

    /// What the node may do, in TOML [default: NODE.toml if there is one, or what the node was compiled with]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    manifest: Option<PathBuf>,

    /// Allow all names of topics, services and actions, with the default limits
    #[arg(long, conflicts_with = "manifest")]
    allow_all: bool,

    /// Run a module by the interpreter, which needs no machine code of this processor
    #[arg(long)]
    interpreter: bool,

    /// Compile a module in this process, without a file; needs a program that was built with the feature wasm-jit
    #[arg(long, conflicts_with = "interpreter")]
    jit: bool,

    /// In ROS 1 [default: RUNNEL_GRAPHS, or ROS 1]
    #[arg(long, conflicts_with_all = ["ros2", "both"])]
    ros1: bool,

    /// In ROS 2
    #[arg(long, conflicts_with = "both")]
    ros2: bool,

    /// In ROS 1 and ROS 2
    #[arg(long)]
    both: bool,

    /// Arguments of the node's program
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let program = load(args)?;
    // The flags for the graphs are among the arguments of the process.
    let context = Context::with_options(ContextOptions::from_args()?)?;
    let name = args.node.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let options = GuestOptions {
        manifest: manifest(args)?,
        library: Some(cli.types()?.into_library()),
        arguments: [vec![name], args.arguments.clone()].concat(),
    };
    let guest = Guest::new(&program, context, options).map_err(CliError::failed)?;
    guest.run().map(|_| ()).map_err(CliError::failed)
}

/// Loads the node in the way that the options say.
fn load(args: &Args) -> Result<Program, CliError> {
    let target = if args.interpreter { Target::interpreter() } else { Target::host() };
    let option = args.interpreter.then_some("--interpreter").or(args.jit.then_some("--jit"));
    if let Some(option) = option
        && !compiler::is_module(&args.node)?
    {
        let why =
            "needs a module: a compiled node runs as it was compiled. Try: runnel wasm compile --target";
        return Err(CliError::Usage(format!("{option} {why} {target}")));
    }
    if args.jit { jit::load(&args.node) } else { compiler::load(&args.node, target) }
}

/// The manifest that is used in place of the program's own.
fn manifest(args: &Args) -> Result<Option<Manifest>, CliError> {
    if args.allow_all {
        return Ok(Some(Manifest::allowing_all_names()));
    }
    let usual = args.node.with_extension("toml");
    let file = args.manifest.clone().or_else(|| Some(usual).filter(|file| file.exists()));
    file.map(|file| read(&file)).transpose()
}

fn read(file: &Path) -> Result<Manifest, CliError> {
    let failed = |why: String| CliError::failed(format!("{}: {why}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    Manifest::parse(&text).map_err(|error| failed(error.to_string()))
}
