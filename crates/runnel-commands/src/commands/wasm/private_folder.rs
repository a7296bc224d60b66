//! Folders that only this user can write.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// Creates the folder if it is missing. `None` if others can write it, or if it is another user's.
pub fn create(folder: &Path) -> Option<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).ok()?;
    // A link would lead to a folder that another user chose.
    let metadata = fs::symlink_metadata(folder).ok()?;
    let is_own = metadata.is_dir() && metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o022 == 0;
    is_own.then(|| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn folder_that_others_can_write_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a/b");
        assert_eq!(create(&folder), Some(folder.clone()));
        let link = parent.path().join("link");
        symlink(&folder, &link).unwrap();
        assert_eq!(create(&link), None);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
        assert_eq!(create(&folder), None);
    }
}
