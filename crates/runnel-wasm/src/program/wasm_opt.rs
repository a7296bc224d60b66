//! The program `wasm-opt` of Binaryen, which instruments modules for checkpoints.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

const PROGRAM: &str = "wasm-opt";
/// Names the program in place of the search path.
const VARIABLE: &str = "RUNNEL_WASM_OPT";

/// The program that instruments modules: the given one, or that of the variable `RUNNEL_WASM_OPT`, or that of the search path.
/// `None` if it is not installed.
///
/// # Errors
/// If one is named that cannot be run.
pub fn find(given: Option<&Path>) -> Result<Option<PathBuf>, String> {
    let variable = || env::var_os(VARIABLE).filter(|program| !program.is_empty());
    let named = given.map(|program| program.as_os_str().to_owned()).or_else(variable);
    let program = locate(named.as_deref().unwrap_or(OsStr::new(PROGRAM)));
    match (program, named) {
        (None, Some(named)) => Err(format!(
            "{} cannot be run, and it is to make nodes ready for checkpoints. Try: the package binaryen, or --no-checkpoint",
            named.display()
        )),
        (program, _) => Ok(program),
    }
}

fn locate(program: &OsStr) -> Option<PathBuf> {
    if Path::new(program).components().count() > 1 {
        return Some(PathBuf::from(program)).filter(|program| is_executable(program));
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|program| is_executable(program))
}

fn is_executable(program: &Path) -> bool {
    program.is_file() && access(program, Access::EXEC_OK).is_ok()
}
