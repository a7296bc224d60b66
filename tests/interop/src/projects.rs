//! Projects outside the repository that use it by path, as a user's do. Tests that build them share the results.

use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use crate::checkout;

/// The folder that holds projects, and this repository as `runnel`. Every test and run has the same one: cargo compiles a
/// crate again for each path by which it is reached.
///
/// # Panics
/// When it cannot be made.
pub fn folder() -> PathBuf {
    let repository = checkout();
    // Not in the repository: cargo would take what is made there for members of its workspace.
    let name = format!("runnel-docs{}", repository.display().to_string().replace('/', "-"));
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let link = folder.join(REPOSITORY);
    // It stays where it leads to this repository: another test may be building by it.
    if std::fs::read_link(&link).ok().as_ref() != Some(&repository) {
        let _ = std::fs::remove_file(&link);
        match symlink(&repository, &link) {
            // By a test that began at the same time.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            linked => linked.expect("a link"),
        }
    }
    folder
}

/// What the repository is called in [`folder`].
pub const REPOSITORY: &str = "runnel";

/// Has a command, and what it starts, build projects as all tests do: without a network, into one folder, and by one profile.
pub fn share_builds(command: &mut Command) {
    command.env("CARGO_TARGET_DIR", built()).env("CARGO_NET_OFFLINE", "true");
    // Nobody debugs these: without, they take an eighth of the disk and of the time to link.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    // That release builds for other systems are made, linked and work is what counts, not their speed.
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0").env("CARGO_PROFILE_RELEASE_LTO", "off");
    command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
}

/// Where projects are built. It outlasts the tests, for the next run.
pub fn built() -> PathBuf {
    checkout().join("target/docs")
}
