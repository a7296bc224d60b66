//! Instrumentation of modules for checkpoints.
//!
//! A node is suspended at any instant with its call stack in its linear memory, which is where Binaryen's Asyncify puts it. A
//! module is made ready for it in two steps: the [rewriter] adds what the host needs to stop a loop and to reach the state,
//! then the program `wasm-opt` adds the code that unwinds and rewinds the functions ([`asyncify`]). The result has, in
//! addition to the functions of Asyncify:
//!
//! | Name | What |
//! |---|---|
//! | global `runnel:stop` | while it is not 0, each outer loop calls `pause` at its head |
//! | import `runnel:checkpoint` `pause` | where a loop is suspended |
//! | globals `runnel:global:N` | the mutable globals of the module, in order |
//! | `memory` | the memory. Its maximum is [`BUFFER_PAGES`] larger: the host grows it by these for the call stack |
//! | custom section `runnel:instrumented` | the version of all this, in one byte |

mod asyncify;
mod rewriter;
mod survey;
#[cfg(test)]
mod tests;

use std::path::Path;

use survey::Survey;
use wasmparser::{Validator, WasmFeatures};

use crate::instrumented::{BUFFER_PAGES, GLOBAL, PAUSE, PAUSE_FLAG};

/// Name of the custom section, with [`VERSION`], of a module that is instrumented.
const MARKER: &str = "runnel:instrumented";
const VERSION: u8 = 1;

const NOT_INSTALLED: &str =
    "the program wasm-opt was not installed when it was compiled. Try: the package binaryen";

/// Instruments a module by the program `wasm-opt`, or returns it as it is if it is instrumented already.
///
/// # Errors
/// Why it cannot be checkpointed.
pub fn instrument(module: &[u8], wasm_opt: Option<&Path>) -> Result<Vec<u8>, String> {
    let survey = Survey::of(module)?;
    validate(module)?;
    if survey.is_instrumented {
        return Ok(module.to_owned());
    }
    let wasm_opt = wasm_opt.ok_or(NOT_INSTALLED)?;
    let instrumented = asyncify::run(wasm_opt, &rewriter::rewrite(module, &survey)?, &asyncify::LIMITS)?;
    let refused = |why| format!("{} wrote a module that is not valid: {why}", wasm_opt.display());
    validate(&instrumented).map_err(refused)?;
    match Survey::of(&instrumented).map_err(refused)?.is_instrumented {
        true => Ok(instrumented),
        false => Err(refused(format!("it has no section {MARKER}"))),
    }
}

/// WebAssembly 2.0 is what Asyncify and this module know.
fn validate(module: &[u8]) -> Result<(), String> {
    let validated = Validator::new_with_features(WasmFeatures::WASM2).validate_all(module);
    validated.map(|_| ()).map_err(|error| error.to_string())
}
