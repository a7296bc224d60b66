//! Folders that only this user can write, or enter.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// Who else may use a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// They may read it.
    Read,
    /// They may not enter it.
    None,
}

/// Creates the folder if it is missing. `None` if others may do more than this, or if it is another user's.
pub fn create(folder: &Path, others: Others) -> Option<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).ok()?;
    // A link would lead to a folder that another user chose.
    let metadata = fs::symlink_metadata(folder).ok()?;
    let is_own =
        metadata.is_dir() && metadata.uid() == geteuid().as_raw() && metadata.mode() & others.refused() == 0;
    is_own.then(|| folder.to_owned())
}

impl Others {
    /// Permissions that they may not have.
    fn refused(self) -> u32 {
        match self {
            Self::Read => 0o022,
            Self::None => 0o077,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn folder_that_others_can_write_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/b");
        let create = |folder: &Path| create(folder, Others::Read);
        assert_eq!(create(&folder), Some(folder.clone()));
        let link = parent.path().join("link");
        symlink(&folder, &link).unwrap();
        assert_eq!(create(&link), None);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
        assert_eq!(create(&folder), None);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(create(&folder), Some(folder.clone()));
        assert_eq!(super::create(&folder, Others::None), None);
    }
}
