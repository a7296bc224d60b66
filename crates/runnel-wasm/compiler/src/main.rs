//! `runnel-wasm-compile`: compiles ROS nodes in WebAssembly ahead of time.
//!
//! It is a program of its own, since a compiler is larger than all that runs its output. `runnel wasm compile` starts it.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use runnel_wasm::program::{CompileOptions, Instrumentation, Target, compile, instrument_only};

/// Compiles a ROS node in WebAssembly ahead of time
#[derive(Parser)]
#[command(name = "runnel-wasm-compile", version)]
struct Arguments {
    /// The module: in binary form (.wasm) or as text (.wat)
    module: PathBuf,
    /// The processor, or the interpreter that runs on every processor: x86_64, aarch64, pulley64, pulley32 [default: this host]
    #[arg(long, value_parser = target)]
    target: Option<Target>,
    /// What the node may do, in TOML [default: MODULE.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Compile without a manifest: it is given when the node runs
    #[arg(long, conflicts_with = "manifest")]
    no_manifest: bool,
    /// The compiled node [default: the module's name with .cwasm]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Fail if the node cannot be checkpointed: say what is missing, and compile nothing
    #[arg(long)]
    checkpoint: bool,
    /// Compile a node that cannot be checkpointed: it is smaller, and its loops run faster
    #[arg(long, conflicts_with = "checkpoint")]
    no_checkpoint: bool,
    /// Write the module that is made ready for checkpoints (.wasm), and do not compile it: several hosts compile it then
    #[arg(long, requires = "output", conflicts_with_all = ["no_checkpoint", "target", "manifest", "no_manifest"])]
    instrument_only: bool,
    /// The program wasm-opt of Binaryen, which makes nodes ready for checkpoints [default: RUNNEL_WASM_OPT, or that of the search path]
    #[arg(long, value_name = "PATH")]
    wasm_opt: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("runnel-wasm-compile: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let name = arguments.module.display().to_string();
    let module = read(&arguments.module)?;
    let module = wat::parse_bytes(&module).map_err(|error| format!("{name}: {error}"))?;
    let options = options(arguments)?;
    if let (true, Some(output)) = (arguments.instrument_only, &arguments.output) {
        return write(output, &instrument_only(&name, &module, &options)?);
    }
    let compiled = compile(&name, &module, &options)?;
    if let Some(why) = compiled.checkpoint_refusal.filter(|_| !arguments.no_checkpoint) {
        eprintln!("runnel-wasm-compile: {name}: compiled, but its node cannot be checkpointed: {why}");
    }
    let output = arguments.output.clone().unwrap_or_else(|| arguments.module.with_extension("cwasm"));
    write(&output, &compiled.file)
}

fn options(arguments: &Arguments) -> Result<CompileOptions, String> {
    let usual = arguments.module.with_extension("toml");
    let usual = Some(usual).filter(|file| !arguments.no_manifest && file.exists());
    let manifest = arguments.manifest.clone().or(usual);
    let manifest =
        manifest.map(|file| fs::read_to_string(&file).map_err(|error| named(&file, &error))).transpose()?;
    let checkpoint = match (arguments.checkpoint, arguments.no_checkpoint) {
        (true, _) => Instrumentation::Required,
        (_, true) => Instrumentation::Off,
        _ => Instrumentation::IfPossible,
    };
    let target = arguments.target.unwrap_or_else(Target::host);
    Ok(CompileOptions { target, manifest, checkpoint, wasm_opt: arguments.wasm_opt.clone() })
}

fn write(path: &Path, content: &[u8]) -> Result<(), Box<dyn Error>> {
    Ok(fs::write(path, content).map_err(|error| named(path, &error))?)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| named(path, &error))
}

fn named(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn target(name: &str) -> Result<Target, String> {
    Target::named(name).ok_or_else(|| {
        let all: Vec<&str> = Target::ALL.iter().map(|target| target.name()).collect();
        format!("expected one of {}", all.join(", "))
    })
}
