//! Modules that `runnel wasm run --jit` compiles in its own process.

use std::path::Path;

use runnel_wasm::Program;

use crate::error::CliError;

/// Compiles a module and loads it, without a file.
///
/// # Errors
/// If it cannot be read or compiled.
#[cfg(feature = "wasm-jit")]
pub fn load(node: &Path) -> Result<Program, CliError> {
    let name = node.display().to_string();
    let module = std::fs::read(node).map_err(|error| CliError::failed(format!("{name}: {error}")))?;
    let module = wat::parse_bytes(&module).map_err(|error| CliError::failed(format!("{name}: {error}")))?;
    // What the node may do is in a file next to it, or given.
    Program::compile_here(&name, &module, None).map_err(CliError::failed)
}

/// This program has no compiler.
///
/// # Errors
/// Always.
#[cfg(not(feature = "wasm-jit"))]
pub fn load(_: &Path) -> Result<Program, CliError> {
    Err(CliError::failed(
        "--jit: this program was built without the feature wasm-jit. Try: cargo install --path crates/runnel-cli --features \
         wasm-jit, or run the node without --jit, which compiles it by runnel-wasm-compile",
    ))
}
