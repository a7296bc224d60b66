//! Compiles modules ahead of time.

use std::borrow::Cow;
use std::path::PathBuf;

use super::engine::Target;
use super::file::{ModuleHash, append_trailer};
use super::instrument::instrument;
use super::wasm_opt;
use crate::error::GuestError;
use crate::manifest::Manifest;

/// How a module is compiled.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// For what.
    pub target: Target,
    /// What the node may do, as TOML. It is part of the program then.
    pub manifest: Option<String>,
    /// Whether the node can be checkpointed.
    pub checkpoint: Instrumentation,
    /// Binaryen's program `wasm-opt`. Without it, `RUNNEL_WASM_OPT` or the search path names the program.
    pub wasm_opt: Option<PathBuf>,
}

/// Whether a program is compiled so that its node can be checkpointed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instrumentation {
    /// Where the module allows it and `wasm-opt` is installed.
    #[default]
    IfPossible,
    /// Otherwise it is an error.
    Required,
    /// Never: the node is smaller, and its loops run faster.
    Off,
}

/// A compiled module.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The content of a file that [`Program::load`] loads.
    ///
    /// [`Program::load`]: super::Program::load
    pub file: Vec<u8>,
    /// Why the node cannot be checkpointed.
    pub checkpoint_refusal: Option<String>,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            target: Target::host(),
            manifest: None,
            checkpoint: Instrumentation::default(),
            wasm_opt: None,
        }
    }
}

/// Compiles a WebAssembly module, in binary form.
///
/// # Errors
/// If the module or the manifest is not valid, or if it cannot be checkpointed and has to.
pub fn compile(name: &str, module: &[u8], options: &CompileOptions) -> Result<Compiled, GuestError> {
    let refused = |why: String| GuestError::Program { name: name.to_owned(), why };
    if let Some(manifest) = &options.manifest {
        Manifest::parse(manifest).map_err(|error| refused(format!("manifest: {error}")))?;
    }
    let engine = options.target.compiler().map_err(|error| refused(format!("{error:#}")))?;
    let (module, checkpoint_refusal) = prepare(name, module, options)?;
    let mut file = engine.precompile_module(&module).map_err(|error| refused(format!("{error:#}")))?;
    let hash = ModuleHash::of(&module);
    append_trailer(
        &mut file,
        options.target,
        hash,
        options.manifest.as_deref(),
        checkpoint_refusal.as_deref(),
    )
    .map_err(refused)?;
    Ok(Compiled { file, checkpoint_refusal })
}

/// Instruments a WebAssembly module, in binary form, so that several hosts can compile the same one: only programs that are
/// made of the same instrumented module exchange checkpoints. Such a module is returned as it is.
///
/// # Errors
/// If it cannot be checkpointed.
pub fn instrument_only(name: &str, module: &[u8], options: &CompileOptions) -> Result<Vec<u8>, GuestError> {
    let wasm_opt = find_wasm_opt(options)?;
    instrument(module, wasm_opt.as_deref()).map_err(|why| cannot_be_checkpointed(name, &why))
}

/// The module that is compiled, and why it cannot be checkpointed.
fn prepare<'a>(
    name: &str,
    module: &'a [u8],
    options: &CompileOptions,
) -> Result<(Cow<'a, [u8]>, Option<String>), GuestError> {
    if options.checkpoint == Instrumentation::Off {
        return Ok((module.into(), Some("it was compiled with --no-checkpoint".to_owned())));
    }
    let wasm_opt = find_wasm_opt(options)?;
    match instrument(module, wasm_opt.as_deref()) {
        Ok(instrumented) => Ok((instrumented.into(), None)),
        Err(why) if options.checkpoint == Instrumentation::IfPossible => Ok((module.into(), Some(why))),
        Err(why) => Err(cannot_be_checkpointed(name, &why)),
    }
}

fn find_wasm_opt(options: &CompileOptions) -> Result<Option<PathBuf>, GuestError> {
    wasm_opt::find(options.wasm_opt.as_deref())
        .map_err(|why| GuestError::Program { name: "wasm-opt".to_owned(), why })
}

fn cannot_be_checkpointed(name: &str, why: &str) -> GuestError {
    GuestError::Program { name: name.to_owned(), why: format!("it cannot be checkpointed: {why}") }
}
