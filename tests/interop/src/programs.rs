//! Runnel's own programs, as built by cargo.

use std::path::PathBuf;

/// A program of this workspace; cargo puts it next to the folder of the test executables.
///
/// # Panics
/// If it does not exist.
pub fn built(program: &str) -> PathBuf {
    let path = folder().join(program);
    assert!(path.is_file(), "{} is missing: run ./test, or cargo build --workspace --bins", path.display());
    path
}

/// The folder of these programs.
pub fn folder() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this executable");
    let folder = test.ancestors().nth(2).expect("a test executable lies two folders below the profile's");
    folder.to_owned()
}
