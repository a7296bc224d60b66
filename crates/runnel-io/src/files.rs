//! Names of files, and the space on their disks.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with, statvfs};
use rustix::io::Errno;

/// Space on a disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that an unprivileged user can still write.
    pub free: u64,
    /// Bytes of the whole disk.
    pub total: u64,
}

/// The space of the disk of this file or folder.
///
/// # Errors
/// Those of the file system.
pub fn disk_space(path: &Path) -> io::Result<Space> {
    let disk = statvfs(path)?;
    Ok(Space {
        free: disk.f_bavail.saturating_mul(disk.f_frsize),
        total: disk.f_blocks.saturating_mul(disk.f_frsize),
    })
}

/// Whether this name is in use, also by a symbolic link without a target.
pub fn is_taken(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Renames a file, unless the new name is in use.
///
/// # Errors
/// Those of the file system. [`ErrorKind::AlreadyExists`] if the new name is in use.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems do not have that flag.
        Err(Errno::INVAL | Errno::NOSYS) if !is_taken(to) => fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS) => Err(ErrorKind::AlreadyExists.into()),
        renamed => Ok(renamed?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_name_is_not_replaced() {
        let folder = std::env::temp_dir().join(format!("runnel-io-files-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.join(name));
        fs::write(&a, "a").unwrap();
        fs::write(&b, "b").unwrap();
        assert_eq!(rename_new(&a, &b).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"a".to_vec(), b"b".to_vec()));
        fs::remove_file(&b).unwrap();
        rename_new(&a, &b).unwrap();
        assert!(!is_taken(&a) && is_taken(&b));
        let space = disk_space(&b).unwrap();
        assert!(space.free <= space.total && space.total > 0, "{space:?}");
        fs::remove_dir_all(folder).unwrap();
    }
}
