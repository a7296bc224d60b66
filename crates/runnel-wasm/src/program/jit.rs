//! Programs that are compiled in the process that runs them.

use super::{CompileOptions, Program, Target, compile};
use crate::error::GuestError;

impl Program {
    /// Compiles a WebAssembly module, in binary form, for this host, and loads it. No file is written. The manifest is TOML.
    ///
    /// # Errors
    /// As [`compile`].
    pub fn compile_here(name: &str, module: &[u8], manifest: Option<&str>) -> Result<Self, GuestError> {
        let manifest = manifest.map(str::to_owned);
        let options = CompileOptions { target: Target::host(), manifest, ..CompileOptions::default() };
        Self::from_bytes(name, &compile(name, module, &options)?.file)
    }
}
