//! Where a recording is written: files of their own, or the files of a folder of `ros2 bag`.

mod base_name;
mod files;
mod folder;
mod retention;
mod write_path;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

pub use base_name::BaseName;
pub use files::OutputFiles;
pub use folder::OutputFolder;
pub use retention::Retention;
pub use write_path::cached_write_path;

use super::sink::{Removed, Space};
use crate::error::CliError;
use retention::ClosedBag;

/// The space of the disk that has this file or folder.
pub fn space(path: &Path) -> Option<Space> {
    runnel_io::files::disk_space(path).ok()
}

/// Removes the file of a bag. A file that was moved away meanwhile frees nothing.
fn remove(ClosedBag { path, written }: ClosedBag) -> Result<Removed, CliError> {
    let len = match fs::remove_file(&path) {
        Ok(()) => written.len,
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        Err(error) => return Err(CliError::Failed(format!("{}: {error}", path.display()))),
    };
    Ok(Removed { file: path, len })
}
