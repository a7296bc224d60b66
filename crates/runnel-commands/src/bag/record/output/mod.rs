//! Where a recording is written: files of their own, or the files of a folder of `ros2 bag`.

mod base_name;
mod files;
mod folder;
mod retention;
mod write_path;

use std::path::{Path, PathBuf};

use rustix::fs::statvfs;

pub use base_name::BaseName;
pub use files::OutputFiles;
pub use folder::OutputFolder;
pub use retention::Retention;
pub use write_path::cached_write_path;

use super::sink::Space;

/// The space of the disk that has this file or folder.
fn space(path: &Path) -> Option<Space> {
    let disk = statvfs(path).ok()?;
    Some(Space {
        free: disk.f_bavail.saturating_mul(disk.f_frsize),
        total: disk.f_blocks.saturating_mul(disk.f_frsize),
    })
}

/// The folder of a file.
pub fn folder_of(path: &Path) -> PathBuf {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}
