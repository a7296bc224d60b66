//! The folder with the identity of a user and the hosts that it trusts.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use runnel_io::host;

use super::FileError;

/// Where the folder is if nothing else is said: `$XDG_CONFIG_HOME/runnel/migration`, or `~/.config/runnel/migration`.
///
/// # Errors
/// If the environment names neither.
pub fn default_folder() -> Result<PathBuf, FileError> {
    let of = |name: &str| env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let config = of("XDG_CONFIG_HOME").or_else(|| Some(of("HOME")?.join(".config")));
    let config = config.ok_or_else(|| {
        FileError::new(Path::new("runnel/migration"), "its place is unknown: set XDG_CONFIG_HOME or HOME")
    })?;
    Ok(config.join("runnel/migration"))
}

/// Creates the folder if it is missing, so that only this user can enter it.
///
/// # Errors
/// If it cannot be created, is no folder, belongs to another user, or if others may enter it.
pub fn create(folder: &Path) -> Result<(), FileError> {
    let failed = |error: io::Error| FileError::new(folder, error);
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    check(folder, &fs::metadata(folder).map_err(failed)?, Others::Nothing)
}

/// What other users may do with a file or folder.
#[derive(Clone, Copy, Debug)]
pub enum Others {
    /// Nothing at all.
    Nothing,
    /// They may read it.
    Read,
}

/// Refuses what another user owns, or what others may do more with than this.
///
/// # Errors
/// If that is so. The error has the command that mends it.
pub fn check(path: &Path, metadata: &fs::Metadata, others: Others) -> Result<(), FileError> {
    if metadata.uid() != host::uid() {
        let (owner, user) = (metadata.uid(), host::uid());
        let why = format!("it belongs to user {owner}, and this process runs as user {user}");
        return Err(FileError::new(path, why));
    }
    let (refused, change) = match others {
        Others::Nothing => (0o077, "go-rwx"),
        Others::Read => (0o022, "go-w"),
    };
    if metadata.mode() & refused != 0 {
        let mode = metadata.mode() & 0o7777;
        let why =
            format!("its mode {mode:o} gives access to other users. Try: chmod {change} {}", path.display());
        return Err(FileError::new(path, why));
    }
    Ok(())
}
