//! Compiled nodes: the files that hold them, and the engines that load them.

#[cfg(feature = "compile")]
mod compile;
mod engine;
mod file;
#[cfg(feature = "compile")]
mod instrument;
#[cfg(feature = "jit")]
mod jit;
mod wasm_opt;

use std::fs;
use std::path::Path;

#[cfg(feature = "compile")]
pub use compile::{CompileOptions, Compiled, Instrumentation, compile, instrument_only};
pub use engine::{Engine, Target};
pub use file::ModuleHash;
use file::Trailer;
pub use wasm_opt::find as find_wasm_opt;

use crate::error::GuestError;
use crate::manifest::Manifest;

/// A compiled node, loaded for its engine.
///
/// A compiled file holds machine code, which the processor runs as it stands: load only files that you would run as
/// programs. The WebAssembly module that it was made of needs no such trust.
pub struct Program {
    name: String,
    engine: Engine,
    module: wasmtime::Module,
    hash: ModuleHash,
    manifest: Option<Manifest>,
    checkpoint_refusal: Option<String>,
}

impl Program {
    /// Loads a file that was written by [`compile`].
    ///
    /// # Errors
    /// If it cannot be read, is no such file, or is for another processor or another version of Runnel.
    #[expect(unsafe_code, reason = "machine code is loaded")]
    pub fn load(path: &Path) -> Result<Self, GuestError> {
        let name = path.display().to_string();
        let read = fs::read(path).map_err(|source| GuestError::Io { path: path.to_owned(), source })?;
        let trailer = Trailer::read(&read).map_err(|why| GuestError::Program { name: name.clone(), why })?;
        let engine = Engine::of(trailer.target, &name)?;
        // SAFETY: the caller trusts the file as a program, as the documentation of the type demands.
        let module = unsafe { wasmtime::Module::deserialize_file(engine.inner(), path) };
        Self::new(name, engine, module, trailer)
    }

    /// Loads a program from bytes that [`compile`] returned.
    ///
    /// # Errors
    /// As [`Program::load`].
    #[expect(unsafe_code, reason = "machine code is loaded")]
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, GuestError> {
        let named = |why| GuestError::Program { name: name.to_owned(), why };
        let trailer = Trailer::read(bytes).map_err(named)?;
        let engine = Engine::of(trailer.target, name)?;
        // SAFETY: as in `load`.
        let module = unsafe { wasmtime::Module::deserialize(engine.inner(), bytes) };
        Self::new(name.to_owned(), engine, module, trailer)
    }

    fn new(
        name: String,
        engine: Engine,
        module: wasmtime::Result<wasmtime::Module>,
        trailer: Trailer,
    ) -> Result<Self, GuestError> {
        let module = module.map_err(|error| GuestError::Program {
            name: name.clone(),
            why: format!("it cannot be loaded: {error:#}. Compile the module again with this version"),
        })?;
        let Trailer { hash, manifest, checkpoint_refusal, .. } = trailer;
        Ok(Self { name, engine, module, hash, manifest, checkpoint_refusal })
    }

    /// The file, or the name that it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The hash of the WebAssembly module that it was compiled from: the instrumented one, if it can be checkpointed.
    pub fn hash(&self) -> ModuleHash {
        self.hash
    }

    /// The manifest that it was compiled with.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// Why its node cannot be checkpointed. `None` if it can.
    pub fn checkpoint_refusal(&self) -> Option<&str> {
        self.checkpoint_refusal.as_deref()
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn module(&self) -> &wasmtime::Module {
        &self.module
    }
}
