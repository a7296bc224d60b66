//! Projects outside the repository that use it by path, as users' projects do. Tests share the build results.

use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use crate::checkout;

/// The folder with the projects, and this repository as `runnel`. It is the same for all tests and runs: cargo
/// compiles a crate again for each path by which it is reached.
///
/// # Panics
/// If it cannot be created.
pub fn folder() -> PathBuf {
    let repository = checkout();
    // Outside the repository: cargo would take the projects for members of its workspace.
    let name = format!("runnel-docs{}", repository.display().to_string().replace('/', "-"));
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let link = folder.join(REPOSITORY);
    // A correct link is kept: another test may be building through it.
    if std::fs::read_link(&link).ok().as_ref() != Some(&repository) {
        let _ = std::fs::remove_file(&link);
        match symlink(&repository, &link) {
            // Created by a test that started at the same time.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            linked => linked.expect("a link"),
        }
    }
    folder
}

/// Name of the repository in [`folder`].
pub const REPOSITORY: &str = "runnel";

/// Configures a command to build projects as all tests do: offline, into one folder, and with one profile.
pub fn share_builds(command: &mut Command) {
    command.env("CARGO_TARGET_DIR", built()).env("CARGO_NET_OFFLINE", "true");
    // Without debug information they take an eighth of the disk space and linking time.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    // Cross builds in release mode only have to build and run; their speed does not matter.
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0").env("CARGO_PROFILE_RELEASE_LTO", "off");
    command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
}

/// The build folder of the projects. It is kept for the next run.
pub fn built() -> PathBuf {
    checkout().join("target/docs")
}
