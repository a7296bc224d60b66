//! Compiles modules ahead of time.

use super::engine::Target;
use super::file::{ModuleHash, append_trailer};
use crate::error::GuestError;
use crate::manifest::Manifest;

/// How a module is compiled.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// For what.
    pub target: Target,
    /// What the node may do, as TOML. It is part of the program then.
    pub manifest: Option<String>,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self { target: Target::host(), manifest: None }
    }
}

/// Compiles a WebAssembly module, in binary form. Returns the content of a file that [`Program::load`] loads.
///
/// [`Program::load`]: super::Program::load
///
/// # Errors
/// If the module or the manifest is not valid.
pub fn compile(name: &str, module: &[u8], options: &CompileOptions) -> Result<Vec<u8>, GuestError> {
    let refused = |why: String| GuestError::Program { name: name.to_owned(), why };
    if let Some(manifest) = &options.manifest {
        Manifest::parse(manifest).map_err(|error| refused(format!("manifest: {error}")))?;
    }
    let engine = options.target.compiler().map_err(|error| refused(format!("{error:#}")))?;
    let mut object = engine.precompile_module(module).map_err(|error| refused(format!("{error:#}")))?;
    append_trailer(&mut object, options.target, ModuleHash::of(module), options.manifest.as_deref())
        .map_err(refused)?;
    Ok(object)
}
