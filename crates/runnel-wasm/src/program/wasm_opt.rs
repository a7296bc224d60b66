//! The program `wasm-opt` of Binaryen, which instruments modules for checkpoints.

use std::env;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

const PROGRAM: &str = "wasm-opt";
/// Names the program in place of the search path.
const VARIABLE: &str = "RUNNEL_WASM_OPT";

/// Why a module is not instrumented without it.
#[cfg(feature = "compile")]
pub(super) const MISSING: &str = "the program wasm-opt is not installed when it is compiled. \
     Install the package binaryen, or name the program with RUNNEL_WASM_OPT or --wasm-opt, and compile it again";

/// The program that `RUNNEL_WASM_OPT` names, or that of the search path.
pub fn find() -> Option<PathBuf> {
    if let Some(program) = env::var_os(VARIABLE).filter(|program| !program.is_empty()) {
        return Some(PathBuf::from(program));
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(PROGRAM)).find(|program| is_executable(program))
}

fn is_executable(program: &Path) -> bool {
    program.is_file() && access(program, Access::EXEC_OK).is_ok()
}
