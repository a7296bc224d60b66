//! `runnel wasm run`.

use std::path::{Path, PathBuf};
use std::{env, fs};

use clap::ValueHint;
use runnel::{Context, ContextOptions};
use runnel_wasm::program::Target;
use runnel_wasm::{Ended, Guest, GuestOptions, Manifest, Program};

use super::compiler::{self, Compilation};
use super::control::{self, Hosted};
use super::jit;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output::print_error;

/// Run a node until it ends or Ctrl-C
///
/// ROS arguments apply to the node: NAME:=OTHER, __ns:=/robot, --ros-args -p rate:=10.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node: a module (.wasm, .wat), which is compiled first, or a compiled one (.cwasm)
    #[arg(value_hint = ValueHint::FilePath)]
    node: PathBuf,

    #[command(flatten)]
    running: Running,

    /// Compile a module to a node that cannot be checkpointed: it is smaller, and its loops run faster
    #[arg(long)]
    no_checkpoint: bool,

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

/// How a node runs.
#[derive(Debug, clap::Args)]
pub struct Running {
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
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let program = args.running.load(&args.node, args.no_checkpoint)?;
    // The flags for the graphs are among the arguments of the process.
    let context = Context::with_options(ContextOptions::from_args()?)?;
    let process = env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let ros_arguments = ros_arguments(process.collect(), &context);
    let name = args.node.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let arguments = [vec![name], args.arguments.clone()].concat();
    let options = args.running.options(&args.node, arguments, ros_arguments, cli)?;
    run_guest(Guest::new(&program, context, options).map_err(CliError::failed)?)
}

/// Runs a guest until it ends.
///
/// # Errors
/// Why it ended.
pub fn run_guest(guest: Guest) -> Result<(), CliError> {
    let socket = control::serve(Hosted::new(guest.control()));
    if let Err(error) = &socket {
        print_error(&format!("the node cannot be checkpointed by other processes: {error}"));
    }
    let ended = guest.run().map_err(CliError::failed)?;
    if ended == Ended::HandedOver {
        print_error("the node goes on at another host");
    }
    Ok(())
}

/// Those of all arguments that are for ROS: the context has the others, but for the flags of graphs.
pub fn ros_arguments(all: Vec<String>, context: &Context) -> Vec<String> {
    let mut others = context.arguments().iter().peekable();
    let is_flag = |argument: &str| ["--ros1", "--ros2", "--both"].contains(&argument);
    let is_for_ros = |argument: &String| others.next_if_eq(&argument).is_none() && !is_flag(argument);
    all.into_iter().filter(is_for_ros).collect()
}

impl Running {
    /// Loads the node, which may be a module that is compiled first.
    ///
    /// # Errors
    /// If that fails, or if the interpreter is to run a node that is compiled already.
    pub fn load(&self, node: &Path, no_checkpoint: bool) -> Result<Program, CliError> {
        let target = if self.interpreter { Target::interpreter() } else { Target::host() };
        let option = self.interpreter.then_some("--interpreter").or(self.jit.then_some("--jit"));
        if let Some(option) = option
            && !compiler::is_module(node)?
        {
            let why =
                "needs a module: a compiled node runs as it was compiled. Try: runnel wasm compile --target";
            return Err(CliError::Usage(format!("{option} {why} {target}")));
        }
        if self.jit { jit::load(node) } else { compiler::load(node, Compilation { target, no_checkpoint }) }
    }

    /// The options of the guest.
    ///
    /// # Errors
    /// If the manifest or a definition of a type cannot be read.
    pub fn options(
        &self,
        node: &Path,
        arguments: Vec<String>,
        ros_arguments: Vec<String>,
        cli: &CliContext,
    ) -> Result<GuestOptions, CliError> {
        Ok(GuestOptions {
            manifest: self.manifest(node)?,
            library: Some(cli.types()?.into_library()),
            arguments,
            ros_arguments,
        })
    }

    /// The manifest that is used in place of the program's own.
    fn manifest(&self, node: &Path) -> Result<Option<Manifest>, CliError> {
        if self.allow_all {
            return Ok(Some(Manifest::allowing_all_names()));
        }
        let usual = node.with_extension("toml");
        let file = self.manifest.clone().or_else(|| Some(usual).filter(|file| file.exists()));
        file.map(|file| read(&file)).transpose()
    }
}

fn read(file: &Path) -> Result<Manifest, CliError> {
    let failed = |why: String| CliError::failed(format!("{}: {why}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    Manifest::parse(&text).map_err(|error| failed(error.to_string()))
}
