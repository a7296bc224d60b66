//! Runnel's own programs, as cargo has built them.

use std::path::PathBuf;

/// A program of this workspace, which cargo puts beside the folder of the test executables.
///
/// # Panics
/// When it is not there.
pub fn built(program: &str) -> PathBuf {
    let path = folder().join(program);
    assert!(path.is_file(), "{} is missing: run ./test, or cargo build --workspace --bins", path.display());
    path
}

/// Where those programs are.
pub fn folder() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this executable");
    let folder = test.ancestors().nth(2).expect("a test executable lies two folders below the profile's");
    folder.to_owned()
}
